//! Events for the congestion control, and limits that prevent bursts of its window.

use super::acks::AckEffects;
use super::{State, TcpSender};
use crate::tcp::congestion::{
    AckEvent, DeliveryEvent, LossEvent, RestartEvent, SenderPhase, uses_window,
};
use crate::tcp::segment::HEADER_BYTES;

/// Linux, `tcp_pacing_ss_ratio`: slow start doubles the window per round.
const PACING_SLOW_START_PERCENT: u128 = 200;
/// Linux, `tcp_pacing_ca_ratio`: room for the growth of a round, so that the ACK clock dominates.
const PACING_AVOIDANCE_PERCENT: u128 = 120;

impl TcpSender {
    fn phase(&self) -> SenderPhase {
        match self.state {
            State::Open => SenderPhase::Open,
            State::Reducing(_) => SenderPhase::Reducing,
            State::Recovery(_) => SenderPhase::Recovery,
            State::Loss => SenderPhase::Loss,
        }
    }

    /// Less than a segment of the window is free.
    pub(super) fn is_window_limited(&self) -> bool {
        self.board.in_flight_bytes() + u64::from(self.mss_bytes) > self.window_bytes()
    }

    /// draft-ietf-ccwg-bbr-02 §4.5.2.3.4: before processing an acknowledgement or a timer.
    pub(super) fn update_app_limited(&mut self, now_us: u64) {
        let has_data = self.unsent_bytes(now_us) >= u64::from(self.mss_bytes);
        let in_flight = self.board.in_flight_bytes();
        if !has_data && in_flight < self.window_bytes() && !self.board.has_lost() {
            self.sampler.mark_app_limited(in_flight);
        }
    }

    /// Reports each segment newly marked lost.
    pub(super) fn report_losses(&mut self, now_us: u64) {
        let Self { board, sampler, controller, .. } = self;
        board.drain_newly_lost(|segment| {
            let (lost_since_send_bytes, in_flight_at_send_bytes) = sampler.on_lost(segment);
            controller.on_loss(&LossEvent {
                now_us,
                seq: segment.seq,
                len_bytes: u64::from(segment.len),
                in_flight_at_send_bytes,
                lost_since_send_bytes,
                is_app_limited: segment.snapshot.is_app_limited,
                total_delivered_bytes: sampler.delivered_bytes(),
            });
        });
    }

    pub(super) fn report_delivery(
        &mut self,
        effects: &AckEffects,
        newly_lost_segments: u64,
        prior_in_flight_bytes: u64,
        is_window_limited: bool,
        now_us: u64,
    ) {
        let rate = self.sampler.sample(self.rtt.min_us().unwrap_or(0));
        if rate.is_none() && newly_lost_segments == 0 && effects.ce_bytes == 0 {
            return;
        }
        self.controller.on_delivery(&DeliveryEvent {
            now_us,
            newly_delivered_bytes: effects.delivered_bytes,
            newly_lost_bytes: newly_lost_segments * u64::from(self.mss_bytes),
            newly_ce_bytes: effects.ce_bytes,
            total_delivered_bytes: self.sampler.delivered_bytes(),
            prior_in_flight_bytes,
            in_flight_bytes: self.board.in_flight_bytes(),
            rtt_us: effects.last_sent_us.map(|sent_us| now_us.saturating_sub(sent_us)),
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            rate,
            is_window_limited,
            phase: self.phase(),
            una: self.board.una(),
            next: self.board.next(),
        });
        if self.controller.limits_itself() {
            self.sampler.mark_app_limited(self.board.in_flight_bytes());
        }
    }

    /// New data was acknowledged: the window grows if it was used.
    pub(super) fn grow(&mut self, effects: &AckEffects, in_flight_before: u64, now_us: u64) {
        if !matches!(self.state, State::Open | State::Loss) {
            return;
        }
        if !uses_window(&*self.controller, in_flight_before, u64::from(self.mss_bytes)) {
            self.controller.on_underuse(now_us);
            return;
        }
        self.controller.on_ack(&AckEvent {
            now_us,
            delivered_bytes: effects.delivered_bytes,
            rtt_us: effects.last_sent_us.map(|sent_us| now_us.saturating_sub(sent_us)),
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            una: self.board.una(),
            next: self.board.next(),
        });
    }

    /// Limits the window to the data in flight plus `more_bytes`.
    pub(super) fn limit_to_flight(&mut self, more_bytes: u64) {
        self.controller.limit_window(self.board.in_flight_bytes() + more_bytes);
    }

    /// RFC 7661 §4.4.1: a congestion event while the application did not fill the window reduces the used
    /// part of it, since the rest is not validated.
    pub(super) fn limit_unused_window(&mut self) {
        if self.sampler.is_app_limited() {
            let outstanding = self.board.next() - self.board.una();
            self.controller.limit_window(outstanding.max(self.initial_window_bytes));
        }
    }

    /// RFC 5681 §4.1: sending resumes with nothing outstanding.
    pub(super) fn restart_after_idle(&mut self, now_us: u64) {
        let begun = self.counters.sent_packets > 0;
        if !begun || self.board.outstanding_segments() > 0 || !self.may_receive_more(now_us) {
            return;
        }
        self.controller.on_restart(&RestartEvent {
            now_us,
            idle_us: now_us.saturating_sub(self.last_sent_us),
            rto_us: self.rtt.rto_us(),
            is_app_limited: self.sampler.is_app_limited(),
        });
    }

    /// Linux, `tcp_update_pacing_rate`.
    pub(super) fn set_window_pacing(&mut self) {
        let Some(srtt_us) = self.rtt.srtt_us().filter(|_| self.paces_window) else { return };
        let cwnd = self.window_bytes();
        let in_slow_start = self.controller.ssthresh_bytes().is_none_or(|it| cwnd < it / 2);
        let percent =
            if in_slow_start { PACING_SLOW_START_PERCENT } else { PACING_AVOIDANCE_PERCENT };
        let outstanding = self.board.next() - self.board.una();
        let segments = u128::from(cwnd.max(outstanding).max(1).div_ceil(u64::from(self.mss_bytes)));
        let bits = segments * u128::from(self.mss_bytes + HEADER_BYTES) * 8;
        let rate_bps = bits * 1_000_000 * percent / 100 / u128::from(srtt_us.max(1));
        self.window_pacing_bps = Some(u64::try_from(rate_bps).unwrap_or(u64::MAX).max(1));
    }

    /// Pacing rate with headers; `None`: not paced.
    pub(super) fn pacing_rate_bps(&self) -> Option<u64> {
        self.controller.pacing_rate_bps().or(self.window_pacing_bps)
    }
}
