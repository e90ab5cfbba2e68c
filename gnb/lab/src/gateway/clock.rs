//! The mapping between virtual time and the wall clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Virtual time runs with the monotonic clock from an anchor; the Unix time of virtual zero is
/// read once per anchor, so that time stamps inside and outside payloads never disagree.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallClock {
    anchor: Instant,
    anchor_virtual_us: u64,
    epoch_us: u64,
}

impl WallClock {
    /// Anchors `virtual_us` to this moment.
    pub(super) fn anchored_at(virtual_us: u64) -> Self {
        let unix_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, micros);
        Self {
            anchor: Instant::now(),
            anchor_virtual_us: virtual_us,
            epoch_us: unix_us.saturating_sub(virtual_us),
        }
    }

    /// Virtual time that the wall clock has reached.
    pub(super) fn now_us(&self) -> u64 {
        self.anchor_virtual_us + micros(self.anchor.elapsed())
    }

    /// Unix time of virtual zero, µs.
    pub(super) fn epoch_us(&self) -> u64 {
        self.epoch_us
    }

    /// Unix time of a virtual time, µs.
    pub(super) fn unix_us(&self, virtual_us: u64) -> u64 {
        self.epoch_us.saturating_add(virtual_us)
    }
}

/// Whole microseconds, saturating (2^64 µs are 584 542 years).
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
