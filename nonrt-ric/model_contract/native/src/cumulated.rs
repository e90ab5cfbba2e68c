//! Quantiles of the drain of a bearer summed from now to each point.
//!
//! Quantiles of points do not add up to those of their sum, which is what a pacer needs: how much it may
//! have on its way. A forecast is the product of an exponential mean of the drain and the time, plus
//! tracked quantiles of its errors, for means of several memories, mixed level by level like other
//! [experts](crate::Mix). Sums never fall as points follow each other, and no level is below a lower
//! one.
//!
//! What drained is no more than what was there. A report whose buffer is empty says of the radio that it
//! could have carried at least as much, and so does a sum with such a report: it is censored. Of a
//! censored sum the forecast itself tells how probable it is that each quantile would have been exceeded
//! ("redistribution to the right": Efron 1967; Portnoy 2003 for quantile regression). Without that, a
//! pacer that sends too little because of a forecast would teach the forecast that little drains.

mod ring;

use crate::forecast::order;
use crate::mix::Tracker;
use crate::score::{MAX_QUANTILES, pinball_loss};
use crate::weights::{EXPERTS, Point, Weights};
use crate::{ArrayError, Index, LengthError, check};
use ring::{Rates, Ring, Sum};

/// Memories of the means, in reports: from a TDD pattern to a second.
const MEMORIES: [f32; EXPERTS] = [10.0, 30.0, 100.0, 300.0, 1_000.0];
/// Reports from one learned sum to the next: coprime to TDD patterns and voice frames. Neighbours say
/// nearly the same.
const STRIDE: i64 = 23;

/// Forecasts of the summed drain of S slots at M points.
#[derive(Debug, Clone)]
pub struct Cumulated {
    levels: Vec<f32>,
    /// `(M,)` reports after an origin; increasing.
    ahead: Vec<i64>,
    ring: Ring,
    /// `(S, M)` of each memory.
    offsets: [Tracker; EXPERTS],
    /// `(S, M)`.
    points: Vec<Point>,
}

/// The drain and the buffer in a report of N bearers.
#[derive(Debug, Clone, Copy)]
pub struct Drained<'a> {
    /// `(N,)` mean since the report before, per report period; NaN if unknown.
    pub drain: &'a [f32],
    /// `(N,)` bytes left in the buffer.
    pub occupancy: &'a [f32],
}

impl Cumulated {
    /// No slots. `levels` increase within (0, 1), `ahead` are reports after an origin.
    ///
    /// # Errors
    /// [`LengthError`] with no level or more than 32.
    pub fn new(levels: Vec<f32>, ahead: Vec<i64>) -> Result<Self, LengthError> {
        if !(1..=MAX_QUANTILES).contains(&levels.len()) {
            return Err(LengthError { name: "levels", length: levels.len(), rows: MAX_QUANTILES });
        }
        let farthest = ahead.iter().copied().max().unwrap_or(0).max(0);
        Ok(Self {
            levels,
            ahead,
            ring: Ring::new(farthest as usize),
            offsets: std::array::from_fn(|_| Tracker::default()),
            points: Vec::new(),
        })
    }

    /// M and the number of levels.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [self.ahead.len(), self.levels.len()]
    }

    /// Room for `slots` slots.
    pub fn grow(&mut self, slots: usize) {
        if slots <= self.ring.slots() {
            return;
        }
        let cells = slots * self.ahead.len();
        self.ring.grow(slots);
        self.offsets.iter_mut().for_each(|one| one.resize(cells, self.levels.len()));
        self.points.resize(cells, Point::NEW);
    }

    /// A new bearer in a slot; an unknown one is ignored.
    pub fn reset(&mut self, slot: usize) {
        if slot >= self.ring.slots() {
            return;
        }
        let cells = slot * self.ahead.len()..(slot + 1) * self.ahead.len();
        self.ring.reset(slot);
        self.offsets.iter_mut().for_each(|one| one.clear(cells.clone(), self.levels.len()));
        self.points[cells].fill(Point::NEW);
    }

    /// Takes in the report at `tick`, and learns from the sums that end with it.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn add(
        &mut self,
        slots: Index<'_>,
        tick: i64,
        newest: &Drained<'_>,
    ) -> Result<(), ArrayError> {
        let rows = newest.drain.len();
        slots.check("slots", rows, self.ring.slots())?;
        check("occupancy", newest.occupancy.len(), rows, rows)?;
        for (row, (drain, occupancy)) in newest.drain.iter().zip(newest.occupancy).enumerate() {
            let slot = slots.at(row);
            self.ring.add(slot, tick, *drain, *occupancy <= 0.0);
            // Slots take turns.
            if tick.wrapping_add(slot as i64).rem_euclid(STRIDE) == 0 {
                self.learn(slot, tick);
            }
        }
        Ok(())
    }

    fn learn(&mut self, slot: usize, tick: i64) {
        for point in 0..self.ahead.len() {
            if let Some((sum, rates)) = self.ring.sum(slot, tick, self.ahead[point]) {
                self.learn_one(slot * self.ahead.len() + point, point, sum, &rates);
            }
        }
    }

    fn learn_one(&mut self, cell: usize, point: usize, sum: Sum, rates: &Rates) {
        let levels = self.levels.len();
        let mut own = [[0.0; MAX_QUANTILES]; EXPERTS];
        for (expert, own) in own.iter_mut().enumerate() {
            self.alone(expert, cell, self.expected(point, rates, expert), &mut own[..levels]);
        }
        if !sum.is_censored {
            self.weigh(cell, sum.bytes, &own);
        }
        for (expert, own) in own.iter().enumerate() {
            let plain = self.expected(point, rates, expert);
            let tracked = self.offsets[expert].at(cell, levels);
            if sum.is_censored {
                tracked.learn_at_least(&self.levels, sum.bytes, plain, &own[..levels]);
            } else {
                tracked.learn(&self.levels, sum.bytes, &[plain]);
            }
        }
    }

    /// Weights of the memories by their losses and by that of the mix.
    fn weigh(&mut self, cell: usize, bytes: f32, own: &[[f32; MAX_QUANTILES]; EXPERTS]) {
        let levels = &self.levels;
        let loss = own.map(|own| pinball_loss(bytes, &own[..levels.len()], levels));
        let weights = self.points[cell].factors;
        let mixed: f32 = weights.iter().zip(loss).map(|(weight, loss)| weight * loss).sum();
        self.points[cell].learn_alone(&loss.map(|loss| mixed - loss));
    }

    fn expected(&self, point: usize, rates: &Rates, expert: usize) -> f32 {
        rates[expert] * self.ahead[point] as f32
    }

    /// The quantiles of one memory.
    fn alone(&self, expert: usize, cell: usize, plain: f32, out: &mut [f32]) {
        self.offsets[expert].shift(cell, plain, out);
        order(out);
    }

    /// `(N, M, levels)` bytes that drain until each point after the newest report of N slots.
    ///
    /// # Errors
    /// [`ArrayError`] of an unknown slot.
    pub fn forecasts(&self, slots: Index<'_>, rows: usize) -> Result<Vec<f32>, ArrayError> {
        slots.check("slots", rows, self.ring.slots())?;
        let [points, levels] = self.shape();
        let mut found = Vec::with_capacity(rows * points * levels);
        let mut own = vec![0.0; levels];
        for row in 0..rows {
            let (slot, begin) = (slots.at(row), found.len());
            let rates = self.ring.rates(slot);
            for point in 0..points {
                let cell = slot * points + point;
                let at = found.len();
                found.resize(at + levels, 0.0);
                let weights: Weights = self.points[cell].factors;
                for (expert, weight) in weights.iter().enumerate() {
                    self.alone(expert, cell, self.expected(point, rates, expert), &mut own);
                    for (out, own) in found[at..].iter_mut().zip(&own) {
                        *out += weight * own;
                    }
                }
            }
            // A sum to a later point has all of that to an earlier one.
            for at in begin + levels..found.len() {
                found[at] = found[at].max(found[at - levels]);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [f32; 4] = [0.5, 0.9, 0.95, 0.98];

    /// A bearer among others whose buffer is full, or holds no more than `stock` each report.
    struct One(Cumulated);

    impl One {
        const SLOT: usize = 1;

        fn new(ahead: &[i64]) -> Self {
            let mut cumulated = Cumulated::new(LEVELS.to_vec(), ahead.to_vec()).unwrap();
            cumulated.grow(3);
            Self(cumulated)
        }

        fn add(&mut self, tick: i64, drain: f32, occupancy: f32) {
            let newest = Drained { drain: &[7.0, drain], occupancy: &[9.0, occupancy] };
            self.0.add(Index::Each(&[0, Self::SLOT as isize]), tick, &newest).unwrap();
        }

        fn forecast(&self) -> Vec<f32> {
            self.0.forecasts(Index::From(Self::SLOT), 1).unwrap()
        }
    }

    /// A number in [0, 1) by the finaliser of SplitMix64.
    fn noise(n: i64) -> f32 {
        let mut bits = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1 << 24) as f32
    }

    /// Bytes that the radio carries in a report: a burst in three of four.
    fn radio(tick: i64) -> f32 {
        if noise(tick) < 0.75 { 2_000.0 * noise(tick + 1_000_000) } else { 0.0 }
    }

    #[test]
    fn the_quantiles_of_a_sum_cover_their_shares() {
        let (ahead, mut one) = (20, One::new(&[1, 20]));
        let (mut forecasts, mut above, mut checked) = (Vec::new(), [0.0; LEVELS.len()], 0.0);
        for tick in 0..60_000 {
            one.add(tick, radio(tick), 1.0);
            forecasts.push(one.forecast()[LEVELS.len()..].to_vec());
            let Some(origin) = (tick as usize).checked_sub(ahead).filter(|at| *at > 10_000) else {
                continue;
            };
            let sum: f32 = (origin + 1..=origin + ahead).map(|at| radio(at as i64)).sum();
            checked += 1.0;
            for (above, quantile) in above.iter_mut().zip(&forecasts[origin]) {
                *above += f32::from(u8::from(sum > *quantile));
            }
        }
        for (above, level) in above.iter().zip(LEVELS) {
            let share = above / checked;
            assert!((share - (1.0 - level)).abs() < 0.02, "{level}: {share} above");
        }
    }

    #[test]
    fn sums_never_fall_and_levels_are_in_order() {
        let mut one = One::new(&[1, 2, 3, 5, 8, 13, 21]);
        for tick in 0..5_000 {
            // Bursts with pauses, so that means of all memories differ.
            let drain = if tick % 700 < 150 { 3_000.0 * noise(tick) } else { 0.0 };
            one.add(tick, drain, 1.0);
            let found = one.forecast();
            for at in LEVELS.len()..found.len() {
                assert!(found[at] >= found[at - LEVELS.len()], "{tick}: {found:?}");
            }
            assert!(found.chunks(LEVELS.len()).all(<[f32]>::is_sorted), "{tick}: {found:?}");
            assert!(found.iter().all(|bytes| *bytes >= 0.0), "{tick}: {found:?}");
        }
    }

    /// Quantile of what a radio carries in 20 reports, as forecast for a sender that keeps a stock.
    fn with_stock(stock: impl Fn(f32) -> f32) -> f32 {
        let (mut one, mut level) = (One::new(&[20]), 0.0_f32);
        let mut held = 0.0_f32;
        for tick in 0..80_000 {
            if tick % 20 == 0 {
                held = stock(level);
            }
            let drain = radio(tick).min(held);
            held -= drain;
            one.add(tick, drain, held);
            level = one.forecast()[1];
        }
        level
    }

    #[test]
    fn a_sender_that_leaves_the_buffer_empty_does_not_teach_that_little_drains() {
        let full = with_stock(|_| 1e9);
        let by_forecast = with_stock(|level| level.max(1_500.0));
        assert!((by_forecast / full - 1.0).abs() < 0.12, "{by_forecast} of {full}");
        // A bearer that is mostly idle forgets nothing.
        let mut one = One::new(&[20]);
        (0..20_000).for_each(|tick| one.add(tick, radio(tick), 1.0));
        let before = one.forecast();
        (20_000..60_000).for_each(|tick| one.add(tick, 0.0, 0.0));
        for (after, before) in one.forecast().iter().zip(before) {
            assert!((after / before - 1.0).abs() < 0.01, "{after} {before}");
        }
    }

    #[test]
    fn a_gap_of_reports_has_the_mean_of_the_report_after_it() {
        let mut one = One::new(&[10]);
        for tick in (0..6_000).filter(|tick| tick % 5 != 2 && tick % 5 != 3) {
            one.add(tick, 500.0, 1.0);
        }
        for level in one.forecast() {
            assert!((level - 5_000.0).abs() < 1.0, "{level}");
        }
        one.add(900_000, 100.0, 1.0);
        assert!((one.forecast()[0] - 1_000.0).abs() < 1e-2, "a silence begins the past anew");
        one.0.reset(One::SLOT);
        assert_eq!(one.forecast(), [0.0; LEVELS.len()]);
    }

    #[test]
    fn mismatched_slices_are_named() {
        let mut one = One::new(&[10]).0;
        let newest = Drained { drain: &[1.0], occupancy: &[] };
        let refused = one.add(Index::From(0), 1, &newest).unwrap_err().to_string();
        assert_eq!(refused, "occupancy has length 0, for 1 rows");
        assert!(one.forecasts(Index::From(2), 2).is_err());
        assert!(Cumulated::new(Vec::new(), vec![1]).is_err());
    }
}
