//! A monitor interval: packets sent in it, acknowledged or lost.

use super::utility::{gradient, utility};

/// One interval.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    /// The rate it was to be sent at.
    pub(super) rate_mbps: f64,
    begun_us: u64,
    ended_us: Option<u64>,
    sent: u64,
    sent_bytes: u64,
    acked: u64,
    lost: u64,
    /// Time of sending and RTT of each packet acknowledged, seconds.
    rtt_s: Vec<(f64, f64)>,
}

impl Interval {
    pub(super) fn new(rate_mbps: f64, now_us: u64) -> Self {
        Self {
            rate_mbps,
            begun_us: now_us,
            ended_us: None,
            sent: 0,
            sent_bytes: 0,
            acked: 0,
            lost: 0,
            rtt_s: Vec::new(),
        }
    }

    pub(super) fn on_sent(&mut self, bytes: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(bytes);
    }

    pub(super) fn on_acked(&mut self, sent_us: u64, rtt_us: u64) {
        self.acked += 1;
        let since_s = sent_us.saturating_sub(self.begun_us) as f64 / 1e6;
        self.rtt_s.push((since_s, rtt_us as f64 / 1e6));
    }

    pub(super) fn on_lost(&mut self) {
        self.lost += 1;
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn begun_us(&self) -> u64 {
        self.begun_us
    }

    pub(super) fn end(&mut self, now_us: u64) {
        self.ended_us.get_or_insert(now_us);
    }

    /// Closed, and every packet is acknowledged or lost.
    pub(super) fn is_settled(&self) -> bool {
        self.ended_us.is_some() && self.acked + self.lost >= self.sent
    }

    /// Its utility at its actual sending rate.
    pub(super) fn utility(&self) -> f64 {
        let span_us = self.ended_us.map_or(0, |ended_us| ended_us.saturating_sub(self.begun_us));
        let rate_mbps = if span_us == 0 {
            self.rate_mbps
        } else {
            self.sent_bytes as f64 * 8.0 / span_us as f64
        };
        let loss = if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 };
        utility(rate_mbps, gradient(&self.rtt_s), loss)
    }
}
