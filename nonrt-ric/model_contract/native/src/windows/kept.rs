//! Quantiles of the windows of one bearer, kept while its reports come.
//!
//! A back-test asks for all windows of a bearer at each report, and for those of one origin again at each
//! point. The values of a window then stay in order: one leaves and one enters at a report, and the quantiles
//! are those at fixed places. A bearer in service is asked for its windows at one of about ten reports, for
//! which selecting among a hundred values takes less than following all columns, and no memory.

use super::{MOST_VALUES, Origin, STRIDES, VALUES, WINDOWS, Windows, key, rank, value};
use crate::naive::{Pasts, Span};

/// Key that stands for no value: that of a NaN, which is never in a window. It is behind all others.
const NONE: i32 = i32::MAX;
/// Places of a window, of which the last has no value.
const PLACES: usize = MOST_VALUES + 1;

/// The keys of a window in order, then [`NONE`], and their number.
#[derive(Debug, Clone)]
struct Ordered([i32; PLACES], usize);

impl Ordered {
    const EMPTY: Self = Self([NONE; PLACES], 0);

    /// Number of keys below one.
    #[inline]
    fn below(&self, key: i32) -> usize {
        // Of all places and without branches: some instructions of a vector unit.
        let sum: i32 = self.0.iter().map(|one| i32::from(*one < key)).sum();
        sum as usize
    }

    /// One key for another; one of them may be [`NONE`].
    #[inline]
    fn replace(&mut self, leaves: i32, enters: i32) {
        if leaves == enters {
            return;
        }
        self.1 = self.1 + usize::from(enters != NONE) - usize::from(leaves != NONE);
        let (from, to) = (self.below(leaves), self.below(enters));
        if from < to {
            self.0.copy_within(from + 1..to, from);
            self.0[to - 1] = enters;
        } else {
            self.0.copy_within(to..from, to + 1);
            self.0[to] = enters;
        }
    }
}

/// One window of all columns.
#[derive(Debug, Clone)]
struct OfWindow {
    /// `(column,)`.
    ordered: Vec<Ordered>,
    /// `(VALUES, column)` keys as they entered, a ring by number.
    entered: Vec<i32>,
    /// `(length,)` numbers of the values with which `quantiles` end, a ring; the length is a power of two.
    numbers: Vec<Option<i64>>,
    /// `(length, column, Q)`.
    quantiles: Vec<f32>,
}

/// The windows of one slot.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    slot: usize,
    levels: Vec<f32>,
    /// Whether the windows have the reports until now.
    has_begun: bool,
    windows: [OfWindow; WINDOWS],
    /// `(column,)` keys that enter.
    entering: Vec<i32>,
}

impl Kept {
    /// No values yet; origins are at most `age` reports old.
    pub(super) fn new(slot: usize, levels: &[f32], columns: usize, age: usize) -> Self {
        let windows = std::array::from_fn(|window| {
            let length = (age.div_ceil(STRIDES[window] as usize) + 2).next_power_of_two();
            OfWindow {
                ordered: vec![Ordered::EMPTY; columns],
                entered: vec![NONE; VALUES[window] * columns],
                numbers: vec![None; length],
                quantiles: vec![f32::NAN; length * columns * levels.len()],
            }
        });
        let entering = vec![NONE; columns];
        Self { slot, levels: levels.to_vec(), has_begun: false, windows, entering }
    }

    pub(super) fn is_of(&self, slot: usize) -> bool {
        self.slot == slot
    }

    /// The quantiles of a column of a window at an origin, if they are kept.
    #[inline]
    pub(super) fn quantiles(&self, window: usize, of: Origin, column: usize) -> Option<&[f32]> {
        let number = of.tick.div_euclid(STRIDES[window]);
        let kept = &self.windows[window];
        let at = number as usize & (kept.numbers.len() - 1);
        if of.slot != self.slot || kept.numbers[at] != Some(number) {
            return None;
        }
        let each = self.levels.len();
        Some(&kept.quantiles[(at * self.entering.len() + column) * each..][..each])
    }

    /// Takes in the reports after `last` up to `tick` that `of` has. With `anew` earlier values have changed.
    pub(super) fn add(&mut self, of: &Windows, pasts: &Pasts, last: i64, tick: i64, anew: bool) {
        let Some((first, _)) = of.slots[self.slot].times else { return };
        let anew = anew || !self.has_begun;
        self.has_begun = true;
        for window in 0..WINDOWS {
            let stride = STRIDES[window];
            let newest = tick.div_euclid(stride);
            let oldest = (newest - VALUES[window] as i64).max((first - 1).div_euclid(stride)) + 1;
            let next = last.div_euclid(stride) + 1;
            let goes_on = !anew && next >= oldest;
            if !goes_on {
                self.clear(window);
            }
            for number in if goes_on { next } else { oldest }..=newest {
                self.read(window, number, of, pasts);
                self.enter(window, number);
                // Of values that are read again the last has all before it.
                if goes_on || number == newest {
                    self.keep(window, number);
                }
            }
        }
    }

    fn clear(&mut self, window: usize) {
        let kept = &mut self.windows[window];
        kept.ordered.fill(Ordered::EMPTY);
        kept.entered.fill(NONE);
        kept.numbers.fill(None);
    }

    /// Reads the values of a number.
    fn read(&mut self, window: usize, number: i64, of: &Windows, pasts: &Pasts) {
        let known = |value: f32| if value.is_nan() { NONE } else { key(value) };
        if window > 0 {
            let sampled = of.sampled_at(window, self.slot, number);
            self.entering.iter_mut().zip(sampled).for_each(|(out, value)| *out = known(*value));
            return;
        }
        let mut out = self.entering.iter_mut();
        for quantity in 0..of.quantities {
            let past = pasts.of(self.slot, quantity);
            let spans: &[Span] = if of.rate == Some(quantity) { &of.spans } else { &[] };
            let spans = spans.iter().map(Some).chain(spans.is_empty().then_some(None));
            for (span, out) in spans.zip(&mut out) {
                *out = known(past.value_at(number, span));
            }
        }
    }

    /// Values for those that entered as long before as a window is.
    fn enter(&mut self, window: usize, number: i64) {
        let columns = self.entering.len();
        let kept = &mut self.windows[window];
        let oldest = number.rem_euclid(VALUES[window] as i64) as usize;
        let leaving = &mut kept.entered[oldest * columns..][..columns];
        let keys = leaving.iter_mut().zip(&self.entering);
        for (ordered, (leaves, enters)) in kept.ordered.iter_mut().zip(keys) {
            ordered.replace(*leaves, *enters);
            *leaves = *enters;
        }
    }

    /// Keeps the quantiles with which a number ends.
    fn keep(&mut self, window: usize, number: i64) {
        let each = self.levels.len();
        let OfWindow { ordered, numbers, quantiles, .. } = &mut self.windows[window];
        let at = number as usize & (numbers.len() - 1);
        numbers[at] = Some(number);
        let outs = quantiles[at * ordered.len() * each..].chunks_exact_mut(each);
        for (ordered, out) in ordered.iter().zip(outs) {
            let count = ordered.1;
            if count == 0 {
                out.fill(f32::NAN);
                continue;
            }
            for (out, level) in out.iter_mut().zip(&self.levels) {
                *out = value(ordered.0[rank(*level, count)]);
            }
        }
    }
}
