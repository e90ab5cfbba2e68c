//! Processing of an ACK frame, RFC 9002 A.7: newly acknowledged packets, RTT, ECN counts, losses and what
//! follows of them, events and growth of the controller, timer.

use super::{AckFrame, QuicSender, SentPacket};
use crate::tcp::rate::Transmission;

/// Effects of an ACK frame.
#[derive(Debug, Default)]
pub(super) struct AckEffects {
    pub(super) delivered_bytes: u64,
    /// Bytes of these that were sent after the start of the latest recovery period.
    pub(super) grown_bytes: u64,
    /// RTT of the largest newly acknowledged packet, less the delay of its acknowledgement.
    pub(super) rtt_us: Option<u64>,
    /// Bytes newly reported as CE-marked.
    pub(super) ce_bytes: u64,
    /// Newly acknowledged packets that were sent ECN-capable.
    marked_packets: u64,
    /// Number and transmission time of the largest newly acknowledged packet.
    largest: Option<(u64, u64)>,
}

impl QuicSender {
    pub(super) fn on_ack(&mut self, ack: &AckFrame, now_us: u64) {
        // RFC 9000 §13.1: a packet that was not sent cannot be acknowledged.
        if ack.largest() >= self.next_number {
            return;
        }
        self.update_app_limited(now_us);
        let in_flight_before = self.sent.in_flight_bytes();
        let was_limited = self.is_window_limited();
        let largest_before = self.sent.largest_acked();
        let mut effects = self.acknowledge(ack, now_us);
        let Some((largest, sent_us)) = effects.largest else { return };
        if largest == ack.largest() {
            let held_us = ack.delay_us.min(self.peer_max_ack_delay_us());
            let rtt_us = now_us.saturating_sub(sent_us);
            effects.rtt_us = Some(self.rtt.on_sample(rtt_us, held_us, now_us));
        }
        if Some(largest) > largest_before {
            self.process_ecn(ack, &mut effects, largest, now_us);
        }
        let lost_bytes = self.detect_losses(now_us);
        self.leave_recovery(largest);
        self.report_delivery(&effects, lost_bytes, in_flight_before, was_limited, now_us);
        self.grow(&effects, in_flight_before, now_us);
        // RFC 9002 §6.2.1.
        self.pto_count = 0;
        self.sent.forget(now_us.saturating_sub(3 * self.pto_us()));
    }

    fn acknowledge(&mut self, ack: &AckFrame, now_us: u64) -> AckEffects {
        let mut effects = AckEffects::default();
        let Self { sent, stream, sampler, counters, request, recovery_start, .. } = self;
        let mut end = self.acked_position;
        // Ascending, so that the latest transmission gives the rate sample.
        for &range in ack.ranges.iter().rev() {
            sent.on_acked(range, |packet, was_lost| {
                counters.spurious_packets += u64::from(was_lost);
                sampler.on_delivered(packet, now_us);
                effects.delivered_bytes += packet.len_bytes();
                if recovery_start.is_none_or(|start| packet.number >= start) {
                    effects.grown_bytes += packet.len_bytes();
                }
                effects.marked_packets += u64::from(packet.is_ect);
                effects.largest = effects.largest.max(Some((packet.number, packet.sent_us)));
                end = end.max(packet.end());
                if let Some(chunk) = &packet.chunk {
                    stream.on_acked(chunk);
                }
                if let (Some(request), true) = (&mut *request, packet.has_ack_frequency) {
                    request.is_acked = true;
                }
            });
        }
        self.acked_position = end;
        effects
    }

    fn process_ecn(&mut self, ack: &AckFrame, effects: &mut AckEffects, largest: u64, now_us: u64) {
        let packets = self.marks.on_ack(ack.ecn, self.codepoint, effects.marked_packets);
        self.counters.ce_packets += packets;
        effects.ce_bytes = packets * u64::from(self.udp_payload_bytes);
        self.sampler.on_ce(effects.ce_bytes);
        // RFC 9002 B.7.
        if packets > 0 && !self.controller.handles_ecn() && self.reduce_for_mark(largest, now_us) {
            self.counters.ecn_reductions += 1;
        }
    }

    /// Declares packets lost and reacts to that; returns their bytes.
    pub(super) fn detect_losses(&mut self, now_us: u64) -> u64 {
        let losses = self.sent.detect_losses(now_us, self.rtt.loss_delay_us());
        self.loss_us = losses.next_us;
        if losses.packets.is_empty() {
            return 0;
        }
        self.counters.lost_packets += losses.packets.len() as u64;
        losses.packets.iter().for_each(|packet| self.on_lost(packet, now_us));
        self.reduce_for_losses(&losses.packets, now_us);
        losses.packets.iter().map(Transmission::len_bytes).sum()
    }

    fn on_lost(&mut self, packet: &SentPacket, now_us: u64) {
        self.report_loss(packet, now_us);
        if let Some(chunk) = &packet.chunk {
            self.stream.on_lost(chunk);
        }
        if packet.has_data_blocked {
            self.reported_blocked_at = None;
        }
        if let (Some(request), true) = (&mut self.request, packet.has_ack_frequency) {
            request.is_in_flight = false;
        }
    }
}
