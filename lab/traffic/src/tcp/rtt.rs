//! Round-trip time, retransmission time-out and the timers of a sender.

/// RFC 6298 §2.5 allows a maximum of at least 60 s; Linux has 120 s (`TCP_RTO_MAX`).
const MAX_RTO_US: u64 = 120_000_000;
/// RFC 6298 §2.1: one second until the first sample.
const INITIAL_RTO_US: u64 = 1_000_000;

/// Estimator of RFC 6298, with two departures that Linux makes (`tcp_rtt_estimator`):
///
/// - the variance is the *largest* mean deviation of a round trip, not the latest, else with a sample per
///   acknowledgement a spike would decay within its own round;
/// - `min_rto` bounds the variance term, not the sum: a steady RTT of 1 s gives 1.2 s, not just above 1 s.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttEstimator {
    min_rto_us: u64,
    /// Eight times the smoothed RTT, which preserves the fraction of the 1/8 gain.
    srtt_x8: u64,
    /// Four times the mean deviation.
    mdev_x4: u64,
    mdev_max_x4: u64,
    rttvar_x4: u64,
    /// The round of `mdev_max` ends when this byte is acknowledged.
    round_end: u64,
    min_us: u64,
    backoff: u32,
}

impl RttEstimator {
    pub(crate) fn new(min_rto_us: u64) -> Self {
        Self { min_rto_us, min_us: u64::MAX, ..Self::default() }
    }

    /// A sample of an acknowledgement up to `una` while `next` is the next byte to send.
    pub(crate) fn on_sample(&mut self, rtt_us: u64, una: u64, next: u64) {
        let rtt_us = rtt_us.max(1);
        self.min_us = self.min_us.min(rtt_us);
        if self.srtt_x8 == 0 {
            // RFC 6298 §2.2: SRTT = R, RTTVAR = R/2.
            self.srtt_x8 = rtt_us * 8;
            self.mdev_x4 = rtt_us * 2;
            self.rttvar_x4 = self.mdev_x4.max(self.min_rto_us);
            self.mdev_max_x4 = self.rttvar_x4;
            self.round_end = next;
            return;
        }
        let srtt_us = self.srtt_x8 / 8;
        let (mut deviation, mean) = (rtt_us.abs_diff(srtt_us), self.mdev_x4 / 4);
        if rtt_us < srtt_us && deviation > mean {
            // A falling RTT must not raise the RTO: the excess over the mean weighs 1/32, not 1/4.
            deviation = mean + (deviation - mean) / 8;
        }
        self.srtt_x8 = self.srtt_x8 - srtt_us + rtt_us;
        self.mdev_x4 = self.mdev_x4 - mean + deviation;
        if self.mdev_x4 > self.mdev_max_x4 {
            self.mdev_max_x4 = self.mdev_x4;
            self.rttvar_x4 = self.rttvar_x4.max(self.mdev_max_x4);
        }
        if una > self.round_end {
            if self.mdev_max_x4 < self.rttvar_x4 {
                self.rttvar_x4 -= (self.rttvar_x4 - self.mdev_max_x4) / 4;
            }
            self.round_end = next;
            self.mdev_max_x4 = self.min_rto_us;
        }
    }

    /// Smoothed RTT; `None` before the first sample.
    pub(crate) fn srtt_us(&self) -> Option<u64> {
        (self.srtt_x8 != 0).then_some(self.srtt_x8 / 8)
    }

    /// Minimum RTT; `None` before the first sample.
    pub(crate) fn min_us(&self) -> Option<u64> {
        (self.min_us != u64::MAX).then_some(self.min_us)
    }

    /// Time-out with back-off.
    pub(crate) fn rto_us(&self) -> u64 {
        let base = match self.srtt_us() {
            Some(srtt_us) => srtt_us + self.rttvar_x4.max(self.min_rto_us),
            None => INITIAL_RTO_US.max(self.min_rto_us),
        };
        base.saturating_mul(1_u64 << self.backoff.min(16)).min(MAX_RTO_US)
    }

    /// RFC 6298 §5.5: the timer doubles each time it expires.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// New data was acknowledged: the back-off ends.
    pub(crate) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

/// RFC 8985 §7.2: time to a probe before the first RTT sample.
const INITIAL_PROBE_US: u64 = 1_000_000;
/// RFC 8985 §7.2, TLP.max_ack_delay: the acknowledgement of a single segment may be delayed.
const MAX_ACK_DELAY_US: u64 = 200_000;

/// Deadlines of a sender.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    /// Time at which the retransmission timer expires. Samples of selective acknowledgements do not move
    /// it, as it restarts with new data acknowledged alone (RFC 6298 §5.3): after an outage they are as
    /// long as it.
    pub(super) rto_us: Option<u64>,
    /// Time at which RACK checks late segments again.
    pub(super) reorder_us: Option<u64>,
    /// Time at which a tail loss probe is due.
    pub(super) probe_us: Option<u64>,
}

impl Timers {
    /// RFC 8985 §7.2: twice the smoothed RTT, longer if only one segment is outstanding, and never after
    /// the retransmission timer.
    pub(super) fn probe_at(&self, now_us: u64, rtt: &RttEstimator, is_only: bool) -> u64 {
        let wait_us = match rtt.srtt_us() {
            Some(srtt_us) => 2 * srtt_us + if is_only { MAX_ACK_DELAY_US } else { 0 },
            None => INITIAL_PROBE_US,
        };
        (now_us + wait_us).min(self.rto_us.unwrap_or(u64::MAX))
    }

    /// The earliest deadline.
    pub(super) fn next_us(&self) -> Option<u64> {
        [self.rto_us, self.reorder_us, self.probe_us].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rto_starts_at_one_second_and_doubles() {
        let mut rtt = RttEstimator::new(200_000);
        assert_eq!(rtt.rto_us(), 1_000_000);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto_us(), 4_000_000);
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto_us(), MAX_RTO_US);
        rtt.reset_backoff();
        assert_eq!(rtt.rto_us(), 1_000_000);
    }

    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_as_variance() {
        let mut rtt = RttEstimator::new(200_000);
        rtt.on_sample(300_000, 1, 10);
        assert_eq!(rtt.srtt_us(), Some(300_000));
        assert_eq!(rtt.rto_us(), 300_000 + 4 * 150_000);
    }

    #[test]
    fn the_rto_of_a_steady_rtt_is_the_rtt_plus_the_minimum() {
        let mut rtt = RttEstimator::new(200_000);
        for round in 0..200 {
            rtt.on_sample(1_000_000, round * 10 + 1, round * 10 + 10);
        }
        assert_eq!(rtt.srtt_us(), Some(1_000_000));
        // The decay of the variance stops a few µs above the bound, in integers.
        assert!((1_200_000..1_200_004).contains(&rtt.rto_us()), "{}", rtt.rto_us());
    }

    #[test]
    fn a_spike_raises_the_rto_for_its_round_and_then_decays() {
        let mut rtt = RttEstimator::new(200_000);
        for round in 0..100 {
            rtt.on_sample(50_000, round * 10 + 1, round * 10 + 10);
        }
        let calm = rtt.rto_us();
        for _ in 0..5 {
            rtt.on_sample(600_000, 1_000, 1_010);
        }
        let spiked = rtt.rto_us();
        assert!(spiked > 600_000, "{spiked}");
        for round in 0..200 {
            rtt.on_sample(50_000, 1_100 + round * 10, 1_110 + round * 10);
        }
        assert!(rtt.rto_us() < calm + 20_000, "{} vs {calm}", rtt.rto_us());
    }
}
