//! What the host costs the thread that schedules.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Buckets of 1 µs each; the last one also holds all that is longer.
const BUCKETS: usize = 256;

/// Time in the host per slot in which the MAC called it. Written by the MAC's thread without a lock.
pub(crate) struct SlotTimes {
    buckets: [AtomicU64; BUCKETS],
    longest_ns: AtomicU64,
    passed: AtomicU64,
}

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

impl SlotTimes {
    pub(crate) fn new() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            longest_ns: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Slots of the radio since the start.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// A slot in which the host's calls took `took_ns` together; 0 if there was none.
    pub(crate) fn record(&self, took_ns: u64) {
        self.passed.fetch_add(1, Ordering::Relaxed);
        if took_ns == 0 {
            return;
        }
        let bucket = usize::try_from(took_ns / 1000).unwrap_or(BUCKETS).min(BUCKETS - 1);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.longest_ns.fetch_max(took_ns, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> SlotTimeStatus {
        let counts: Vec<u64> =
            self.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let slots: u64 = counts.iter().sum();
        let longest_us = self.longest_ns.load(Ordering::Relaxed).div_ceil(1000);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_ends_of_their_microsecond() {
        let times = SlotTimes::new();
        assert_eq!(times.read().p99_us, None);
        for took_ns in [1_000, 0, 2_500, 3_999] {
            times.record(took_ns);
        }
        assert_eq!(times.passed(), 4);
        assert_eq!(
            times.read(),
            SlotTimeStatus { slots: 3, p50_us: Some(3), p99_us: Some(4), longest_us: 4 }
        );
    }

    #[test]
    fn what_is_longer_than_all_buckets_is_reported_as_the_longest() {
        let times = SlotTimes::new();
        times.record(900);
        times.record(7_000_100);
        assert_eq!(times.read().p50_us, Some(1));
        assert_eq!(times.read().p99_us, Some(7_001));
    }
}
