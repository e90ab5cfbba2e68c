//! Window, pacing rate and events of the congestion control, RFC 9002 §7 and appendix B.

use super::acks::AckEffects;
use super::{QuicSender, SentPacket};
use crate::ip::UDP_IP_HEADER_BYTES;
use crate::quic::sent::longest_run_us;
use crate::tcp::congestion::{
    AckEvent, CongestionSignal, DeliveryEvent, LossEvent, RestartEvent, SenderPhase, uses_window,
};
use crate::tcp::rate::Transmission;

/// RFC 9002 §7.2, kMinimumWindow: datagrams.
const MIN_WINDOW_PACKETS: u64 = 2;
/// RFC 9002 §7.7, N: the window per smoothed RTT, in percent.
const PACING_PERCENT: u128 = 125;
/// RFC 9002 §7.6.1, kPersistentCongestionThreshold.
const PERSISTENT_CONGESTION_THRESHOLD: u64 = 3;

impl QuicSender {
    /// The window, at least two datagrams.
    pub(super) fn window_bytes(&self) -> u64 {
        let least = MIN_WINDOW_PACKETS * u64::from(self.udp_payload_bytes);
        self.controller.window_bytes().max(least)
    }

    /// Less than a datagram of the window is free.
    pub(super) fn is_window_limited(&self) -> bool {
        self.sent.in_flight_bytes() + u64::from(self.udp_payload_bytes) > self.window_bytes()
    }

    /// Pacing rate with headers: of the controller, else a quarter above the window per smoothed RTT.
    /// `None`: not paced, before the first RTT sample.
    pub(super) fn pacing_rate_bps(&self) -> Option<u64> {
        self.controller.pacing_rate_bps().or_else(|| {
            let srtt_us = u128::from(self.rtt.srtt_us()?.max(1));
            let payload = u128::from(self.udp_payload_bytes);
            let datagrams =
                u128::from(self.window_bytes()) * (payload + u128::from(UDP_IP_HEADER_BYTES));
            let bps = datagrams * 8_000_000 * PACING_PERCENT / 100 / payload / srtt_us;
            Some(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
        })
    }

    fn phase(&self) -> SenderPhase {
        if self.persistent_until.is_some() {
            SenderPhase::Loss
        } else if self.is_in_recovery {
            SenderPhase::Recovery
        } else {
            SenderPhase::Open
        }
    }

    /// draft-ietf-ccwg-bbr-02 §4.5.2.3.4: before processing an acknowledgement or the timer.
    pub(super) fn update_app_limited(&mut self, now_us: u64) {
        let in_flight = self.sent.in_flight_bytes();
        if !self.has_data(now_us) && in_flight < self.window_bytes() {
            self.sampler.mark_app_limited(in_flight);
        }
    }

    pub(super) fn report_loss(&mut self, packet: &SentPacket, now_us: u64) {
        let (lost_since_send_bytes, in_flight_at_send_bytes) = self.sampler.on_lost(packet);
        self.controller.on_loss(&LossEvent {
            now_us,
            seq: packet.position,
            len_bytes: packet.len_bytes(),
            in_flight_at_send_bytes,
            lost_since_send_bytes,
            is_app_limited: packet.snapshot.is_app_limited,
            total_delivered_bytes: self.sampler.delivered_bytes(),
        });
    }

    /// RFC 9002 B.6, OnCongestionEvent: once per round trip. Returns whether the window is reduced.
    fn reduce(&mut self, signal: CongestionSignal, number: u64, now_us: u64) -> bool {
        if self.recovery_start.is_some_and(|start| number < start) {
            return false;
        }
        self.recovery_start = Some(self.next_number);
        self.is_in_recovery = true;
        self.controller.on_congestion_event(now_us, signal);
        true
    }

    pub(super) fn reduce_for_mark(&mut self, number: u64, now_us: u64) -> bool {
        self.reduce(CongestionSignal::Ecn, number, now_us)
    }

    /// RFC 9002 B.8, OnPacketsLost.
    pub(super) fn reduce_for_losses(&mut self, lost: &[SentPacket], now_us: u64) {
        let Some(latest) = lost.last() else { return };
        if self.reduce(CongestionSignal::Loss, latest.number, now_us) {
            self.counters.fast_recoveries += 1;
        }
        // §7.6.2: packets sent before the first RTT sample do not count.
        let Some(first_sample_us) = self.rtt.first_sample_us() else { return };
        let duration_us =
            PERSISTENT_CONGESTION_THRESHOLD * self.rtt.pto_us(self.peer_max_ack_delay_us());
        if longest_run_us(lost, first_sample_us) > duration_us {
            self.counters.timeouts += 1;
            self.controller.on_retransmission_timeout(now_us);
            self.recovery_start = None;
            self.is_in_recovery = false;
            self.persistent_until = Some(self.next_number);
        }
    }

    /// RFC 9002 §7.3.2: the recovery period ends when a packet sent during it is acknowledged.
    pub(super) fn leave_recovery(&mut self, number: u64) {
        if self.recovery_start.is_some_and(|start| number >= start) {
            self.is_in_recovery = false;
        }
        self.persistent_until = self.persistent_until.filter(|&first| number < first);
    }

    pub(super) fn report_delivery(
        &mut self,
        effects: &AckEffects,
        newly_lost_bytes: u64,
        prior_in_flight_bytes: u64,
        is_window_limited: bool,
        now_us: u64,
    ) {
        let rate = self.sampler.sample(self.rtt.min_us().unwrap_or(0));
        self.controller.on_delivery(&DeliveryEvent {
            now_us,
            newly_delivered_bytes: effects.delivered_bytes,
            newly_lost_bytes,
            newly_ce_bytes: effects.ce_bytes,
            total_delivered_bytes: self.sampler.delivered_bytes(),
            prior_in_flight_bytes,
            in_flight_bytes: self.sent.in_flight_bytes(),
            rtt_us: effects.rtt_us,
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            rate,
            is_window_limited,
            phase: self.phase(),
            una: self.acked_position,
            next: self.position,
        });
        if self.controller.limits_itself() {
            self.sampler.mark_app_limited(self.sent.in_flight_bytes());
        }
    }

    /// RFC 9002 B.5: the window grows for packets sent after the start of the latest recovery period, if
    /// it was used (§7.8).
    pub(super) fn grow(&mut self, effects: &AckEffects, in_flight_before: u64, now_us: u64) {
        if effects.grown_bytes == 0 || self.is_in_recovery {
            return;
        }
        if !uses_window(&*self.controller, in_flight_before, u64::from(self.udp_payload_bytes)) {
            self.controller.on_underuse(now_us);
            return;
        }
        self.controller.on_ack(&AckEvent {
            now_us,
            delivered_bytes: effects.grown_bytes,
            rtt_us: effects.rtt_us,
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            una: self.acked_position,
            next: self.position,
        });
    }

    /// Sending resumes with nothing in flight.
    pub(super) fn restart_after_idle(&mut self, now_us: u64) {
        if self.next_number == 0 || self.sent.is_in_flight() || !self.may_send(now_us) {
            return;
        }
        self.controller.on_restart(&RestartEvent {
            now_us,
            idle_us: now_us.saturating_sub(self.last_sent_us),
            rto_us: self.pto_us(),
            is_app_limited: self.sampler.is_app_limited(),
        });
    }
}
