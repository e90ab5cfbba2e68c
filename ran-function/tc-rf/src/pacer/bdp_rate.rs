//! What both forms of 5G-BDP share: the bandwidth from the last four samples and the budget it
//! earns with time, with the constants of the prototype of irazabal2024.

use super::ReceivedStatus;

/// Weights of the samples, newest first. They sum to 1.117.
const WEIGHTS: [f64; 4] = [0.7, 0.3, 0.09, 0.027];
/// Bytes per µs before the first sample.
const INITIAL_BANDWIDTH: f64 = 40.0;
/// How often the bandwidth is updated.
pub(super) const UPDATE_US: u64 = 1_000;
/// Up to this time after an update the pace is `EARLY_FACTOR` times the bandwidth.
const EARLY_US: u64 = 500;
const EARLY_FACTOR: f64 = 1.2;
const LATE_FACTOR: f64 = 1.5;
const EXTRA_BYTES: f64 = 2_800.0;
/// The prototype's budget is never lower.
const FLOOR_BYTES: f64 = 15_000.0;
/// The floor of a slow bearer: a packet that the MAC segments and the next one.
const LEAST_FLOOR_BYTES: f64 = 3_000.0;
/// Most bytes handed down between two updates.
const CAP_BYTES: u64 = 40_000;

#[derive(Clone, Debug)]
pub(super) struct BdpRate {
    /// Bytes per µs, newest first.
    samples: [f64; 4],
    /// What the weighted sum is divided by.
    divisor: f64,
    /// Handed down since the last update.
    sent_bytes: u64,
    /// Not yet drained at the last update.
    occupancy_bytes: u64,
    pub(super) updated_us: u64,
    floor_bytes: f64,
}

impl BdpRate {
    /// The bandwidth as the prototype has it, 11.7 % too high.
    pub(super) fn biased(received: Option<&ReceivedStatus>) -> Self {
        let occupancy_bytes =
            received.map_or(0, |received| u64::from(received.status.occupancy_bytes));
        Self {
            samples: [INITIAL_BANDWIDTH; 4],
            divisor: 1.0,
            sent_bytes: 0,
            occupancy_bytes,
            updated_us: received.map_or(0, |received| received.status.at_us),
            floor_bytes: FLOOR_BYTES,
        }
    }

    /// The bandwidth as it is; what is on F1-U counts as not yet drained.
    pub(super) fn unbiased(received: Option<&ReceivedStatus>) -> Self {
        let occupancy_bytes = received.map_or(0, ReceivedStatus::held_bytes);
        let updated_us = received.map_or(0, |received| received.at_us);
        let divisor = WEIGHTS.iter().sum();
        Self { divisor, occupancy_bytes, updated_us, ..Self::biased(received) }
    }

    /// Takes a sample over `elapsed_us`, which left `occupancy_bytes`.
    pub(super) fn update(&mut self, occupancy_bytes: u64, elapsed_us: u64, at_us: u64) {
        let drained_bytes =
            (self.sent_bytes + self.occupancy_bytes).saturating_sub(occupancy_bytes);
        self.samples.rotate_right(1);
        self.samples[0] = drained_bytes as f64 / elapsed_us.max(1) as f64;
        self.sent_bytes = 0;
        self.occupancy_bytes = occupancy_bytes;
        self.updated_us = at_us;
    }

    /// Lowers the floor to what the bearer drains in a while: 15 kB are 240 ms at 500 kbit/s.
    pub(super) fn limit_floor(&mut self, bytes: f64) {
        self.floor_bytes = bytes.clamp(LEAST_FLOOR_BYTES, FLOOR_BYTES);
    }

    pub(super) fn sent(&mut self, len_bytes: u64) {
        self.sent_bytes += len_bytes;
    }

    /// Bytes per µs.
    pub(super) fn bandwidth(&self) -> f64 {
        let sum: f64 = self.samples.iter().zip(WEIGHTS).map(|(sample, w)| sample * w).sum();
        sum / self.divisor
    }

    /// Time earns no more than one update's worth of bytes.
    pub(super) fn budget_bytes(&self, elapsed_us: u64) -> f64 {
        let factor = if elapsed_us < EARLY_US { EARLY_FACTOR } else { LATE_FACTOR };
        let elapsed_us = elapsed_us.min(UPDATE_US) as f64;
        (factor * elapsed_us * self.bandwidth() + EXTRA_BYTES).max(self.floor_bytes)
    }

    /// Whether a packet fits into the budget and what is meant to be elsewhere.
    pub(super) fn fits(&self, len_bytes: u64, now_us: u64, elsewhere_bytes: f64) -> bool {
        if self.sent_bytes + len_bytes > CAP_BYTES {
            return false;
        }
        let headroom_bytes = if self.sent_bytes != 0 && self.occupancy_bytes != 0 {
            len_bytes / 5
        } else {
            len_bytes / 3
        };
        let held_bytes = self.sent_bytes + self.occupancy_bytes + headroom_bytes;
        held_bytes as f64
            <= self.budget_bytes(now_us.saturating_sub(self.updated_us)) + elsewhere_bytes
    }
}
