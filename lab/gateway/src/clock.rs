//! Mapping between virtual time and the wall clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Change of the system clock that is followed: far above the time between two clock reads, far below a
/// latency that matters.
const EPOCH_TOLERANCE_US: u64 = 10_000;

/// Virtual time follows the monotonic clock from an anchor. The Unix time of virtual time 0 is read once
/// per anchor, so time stamps inside and outside payloads agree.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    anchor: Instant,
    anchor_virtual_us: u64,
    epoch_us: u64,
}

impl WallClock {
    /// Anchors `virtual_us` to this moment.
    pub(super) fn anchored_at(virtual_us: u64) -> Self {
        Self {
            anchor: Instant::now(),
            anchor_virtual_us: virtual_us,
            epoch_us: unix_now_us().saturating_sub(virtual_us),
        }
    }

    /// The same anchor with a new epoch, if the system clock was set or the machine slept (which stops
    /// the monotonic clock).
    pub(super) fn resynced(&self) -> Option<Self> {
        let epoch_us = unix_now_us().saturating_sub(self.now_us());
        (epoch_us.abs_diff(self.epoch_us) > EPOCH_TOLERANCE_US)
            .then_some(Self { epoch_us, ..*self })
    }

    /// Present virtual time, µs.
    pub fn now_us(&self) -> u64 {
        self.virtual_us(Instant::now())
    }

    /// Virtual time of a moment, µs; that of the anchor if it was earlier.
    pub fn virtual_us(&self, moment: Instant) -> u64 {
        self.virtual_ns(moment) / 1_000
    }

    /// The same as [`virtual_us`](Self::virtual_us), ns.
    pub fn virtual_ns(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.anchor);
        // 2^64 ns are 584 years.
        let since_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        (self.anchor_virtual_us * 1_000).saturating_add(since_ns)
    }

    /// Unix time of virtual time 0, µs.
    pub(super) fn epoch_us(&self) -> u64 {
        self.epoch_us
    }

    /// Unix time of a virtual time, µs.
    pub(super) fn unix_us(&self, virtual_us: u64) -> u64 {
        self.epoch_us.saturating_add(virtual_us)
    }
}

fn unix_now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, micros)
}

/// Whole microseconds, saturating (2^64 µs are 584 542 years).
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_anchor_maps_virtual_time_to_unix_time() {
        let clock = WallClock::anchored_at(5_000_000);
        assert!(clock.now_us() >= 5_000_000);
        assert_eq!(clock.unix_us(7_000_000), clock.epoch_us() + 7_000_000);
    }

    #[test]
    fn a_change_of_the_system_clock_changes_the_epoch_but_not_virtual_time() {
        let now = WallClock::anchored_at(0);
        let hour_us = 3_600_000_000;
        let before = WallClock { epoch_us: now.epoch_us() - hour_us, ..now };
        let after = before.resynced().expect("an hour is more than the tolerance");
        assert!(after.epoch_us().abs_diff(now.epoch_us()) < hour_us / 2);
        assert_eq!((after.anchor, after.anchor_virtual_us), (now.anchor, now.anchor_virtual_us));
    }
}
