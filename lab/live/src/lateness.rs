//! How far the run was from what the scenario says: slots that ran late, packets that were read or
//! written late.

use hdrhistogram::Histogram;
use lab_gateway::SlotLateness;
use serde::Serialize;

/// Longest lateness that is distinguished.
const MAX_US: u64 = 60_000_000;
/// Significant digits.
const DIGITS: u8 = 3;

/// Lateness since the start of the run.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    /// Slots that ran more than a slot late while the gNB carried packets, and slots in all.
    late_slots: u64,
    busy_slots: u64,
    /// How late the latest slot ran.
    worst_slot_us: u64,
    /// Delivery to a kernel after the virtual time of arrival.
    written: Option<Histogram<u64>>,
    /// Entry to the world after the time at which the packet was read.
    read: Option<Histogram<u64>>,
}

/// Lateness of a run, for its summary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct LatenessSummary {
    /// Slots that ran more than a slot late while the gNB carried packets.
    pub(crate) late_slots: u64,
    /// Slots while the gNB carried packets.
    pub(crate) busy_slots: u64,
    /// How late the latest of them ran.
    pub(crate) worst_slot_us: u64,
    /// Delivery to a kernel after the time that the scenario says.
    pub(crate) delivery_us: Percentiles,
    /// Entry to the gNB after the kernel sent.
    pub(crate) entry_us: Percentiles,
}

/// Percentiles in µs; 0 without packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = || Histogram::new_with_bounds(1, MAX_US, DIGITS).ok();
        Self {
            late_slots: 0,
            busy_slots: 0,
            worst_slot_us: 0,
            written: histogram(),
            read: histogram(),
        }
    }
}

impl Lateness {
    /// Records the slots from `first_us` on, each `slot_us` long, that a step until `until_us` ran; it
    /// ended at `now_us`.
    pub(crate) fn ran_slots(&mut self, first_us: u64, slot_us: u64, until_us: u64, now_us: u64) {
        if first_us > until_us || slot_us == 0 {
            return;
        }
        let count_until = |us: u64| us.checked_sub(first_us).map_or(0, |span| span / slot_us + 1);
        let ran = count_until(until_us);
        self.busy_slots += ran;
        // The first of them is the latest.
        self.worst_slot_us = self.worst_slot_us.max(now_us.saturating_sub(first_us));
        self.late_slots += ran.min(count_until(now_us.saturating_sub(slot_us + 1)));
    }

    /// Records a packet that was handed to a kernel.
    pub(crate) fn delivered(&mut self, arrived_us: u64, now_us: u64) {
        record(&mut self.written, now_us.saturating_sub(arrived_us));
    }

    /// Records a packet that entered the world.
    pub(crate) fn entered(&mut self, read_us: u64, world_us: u64) {
        record(&mut self.read, world_us.saturating_sub(read_us));
    }

    /// The slots, for metrics.
    pub(crate) fn slots(&self) -> SlotLateness {
        SlotLateness {
            slots: self.busy_slots,
            late_slots: self.late_slots,
            worst_us: self.worst_slot_us,
        }
    }

    pub(crate) fn summary(&self) -> LatenessSummary {
        LatenessSummary {
            late_slots: self.late_slots,
            busy_slots: self.busy_slots,
            worst_slot_us: self.worst_slot_us,
            delivery_us: percentiles(&self.written),
            entry_us: percentiles(&self.read),
        }
    }
}

fn record(histogram: &mut Option<Histogram<u64>>, us: u64) {
    if let Some(histogram) = histogram {
        histogram.saturating_record(us);
    }
}

fn percentiles(histogram: &Option<Histogram<u64>>) -> Percentiles {
    let filled = histogram.as_ref().filter(|histogram| !histogram.is_empty());
    filled.map_or_else(Percentiles::default, |histogram| Percentiles {
        p50: histogram.value_at_quantile(0.5),
        p99: histogram.value_at_quantile(0.99),
        max: histogram.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_ran_more_than_a_slot_late_are_counted() {
        let mut lateness = Lateness::default();
        // Slots at 1000, 1500 and 2000; at 2100 the first is 1100 µs late, the second 600, the third 100.
        lateness.ran_slots(1000, 500, 2050, 2100);
        assert_eq!((lateness.busy_slots, lateness.late_slots), (3, 2));
        lateness.ran_slots(2500, 500, 2600, 2900);
        assert_eq!((lateness.busy_slots, lateness.late_slots), (4, 2), "400 µs late");
        lateness.ran_slots(3000, 500, 2999, 9000);
        assert_eq!((lateness.busy_slots, lateness.late_slots), (4, 2), "no slot ran");
        assert_eq!(lateness.slots(), SlotLateness { slots: 4, late_slots: 2, worst_us: 1100 });
    }

    #[test]
    fn percentiles_are_of_what_was_recorded() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary().delivery_us, Percentiles::default());
        for us in 1..=100 {
            lateness.delivered(1000, 1000 + us);
        }
        lateness.entered(50, 20);
        let summary = lateness.summary();
        assert_eq!(summary.delivery_us, Percentiles { p50: 50, p99: 99, max: 100 });
        assert_eq!(summary.entry_us.max, 0, "a packet may be read after the last step");
    }
}
