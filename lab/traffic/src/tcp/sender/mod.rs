//! The sender of a bulk transfer.
//!
//! This file holds the state and sends; `acks` processes acknowledgements, `control` drives the
//! congestion control, `repair` handles expired timers.

mod acks;
mod control;
mod repair;

use crate::endpoint::Endpoint;
use crate::ip::Ecn;
use crate::packet::{Body, FlowId, Packet};
use crate::tcp::accecn::MarkDecoder;
use crate::tcp::config::{EcnMode, TcpConfig};
use crate::tcp::congestion::CongestionController;
use crate::tcp::pacer::Pacer;
use crate::tcp::prr::Prr;
use crate::tcp::rack::{LossContext, Rack};
use crate::tcp::rate::RateSampler;
use crate::tcp::rtt::{RttEstimator, Timers};
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::segment::TcpSegment;
use crate::tcp::stats::TcpStats;
use crate::tcp::undo::Undo;

/// State of loss recovery, in Linux's terms.
#[derive(Debug, Clone)]
enum State {
    /// No loss known; there may be SACKed data below the reordering threshold.
    Open,
    /// Reducing after an ECN-Echo or a repaired tail loss, without known loss.
    Reducing(Prr),
    /// Fast recovery: reducing and retransmitting.
    Recovery(Prr),
    /// State after a time-out.
    Loss,
}

/// An outstanding tail loss probe.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// SND.NXT when it was sent: TLP.end_seq.
    end_seq: u64,
    /// TLP.is_retrans.
    is_retransmission: bool,
}

/// Sends a stream of bytes as fast as its congestion control allows.
#[derive(Debug, Clone)]
pub struct TcpSender {
    flow: FlowId,
    dscp: u8,
    ecn: EcnMode,
    /// Codepoint of new data.
    codepoint: Ecn,
    mss_bytes: u32,
    initial_window_bytes: u64,
    start_us: u64,
    stop_us: Option<u64>,
    total_bytes: u64,

    controller: Box<dyn CongestionController>,
    board: Scoreboard,
    sampler: RateSampler,
    marks: MarkDecoder,
    rack: Rack,
    rtt: RttEstimator,
    timers: Timers,
    state: State,
    /// The latest reduction is complete when this byte is acknowledged.
    high_seq: u64,
    undo: Option<Undo>,
    probe: Option<Probe>,

    receive_window_bytes: u64,
    ts_recent: u32,
    cwr_pending: bool,
    /// Paces window-based congestion control.
    paces_window: bool,
    /// Rate of window pacing; `None` before the first RTT sample.
    window_pacing_bps: Option<u64>,
    pacer: Pacer,
    last_sent_us: u64,
    /// Running counts; [`TcpSender::stats`] fills in the state.
    counters: TcpStats,
}

impl TcpSender {
    pub(crate) fn new(
        flow: FlowId,
        dscp: u8,
        config: &TcpConfig,
        start_us: u64,
        stop_us: Option<u64>,
        seed: u64,
    ) -> Self {
        let controller = config.congestion.build(&config.connection(), seed);
        Self::with_controller(flow, dscp, config, start_us, stop_us, controller)
    }

    /// A sender with the congestion control `controller` instead of the configured one. `config` must
    /// have passed [`crate::FlowConfig::validate`].
    pub fn with_controller(
        flow: FlowId,
        dscp: u8,
        config: &TcpConfig,
        start_us: u64,
        stop_us: Option<u64>,
        controller: Box<dyn CongestionController>,
    ) -> Self {
        Self {
            flow,
            dscp,
            ecn: config.ecn_mode(),
            codepoint: config.data_codepoint(),
            mss_bytes: config.mss_bytes(),
            initial_window_bytes: u64::from(config.initial_window_segments)
                * u64::from(config.mss_bytes()),
            start_us,
            stop_us,
            total_bytes: config.total_bytes.unwrap_or(u64::MAX),
            controller,
            board: Scoreboard::default(),
            sampler: RateSampler::default(),
            marks: MarkDecoder::default(),
            rack: Rack::default(),
            rtt: RttEstimator::new(config.min_rto_us),
            timers: Timers::default(),
            state: State::Open,
            high_seq: 0,
            undo: None,
            probe: None,
            receive_window_bytes: config.receive_window_bytes,
            ts_recent: 0,
            cwr_pending: false,
            paces_window: config.pacing,
            window_pacing_bps: None,
            pacer: Pacer::default(),
            last_sent_us: 0,
            counters: TcpStats::default(),
        }
    }

    /// Statistics.
    pub fn stats(&self) -> TcpStats {
        let counters = &self.counters;
        TcpStats {
            lost_packets: counters.lost_packets.saturating_sub(counters.spurious_packets),
            acked_bytes: self.board.una(),
            in_flight_bytes: self.board.in_flight_bytes(),
            cwnd_bytes: self.window_bytes(),
            ssthresh_bytes: self.controller.ssthresh_bytes(),
            srtt_us: self.rtt.srtt_us(),
            min_rtt_us: self.rtt.min_us(),
            rto_us: self.rtt.rto_us(),
            pacing_rate_bps: self.pacing_rate_bps(),
            congestion_state: self.controller.state_name(),
            ..counters.clone()
        }
    }

    /// Appends `bytes` to the stream; [`Endpoint::poll`] sends what the window allows. With
    /// `total_bytes: Some(0)` the sender sends written bytes only.
    pub fn write(&mut self, bytes: u64, now_us: u64) {
        self.update_app_limited(now_us);
        self.total_bytes = self.total_bytes.saturating_add(bytes);
    }

    /// Bytes acknowledged cumulatively.
    pub fn acked_bytes(&self) -> u64 {
        self.board.una()
    }

    /// All data is sent and acknowledged, and no more will follow.
    pub fn is_finished(&self, now_us: u64) -> bool {
        let stopped = self.stop_us.is_some_and(|stop_us| stop_us <= now_us);
        self.board.outstanding_segments() == 0 && (stopped || self.board.next() >= self.total_bytes)
    }

    /// The window: of PRR during a reduction, else of the controller.
    pub(crate) fn window_bytes(&self) -> u64 {
        match &self.state {
            _ if self.controller.owns_window() => self.controller.window_bytes(),
            State::Open | State::Loss => self.controller.window_bytes(),
            State::Reducing(prr) | State::Recovery(prr) => prr.window_bytes(),
        }
    }

    /// Bytes that were written and not sent yet.
    pub(crate) fn unsent_bytes(&self, now_us: u64) -> u64 {
        if now_us < self.start_us || self.stop_us.is_some_and(|stop_us| now_us >= stop_us) {
            return 0;
        }
        self.total_bytes.saturating_sub(self.board.next())
    }

    fn loss_context(&self, now_us: u64) -> LossContext {
        LossContext {
            now_us,
            min_rtt_us: self.rtt.min_us().unwrap_or(0),
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            in_recovery: matches!(self.state, State::Recovery(_) | State::Loss),
        }
    }

    fn may_receive_more(&self, now_us: u64) -> bool {
        let len = self.unsent_bytes(now_us).min(u64::from(self.mss_bytes));
        len > 0 && self.board.next() + len <= self.board.una() + self.receive_window_bytes
    }

    fn has_something_to_send(&self, now_us: u64) -> bool {
        self.board.in_flight_bytes() + u64::from(self.mss_bytes) <= self.window_bytes()
            && (self.board.has_lost() || self.may_receive_more(now_us))
    }

    fn transmit(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.restart_after_idle(now_us);
        if self.stop_us.is_some_and(|stop_us| now_us >= stop_us) {
            // Drops data not sent before the stop, and with it the pacing deadline.
            self.total_bytes = self.total_bytes.min(self.board.next());
        }
        let window = self.window_bytes();
        let next = self.board.next();
        while self.is_pacing_due(now_us) {
            let room = window.saturating_sub(self.board.in_flight_bytes());
            if let Some((id, len)) = self.board.next_lost() {
                if u64::from(len) > room {
                    break;
                }
                self.retransmit(id, now_us, out);
            } else {
                if u64::from(self.mss_bytes) > room || !self.may_receive_more(now_us) {
                    break;
                }
                self.send_new(now_us, out);
            }
        }
        if self.board.next() > next {
            self.arm_probe(now_us);
        }
    }

    fn send_new(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let len = self.unsent_bytes(now_us).min(u64::from(self.mss_bytes)) as u32;
        let is_only = self.board.outstanding_segments() == 0;
        let seq = self.board.on_new_sent(len, now_us);
        self.board.set_snapshot(self.sampler.on_sent(
            is_only,
            self.board.in_flight_bytes(),
            now_us,
        ));
        let cwr = std::mem::take(&mut self.cwr_pending);
        // RFC 3168 §6.1.1.
        self.send(seq, len, self.codepoint, cwr, now_us, out);
    }

    fn retransmit(&mut self, id: u64, now_us: u64, out: &mut Vec<Packet>) {
        let Some((seq, len, age_us)) = self.board.on_retransmitted(id, now_us) else { return };
        self.board.set_snapshot(self.sampler.on_sent(false, self.board.in_flight_bytes(), now_us));
        self.counters.retransmitted_packets += 1;
        if let Some(undo) = &mut self.undo {
            undo.on_retransmission(now_us);
        }
        if seq == self.board.una() {
            // Linux, `tcp_xmit_retransmit_queue`: the first segment has a round trip of its own, else a lost
            // retransmission that RACK finds is sent again too late.
            self.timers.rto_us = Some(now_us + self.rtt.rto_us());
        }
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable. With AccECN they may be
        // (draft-ietf-tcpm-generalized-ecn §3.2.6) and then share the queue of other data.
        let ecn = if self.ecn == EcnMode::Accurate { self.codepoint } else { Ecn::NotEct };
        self.send(seq, len, ecn, false, now_us, out);
        if let Some(Packet { body: Body::Tcp(segment), .. }) = out.last_mut() {
            segment.age_us = u32::try_from(age_us).unwrap_or(u32::MAX);
        }
    }

    fn send(
        &mut self,
        seq: u64,
        len: u32,
        ecn: Ecn,
        cwr: bool,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) {
        let segment = TcpSegment {
            seq,
            payload_bytes: len,
            ts_val: now_us as u32,
            ts_ecr: self.ts_recent,
            cwr,
            ..TcpSegment::default()
        };
        if let State::Reducing(prr) | State::Recovery(prr) = &mut self.state {
            prr.on_sent(u64::from(len));
        }
        // RFC 6298 §5.1: the timer runs while data is outstanding.
        self.timers.rto_us.get_or_insert(now_us + self.rtt.rto_us());
        let len_bytes = segment.datagram_bytes();
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(len_bytes);
        self.last_sent_us = now_us;
        if let Some(rate_bps) = self.pacing_rate_bps() {
            self.pacer.on_sent(len_bytes, rate_bps, now_us);
        }
        out.push(Packet {
            sent_us: now_us,
            flow: self.flow,
            len_bytes,
            ecn,
            dscp: self.dscp,
            body: Body::Tcp(segment),
        });
    }

    fn is_pacing_due(&self, now_us: u64) -> bool {
        self.pacing_rate_bps().is_none() || self.pacer.is_due(now_us)
    }
}

impl Endpoint for TcpSender {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        if let Body::Tcp(segment) = &packet.body {
            self.on_ack(segment, now_us);
            self.transmit(now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.on_timers(now_us, out);
        self.transmit(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let start_us = (self.board.next() == 0
            && self.total_bytes > 0
            && self.stop_us.is_none_or(|stop_us| self.start_us < stop_us))
        .then_some(self.start_us);
        let pace_us = self.pacing_rate_bps().and_then(|_| {
            let at_us = self.pacer.next_us().max(self.start_us);
            self.has_something_to_send(at_us).then_some(at_us)
        });
        [start_us, pace_us, self.timers.next_us()].into_iter().flatten().min()
    }
}
