//! Quantile tracking: offsets updated by every outcome.

use crate::{ArrayError, Index, LengthError, Outcomes, check};

/// η, in mean errors: the interval moves by its own width within some tens of outcomes.
const RATE: f32 = 0.05;
/// Weight of the newest error in the mean: about 50 outcomes of memory.
const SIZE_WEIGHT: f32 = 0.02;
/// Bound of θ in mean errors, above any error observed. Without it a bearer that was idle for hours
/// would take as long to recover.
const MAX_THETA: f32 = 20.0;

/// Axes of the offsets of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axes {
    /// K.
    pub quantities: usize,
    /// M.
    pub points: usize,
    /// Q.
    pub quantiles: usize,
}

impl Axes {
    /// Number of slots of `length` values with `each` values per quantity and point.
    fn slots(&self, name: &'static str, length: usize, each: usize) -> Result<usize, LengthError> {
        let per_slot = self.quantities.saturating_mul(self.points).saturating_mul(each);
        let slots = length.checked_div(per_slot).unwrap_or(0);
        check(name, length, slots * per_slot, slots)?;
        Ok(slots)
    }

    /// Index of a quantity at a point of a slot.
    #[inline]
    pub(crate) fn cell(&self, slot: usize, quantity: usize, point: usize) -> usize {
        (slot * self.quantities + quantity) * self.points + point
    }
}

/// Offsets of one quantity at one point of a slot.
pub(crate) struct Tracked<'a> {
    /// `(Q,)` offsets in mean errors.
    pub(crate) theta: &'a mut [f32],
    /// Mean error.
    pub(crate) size: &'a mut f32,
    /// Whether an outcome was observed.
    pub(crate) begun: &'a mut bool,
}

impl Tracked<'_> {
    /// Updates the offsets by an outcome; `plain` has one value, or one for each level.
    #[inline]
    pub(crate) fn learn(self, levels: &[f32], actual: f32, plain: &[f32]) {
        // Without the offset: a wrong offset would enlarge the errors, and they the offset, without
        // bound.
        let middle = actual - plain[plain.len() / 2];
        let size = *self.size;
        if !middle.is_nan() {
            let weight = if *self.begun { SIZE_WEIGHT } else { 1.0 };
            *self.size += weight * (middle.abs() - *self.size);
            *self.begun = true;
        }
        for (q, theta) in self.theta.iter_mut().enumerate() {
            let error = (actual - plain[if plain.len() == 1 { 0 } else { q }]) - *theta * size;
            // No step at a tie, the minimum of the pinball loss. An empty queue forecast as empty is a
            // tie: treating it as "not above" would lower the lower quantiles forever.
            let step = if error > 0.0 {
                levels[q]
            } else if error < 0.0 {
                levels[q] - 1.0
            } else {
                0.0
            };
            *theta = (*theta + RATE * step).clamp(-MAX_THETA, MAX_THETA);
        }
    }
}

impl Tracked<'_> {
    /// Updates the offsets of one value at all levels by an outcome of which a lower bound is known.
    ///
    /// A quantile below the bound was exceeded. Of one above it, the forecast tells how probable that is
    /// given the bound: with a share F of outcomes below the bound, `(1 − τ) / (1 − F)`; the expected
    /// step is then `(1 − τ) · F / (1 − F)` (redistribution to the right, Efron 1967). `own` are the
    /// quantiles with the offsets.
    pub(crate) fn learn_at_least(self, levels: &[f32], bound: f32, plain: f32, own: &[f32]) {
        let below = share_below(bound, levels, own).min(MOST_BELOW);
        let error = bound - plain;
        let middle = own.get(own.len() / 2).copied().unwrap_or(bound);
        if bound > middle && error.is_finite() {
            let weight = if *self.begun { SIZE_WEIGHT } else { 1.0 };
            *self.size += weight * (error.abs() - *self.size);
            *self.begun = true;
        }
        for ((theta, level), own) in self.theta.iter_mut().zip(levels).zip(own) {
            let step = if bound > *own { *level } else { (1.0 - level) * below / (1.0 - below) };
            *theta = (*theta + RATE * step).clamp(-MAX_THETA, MAX_THETA);
        }
    }
}

/// Largest share of outcomes below a bound that an offset learns with: beyond the outermost level
/// nothing is known.
const MOST_BELOW: f32 = 0.99;

/// Share of outcomes below a value by increasing quantiles: linear between them, from 0 at 0.
fn share_below(value: f32, levels: &[f32], quantiles: &[f32]) -> f32 {
    let (mut low, mut below) = (0.0, 0.0);
    for (quantile, level) in quantiles.iter().zip(levels) {
        if value < *quantile {
            return below + (level - below) * ((value - low) / (quantile - low)).max(0.0);
        }
        (low, below) = (*quantile, *level);
    }
    below
}

/// Calibration state of S slots.
#[derive(Debug)]
pub struct Offsets<'a> {
    /// K, M and Q.
    pub axes: Axes,
    /// `(Q,)` quantile levels.
    pub levels: &'a [f32],
    /// `(S, K, M, Q)` in mean errors.
    pub theta: &'a mut [f32],
    /// `(S, K, M)` mean errors.
    pub size: &'a mut [f32],
    /// `(S, K, M, Q)` `theta · size`.
    pub offset: &'a mut [f32],
    /// `(S, K, M)` whether an outcome was observed.
    pub begun: &'a mut [bool],
}

impl Offsets<'_> {
    /// Updates the offsets of distinct slots by outcomes at points.
    ///
    /// `plain` has the forecasts without offset: `(N, K, Q)`, or `(N, K)` for one value at all
    /// quantiles.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn learn(
        &mut self,
        slots: Index<'_>,
        points: Index<'_>,
        outcomes: &Outcomes<'_>,
        plain: &[f32],
    ) -> Result<(), ArrayError> {
        let (axes, rows) = (self.axes, outcomes.rows);
        slots.check("slots", rows, self.check()?)?;
        points.check("point", rows, axes.points)?;
        outcomes.check(axes.quantities)?;
        let forecasts = rows.saturating_mul(axes.quantities);
        let quantiles = if plain.len() == forecasts { 1 } else { axes.quantiles };
        check("plain", plain.len(), forecasts.saturating_mul(quantiles), rows)?;
        for row in outcomes.counting() {
            let (slot, point) = (slots.at(row), points.at(row));
            for quantity in 0..axes.quantities {
                let at = row * axes.quantities + quantity;
                let (actual, plain) = (outcomes.actual[at], &plain[at * quantiles..][..quantiles]);
                // Nothing is learned from what is unknown.
                if !actual.is_nan() {
                    self.learn_one(axes.cell(slot, quantity, point), actual, plain);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn learn_one(&mut self, cell: usize, actual: f32, plain: &[f32]) {
        let quantiles = self.levels.len();
        let cells = cell * quantiles..(cell + 1) * quantiles;
        let theta = &mut self.theta[cells.clone()];
        let (size, begun) = (&mut self.size[cell], &mut self.begun[cell]);
        Tracked { theta: &mut *theta, size: &mut *size, begun }.learn(self.levels, actual, plain);
        for (offset, theta) in self.offset[cells].iter_mut().zip(theta) {
            *offset = *theta * *size;
        }
    }

    /// S.
    pub(crate) fn check(&self) -> Result<usize, LengthError> {
        let axes = self.axes;
        let slots = axes.slots("size", self.size.len(), 1)?;
        let cells = self.size.len();
        let values = cells.saturating_mul(axes.quantiles);
        if axes.quantiles == 0 || self.levels.len() != axes.quantiles {
            let length = self.levels.len();
            return Err(LengthError { name: "levels", length, rows: axes.quantiles });
        }
        check("theta", self.theta.len(), values, slots)?;
        check("offset", self.offset.len(), values, slots)?;
        check("begun", self.begun.len(), cells, slots)?;
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: Axes = Axes { quantities: 1, points: 2, quantiles: 3 };
    const LEVELS: [f32; 3] = [0.1, 0.5, 0.9];

    struct State {
        theta: Vec<f32>,
        size: Vec<f32>,
        offset: Vec<f32>,
        begun: Vec<bool>,
    }

    impl State {
        fn new(slots: usize) -> Self {
            Self {
                theta: vec![0.0; slots * 6],
                size: vec![0.0; slots * 2],
                offset: vec![0.0; slots * 6],
                begun: vec![false; slots * 2],
            }
        }

        fn offsets(&mut self) -> Offsets<'_> {
            Offsets {
                axes: AXES,
                levels: &LEVELS,
                theta: &mut self.theta,
                size: &mut self.size,
                offset: &mut self.offset,
                begun: &mut self.begun,
            }
        }
    }

    fn learn(
        mut offsets: Offsets<'_>,
        slots: &[isize],
        point: isize,
        actual: &[f32],
        plain: &[f32],
    ) -> Result<(), String> {
        let outcomes = Outcomes { rows: slots.len(), actual, counts: &[] };
        let (slots, points) = (Index::Each(slots), Index::One(point));
        offsets.learn(slots, points, &outcomes, plain).map_err(|error| error.to_string())
    }

    #[test]
    fn an_outcome_updates_only_its_slot_and_point() {
        let mut state = State::new(2);
        assert_eq!(learn(state.offsets(), &[1], 1, &[110.0], &[100.0]), Ok(()));
        assert_eq!(state.size, [0.0, 0.0, 0.0, 10.0]);
        assert_eq!(state.begun, [false, false, false, true]);
        let moved: Vec<f32> = LEVELS.iter().map(|level| RATE * level).collect();
        assert_eq!(state.theta[9..], moved);
        assert!(state.theta[..9].iter().all(|theta| *theta == 0.0));
        assert_eq!(state.offset[9..], moved.iter().map(|theta| theta * 10.0).collect::<Vec<_>>());
    }

    #[test]
    fn ties_and_unknown_outcomes_change_nothing() {
        let mut state = State::new(1);
        assert_eq!(learn(state.offsets(), &[0], 0, &[f32::NAN], &[5.0]), Ok(()));
        assert!(!state.begun[0]);
        assert_eq!(learn(state.offsets(), &[0], 0, &[5.0], &[5.0]), Ok(()));
        assert!(state.begun[0]);
        let uncounted = Outcomes { rows: 1, actual: &[9.0], counts: &[false] };
        state.offsets().learn(Index::From(0), Index::One(0), &uncounted, &[5.0]).unwrap();
        assert_eq!((state.theta, state.size), (vec![0.0; 6], vec![0.0; 2]));
    }

    #[test]
    fn a_bound_raises_what_it_exceeds_and_shares_the_rest_out() {
        let (mut theta, mut size, mut begun) = (vec![0.0; 3], 100.0, true);
        let tracked = Tracked { theta: &mut theta, size: &mut size, begun: &mut begun };
        tracked.learn_at_least(&LEVELS, 1_250.0, 1_000.0, &[900.0, 1_000.0, 1_500.0]);
        // A share of 0.7 is below 1250: a third of the rest is above the quantile 0.9.
        let expected = [0.1, 0.5, 0.1 * 0.7 / 0.3].map(|step| RATE * step);
        for (theta, expected) in theta.iter().zip(expected) {
            assert!((theta - expected).abs() < 1e-6, "{theta} {expected}");
        }
        assert_eq!(size, 100.0 + SIZE_WEIGHT * (250.0 - 100.0));
        let before = theta.clone();
        let tracked = Tracked { theta: &mut theta, size: &mut size, begun: &mut begun };
        tracked.learn_at_least(&LEVELS, 0.0, 1_000.0, &[900.0, 1_000.0, 1_500.0]);
        assert_eq!(theta, before, "nothing is a bound of nothing");
    }

    #[test]
    fn theta_is_bounded() {
        let mut state = State::new(1);
        for _ in 0..5_000 {
            // Reset, so that every outcome is above the forecast.
            state.size[0] = 0.0;
            assert_eq!(learn(state.offsets(), &[0], 0, &[1.0], &[0.0]), Ok(()));
        }
        assert_eq!(state.theta[..3], [MAX_THETA; 3]);
    }

    #[test]
    fn mismatched_slices_are_named() {
        let mut state = State::new(2);
        let mut refused = |slot, point, actual: &[f32], plain: &[f32]| {
            learn(state.offsets(), &[slot], point, actual, plain).unwrap_err()
        };
        assert_eq!(refused(2, 0, &[1.0], &[1.0]), "slots of row 0 is 2, of 2");
        assert_eq!(refused(0, 2, &[1.0], &[1.0]), "point of row 0 is 2, of 2");
        assert_eq!(refused(0, 0, &[], &[1.0]), "actual has length 0, for 1 rows");
        assert_eq!(refused(0, 0, &[1.0], &[1.0; 2]), "plain has length 2, for 1 rows");
        let counts = Outcomes { rows: 1, actual: &[1.0], counts: &[true; 2] };
        let error = state.offsets().learn(Index::From(0), Index::One(0), &counts, &[1.0]);
        assert_eq!(error.unwrap_err().to_string(), "counts has length 2, for 1 rows");
        let empty = Offsets { levels: &[], ..state.offsets() };
        let error = learn(empty, &[0], 0, &[1.0], &[1.0]).unwrap_err();
        assert_eq!(error, "levels has length 0, for 3 rows");
        let short = Offsets { theta: &mut [0.0; 6], ..state.offsets() };
        let error = learn(short, &[0], 0, &[1.0], &[1.0]).unwrap_err();
        assert_eq!(error, "theta has length 6, for 2 rows");
    }
}
