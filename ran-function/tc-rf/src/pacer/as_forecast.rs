//! Release by the forecast RLC state alone: stolidis2024's CU without RLC status.
//!
//! "Given the received values xₙ and xₙ₊₁ representing the RLC status at time points tₙ and tₙ₊₁ [...], the
//! CU can perform linear interpolation to estimate the RLC status, x, for forwarding a packet at t"
//! (§III-C), and forwards it if it fits below the limit (§II). Each point is the RLC after a TTI and
//! replaces a status: it includes what was forwarded before it. The CU adds what it forwards after it.

use super::feed::Feed;

/// Bytes forwarded since the newest point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AsForecast {
    point_us: u64,
    sent_bytes: u64,
}

impl AsForecast {
    /// Bytes forwarded since the point before `now_us`.
    fn sent_since_point(&self, feed: &Feed, now_us: u64) -> u64 {
        if feed.point_before_us(now_us) == self.point_us { self.sent_bytes } else { 0 }
    }

    /// Whether a packet of this length fits; `None` without forecast.
    pub(super) fn may_send(&self, feed: &Feed, len_bytes: u64, now_us: u64) -> Option<bool> {
        let (occupancy, limit) = (feed.occupancy_bytes(now_us)?, feed.limit_bytes(now_us)?);
        let held = occupancy + self.sent_since_point(feed, now_us) as f64;
        // An empty RLC buffer always takes a packet.
        Some(held < 1.0 || held + len_bytes as f64 <= limit)
    }

    /// A packet was forwarded.
    pub(super) fn sent(&mut self, feed: &Feed, len_bytes: u64, now_us: u64) {
        self.sent_bytes = self.sent_since_point(feed, now_us) + len_bytes;
        self.point_us = feed.point_before_us(now_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2sm_tc::v1::{BearerForecast, BearerId, UeId};

    fn feed() -> Feed {
        let mut feed = Feed::default();
        feed.set(&BearerForecast {
            bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
            origin_us: 0,
            horizon_start_us: 10_000,
            step_us: 1_000,
            occupancy_bytes: vec![1_500, 500, 0],
            limit_bytes: vec![6_000, 6_000, 1_000],
            drain_bytes: Vec::new(),
            cumulated_drain: None,
        });
        feed
    }

    #[test]
    fn a_step_releases_what_fits_below_the_limit() {
        let (feed, mut state) = (feed(), AsForecast::default());
        let mut sent = Vec::new();
        for at_us in (10_000..13_000).step_by(100) {
            while state.may_send(&feed, 1_500, at_us) == Some(true) {
                state.sent(&feed, 1_500, at_us);
                sent.push(at_us);
            }
        }
        // Three on 1500 of 6000; three on 500 before the limit falls; one on nothing.
        assert_eq!(sent, [10_000, 10_000, 10_000, 11_000, 11_000, 11_000, 12_000]);
    }

    #[test]
    fn between_points_the_occupancy_is_on_the_line_between_them() {
        let (feed, state) = (feed(), AsForecast::default());
        assert_eq!(state.may_send(&feed, 4_600, 10_000), Some(false));
        assert_eq!(state.may_send(&feed, 4_600, 10_100), Some(true), "1400 in it");
    }

    #[test]
    fn a_feed_without_a_limit_gives_no_decision() {
        assert_eq!(AsForecast::default().may_send(&Feed::default(), 1, 0), None);
    }
}
