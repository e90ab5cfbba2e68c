//! Quantiles of a bearer's last values.

use crate::naive::{Pasts, Span};
use crate::score::MAX_QUANTILES;

/// What the forecasters of a point follow from, at an origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) slot: usize,
    pub(crate) quantity: usize,
    pub(crate) point: usize,
    pub(crate) tick: i64,
}

/// Windows of 100, 300 and 1000 reports.
pub(crate) const WINDOWS: usize = 3;
/// Reports from one value of a window to the next, coprime to TDD patterns and voice frames (38.331
/// dl-UL-TransmissionPeriodicity), so that all of their slots are seen.
const STRIDES: [i64; WINDOWS] = [1, 3, 9];
/// Values of a window.
const VALUES: [usize; WINDOWS] = [100, 100, 111];
const MOST_VALUES: usize = 111;

/// The sampled past of S slots: the first window's values are in [`Pasts`].
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    quantities: usize,
    /// The quantity that is a mean over a span, and the distinct spans.
    rate: Option<usize>,
    spans: Vec<Span>,
    /// `(M,)` number of the span of each point.
    span_of: Vec<usize>,
    /// Values kept for each of the longer windows.
    lengths: [usize; WINDOWS],
    /// `(S, length, column)` of each; columns are the quantities, that of the rate once for each span.
    sampled: [Vec<f32>; WINDOWS],
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Time of the first report in a row, and of the last; None of both before the first.
    times: Option<(i64, i64)>,
}

impl Windows {
    /// No slots. Origins are at most `age` reports old; `spans` are those of the points of `rate`.
    pub(crate) fn new(quantities: usize, rate: Option<usize>, spans: &[i64], age: usize) -> Self {
        let mut distinct: Vec<i64> = spans.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let number = |span: &i64| distinct.iter().position(|one| one == span).unwrap_or(0);
        let length = |window: usize| {
            if window == 0 {
                0
            } else {
                VALUES[window] + age.div_ceil(STRIDES[window] as usize) + 1
            }
        };
        Self {
            quantities,
            rate,
            span_of: spans.iter().map(number).collect(),
            spans: distinct.into_iter().map(Span::new).collect(),
            lengths: std::array::from_fn(length),
            sampled: std::array::from_fn(|_| Vec::new()),
            slots: Vec::new(),
        }
    }

    /// Reports before an origin that the shortest window takes from [`Pasts`].
    pub(crate) const fn past() -> usize {
        VALUES[0]
    }

    /// Time of the newest report of a slot.
    pub(crate) fn newest(&self, slot: usize) -> Option<i64> {
        self.slots[slot].times.map(|(_, newest)| newest)
    }

    fn columns(&self) -> usize {
        self.quantities + if self.rate.is_some() { self.spans.len().max(1) - 1 } else { 0 }
    }

    pub(crate) fn grow(&mut self, slots: usize) {
        let columns = self.columns();
        for (sampled, length) in self.sampled.iter_mut().zip(self.lengths) {
            sampled.resize(slots * length * columns, 0.0);
        }
        self.slots.resize(slots, Slot::default());
    }

    /// Forgets a slot.
    pub(crate) fn reset(&mut self, slot: usize) {
        self.slots[slot] = Slot::default();
    }

    /// Takes in the report at `tick`, which `pasts` has.
    pub(crate) fn add(&mut self, slot: usize, tick: i64, pasts: &Pasts) {
        let longest = STRIDES[WINDOWS - 1] * VALUES[WINDOWS - 1] as i64;
        let (first, last) = match self.slots[slot].times {
            Some((first, last)) if tick > last && tick - last < longest => (first, last),
            _ => (tick, tick - 1),
        };
        self.slots[slot].times = Some((first, tick));
        self.sample::<1>(slot, last, tick, pasts);
        self.sample::<2>(slot, last, tick, pasts);
    }

    /// Keeps the values of the reports after `last` up to `tick` for a window, at its stride.
    fn sample<const WINDOW: usize>(&mut self, slot: usize, last: i64, tick: i64, pasts: &Pasts) {
        let stride = const { STRIDES[WINDOW] };
        for number in last.div_euclid(stride) + 1..=tick.div_euclid(stride) {
            self.sample_one(WINDOW, slot, number, pasts);
        }
    }

    fn sample_one(&mut self, window: usize, slot: usize, number: i64, pasts: &Pasts) {
        let (columns, length) = (self.columns(), self.lengths[window]);
        let at = (slot * length + number.rem_euclid(length as i64) as usize) * columns;
        let mut out = &mut self.sampled[window][at..][..columns];
        let tick = number * STRIDES[window];
        for quantity in 0..self.quantities {
            let past = pasts.of(slot, quantity);
            let spans: &[Span] = if self.rate == Some(quantity) { &self.spans } else { &[] };
            let (here, after) = out.split_at_mut(spans.len().max(1));
            out = after;
            if !past.origin(tick).is_known() {
                here.fill(f32::NAN);
            } else if spans.is_empty() {
                here[0] = past.value_at(tick, None);
            } else {
                past.last_means(tick, spans, here);
            }
        }
    }

    /// Writes the quantiles of a window at an origin; NaN if it has no value.
    pub(crate) fn quantiles(
        &self,
        window: usize,
        of: Origin,
        pasts: &Pasts,
        levels: &[f32],
        out: &mut [f32],
    ) {
        let mut keys = [0; MOST_VALUES];
        let count = if window == 0 {
            self.last_values(of, pasts, &mut keys)
        } else {
            self.sampled_values(window, of, &mut keys)
        };
        quantiles(&mut keys[..count], levels, out);
    }

    /// Whether a point has the windows of the point before it.
    pub(crate) fn are_those_before(&self, quantity: usize, point: usize) -> bool {
        let span = |point: usize| self.span_of.get(point);
        point > 0 && (self.rate != Some(quantity) || span(point) == span(point - 1))
    }

    fn last_values(&self, of: Origin, pasts: &Pasts, out: &mut [i32; MOST_VALUES]) -> usize {
        let Some((first, _)) = self.slots[of.slot].times else { return 0 };
        let past = pasts.of(of.slot, of.quantity);
        let span = if self.rate == Some(of.quantity) {
            self.span_of.get(of.point).map(|number| &self.spans[*number])
        } else {
            None
        };
        let count = of.tick.saturating_sub(first).saturating_add(1).clamp(0, VALUES[0] as i64);
        for (out, before) in out.iter_mut().zip(0..count) {
            *out = key(past.value_at(of.tick.wrapping_sub(before), span));
        }
        count as usize
    }

    fn sampled_values(&self, window: usize, of: Origin, out: &mut [i32; MOST_VALUES]) -> usize {
        let Some((first, _)) = self.slots[of.slot].times else { return 0 };
        let (columns, length, stride) = (self.columns(), self.lengths[window], STRIDES[window]);
        let column = match self.rate {
            Some(rate) if of.quantity > rate => of.quantity + columns - self.quantities,
            Some(rate) if of.quantity == rate => {
                rate + self.span_of.get(of.point).copied().unwrap_or(0)
            }
            _ => of.quantity,
        };
        let newest = of.tick.div_euclid(stride);
        let before_first = first.wrapping_sub(1).div_euclid(stride);
        let reported = newest.saturating_sub(before_first).clamp(0, VALUES[window] as i64) as usize;
        // The ring from the oldest value on: up to its end, and the rest from its start.
        let oldest = newest.wrapping_sub(reported as i64 - 1).rem_euclid(length as i64) as usize;
        let to_end = reported.min(length - oldest);
        let sampled = &self.sampled[window][of.slot * length * columns..][..length * columns];
        let mut count = 0;
        for (from, values) in [(oldest, to_end), (0, reported - to_end)] {
            let run = &sampled[from * columns..(from + values) * columns];
            for values in run.chunks_exact(columns) {
                // An unknown value is overwritten by the next, so that there is no branch.
                out[count.min(MOST_VALUES - 1)] = key(values[column]);
                count += usize::from(!values[column].is_nan());
            }
        }
        count
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.sampled.iter().map(|sampled| size_of_val(&**sampled)).sum::<usize>()
            + size_of_val(&*self.slots)
    }
}

/// An integer that orders values as [`f32::total_cmp`] does, at one instruction a comparison.
#[inline]
fn key(value: f32) -> i32 {
    in_order(value.to_bits().cast_signed())
}

/// Bits of a value to its key, and back.
#[inline]
const fn in_order(bits: i32) -> i32 {
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

/// The least values at or below which are shares `levels` of all, which increase; NaN without values.
fn quantiles(keys: &mut [i32], levels: &[f32], out: &mut [f32]) {
    let count = keys.len();
    if count == 0 {
        out.fill(f32::NAN);
        return;
    }
    let mut ranks = [0; MAX_QUANTILES];
    let ranks = &mut ranks[..levels.len()];
    for (rank, level) in ranks.iter_mut().zip(levels) {
        *rank = ((level * count as f32).ceil() as usize).clamp(1, count) - 1;
    }
    select(keys, 0, ranks, out);
}

/// Writes the values of ranks among keys, of which the first has rank `lowest`. The middle one parts the
/// keys, so that the others are looked for in a part each.
fn select(keys: &mut [i32], lowest: usize, ranks: &[usize], out: &mut [f32]) {
    let middle = ranks.len() / 2;
    let Some(rank) = ranks.get(middle) else { return };
    let (below, key, above) = keys.select_nth_unstable(rank - lowest);
    let value = f32::from_bits(in_order(*key).cast_unsigned());
    let lower = ranks.partition_point(|one| one < rank);
    let up_to = ranks.partition_point(|one| one <= rank);
    out[lower..up_to].fill(value);
    select(below, lowest, &ranks[..lower], &mut out[..lower]);
    select(above, rank + 1, &ranks[up_to..], &mut out[up_to..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_the_least_values_that_cover_their_share(
            mut values in prop::collection::vec(
                prop_oneof![Just(0.0), -1e6_f32..1e6, prop::num::f32::ANY], 1..MOST_VALUES),
            mut levels in prop::collection::vec(0.001_f32..0.999, 1..6),
        ) {
            levels.sort_by(f32::total_cmp);
            let mut keys: Vec<i32> = values.iter().map(|value| key(*value)).collect();
            let mut out = vec![0.0; levels.len()];
            quantiles(&mut keys, &levels, &mut out);
            values.sort_by(f32::total_cmp);
            for (level, out) in levels.iter().zip(&out) {
                let rank = (level * values.len() as f32).ceil() as usize;
                prop_assert_eq!(out.to_bits(), values[rank.max(1) - 1].to_bits());
            }
        }
    }

    #[test]
    fn without_values_quantiles_are_unknown() {
        let mut out = [0.0; 4];
        quantiles(&mut [], &[0.1, 0.5, 0.9, 0.95], &mut out);
        assert!(out.iter().all(|out| out.is_nan()));
        quantiles(&mut [key(7.0)], &[0.1, 0.5, 0.9, 0.95], &mut out);
        assert_eq!(out, [7.0; 4]);
    }

    /// Quantiles of each window at an origin, of values that are added at each tick but some.
    fn found(
        from: i64,
        until: i64,
        origin: i64,
        missing: impl Fn(i64) -> bool,
    ) -> [[f32; 2]; WINDOWS] {
        let (slot, spans) = (1, [1, 5]);
        let mut pasts = Pasts::new(2, Some(1), 124, Windows::past(), 20);
        let mut windows = Windows::new(2, Some(1), &spans, 124);
        pasts.grow(3);
        windows.grow(3);
        for tick in (from..=until).filter(|tick| !missing(*tick)) {
            for other in 0..3 {
                // The neighbours have other values.
                let value = if other == slot { tick as f32 } else { -1.0 };
                (0..2).for_each(|quantity| pasts.of_mut(other, quantity).add(tick, value));
                windows.add(other, tick, &pasts);
            }
        }
        std::array::from_fn(|window| {
            [0, 1].map(|quantity| {
                let (mut out, of) = ([0.0], Origin { slot, quantity, point: 1, tick: origin });
                windows.quantiles(window, of, &pasts, &[0.5], &mut out);
                out[0]
            })
        })
    }

    #[test]
    fn a_window_has_the_last_values_before_an_origin() {
        // Middle values of 100, 300 and 1000 reports; of the rate, means of the last five.
        let [short, middle, long] = found(1, 3_000, 2_900, |_| false);
        assert_eq!(short, [2_850.0, 2_848.0]);
        assert_eq!(middle, [2_748.0, 2_746.0]);
        assert!((2_390.0..2_410.0).contains(&long[0]) && long[1] == long[0] - 2.0, "{long:?}");
    }

    #[test]
    fn a_young_past_is_not_filled_up() {
        let [short, middle, long] = found(1_001, 1_061, 1_061, |_| false);
        assert_eq!((short[0], middle[0], long[0]), (1_031.0, 1_029.0, 1_026.0));
    }

    #[test]
    fn the_last_value_stands_for_missing_reports() {
        let [short, middle, _] = found(1, 900, 900, |tick| (860..880).contains(&tick));
        assert_eq!(short[0], 850.0);
        assert!((747.0..=751.0).contains(&middle[0]), "{middle:?}");
    }
}
