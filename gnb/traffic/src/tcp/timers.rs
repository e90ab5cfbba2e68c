//! The three timers of a sender.

use super::rtt::RttEstimator;

/// RFC 8985 §7.2: until there is an RTT, a probe after one second.
const INITIAL_PROBE_US: u64 = 1_000_000;
/// RFC 8985 §7.2, TLP.max_ack_delay: a lone segment may be waiting for a delayed acknowledgement.
const MAX_ACK_DELAY_US: u64 = 200_000;

/// When to look at what.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    /// Since when the retransmission timer runs. Kept instead of its end, because each sample moves
    /// the time-out.
    pub(super) rto_base_us: Option<u64>,
    /// When RACK looks again for segments that were only late.
    pub(super) reorder_us: Option<u64>,
    /// When a tail loss probe is due.
    pub(super) probe_us: Option<u64>,
}

impl Timers {
    /// When the retransmission timer expires.
    pub(super) fn rto_us(&self, rtt: &RttEstimator) -> Option<u64> {
        self.rto_base_us.map(|base_us| base_us + rtt.rto_us())
    }

    /// RFC 8985 §7.2: twice the smoothed RTT, more if one segment is `alone`, and never behind the
    /// retransmission timer.
    pub(super) fn probe_at(&self, now_us: u64, rtt: &RttEstimator, alone: bool) -> u64 {
        let wait_us = match rtt.srtt_us() {
            Some(srtt_us) => 2 * srtt_us + if alone { MAX_ACK_DELAY_US } else { 0 },
            None => INITIAL_PROBE_US,
        };
        (now_us + wait_us).min(self.rto_us(rtt).unwrap_or(u64::MAX))
    }

    /// The earliest.
    pub(super) fn next_us(&self, rtt: &RttEstimator) -> Option<u64> {
        [self.rto_us(rtt), self.reorder_us, self.probe_us].into_iter().flatten().min()
    }
}
