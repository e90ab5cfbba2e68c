//! The receiver of a QUIC transfer: reassembles, acknowledges, counts marks, extends flow control.

use std::collections::VecDeque;

use super::config::QuicConfig;
use super::packet::{AckFrame, AckFrequency, EcnCounts, QuicPacket, StreamFrame};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::ip::Ecn;
use crate::packet::{Body, Packet, Stamp};
use crate::stats::{Arrivals, Figures};
use crate::tcp::ranges::RangeSet;

/// RFC 9000 §13.2.2: packets without an acknowledgement, and a gap is reported at once (§13.2.1).
const UNASKED_THRESHOLD: u32 = 1;
const UNASKED_REORDERING: u32 = 1;
/// Ranges of an ACK frame, as in quic-go; the oldest are left out (RFC 9000 §13.2.3).
const MAX_ACK_RANGES: usize = 32;
/// RFC 9000 §13.2.4: a packet of acknowledgements alone elicits one now and then, so that ranges can be
/// forgotten. Chromium, kMaxConsecutiveNonRetransmittablePackets.
const ACKS_PER_PING: u32 = 19;

/// When an acknowledgement is due.
#[derive(PartialEq, Eq)]
enum Urgency {
    Now,
    Delayed,
}

/// Receives a stream.
///
/// The application reads at once, so flow control limits the bytes above the first missing one.
#[derive(Debug, Clone)]
pub struct QuicReceiver {
    stamp: Stamp,
    has_ecn: bool,
    marks: EcnCounts,
    policy: AckFrequency,
    window_bytes: u64,
    max_data: u64,

    /// Packet numbers.
    received: RangeSet,
    /// Packets below are neither acknowledged nor accepted.
    floor: u64,
    largest: Option<u64>,
    largest_us: u64,
    largest_acked: Option<u64>,
    unacked: u32,
    ack_deadline_us: Option<u64>,

    stream: RangeSet,
    delivered_bytes: u64,

    next_number: u64,
    acks_since_ping: u32,
    /// Packets sent that elicit an acknowledgement, with the largest that they acknowledge.
    eliciting: VecDeque<(u64, u64)>,
    arrivals: Arrivals,
    acks_sent: u64,
}

impl QuicReceiver {
    pub(crate) fn new(context: FlowContext, config: &QuicConfig) -> Self {
        Self {
            stamp: context.stamp.not_ect(),
            has_ecn: config.data_codepoint() != Ecn::NotEct,
            marks: EcnCounts::default(),
            policy: AckFrequency {
                eliciting_threshold: UNASKED_THRESHOLD,
                max_ack_delay_us: config.max_ack_delay_us,
                reordering_threshold: UNASKED_REORDERING,
            },
            window_bytes: config.receive_window_bytes,
            max_data: config.receive_window_bytes,
            received: RangeSet::default(),
            floor: 0,
            largest: None,
            largest_us: 0,
            largest_acked: None,
            unacked: 0,
            ack_deadline_us: None,
            stream: RangeSet::default(),
            delivered_bytes: 0,
            next_number: 0,
            acks_since_ping: 0,
            eliciting: VecDeque::new(),
            arrivals: Arrivals::default(),
            acks_sent: 0,
        }
    }

    /// Acknowledgements sent.
    pub fn acks_sent(&self) -> u64 {
        self.acks_sent
    }

    fn receive(&mut self, packet: &QuicPacket, ecn: Ecn, now_us: u64) -> Option<Urgency> {
        if packet.number < self.floor || self.received.containing(packet.number).is_some() {
            // RFC 9000 §12.3: duplicates are discarded.
            return None;
        }
        let is_late = self.largest.is_some_and(|largest| packet.number < largest);
        self.received.insert(packet.number, packet.number + 1, |_, _| {});
        if !is_late {
            self.largest = Some(packet.number);
            self.largest_us = now_us;
        }
        self.count_mark(ecn);
        if let Some(asked) = packet.ack_frequency {
            self.policy = asked;
        }
        if let Some(ack) = &packet.ack {
            self.forget_acknowledged(ack);
        }
        if let Some(frame) = packet.stream {
            self.deliver(frame, now_us);
        }
        if !packet.is_ack_eliciting() {
            return None;
        }
        self.unacked += 1;
        let is_due = self.unacked > self.policy.eliciting_threshold
            || packet.immediate_ack
            || packet.data_blocked.is_some()
            || self.has_to_extend_window()
            // §13.2.1: packets marked CE, and those out of order.
            || ecn == Ecn::Ce
            || (is_late && self.policy.reordering_threshold == 1)
            || self.has_gap_to_report();
        Some(if is_due { Urgency::Now } else { Urgency::Delayed })
    }

    fn count_mark(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.marks.ect0 += 1,
            Ecn::Ect1 => self.marks.ect1 += 1,
            Ecn::Ce => self.marks.ce += 1,
        }
    }

    /// draft-ietf-quic-ack-frequency §6.2: the reordering threshold separates the largest packet from the
    /// smallest missing one that was not reported.
    fn has_gap_to_report(&self) -> bool {
        let threshold = u64::from(self.policy.reordering_threshold);
        let Some(largest) = self.largest.filter(|_| threshold > 0) else { return false };
        let reported = self.largest_acked.map_or(0, |acked| (acked + 1).saturating_sub(threshold));
        let from = reported.max(self.floor);
        let missing = self.received.containing(from).map_or(from, |(_, end)| end);
        missing < largest && largest - missing >= threshold
    }

    /// §13.2.4: what an acknowledged packet reported need not be reported again.
    fn forget_acknowledged(&mut self, ack: &AckFrame) {
        while let Some(&(number, largest)) = self.eliciting.front() {
            if number > ack.largest() {
                break;
            }
            if ack.contains(number) {
                self.floor = self.floor.max(largest);
            }
            self.eliciting.pop_front();
        }
        self.received.remove_below(self.floor);
    }

    fn deliver(&mut self, frame: StreamFrame, now_us: u64) {
        self.stream.insert(frame.offset, frame.offset + u64::from(frame.bytes), |_, _| {});
        let before = self.delivered_bytes;
        if let Some((_, end)) = self.stream.containing(before) {
            self.delivered_bytes = end;
            self.stream.remove_below(end);
        }
        self.arrivals.on_delivered(self.delivered_bytes - before, now_us);
    }

    /// Less than half of the window is left to the sender, as in Chromium.
    fn has_to_extend_window(&self) -> bool {
        self.max_data.saturating_sub(self.delivered_bytes) < self.window_bytes / 2
    }

    fn send_ack(&mut self, is_blocked: bool, now_us: u64, out: &mut Vec<Packet>) {
        let max_data = (is_blocked || self.has_to_extend_window())
            .then_some(self.delivered_bytes + self.window_bytes);
        self.max_data = max_data.unwrap_or(self.max_data);
        self.acks_since_ping += 1;
        let ping = self.acks_since_ping > ACKS_PER_PING;
        let ack = AckFrame {
            ranges: self.received.descending().take(MAX_ACK_RANGES).collect(),
            delay_us: now_us.saturating_sub(self.largest_us),
            ecn: self.has_ecn.then_some(self.marks),
        };
        let largest = ack.largest();
        let packet = QuicPacket {
            number: self.next_number,
            ack: Some(ack),
            max_data,
            ping,
            ..QuicPacket::default()
        };
        if packet.is_ack_eliciting() {
            self.acks_since_ping = 0;
            self.eliciting.push_back((packet.number, largest));
        }
        self.next_number += 1;
        self.largest_acked = Some(largest);
        self.unacked = 0;
        self.ack_deadline_us = None;
        self.acks_sent += 1;
        let len_bytes = packet.datagram_bytes();
        out.push(self.stamp.packet(len_bytes, Body::Quic(Box::new(packet)), now_us));
    }
}

impl Endpoint for QuicReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::Quic(quic) = &packet.body else { return };
        self.arrivals.on_packet(packet, now_us);
        match self.receive(quic, packet.ecn, now_us) {
            Some(Urgency::Now) => self.send_ack(quic.data_blocked.is_some(), now_us, out),
            Some(Urgency::Delayed) => {
                self.ack_deadline_us.get_or_insert(now_us + self.policy.max_ack_delay_us);
            }
            None => {}
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.ack_deadline_us.is_some_and(|at_us| at_us <= now_us) {
            self.send_ack(false, now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.ack_deadline_us
    }
}

impl Measured for QuicReceiver {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("ack_packets_count", self.acks_sent as f64);
    }
}
