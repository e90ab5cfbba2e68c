//! Round-trip time and probe time-out of a QUIC sender, RFC 9002 §5 and §6.2.

/// RFC 9002 §6.1.2, kGranularity.
pub(super) const GRANULARITY_US: u64 = 1_000;
/// RFC 9002 §6.2.2, kInitialRtt.
const INITIAL_RTT_US: u64 = 333_000;
/// RFC 9002 §6.1.2, kTimeThreshold: 9/8.
const TIME_THRESHOLD: (u64, u64) = (9, 8);

/// Estimator of RFC 9002 §5.
#[derive(Debug, Clone, Default)]
pub(super) struct RttEstimator {
    latest_us: u64,
    /// Eight times the smoothed RTT, which preserves the fraction of the 1/8 gain.
    srtt_x8: u64,
    /// Four times the variation.
    rttvar_x4: u64,
    min_us: Option<u64>,
    first_sample_us: Option<u64>,
}

impl RttEstimator {
    /// A sample of the largest newly acknowledged packet, which its receiver held for `ack_delay_us`, of at
    /// most its `max_ack_delay` (§5.3). Returns it less that delay.
    pub(super) fn on_sample(&mut self, rtt_us: u64, ack_delay_us: u64, now_us: u64) -> u64 {
        let rtt_us = rtt_us.max(1);
        self.latest_us = rtt_us;
        let Some(min_us) = self.min_us else {
            // §5.2 and §5.3: the first sample.
            self.min_us = Some(rtt_us);
            self.first_sample_us = Some(now_us);
            self.srtt_x8 = rtt_us * 8;
            self.rttvar_x4 = rtt_us * 2;
            return rtt_us;
        };
        let min_us = min_us.min(rtt_us);
        self.min_us = Some(min_us);
        // §5.3: not below the minimum.
        let adjusted = if rtt_us >= min_us + ack_delay_us { rtt_us - ack_delay_us } else { rtt_us };
        let deviation = adjusted.abs_diff(self.srtt_x8 / 8);
        self.rttvar_x4 = self.rttvar_x4 - self.rttvar_x4 / 4 + deviation;
        self.srtt_x8 = self.srtt_x8 - self.srtt_x8 / 8 + adjusted;
        adjusted
    }

    /// Smoothed RTT; `None` before the first sample.
    pub(super) fn srtt_us(&self) -> Option<u64> {
        self.min_us.map(|_| self.srtt_x8 / 8)
    }

    /// Minimum RTT; `None` before the first sample.
    pub(super) fn min_us(&self) -> Option<u64> {
        self.min_us
    }

    /// Time of the first sample.
    pub(super) fn first_sample_us(&self) -> Option<u64> {
        self.first_sample_us
    }

    /// §6.1.2: a packet is lost if it was sent this long before now and a later one is acknowledged.
    pub(super) fn loss_delay_us(&self) -> u64 {
        let rtt_us = self.latest_us.max(self.srtt_us().unwrap_or(INITIAL_RTT_US));
        (rtt_us * TIME_THRESHOLD.0 / TIME_THRESHOLD.1).max(GRANULARITY_US)
    }

    /// §6.2.1: probe time-out without back-off.
    pub(super) fn pto_us(&self, max_ack_delay_us: u64) -> u64 {
        let (srtt_us, rttvar_x4) = match self.srtt_us() {
            Some(srtt_us) => (srtt_us, self.rttvar_x4),
            None => (INITIAL_RTT_US, INITIAL_RTT_US * 2),
        };
        srtt_us + rttvar_x4.max(GRANULARITY_US) + max_ack_delay_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_sample_the_probe_waits_for_three_initial_rtts() {
        assert_eq!(RttEstimator::default().pto_us(0), 999_000);
    }

    #[test]
    fn the_delay_of_the_acknowledgement_is_subtracted_down_to_the_minimum() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.on_sample(40_000, 20_000, 5), 40_000, "not from the first");
        assert_eq!(rtt.pto_us(25_000), 40_000 + 80_000 + 25_000);
        assert_eq!(rtt.on_sample(64_000, 20_000, 6), 44_000);
        assert_eq!(rtt.on_sample(50_000, 20_000, 7), 50_000, "would be below the minimum");
        assert_eq!(rtt.min_us(), Some(40_000));
        assert_eq!(rtt.first_sample_us(), Some(5));
    }

    #[test]
    fn a_packet_is_late_after_nine_eighths_of_the_larger_of_latest_and_smoothed_rtt() {
        let mut rtt = RttEstimator::default();
        rtt.on_sample(40_000, 0, 0);
        assert_eq!(rtt.loss_delay_us(), 45_000);
        rtt.on_sample(80_000, 0, 0);
        assert_eq!(rtt.loss_delay_us(), 90_000);
        rtt.on_sample(8, 0, 0);
        assert!((40_000..46_000).contains(&rtt.loss_delay_us()));
    }
}
