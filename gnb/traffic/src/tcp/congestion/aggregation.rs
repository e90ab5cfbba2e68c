//! Estimate of aggregated acknowledgements: data acknowledged at once beyond rate times time.
//!
//! Where acknowledgements are aggregated (Wi-Fi, the uplink slots of TDD, a link that delivers in
//! bursts), twice the BDP at the minimum RTT does not fill the path: the window is exhausted before the
//! next burst of acknowledgements.

use super::DeliveryEvent;
use super::filter::WindowedMax;
use super::path;

/// draft-ietf-ccwg-bbr-02 §4.5.9, BBRUpdateACKAggregation; Linux 5.1, `bbr_update_ack_aggregation`.
#[derive(Debug, Clone, Default)]
pub(super) struct AckAggregation {
    filter: WindowedMax,
    extra_bytes: u64,
    /// Delivered in the present epoch, and when that began.
    delivered_bytes: u64,
    start_us: u64,
}

impl AckAggregation {
    /// An acknowledgement came. Its excess over what `bw_bps` explains, `cwnd_bytes` at most, counts
    /// for `window` rounds.
    pub(super) fn update(
        &mut self,
        event: &DeliveryEvent,
        bw_bps: u64,
        cwnd_bytes: u64,
        (round, window): (u64, u64),
    ) {
        let elapsed_us = event.now_us.saturating_sub(self.start_us);
        let mut expected = path::bytes_in(bw_bps, elapsed_us);
        if self.delivered_bytes <= expected {
            self.begin_epoch(event.now_us);
            expected = 0;
        }
        self.delivered_bytes += event.newly_delivered_bytes;
        let extra = self.delivered_bytes.saturating_sub(expected).min(cwnd_bytes);
        self.extra_bytes = self.filter.update(round, extra, window);
    }

    /// Forgets the epoch, as Linux does when sending starts again.
    pub(super) fn begin_epoch(&mut self, now_us: u64) {
        self.delivered_bytes = 0;
        self.start_us = now_us;
    }

    /// Moves the begin of the epoch, as the draft does when sending starts again (§4.4.1).
    pub(super) fn move_start(&mut self, now_us: u64) {
        self.start_us = now_us;
    }

    /// The largest excess of the rounds that count.
    pub(super) fn extra_bytes(&self) -> u64 {
        self.extra_bytes
    }
}
