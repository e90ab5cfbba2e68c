//! 5G-BDP ([24] of irazabal2021, described there in §IV-A) with the constants of the prototype of
//! irazabal2024.
//!
//! It hands down what the RLC buffer drains in the time since the last update, counting what is
//! left in the buffer, with head room. Two differences from the prototype:
//! - Its weights .7, .3, .09 and .027 of the last four samples sum to 1.117, which makes every
//!   estimate 11.7 % too high. Here the sum is divided by that.
//! - Its millisecond is a millisecond of downlink: uplink slots of TDD do not count.

use super::RlcStatus;

/// Weights of the samples, newest first.
const WEIGHTS: [f64; 4] = [0.7, 0.3, 0.09, 0.027];
/// Bytes per µs before the first sample.
const INITIAL_BANDWIDTH: f64 = 40.0;
/// How often the bandwidth is updated.
const UPDATE_US: u64 = 1_000;
/// Up to this time after an update the pace is `EARLY_FACTOR` times the bandwidth.
const EARLY_US: u64 = 500;
const EARLY_FACTOR: f64 = 1.2;
const LATE_FACTOR: f64 = 1.5;
const EXTRA_BYTES: f64 = 2_800.0;
/// The budget is never lower.
const FLOOR_BYTES: f64 = 15_000.0;
/// Most bytes handed down between two updates.
const CAP_BYTES: u64 = 40_000;

#[derive(Clone, Debug)]
pub(super) struct Bdp5g {
    /// Bytes per µs, newest first.
    samples: [f64; 4],
    /// Handed down since the last update.
    sent_bytes: u64,
    /// In the RLC buffer at the last update.
    occupancy_bytes: u64,
    updated_us: u64,
    /// Downlink time since the last update.
    downlink_us: u64,
}

impl Bdp5g {
    pub(super) fn new(status: Option<&RlcStatus>) -> Self {
        Self {
            samples: [INITIAL_BANDWIDTH; 4],
            sent_bytes: 0,
            occupancy_bytes: status.map_or(0, |status| u64::from(status.occupancy_bytes)),
            updated_us: status.map_or(0, |status| status.at_us),
            downlink_us: 0,
        }
    }

    /// After a TTI with downlink.
    pub(super) fn status(&mut self, status: &RlcStatus) {
        self.downlink_us += u64::from(status.tti_us.max(1));
        if self.downlink_us < UPDATE_US {
            return;
        }
        let occupancy_bytes = u64::from(status.occupancy_bytes);
        let drained_bytes =
            (self.sent_bytes + self.occupancy_bytes).saturating_sub(occupancy_bytes);
        self.samples.rotate_right(1);
        self.samples[0] = drained_bytes as f64 / self.downlink_us as f64;
        self.sent_bytes = 0;
        self.occupancy_bytes = occupancy_bytes;
        self.updated_us = status.at_us;
        self.downlink_us = 0;
    }

    pub(super) fn sent(&mut self, len_bytes: u64) {
        self.sent_bytes += len_bytes;
    }

    /// Bytes per µs.
    fn bandwidth(&self) -> f64 {
        let sum: f64 = self.samples.iter().zip(WEIGHTS).map(|(sample, w)| sample * w).sum();
        sum / WEIGHTS.iter().sum::<f64>()
    }

    fn budget_bytes(&self, elapsed_us: u64) -> f64 {
        let factor = if elapsed_us < EARLY_US { EARLY_FACTOR } else { LATE_FACTOR };
        let elapsed_us = elapsed_us.min(UPDATE_US) as f64;
        (factor * elapsed_us * self.bandwidth() + EXTRA_BYTES).max(FLOOR_BYTES)
    }

    pub(super) fn may_send(&self, len_bytes: u64, now_us: u64) -> bool {
        if self.sent_bytes + len_bytes > CAP_BYTES {
            return false;
        }
        let headroom_bytes = if self.sent_bytes != 0 && self.occupancy_bytes != 0 {
            len_bytes / 5
        } else {
            len_bytes / 3
        };
        let held_bytes = self.sent_bytes + self.occupancy_bytes + headroom_bytes;
        held_bytes as f64 <= self.budget_bytes(now_us.saturating_sub(self.updated_us))
    }

    /// Until when time alone makes the budget grow.
    pub(super) fn grows_until_us(&self) -> u64 {
        self.updated_us + UPDATE_US
    }

    pub(super) fn limit_bytes(&self) -> u64 {
        self.budget_bytes(UPDATE_US) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(at_us: u64, occupancy_bytes: u32, tti_us: u32) -> RlcStatus {
        RlcStatus {
            at_us,
            occupancy_bytes,
            occupancy_packets: 0,
            capacity_bytes_per_tti: 0,
            tti_us,
            dl_opportunity: true,
        }
    }

    #[test]
    fn a_steady_drain_is_estimated_without_bias() {
        let mut pacer = Bdp5g::new(None);
        for ms in 1..=4 {
            pacer.sent(20_000);
            pacer.status(&status(ms * 1000, 0, 1000));
        }
        assert!((pacer.bandwidth() - 20.0).abs() < 1e-9);
        assert_eq!(pacer.limit_bytes(), 32_800, "1.5 × 1000 µs × 20 B/µs + 2800 B");
    }

    #[test]
    fn half_millisecond_slots_make_one_update_per_millisecond() {
        let mut pacer = Bdp5g::new(None);
        pacer.sent(3_000);
        pacer.status(&status(500, 1_500, 500));
        assert_eq!(pacer.updated_us, 0);
        pacer.status(&status(1_000, 0, 500));
        assert_eq!(pacer.updated_us, 1_000);
        assert!((pacer.samples[0] - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_slow_bearer_keeps_the_floor_and_no_more() {
        let mut pacer = Bdp5g::new(None);
        for ms in 1..=8 {
            pacer.status(&status(ms * 1000, 0, 1000));
        }
        let mut held = 0;
        while pacer.may_send(1500, 8_900) {
            pacer.sent(1500);
            held += 1500;
        }
        assert!((15_000..=16_500).contains(&held), "{held}");
    }

    #[test]
    fn a_bloated_rlc_buffer_is_given_nothing() {
        let pacer = Bdp5g::new(Some(&status(0, 1_500_000, 1000)));
        assert!(!pacer.may_send(40, 1_000));
    }
}
