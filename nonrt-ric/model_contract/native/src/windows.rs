//! Quantiles of a bearer's last values.

mod kept;

use crate::naive::{Pasts, Span};
use crate::score::MAX_QUANTILES;
use kept::Kept;

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
    /// Reports that an origin is old at most.
    age: usize,
    kept: Option<Box<Kept>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Time of the first report in a row, and of the last; None of both before the first.
    times: Option<(i64, i64)>,
    /// How often reports in a row have begun.
    begun: u32,
}

/// Which values a window has: the same ones have the same quantiles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Version {
    begun: u32,
    number: i64,
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
            age,
            kept: None,
        }
    }

    /// Keeps the quantiles of the windows of one slot from its next report on, for `levels`, which are those
    /// of each call. They are the same as without; it is worth its cost for a slot that is asked for them at
    /// each report.
    pub(crate) fn keep(&mut self, slot: usize, levels: &[f32]) {
        if !self.kept.as_ref().is_some_and(|kept| kept.is_of(slot)) {
            self.kept = Some(Box::new(Kept::new(slot, levels, self.columns(), self.age)));
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

    /// What one of the longer windows has with the report at `tick`.
    pub(crate) fn version(&self, window: usize, slot: usize, tick: i64) -> Version {
        Version { begun: self.slots[slot].begun, number: tick.div_euclid(STRIDES[window]) }
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
        self.kept.take_if(|kept| kept.is_of(slot));
    }

    /// Takes in the report at `tick`, which `pasts` has; `anew` if the past of a quantity began with it.
    pub(crate) fn add(&mut self, slot: usize, tick: i64, pasts: &Pasts, anew: bool) {
        let longest = STRIDES[WINDOWS - 1] * VALUES[WINDOWS - 1] as i64;
        let going_on =
            self.slots[slot].times.filter(|(_, last)| tick > *last && tick - last < longest);
        let (first, last) = going_on.unwrap_or((tick, tick - 1));
        let of = &mut self.slots[slot];
        of.times = Some((first, tick));
        of.begun = of.begun.wrapping_add(going_on.is_none().into());
        self.sample::<1>(slot, last, tick, pasts);
        self.sample::<2>(slot, last, tick, pasts);
        if let Some(mut kept) = self.kept.take_if(|kept| kept.is_of(slot)) {
            kept.add(self, pasts, last, tick, anew || going_on.is_none());
            self.kept = Some(kept);
        }
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
        let column = self.column(of.quantity, of.point);
        let kept = self.kept.as_ref().and_then(|kept| kept.quantiles(window, of, column));
        if let Some(kept) = kept {
            out.copy_from_slice(kept);
            return;
        }
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

    /// Column of a quantity at a point.
    fn column(&self, quantity: usize, point: usize) -> usize {
        match self.rate {
            Some(rate) if quantity > rate => quantity + self.columns() - self.quantities,
            Some(rate) if quantity == rate => rate + self.span_of.get(point).copied().unwrap_or(0),
            _ => quantity,
        }
    }

    /// `(column,)` values that are kept of a number.
    fn sampled_at(&self, window: usize, slot: usize, number: i64) -> &[f32] {
        let (columns, length) = (self.columns(), self.lengths[window]);
        let at = slot * length + number.rem_euclid(length as i64) as usize;
        &self.sampled[window][at * columns..][..columns]
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
        let column = self.column(of.quantity, of.point);
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

/// The value of a key.
#[inline]
const fn value(key: i32) -> f32 {
    f32::from_bits(in_order(key).cast_unsigned())
}

/// Place of the quantile of a level among `count` values in order, of which there is one at least.
#[inline]
fn rank(level: f32, count: usize) -> usize {
    // Rounded up without a call: `ceil` is no instruction on every processor.
    let share = level * count as f32;
    let whole = share as usize;
    (whole + usize::from(share > whole as f32)).clamp(1, count) - 1
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
    ranks.iter_mut().zip(levels).for_each(|(out, level)| *out = rank(*level, count));
    select(keys, 0, ranks, out);
}

/// Writes the values of ranks among keys, of which the first has rank `lowest`. The middle one parts the
/// keys, so that the others are looked for in a part each.
fn select(keys: &mut [i32], lowest: usize, ranks: &[usize], out: &mut [f32]) {
    let middle = ranks.len() / 2;
    let Some(rank) = ranks.get(middle) else { return };
    let (below, key, above) = keys.select_nth_unstable(rank - lowest);
    let value = value(*key);
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
                let anew = [0, 1].map(|quantity| pasts.of_mut(other, quantity).add(tick, value));
                windows.add(other, tick, &pasts, anew.contains(&true));
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

    /// What a bearer reports at a time: after so many periods, a value of each quantity or an unknown one.
    type Report = (i64, [f32; 2]);

    fn report() -> impl Strategy<Value = Report> {
        // Few values, so that many are equal; sometimes a gap, sometimes a time that was before.
        let value = || {
            prop_oneof![
                6 => (0..4_i8).prop_map(f32::from),
                2 => -1e6_f32..1e6,
                1 => Just(f32::NAN),
                1 => Just(-0.0),
            ]
        };
        let after =
            prop_oneof![30 => Just(1_i64), 3 => 2..40_i64, 1 => 300..1_500_i64, 1 => -3..=0_i64];
        (after, [value(), value()])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn kept_quantiles_are_those_that_are_selected(
            reports in prop::collection::vec(report(), 50..900),
            unknown in 0..600_usize,
            from in 0..400_usize,
        ) {
            let (slot, spans, levels, age) = (1, [1, 5, 5, 10], [0.1, 0.5, 0.9, 0.95], 60);
            let mut pasts = Pasts::new(2, Some(1), age, Windows::past(), 10);
            let mut windows = Windows::new(2, Some(1), &spans, age);
            pasts.grow(2);
            windows.grow(2);
            let mut kept = windows.clone();
            let mut tick = 0;
            for (number, (after, values)) in reports.into_iter().enumerate() {
                tick += after;
                if number == from {
                    kept.keep(slot, &levels);
                }
                let mut anew = false;
                for (quantity, value) in values.into_iter().enumerate() {
                    // Now and then a quantity is unknown for longer than its past is kept.
                    let value = if quantity == 0 && number < unknown { f32::NAN } else { value };
                    anew |= pasts.of_mut(slot, quantity).add(tick, value);
                }
                windows.add(slot, tick, &pasts, anew);
                kept.add(slot, tick, &pasts, anew);
                for (window, before, point) in (0..WINDOWS).flat_map(|window| {
                    [0, 1, 13, 59].into_iter().flat_map(move |before| {
                        (0..spans.len()).map(move |point| (window, before, point))
                    })
                }) {
                    for quantity in 0..2 {
                        let of = Origin { slot, quantity, point, tick: tick - before };
                        let (mut one, mut other) = ([0.0; 4], [0.0; 4]);
                        windows.quantiles(window, of, &pasts, &levels, &mut one);
                        kept.quantiles(window, of, &pasts, &levels, &mut other);
                        prop_assert_eq!(one.map(f32::to_bits), other.map(f32::to_bits), "{:?}", of);
                    }
                }
            }
            let newest = Origin { slot, quantity: 1, point: 3, tick };
            let used = kept.kept.as_ref().is_some_and(|kept| kept.quantiles(0, newest, 3).is_some());
            prop_assert_eq!(used, kept.kept.is_some(), "the newest are kept");
        }
    }
}
