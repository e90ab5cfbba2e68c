//! The loss-based rate: draft-ietf-rmcat-gcc-02 §6.

/// A loss rate below this increases the rate (§6).
const LOW: f64 = 0.02;
/// A loss rate above this decreases the rate (§6).
const HIGH: f64 = 0.10;
/// Minimum number of packets for a loss rate, as in libwebrtc.
const MIN_PACKETS: u64 = 20;
/// Time over which losses are counted: that of an RTCP report, µs.
const REPORT_US: u64 = 1_000_000;

/// As_hat of §6, with its loss counters. The draft leaves the initial value open; here it is the
/// maximum, since no loss has occurred.
#[derive(Debug, Clone)]
pub(super) struct LossRate {
    rate_bps: f64,
    received: u64,
    lost: u64,
    since_us: Option<u64>,
}

impl LossRate {
    pub(super) fn new(max_bps: f64) -> Self {
        Self { rate_bps: max_bps, received: 0, lost: 0, since_us: None }
    }

    /// As_hat, bit/s.
    pub(super) fn bps(&self) -> f64 {
        self.rate_bps
    }

    /// Counts the losses of a report and updates the rate once a second. `in_force_bps` is the rate
    /// at which the losses occurred.
    pub(super) fn update(&mut self, received: u64, lost: u64, in_force_bps: f64, now_us: u64) {
        self.received += received;
        self.lost += lost;
        let since_us = *self.since_us.get_or_insert(now_us);
        let all = self.received + self.lost;
        if now_us.saturating_sub(since_us) < REPORT_US || all < MIN_PACKETS {
            return;
        }
        let p = self.lost as f64 / all as f64;
        if p > HIGH {
            // As_hat(i) = As_hat(i−1) (1 − p / 2).
            self.rate_bps = in_force_bps * (1.0 - 0.5 * p);
        } else if p < LOW {
            self.rate_bps *= 1.05;
        }
        (self.received, self.lost, self.since_us) = (0, 0, Some(now_us));
    }

    /// Clamps the rate, so that an As_hat above the delay-based rate stays bounded.
    pub(super) fn limit(&mut self, range_bps: (f64, f64)) {
        self.rate_bps = self.rate_bps.clamp(range_bps.0, range_bps.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(received: u64, lost: u64) -> f64 {
        let mut rate = LossRate::new(1e6);
        rate.update(received / 2, lost / 2, 1e6, 0);
        rate.update(received - received / 2, lost - lost / 2, 1e6, 1_000_000);
        rate.bps()
    }

    #[test]
    fn few_losses_raise_some_hold_many_lower() {
        assert!((after(100, 1) - 1.05e6).abs() < 1e-6);
        assert_eq!(after(95, 5), 1e6);
        assert!((after(80, 20) - 0.9e6).abs() < 1e-6);
        assert_eq!(after(5, 5), 1e6, "ten packets say nothing");
    }
}
