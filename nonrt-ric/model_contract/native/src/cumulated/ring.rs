//! Running sums and means of the drain, and what they were at recent reports.

use crate::weights::EXPERTS;

use super::MEMORIES;

/// Exponential means of the drain, one for each memory.
pub(super) type Rates = [f32; EXPERTS];

/// A sum of the drain of successive reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sum {
    pub(super) bytes: f32,
    /// Whether the buffer was empty at one of the reports: the radio could have carried more.
    pub(super) is_censored: bool,
}

/// A report of a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Drain since the first report.
    sum: f64,
    /// Reports since then whose buffer was empty.
    empty: u32,
    rates: Rates,
}

/// The newest reports of S slots.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    /// Reports kept of each, a power of two.
    length: usize,
    /// `(S, length)`.
    entries: Vec<Entry>,
    newest: Vec<Newest>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Newest {
    tick: i64,
    /// Reports in a row, up to the length of the ring; 0 before the first.
    reports: i64,
    entry: Entry,
}

impl Ring {
    /// No slots; sums have up to `longest` reports.
    pub(super) fn new(longest: usize) -> Self {
        let length = (longest + 1).next_power_of_two();
        Self { length, entries: Vec::new(), newest: Vec::new() }
    }

    pub(super) fn slots(&self) -> usize {
        self.newest.len()
    }

    pub(super) fn grow(&mut self, slots: usize) {
        self.entries.resize(slots * self.length, Entry::default());
        self.newest.resize(slots, Newest::default());
    }

    pub(super) fn reset(&mut self, slot: usize) {
        self.newest[slot] = Newest::default();
    }

    /// Means at the newest report.
    pub(super) fn rates(&self, slot: usize) -> &Rates {
        &self.newest[slot].entry.rates
    }

    /// Takes in a report. Its drain is the mean since the one before, also where some are missing; an
    /// unknown one, NaN, begins the past anew, as does a silence longer than the ring.
    pub(super) fn add(&mut self, slot: usize, tick: i64, drain: f32, is_empty: bool) {
        let (length, newest) = (self.length as i64, &mut self.newest[slot]);
        let elapsed = tick.saturating_sub(newest.tick);
        newest.tick = tick;
        if !drain.is_finite() {
            newest.reports = 0;
            return;
        }
        if newest.reports == 0 || elapsed <= 0 || elapsed >= length {
            let rates = if newest.reports == 0 && newest.entry.rates != Rates::default() {
                newest.entry.rates
            } else {
                [drain; EXPERTS]
            };
            newest.reports = 1;
            newest.entry = Entry { rates, ..Entry::default() };
        } else {
            newest.reports = (newest.reports + elapsed).min(length);
        }
        let first = if newest.reports == 1 { tick } else { tick - elapsed + 1 };
        for at in first..=tick {
            let entry = &mut newest.entry;
            entry.sum += f64::from(drain);
            entry.empty = entry.empty.wrapping_add(u32::from(is_empty));
            for (rate, memory) in entry.rates.iter_mut().zip(MEMORIES) {
                // An empty buffer bounds the drain from below only.
                if !is_empty || drain > *rate {
                    *rate += (drain - *rate) / memory;
                }
            }
            self.entries[slot * self.length + (at as usize & (self.length - 1))] = *entry;
        }
    }

    /// The sum of the last `reports` reports up to `tick`, the newest, and the means before them; `None`
    /// if not all are known.
    pub(super) fn sum(&self, slot: usize, tick: i64, reports: i64) -> Option<(Sum, Rates)> {
        let newest = &self.newest[slot];
        if reports < 1 || reports >= newest.reports {
            return None;
        }
        let before = tick.wrapping_sub(reports) as usize & (self.length - 1);
        let before = &self.entries[slot * self.length + before];
        let bytes = (newest.entry.sum - before.sum) as f32;
        let is_censored = newest.entry.empty != before.empty;
        Some((Sum { bytes, is_censored }, before.rates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_the_reports_after_an_origin() {
        let mut ring = Ring::new(20);
        ring.grow(2);
        for tick in 100..140 {
            ring.add(1, tick, tick as f32, tick == 125);
        }
        let sum = |reports| ring.sum(1, 139, reports).map(|(sum, _)| sum);
        assert_eq!(sum(3), Some(Sum { bytes: 137.0 + 138.0 + 139.0, is_censored: false }));
        assert_eq!(sum(14).map(|sum| sum.is_censored), Some(false));
        assert_eq!(sum(15).map(|sum| sum.is_censored), Some(true));
        assert_eq!((sum(0), ring.sum(0, 139, 3)), (None, None));
    }

    #[test]
    fn an_empty_buffer_lowers_no_mean() {
        let mut ring = Ring::new(20);
        ring.grow(1);
        (0..10).for_each(|tick| ring.add(0, tick, 800.0, false));
        ring.add(0, 10, 0.0, true);
        assert_eq!(*ring.rates(0), [800.0; EXPERTS]);
        ring.add(0, 11, 900.0, true);
        assert_eq!(ring.rates(0)[0], 810.0, "it could have carried at least as much");
        ring.add(0, 12, f32::NAN, false);
        assert_eq!(ring.sum(0, 12, 1), None);
        assert_eq!(ring.rates(0)[0], 810.0, "what is known of the radio stays");
    }
}
