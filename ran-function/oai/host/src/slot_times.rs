//! What the host costs the thread that schedules.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::Serialize;

/// Buckets of 1 µs each; the last one also holds all that is longer.
const BUCKETS: usize = 256;

/// Cells that are distinguished (OAI: `cell_id`); slots of others count in none.
const CELLS: usize = 16;

/// Time in the host per slot in which the MAC called it. Written by the MAC's threads without a lock.
struct SlotTimes {
    buckets: [AtomicU64; BUCKETS],
    longest_ns: AtomicU64,
}

/// A cell of the MAC, whose slots are its own: those of two cells at the same time are two.
struct Cell {
    passed: AtomicU64,
    slot_us: AtomicU32,
    whole: SlotTimes,
    own: SlotTimes,
}

/// The cells of a gNB.
pub(crate) struct Cells(Box<[Cell]>);

/// What was recorded since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SlotTimeStatus {
    /// Slots in which the MAC called the host.
    pub slots: u64,
    /// Upper end of the µs that the median is in; none without slots.
    pub p50_us: Option<u64>,
    /// The same of the 99th percentile.
    pub p99_us: Option<u64>,
    /// The longest, rounded up to whole µs.
    pub longest_us: u64,
}

/// A cell since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CellStatus {
    /// Its number, from 0.
    pub cell: u32,
    /// Length of its slots, µs.
    pub slot_us: u32,
    /// Its slots by their length, µs.
    pub radio_us: u64,
    /// What traffic control takes of the MAC's thread in them, with PDCP and RLC for the SDUs that it
    /// hands down.
    pub slot_times: SlotTimeStatus,
    /// What it takes by itself.
    pub slot_times_own: SlotTimeStatus,
}

impl SlotTimes {
    fn new() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BUCKETS], longest_ns: AtomicU64::new(0) }
    }

    /// A slot in which the host's calls took `took_ns` together; 0 if there was none.
    fn record(&self, took_ns: u64) {
        if took_ns == 0 {
            return;
        }
        let bucket = usize::try_from(took_ns / 1000).unwrap_or(BUCKETS).min(BUCKETS - 1);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.longest_ns.fetch_max(took_ns, Ordering::Relaxed);
    }

    /// What several have recorded.
    fn read<'a>(several: impl Iterator<Item = &'a Self>) -> SlotTimeStatus {
        let mut counts = [0; BUCKETS];
        let mut longest_ns = 0;
        for times in several {
            for (sum, count) in counts.iter_mut().zip(&times.buckets) {
                *sum += count.load(Ordering::Relaxed);
            }
            longest_ns = longest_ns.max(times.longest_ns.load(Ordering::Relaxed));
        }
        let slots: u64 = counts.iter().sum();
        let longest_us = longest_ns.div_ceil(1000);
        let percentile = |percent: u64| {
            let rank = (slots * percent).div_ceil(100).max(1);
            let mut so_far = 0;
            let bucket = counts.iter().position(|count| {
                so_far += count;
                so_far >= rank
            })?;
            Some(if bucket == BUCKETS - 1 { longest_us } else { bucket as u64 + 1 })
        };
        SlotTimeStatus { slots, p50_us: percentile(50), p99_us: percentile(99), longest_us }
    }
}

impl Default for Cells {
    fn default() -> Self {
        let cell = |_| Cell {
            passed: AtomicU64::new(0),
            slot_us: AtomicU32::new(0),
            whole: SlotTimes::new(),
            own: SlotTimes::new(),
        };
        Self((0..CELLS).map(cell).collect())
    }
}

impl Cells {
    /// A slot of a cell, of `slot_us`, in which the host took `own_ns` and what it called `below_ns`;
    /// returns the slots of the cell by their length, µs.
    pub(crate) fn record(&self, cell: u32, slot_us: u32, own_ns: u64, below_ns: u64) -> u64 {
        let Some(cell) = self.0.get(cell as usize) else { return 0 };
        let passed = cell.passed.fetch_add(1, Ordering::Relaxed) + 1;
        cell.slot_us.store(slot_us, Ordering::Relaxed);
        cell.whole.record(own_ns + below_ns);
        cell.own.record(own_ns);
        passed * u64::from(slot_us)
    }

    /// Each cell that had slots.
    pub(crate) fn read(&self) -> Vec<CellStatus> {
        let cells = (0..).zip(&self.0);
        let status = |(number, cell): (u32, &Cell)| {
            let passed = cell.passed.load(Ordering::Relaxed);
            let slot_us = cell.slot_us.load(Ordering::Relaxed);
            (passed > 0).then(|| CellStatus {
                cell: number,
                slot_us,
                radio_us: passed * u64::from(slot_us),
                slot_times: SlotTimes::read([&cell.whole].into_iter()),
                slot_times_own: SlotTimes::read([&cell.own].into_iter()),
            })
        };
        cells.filter_map(status).collect()
    }

    /// All cells together, with PDCP and RLC.
    pub(crate) fn all(&self) -> SlotTimeStatus {
        SlotTimes::read(self.0.iter().map(|cell| &cell.whole))
    }

    /// All cells together, the host alone.
    pub(crate) fn all_own(&self) -> SlotTimeStatus {
        SlotTimes::read(self.0.iter().map(|cell| &cell.own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_ends_of_their_microsecond() {
        let cells = Cells::default();
        assert_eq!(cells.all().p99_us, None);
        for took_ns in [1_000, 0, 2_500, 3_999] {
            cells.record(0, 500, took_ns, 0);
        }
        assert_eq!(cells.read()[0].radio_us, 4 * 500);
        assert_eq!(
            cells.all(),
            SlotTimeStatus { slots: 3, p50_us: Some(3), p99_us: Some(4), longest_us: 4 }
        );
    }

    #[test]
    fn what_is_longer_than_all_buckets_is_reported_as_the_longest() {
        let cells = Cells::default();
        cells.record(0, 500, 100, 800);
        cells.record(0, 500, 100, 7_000_000);
        assert_eq!(cells.all().p50_us, Some(1));
        assert_eq!(cells.all().p99_us, Some(7_001));
        assert_eq!(cells.all_own().p99_us, Some(1));
    }

    #[test]
    fn each_cell_has_slots_of_its_own() {
        let cells = Cells::default();
        for at in 0..20 {
            cells.record(0, 500, 2_000, 0);
            if at % 2 == 0 {
                cells.record(3, 1000, 5_000, 0);
            }
        }
        let found: Vec<_> = cells
            .read()
            .into_iter()
            .map(|cell| (cell.cell, cell.slot_us, cell.radio_us, cell.slot_times.p50_us))
            .collect();
        assert_eq!(found, [(0, 500, 10_000, Some(3)), (3, 1000, 10_000, Some(6))]);
        assert_eq!(cells.all().slots, 30);
        cells.record(u32::MAX, 500, 1, 1);
        assert_eq!(cells.read().len(), 2);
    }
}
