//! Drain rate of the RLC buffer as measured by the CU: bytes forwarded minus bytes left.

use super::RlcStatus;

/// Time over which the rate is taken.
const WINDOW_US: u64 = 100_000;

/// Measures the drain of the RLC buffer over windows of 100 ms, downlink or not.
#[derive(Clone, Debug, Default)]
pub(super) struct DrainMeter {
    sent_bytes: u64,
    occupancy_bytes: u64,
    window_start_us: Option<u64>,
    drained_bytes: u64,
    drain_kbps: u32,
}

impl DrainMeter {
    #[inline]
    pub(super) fn sent(&mut self, len_bytes: u64) {
        self.sent_bytes += len_bytes;
    }

    /// SDUs that the RLC returned were not drained.
    pub(super) fn rlc_recalled(&mut self) {
        self.sent_bytes = 0;
        self.occupancy_bytes = 0;
    }

    pub(super) fn status(&mut self, status: &RlcStatus) {
        let occupancy_bytes = u64::from(status.occupancy_bytes);
        let held_bytes = self.occupancy_bytes + std::mem::take(&mut self.sent_bytes);
        self.occupancy_bytes = occupancy_bytes;
        let Some(start_us) = self.window_start_us else {
            self.window_start_us = Some(status.at_us);
            return;
        };
        self.drained_bytes += held_bytes.saturating_sub(occupancy_bytes);
        let elapsed_us = status.at_us.saturating_sub(start_us);
        if elapsed_us >= WINDOW_US {
            let kbps = self.drained_bytes.saturating_mul(8_000) / elapsed_us;
            self.drain_kbps = u32::try_from(kbps).unwrap_or(u32::MAX);
            self.drained_bytes = 0;
            self.window_start_us = Some(status.at_us);
        }
    }

    pub(super) fn drain_kbps(&self) -> u32 {
        self.drain_kbps
    }
}
