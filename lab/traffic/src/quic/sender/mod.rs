//! The sender of a QUIC transfer.
//!
//! This file holds the state and sends; `acks` processes acknowledgements, `control` drives the congestion
//! control, `probe` handles the timer.

mod acks;
mod control;
mod probe;

use super::config::QuicConfig;
use super::ecn::EcnFeedback;
use super::packet::{AckFrame, AckFrequency, QuicPacket, StreamFrame};
use super::rtt::RttEstimator;
use super::sent::{SentPacket, SentPackets};
use super::stream::{Chunk, SendStream};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::ip::{Ecn, UDP_IP_HEADER_BYTES};
use crate::packet::{Body, Packet, Stamp};
use crate::tcp::TcpStats;
use crate::tcp::congestion::CongestionController;
use crate::tcp::pacer::Pacer;
use crate::tcp::rate::RateSampler;

/// The request for fewer acknowledgements, until it is acknowledged.
#[derive(Debug, Clone, Copy)]
struct Request {
    frame: AckFrequency,
    is_in_flight: bool,
    is_acked: bool,
}

/// Sends a stream of bytes as fast as its congestion control allows.
#[derive(Debug, Clone)]
pub struct QuicSender {
    stamp: Stamp,
    /// Codepoint of data while ECN works.
    codepoint: Ecn,
    udp_payload_bytes: u32,
    gso_segments: u32,
    start_us: u64,
    stop_us: Option<u64>,

    controller: Box<dyn CongestionController>,
    stream: SendStream,
    sent: SentPackets,
    sampler: RateSampler,
    rtt: RttEstimator,
    marks: EcnFeedback,
    request: Option<Request>,
    /// `max_ack_delay` of the receiver without a request.
    max_ack_delay_us: u64,

    next_number: u64,
    /// UDP payloads sent.
    position: u64,
    /// Position after the largest acknowledged packet.
    acked_position: u64,
    /// RFC 9002 B.2, congestion_recovery_start_time, as the number of the first packet after it.
    recovery_start: Option<u64>,
    /// No packet sent in the latest recovery period is acknowledged.
    is_in_recovery: bool,
    /// First packet after persistent congestion, until one is acknowledged.
    persistent_until: Option<u64>,

    /// RFC 9002 A.3, loss_time.
    loss_us: Option<u64>,
    pto_count: u32,
    last_sent_us: u64,

    /// The limit of the receiver's flow control.
    max_data: u64,
    /// The limit that a DATA_BLOCKED frame was sent for, unless it was lost.
    reported_blocked_at: Option<u64>,
    /// A packet of the receiver that is to be acknowledged.
    owed_ack: Option<u64>,
    pacer: Pacer,
    /// Running counts; [`QuicSender::stats`] fills in the state.
    counters: TcpStats,
}

impl QuicSender {
    /// `config` must have passed [`crate::FlowConfig::validate`].
    pub(crate) fn new(context: FlowContext, config: &QuicConfig) -> Self {
        Self {
            stamp: context.stamp,
            codepoint: config.data_codepoint(),
            udp_payload_bytes: config.udp_payload_bytes(),
            gso_segments: config.gso_segments,
            start_us: context.start_us,
            stop_us: context.stop_us,
            controller: config.congestion.build(&config.connection(), context.seed),
            stream: SendStream::new(config.total_bytes.unwrap_or(u64::MAX)),
            sent: SentPackets::default(),
            sampler: RateSampler::default(),
            rtt: RttEstimator::default(),
            marks: EcnFeedback::default(),
            request: config.ack_frequency.map(|asked| Request {
                frame: asked.into(),
                is_in_flight: false,
                is_acked: false,
            }),
            max_ack_delay_us: config.max_ack_delay_us,
            next_number: 0,
            position: 0,
            acked_position: 0,
            recovery_start: None,
            is_in_recovery: false,
            persistent_until: None,
            loss_us: None,
            pto_count: 0,
            last_sent_us: 0,
            max_data: config.receive_window_bytes,
            reported_blocked_at: None,
            owed_ack: None,
            pacer: Pacer::default(),
            counters: TcpStats::default(),
        }
    }

    /// Statistics, in the terms of TCP: `timeouts` counts persistent congestion, `tail_loss_probes` packets
    /// sent by probe time-outs, `rto_us` is the probe time-out.
    pub fn stats(&self) -> TcpStats {
        let counters = &self.counters;
        TcpStats {
            lost_packets: counters.lost_packets.saturating_sub(counters.spurious_packets),
            acked_bytes: self.stream.acked_bytes(),
            in_flight_bytes: self.sent.in_flight_bytes(),
            cwnd_bytes: self.window_bytes(),
            ssthresh_bytes: self.controller.ssthresh_bytes(),
            srtt_us: self.rtt.srtt_us(),
            min_rtt_us: self.rtt.min_us(),
            rto_us: self.pto_us(),
            pacing_rate_bps: self.pacing_rate_bps(),
            congestion_state: self.controller.state_name(),
            ..counters.clone()
        }
    }

    /// All data is sent and acknowledged, and no more will follow.
    pub fn is_finished(&self) -> bool {
        self.stream.is_acked()
    }

    fn is_on(&self, now_us: u64) -> bool {
        now_us >= self.start_us && self.stop_us.is_none_or(|stop_us| now_us < stop_us)
    }

    /// There are bytes to send again, or new ones that flow control allows.
    fn has_data(&self, now_us: u64) -> bool {
        self.stream.has_lost()
            || (self.is_on(now_us)
                && self.stream.unsent_bytes() > 0
                && self.stream.next() < self.max_data)
    }

    /// Flow control stops the sender.
    fn is_blocked(&self) -> bool {
        self.stream.unsent_bytes() > 0 && self.stream.next() >= self.max_data
    }

    /// RFC 9000 §4.1: a sender that is stopped says so, and again where nothing is in flight, as the answer
    /// may be lost.
    fn has_to_report_blocked(&self, now_us: u64) -> bool {
        let is_reported = self.reported_blocked_at == Some(self.max_data);
        let is_overdue =
            || !self.sent.is_in_flight() && now_us >= self.last_sent_us + self.pto_us();
        self.is_on(now_us) && self.is_blocked() && (!is_reported || is_overdue())
    }

    fn may_send(&self, now_us: u64) -> bool {
        let room = self.window_bytes().saturating_sub(self.sent.in_flight_bytes());
        room >= u64::from(self.udp_payload_bytes)
            && (self.has_data(now_us) || self.has_to_report_blocked(now_us))
    }

    /// Sends what window and pacing allow, in bursts of segmentation offload.
    fn transmit(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.stop_us.is_some_and(|stop_us| now_us >= stop_us) {
            self.stream.stop();
        }
        self.restart_after_idle(now_us);
        let mut left_of_burst = 0;
        while self.may_send(now_us) {
            if left_of_burst == 0 {
                if self.pacing_rate_bps().is_some() && !self.pacer.is_due(now_us) {
                    break;
                }
                left_of_burst = self.gso_segments;
            }
            left_of_burst -= 1;
            let packet = self.control_frames(now_us);
            self.send(packet, None, now_us, out);
        }
    }

    /// A packet with the control frames that are due.
    fn control_frames(&mut self, now_us: u64) -> QuicPacket {
        let blocked = self.has_to_report_blocked(now_us);
        let number = self.owed_ack.take();
        QuicPacket {
            ack: number.map(|it| AckFrame {
                ranges: [(it, it + 1)].into(),
                delay_us: 0,
                ecn: None,
            }),
            data_blocked: blocked.then_some(self.max_data),
            ack_frequency: self
                .request
                .filter(|request| !request.is_acked && !request.is_in_flight)
                .map(|request| request.frame),
            ..QuicPacket::default()
        }
    }

    /// Sends `packet` with its control frames and the bytes of the stream that fit: `repeated`, else those
    /// that are due.
    fn send(
        &mut self,
        mut packet: QuicPacket,
        repeated: Option<Chunk>,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) {
        let offset = repeated.map_or(self.stream.next_offset(), |chunk| chunk.offset);
        let headers = packet.control_bytes() + StreamFrame::header_bytes(offset);
        let room = self.udp_payload_bytes.saturating_sub(headers);
        let limit = if self.is_on(now_us) { self.max_data } else { 0 };
        let chunk = match repeated {
            Some(chunk) => Some(Chunk { bytes: chunk.bytes.min(room), ..chunk }),
            None => self.stream.take(room, limit, now_us),
        };
        packet.number = self.next_number;
        packet.stream = chunk.map(|chunk| StreamFrame {
            offset: chunk.offset,
            bytes: chunk.bytes,
            age_us: u32::try_from(now_us - chunk.first_sent_us).unwrap_or(u32::MAX),
        });
        self.counters.retransmitted_packets += u64::from(
            chunk.is_some_and(|chunk| chunk.first_sent_us < now_us || repeated.is_some()),
        );
        let bytes = packet.udp_payload_bytes();
        self.record(&packet, chunk, bytes, now_us);
        let len_bytes = UDP_IP_HEADER_BYTES + bytes;
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(len_bytes);
        if let Some(rate_bps) = self.pacing_rate_bps() {
            self.pacer.on_sent(len_bytes, rate_bps, now_us);
        }
        let ecn = self.ecn();
        let stamp = Stamp { ecn, ..self.stamp };
        out.push(stamp.packet(len_bytes, Body::Quic(Box::new(packet)), now_us));
    }

    fn record(&mut self, packet: &QuicPacket, chunk: Option<Chunk>, bytes: u32, now_us: u64) {
        let is_only = !self.sent.is_in_flight();
        let in_flight = self.sent.in_flight_bytes() + u64::from(bytes);
        let mut sent = SentPacket::new(packet.number, self.position, bytes, now_us);
        sent.chunk = chunk;
        sent.is_ect = self.ecn() != Ecn::NotEct;
        sent.has_ack_frequency = packet.ack_frequency.is_some();
        sent.has_data_blocked = packet.data_blocked.is_some();
        sent.snapshot = self.sampler.on_sent(is_only, in_flight, now_us);
        self.sent.push(sent);
        if let (Some(request), Some(_)) = (&mut self.request, packet.ack_frequency) {
            request.is_in_flight = true;
        }
        if packet.data_blocked.is_some() {
            self.reported_blocked_at = Some(self.max_data);
        }
        self.next_number += 1;
        self.position += u64::from(bytes);
        self.last_sent_us = now_us;
    }

    fn ecn(&self) -> Ecn {
        if self.marks.has_failed() { Ecn::NotEct } else { self.codepoint }
    }
}

impl Endpoint for QuicSender {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::Quic(quic) = &packet.body else { return };
        if let Some(limit) = quic.max_data {
            self.max_data = self.max_data.max(limit);
        }
        if quic.is_ack_eliciting() {
            self.owed_ack = self.owed_ack.max(Some(quic.number));
        }
        if let Some(ack) = &quic.ack {
            self.on_ack(ack, now_us);
        }
        self.transmit(now_us, out);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.on_timer(now_us, out);
        self.transmit(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let may_start = self.next_number == 0
            && self.stream.unsent_bytes() > 0
            && self.stop_us.is_none_or(|stop_us| self.start_us < stop_us);
        let pace_us = self.pacing_rate_bps().and_then(|_| {
            let at_us = self.pacer.next_us().max(self.start_us);
            self.may_send(at_us).then_some(at_us)
        });
        [may_start.then_some(self.start_us), pace_us, self.timer_us()].into_iter().flatten().min()
    }
}

impl Measured for QuicSender {
    fn sent(&self) -> (u64, u64) {
        (self.counters.sent_packets, self.counters.sent_bytes)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.stats().lost_packets)
    }

    fn tcp_stats(&self) -> Option<TcpStats> {
        Some(self.stats())
    }
}
