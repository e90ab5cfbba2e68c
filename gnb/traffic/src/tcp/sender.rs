//! The sending end of a bulk transfer: what may be sent, when, and what an acknowledgement means.
//!
//! The order of things on an acknowledgement: the scoreboard learns what was delivered, then RTT,
//! then ECN, then a reduction that proves unnecessary is taken back, then RACK looks for losses,
//! then the state moves, then the controller grows the window, then the timers are set, then
//! whatever the window allows is sent.

use super::congestion::{self, AckEvent, CongestionController, CongestionSignal};
use super::prr::Prr;
use super::rack::{Rack, Situation};
use super::rtt::RttEstimator;
use super::scoreboard::{Scoreboard, Segment};
use super::segment::TcpSegment;
use super::stats::{Counters, TcpStats};
use super::timers::Timers;
use super::undo::Undo;
use crate::config::TcpConfig;
use crate::endpoint::Endpoint;
use crate::packet::{Body, Ecn, FlowId, Packet};

/// Where the connection stands between congestion events, in Linux's terms.
#[derive(Debug, Clone)]
enum State {
    /// All is well, or something is SACKed and not yet judged.
    Open,
    /// Reducing after an ECN-Echo or a repaired tail loss; nothing is known to be missing.
    Reducing(Prr),
    /// Fast recovery: reducing and retransmitting.
    Recovery(Prr),
    /// After a time-out.
    Loss,
}

/// A tail loss probe whose fate is not known.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// SND.NXT when it was sent: TLP.end_seq.
    end_seq: u64,
    /// It repeated old data: TLP.is_retrans.
    is_retransmission: bool,
}

/// What an acknowledgement brought, gathered while the scoreboard takes it in.
#[derive(Debug, Default)]
struct Tally {
    delivered_bytes: u64,
    advanced: bool,
    /// Transmission times of the first and last delivered segments that were sent once.
    first_sent_us: Option<u64>,
    last_sent_us: Option<u64>,
    /// A segment that had been retransmitted was acknowledged cumulatively.
    acked_retransmission: bool,
    duplicate: bool,
}

/// Sends a stream of bytes as fast as its congestion control allows.
#[derive(Debug, Clone)]
pub struct TcpSender {
    flow: FlowId,
    dscp: u8,
    ecn: bool,
    mss_bytes: u32,
    start_us: u64,
    stop_us: Option<u64>,
    total_bytes: u64,

    controller: Box<dyn CongestionController>,
    board: Scoreboard,
    rack: Rack,
    rtt: RttEstimator,
    timers: Timers,
    state: State,
    /// The reduction under way, or the last one, is over when this byte is acknowledged.
    high_seq: u64,
    undo: Option<Undo>,
    probe: Option<Probe>,

    receive_window_bytes: u64,
    ts_recent: u32,
    cwr_pending: bool,
    /// When pacing lets the next datagram go, ns.
    pace_next_ns: u64,
    counters: Counters,
}

impl TcpSender {
    pub(crate) fn new(
        flow: FlowId,
        dscp: u8,
        config: &TcpConfig,
        start_us: u64,
        stop_us: Option<u64>,
    ) -> Self {
        Self::with_controller(flow, dscp, config, start_us, stop_us, congestion::build(config))
    }

    /// A sender with a congestion control of the caller's. `config` must have passed
    /// [`crate::FlowConfig::validate`]; its choice of congestion control is not looked at.
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
            ecn: config.ecn,
            mss_bytes: config.mss_bytes,
            start_us,
            stop_us,
            total_bytes: config.total_bytes.unwrap_or(u64::MAX),
            controller,
            board: Scoreboard::default(),
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
            pace_next_ns: 0,
            counters: Counters::default(),
        }
    }

    /// Where it stands.
    pub fn stats(&self) -> TcpStats {
        TcpStats {
            sent_packets: self.counters.sent_packets,
            sent_bytes: self.counters.sent_bytes,
            retransmitted_packets: self.counters.retransmitted_packets,
            lost_packets: self
                .counters
                .marked_lost_packets
                .saturating_sub(self.counters.spurious_packets),
            spurious_packets: self.counters.spurious_packets,
            fast_recoveries: self.counters.fast_recoveries,
            timeouts: self.counters.timeouts,
            tail_loss_probes: self.counters.tail_loss_probes,
            ecn_reductions: self.counters.ecn_reductions,
            undone_reductions: self.counters.undone_reductions,
            acked_bytes: self.board.una(),
            in_flight_bytes: self.board.in_flight_bytes(),
            cwnd_bytes: self.window_bytes(),
            ssthresh_bytes: self.controller.ssthresh_bytes(),
            srtt_us: self.rtt.srtt_us(),
            min_rtt_us: self.rtt.min_us(),
            rto_us: self.rtt.rto_us(),
        }
    }

    /// Everything was sent and acknowledged and there is nothing more to come.
    pub fn is_finished(&self, now_us: u64) -> bool {
        let stopped = self.stop_us.is_some_and(|stop_us| stop_us <= now_us);
        self.board.outstanding_segments() == 0 && (stopped || self.board.next() >= self.total_bytes)
    }

    /// The window that counts now: the controller's, or the reduction's on the way to it.
    fn window_bytes(&self) -> u64 {
        match &self.state {
            State::Open | State::Loss => self.controller.window_bytes(),
            State::Reducing(prr) | State::Recovery(prr) => prr.window_bytes(),
        }
    }

    fn unsent_bytes(&self, now_us: u64) -> u64 {
        if now_us < self.start_us || self.stop_us.is_some_and(|stop_us| now_us >= stop_us) {
            return 0;
        }
        self.total_bytes.saturating_sub(self.board.next())
    }

    fn situation(&self, now_us: u64) -> Situation {
        Situation {
            now_us,
            min_rtt_us: self.rtt.min_us().unwrap_or(0),
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            in_recovery: matches!(self.state, State::Recovery(_) | State::Loss),
        }
    }

    // ------------------------------------------------------------ acknowledgements

    fn on_ack(&mut self, segment: &TcpSegment, now_us: u64) {
        let (una, next) = (self.board.una(), self.board.next());
        if segment.ack > next {
            return;
        }
        self.receive_window_bytes = u64::from(segment.window_bytes);
        self.ts_recent = segment.ts_val;
        let in_flight_before = self.board.in_flight_bytes();
        let mut tally = self.take_in(segment, now_us);
        tally.duplicate = self.take_in_dsack(segment, una);
        self.sample_rtt(&tally, segment, now_us);

        if segment.ece {
            self.on_ecn_echo(now_us);
        }
        self.settle_probe(segment.ack, &tally, now_us);
        self.undo_if_spurious(segment, &tally);
        let newly_lost = self.detect_losses(now_us);
        self.advance_state(now_us);
        if let State::Reducing(prr) | State::Recovery(prr) = &mut self.state {
            prr.on_ack(
                tally.delivered_bytes,
                self.board.in_flight_bytes(),
                tally.advanced && newly_lost == 0,
                u64::from(self.mss_bytes),
            );
        }
        self.grow(&tally, in_flight_before, now_us);
        self.set_timers(&tally, now_us);
    }

    fn take_in(&mut self, segment: &TcpSegment, now_us: u64) -> Tally {
        let mut tally = Tally { advanced: segment.ack > self.board.una(), ..Tally::default() };
        let Self { board, rack, rtt, .. } = self;
        let min_rtt_us = rtt.min_us().unwrap_or(0);
        let Tally { delivered_bytes, first_sent_us, last_sent_us, acked_retransmission, .. } =
            &mut tally;
        let mut delivered = |it: &Segment, ts_ecr: Option<u32>| {
            rack.on_delivered(it, now_us, ts_ecr, min_rtt_us);
            if !it.retransmitted {
                // Karn's algorithm: a segment sent twice gives no sample by its send time.
                first_sent_us.get_or_insert(it.sent_us);
                *last_sent_us = Some(it.sent_us);
            }
        };
        if segment.ack > board.una() {
            *delivered_bytes += board.on_cumulative_ack(segment.ack, |it| {
                *acked_retransmission |= it.retransmitted;
                delivered(it, Some(segment.ts_ecr));
            });
        }
        for (start, end) in segment.sack.iter(segment.ack) {
            *delivered_bytes += board.on_sack(start, end, |it| delivered(it, None));
        }
        tally
    }

    /// RFC 2883: the first block reports a duplicate when it lies below the acknowledgement or
    /// within the second block.
    fn take_in_dsack(&mut self, segment: &TcpSegment, una_before: u64) -> bool {
        let mut blocks = segment.sack.iter(segment.ack);
        let Some((start, end)) = blocks.next() else { return false };
        let within = blocks.next().is_some_and(|(s, e)| s <= start && end <= e);
        if end > segment.ack && !within {
            return false;
        }
        let of_probe = self.probe.is_some_and(|it| it.is_retransmission && it.end_seq == end);
        if !of_probe {
            self.counters.spurious_packets += 1;
            self.rack.on_dsack(self.board.una(), self.board.next());
            if let Some(undo) = &mut self.undo {
                undo.on_dsack(end, una_before);
            }
        }
        true
    }

    fn sample_rtt(&mut self, tally: &Tally, segment: &TcpSegment, now_us: u64) {
        let sample_us = match tally.first_sent_us {
            Some(sent_us) => Some(now_us.saturating_sub(sent_us)),
            // All that was acknowledged had been retransmitted: the timestamp tells which
            // transmission was answered (RFC 7323 §4).
            None if tally.advanced => Some(u64::from((now_us as u32).wrapping_sub(segment.ts_ecr))),
            None => None,
        };
        if let Some(sample_us) = sample_us {
            self.rtt.on_sample(sample_us, self.board.una(), self.board.next());
        }
        if tally.advanced {
            self.rtt.reset_backoff();
        }
    }

    /// RFC 3168 §6.1.2: reacts once per window of data.
    fn on_ecn_echo(&mut self, now_us: u64) {
        if self.ecn && matches!(self.state, State::Open) {
            self.counters.ecn_reductions += 1;
            self.undo = None;
            let prr = self.reduce(CongestionSignal::Ecn, now_us);
            self.state = State::Reducing(prr);
        }
    }

    /// RFC 8985 §7.4: what became of the tail loss probe.
    fn settle_probe(&mut self, ack: u64, tally: &Tally, now_us: u64) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.end_seq) else { return };
        if !probe.is_retransmission || tally.duplicate {
            // New data, or the original had arrived as well: nothing was lost.
            self.probe = None;
        } else if ack > probe.end_seq {
            // The probe itself repaired a loss at the tail; the window answers as to any loss.
            self.probe = None;
            self.counters.marked_lost_packets += 1;
            if matches!(self.state, State::Open) {
                self.undo = None;
                let prr = self.reduce(CongestionSignal::Loss, now_us);
                self.state = State::Reducing(prr);
            }
        } else if !tally.advanced && tally.delivered_bytes == 0 {
            // A plain duplicate acknowledgement: original and probe both arrived.
            self.probe = None;
        }
    }

    /// Eifel (RFC 3522) by timestamp, or D-SACK (RFC 3708): every retransmission of the episode was
    /// for nothing, so its reduction is taken back (RFC 4015, RFC 9438 §4.9).
    fn undo_if_spurious(&mut self, segment: &TcpSegment, tally: &Tally) {
        let spurious = self.undo.as_ref().is_some_and(|undo| {
            undo.all_duplicate()
                || (tally.acked_retransmission && undo.echo_predates(segment.ts_ecr))
        });
        if !spurious {
            return;
        }
        if matches!(self.state, State::Recovery(_)) {
            self.rack.on_reordering();
        }
        if let Some(undo) = self.undo.take() {
            self.counters.undone_reductions += 1;
            self.counters.spurious_packets += self.board.undo_lost();
            if undo.controller().window_bytes() > self.controller.window_bytes() {
                self.controller = undo.into_controller();
            }
            self.leave_recovery();
        }
    }

    fn detect_losses(&mut self, now_us: u64) -> u64 {
        let situation = self.situation(now_us);
        let (marked, look_again_us) = self.rack.detect(&mut self.board, situation);
        self.timers.reorder_us = look_again_us;
        self.counters.marked_lost_packets += marked;
        marked
    }

    /// Ends what is over, begins what has to begin.
    fn advance_state(&mut self, now_us: u64) {
        if self.board.una() >= self.high_seq && !matches!(self.state, State::Open) {
            self.leave_recovery();
            if let Some(undo) = &mut self.undo {
                undo.expire_at(self.board.next());
            }
        }
        if self.undo.as_ref().is_some_and(|undo| undo.expired(self.board.una())) {
            self.undo = None;
        }
        if self.board.has_lost() {
            match &self.state {
                State::Open => {
                    self.counters.fast_recoveries += 1;
                    self.undo = Some(Undo::new(self.controller.clone(), self.board.una()));
                    let prr = self.reduce(CongestionSignal::Loss, now_us);
                    self.state = State::Recovery(prr);
                }
                // The window is being reduced already, and once a round trip is enough.
                State::Reducing(prr) => {
                    self.counters.fast_recoveries += 1;
                    self.state = State::Recovery(prr.clone());
                }
                State::Recovery(_) | State::Loss => {}
            }
        }
    }

    /// Reduces the controller's window; gives how to get there.
    fn reduce(&mut self, signal: CongestionSignal, now_us: u64) -> Prr {
        let outstanding = self.board.next() - self.board.una();
        self.controller.on_congestion_event(now_us, signal);
        self.high_seq = self.board.next();
        // RFC 3168 §6.1.2: CWR follows a reduction for whatever reason.
        self.cwr_pending = self.ecn;
        let mut prr =
            Prr::new(self.controller.window_bytes(), outstanding, self.board.in_flight_bytes());
        if signal == CongestionSignal::Loss {
            prr.allow_first(u64::from(self.mss_bytes));
        }
        prr
    }

    fn leave_recovery(&mut self) {
        if matches!(self.state, State::Recovery(_) | State::Loss) {
            self.rack.on_recovery_exit();
        }
        self.state = State::Open;
    }

    fn grow(&mut self, tally: &Tally, in_flight_before: u64, now_us: u64) {
        if !tally.advanced || !matches!(self.state, State::Open | State::Loss) {
            return;
        }
        // A window that is not used says nothing about the network (RFC 7661 §4.1). In slow start,
        // which doubles, half of it in use is enough.
        let window = self.controller.window_bytes();
        let slow_start = self.controller.ssthresh_bytes().is_none_or(|it| window < it);
        let used = in_flight_before + u64::from(self.mss_bytes);
        if used <= window && !(slow_start && 2 * used > window) {
            return;
        }
        self.controller.on_ack(&AckEvent {
            now_us,
            delivered_bytes: tally.delivered_bytes,
            rtt_us: tally.last_sent_us.map(|sent_us| now_us.saturating_sub(sent_us)),
            srtt_us: self.rtt.srtt_us().unwrap_or(0),
            una: self.board.una(),
            next: self.board.next(),
        });
    }

    // ------------------------------------------------------------ timers

    fn set_timers(&mut self, tally: &Tally, now_us: u64) {
        if self.board.outstanding_segments() == 0 {
            self.timers = Timers::default();
            return;
        }
        if tally.advanced {
            // RFC 6298 §5.3.
            self.timers.rto_base_us = Some(now_us);
        }
        if tally.advanced || tally.delivered_bytes > 0 {
            self.arm_probe(now_us);
        }
    }

    /// RFC 8985 §7.2: a probe is scheduled unless losses are being repaired or found already.
    fn arm_probe(&mut self, now_us: u64) {
        let allowed = matches!(self.state, State::Open | State::Reducing(_))
            && self.board.sacked_segments() == 0
            && self.probe.is_none();
        self.timers.probe_us = if allowed {
            let alone = self.board.outstanding_segments() == 1;
            Some(self.timers.probe_at(now_us, &self.rtt, alone))
        } else {
            None
        };
    }

    fn on_timers(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.timers.reorder_us.is_some_and(|at_us| at_us <= now_us) {
            self.detect_losses(now_us);
            self.advance_state(now_us);
        }
        // A probe is never scheduled behind the time-out; when both are due the probe goes first and
        // starts the time-out anew (RFC 8985 §7.2, §7.3).
        if self.timers.probe_us.is_some_and(|at_us| at_us <= now_us) {
            self.send_probe(now_us, out);
        }
        if self.timers.rto_us(&self.rtt).is_some_and(|at_us| at_us <= now_us) {
            self.on_retransmission_timeout(now_us, out);
        }
    }

    /// RFC 6298 §5.4–5.6, RFC 8985 §6.3.
    fn on_retransmission_timeout(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.counters.timeouts += 1;
        let again = !matches!(self.state, State::Open) && self.board.una() < self.high_seq;
        if !again {
            // RFC 5681 §3.1 equation 4; once per episode.
            self.undo = Some(Undo::new(self.controller.clone(), self.board.una()));
            self.controller.on_congestion_event(now_us, CongestionSignal::Loss);
            self.cwr_pending = self.ecn;
        }
        self.controller.on_retransmission_timeout(now_us);
        let (una, situation) = (self.board.una(), self.situation(now_us));
        let rack = &self.rack;
        self.counters.marked_lost_packets +=
            self.board.mark_all_lost(|segment| rack.lost_at_timeout(segment, una, situation));
        self.high_seq = self.board.next();
        self.state = State::Loss;
        self.probe = None;
        self.rtt.back_off();
        self.timers = Timers { rto_base_us: Some(now_us), reorder_us: None, probe_us: None };
        // §5.4: the earliest segment goes at once, even where others sent lately fill the window.
        if let Some((id, _)) = self.board.next_lost() {
            self.retransmit(id, now_us, out);
        }
    }

    /// RFC 8985 §7.3: new data if there is some, else the last segment once more, to draw an
    /// acknowledgement that tells what the tail has lost.
    fn send_probe(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.timers.probe_us = None;
        let end_seq = self.board.next();
        let is_retransmission = if self.may_receive_more(now_us) {
            self.send_new(now_us, out);
            false
        } else if let Some(tail) = self.board.tail() {
            self.retransmit(tail, now_us, out);
            true
        } else {
            return;
        };
        self.counters.tail_loss_probes += 1;
        let end_seq = if is_retransmission { end_seq } else { self.board.next() };
        self.probe = Some(Probe { end_seq, is_retransmission });
        self.timers.probe_us = None;
        self.timers.rto_base_us = Some(now_us);
    }

    // ------------------------------------------------------------ sending

    fn may_receive_more(&self, now_us: u64) -> bool {
        let len = self.unsent_bytes(now_us).min(u64::from(self.mss_bytes));
        len > 0 && self.board.next() + len <= self.board.una() + self.receive_window_bytes
    }

    fn has_something_to_send(&self, now_us: u64) -> bool {
        self.board.in_flight_bytes() + u64::from(self.mss_bytes) <= self.window_bytes()
            && (self.board.has_lost() || self.may_receive_more(now_us))
    }

    fn transmit(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let window = self.window_bytes();
        let next = self.board.next();
        while self.paced_by(now_us) {
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
        let seq = self.board.on_new_sent(len, now_us);
        let cwr = std::mem::take(&mut self.cwr_pending);
        // RFC 3168 §6.1.1; §6.1.5: retransmissions are not ECN-capable.
        let ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        self.send(seq, len, ecn, cwr, now_us, out);
    }

    fn retransmit(&mut self, id: u64, now_us: u64, out: &mut Vec<Packet>) {
        let Some((seq, len)) = self.board.on_retransmitted(id, now_us) else { return };
        self.counters.retransmitted_packets += 1;
        if let Some(undo) = &mut self.undo {
            undo.on_retransmission(now_us);
        }
        self.send(seq, len, Ecn::NotEct, false, now_us, out);
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
            ..TcpSegment::empty()
        };
        if let State::Reducing(prr) | State::Recovery(prr) = &mut self.state {
            prr.on_sent(u64::from(len));
        }
        // RFC 6298 §5.1: the timer runs while data is outstanding.
        self.timers.rto_base_us.get_or_insert(now_us);
        let len_bytes = segment.datagram_bytes();
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(len_bytes);
        if let Some(rate_bps) = self.controller.pacing_rate_bps() {
            let gap_ns = u64::from(len_bytes) * 8_000_000_000 / rate_bps.max(1);
            self.pace_next_ns = self.pace_next_ns.max(now_us * 1_000) + gap_ns;
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

    /// Pacing lets a datagram go now.
    fn paced_by(&self, now_us: u64) -> bool {
        self.controller.pacing_rate_bps().is_none() || self.pace_next_ns <= now_us * 1_000
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
        let pace_us = self.controller.pacing_rate_bps().and_then(|_| {
            let at_us = self.pace_next_ns.div_ceil(1_000).max(self.start_us);
            self.has_something_to_send(at_us).then_some(at_us)
        });
        [start_us, pace_us, self.timers.next_us(&self.rtt)].into_iter().flatten().min()
    }
}
