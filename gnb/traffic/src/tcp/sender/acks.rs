//! Processing of an acknowledgement.
//!
//! The order matters: the scoreboard learns what was delivered, then RTT, then ECN, then a reduction
//! that proves spurious is undone, then RACK detects losses, then the state changes, then the
//! controller gets the events and grows the window, then the timers are set. The caller sends what
//! the window allows.

use super::{State, TcpSender};
use crate::tcp::config::EcnMode;
use crate::tcp::congestion::CongestionSignal;
use crate::tcp::prr::Prr;
use crate::tcp::rtt::Timers;
use crate::tcp::scoreboard::Segment;
use crate::tcp::segment::TcpSegment;
use crate::tcp::undo::Undo;

/// Effects of an acknowledgement, gathered while the scoreboard processes it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) delivered_bytes: u64,
    delivered_segments: u64,
    advanced: bool,
    /// Bytes that AccECN newly reports as marked.
    pub(super) ce_bytes: u64,
    /// Transmission times of the first and last delivered segments that were sent once.
    first_sent_us: Option<u64>,
    pub(super) last_sent_us: Option<u64>,
    /// A segment that had been retransmitted was acknowledged cumulatively.
    acked_retransmission: bool,
    duplicate: bool,
}

impl TcpSender {
    pub(super) fn on_ack(&mut self, segment: &TcpSegment, now_us: u64) {
        let (una, next) = (self.board.una(), self.board.next());
        if segment.ack > next {
            return;
        }
        self.receive_window_bytes = u64::from(segment.window_bytes);
        self.ts_recent = segment.ts_val;
        self.note_app_limit(now_us);
        let in_flight_before = self.board.in_flight_bytes();
        let was_limited = self.is_window_limited();
        let mut tally = self.take_in(segment, now_us);
        tally.duplicate = self.take_in_dsack(segment, una);
        self.sample_rtt(&tally, segment, now_us);

        self.take_in_marks(segment, &mut tally, now_us);
        self.settle_probe(segment.ack, &tally, now_us);
        self.undo_if_spurious(segment, &tally);
        let newly_lost = self.detect_losses(now_us);
        self.advance_state(now_us, tally.delivered_bytes);
        if let State::Reducing(prr) | State::Recovery(prr) = &mut self.state {
            prr.on_ack(
                tally.delivered_bytes,
                self.board.in_flight_bytes(),
                tally.advanced && newly_lost == 0,
                u64::from(self.mss_bytes),
            );
        }
        self.tell_controller(&tally, newly_lost, in_flight_before, was_limited, now_us);
        if tally.advanced {
            self.grow(&tally, in_flight_before, now_us);
        }
        self.set_window_pacing();
        self.set_timers(&tally, now_us);
    }

    fn take_in(&mut self, segment: &TcpSegment, now_us: u64) -> Tally {
        let mut tally = Tally { advanced: segment.ack > self.board.una(), ..Tally::default() };
        let Self { board, rack, rtt, sampler, .. } = self;
        let min_rtt_us = rtt.min_us().unwrap_or(0);
        let Tally {
            delivered_bytes,
            delivered_segments,
            first_sent_us,
            last_sent_us,
            acked_retransmission,
            ..
        } = &mut tally;
        let mut delivered = |it: &Segment, ts_ecr: Option<u32>| {
            *delivered_segments += 1;
            sampler.on_delivered(it, now_us);
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
            None if tally.advanced => {
                let since_us = (now_us as u32).wrapping_sub(segment.ts_ecr) as i32;
                u64::try_from(since_us).ok()
            }
            None => None,
        };
        if let Some(sample_us) = sample_us {
            self.rtt.on_sample(sample_us, self.board.una(), self.board.next());
        }
        if tally.advanced {
            self.rtt.reset_backoff();
        }
    }

    /// Reads the feedback on congestion marks.
    fn take_in_marks(&mut self, segment: &TcpSegment, tally: &mut Tally, now_us: u64) {
        match (self.ecn, segment.accecn) {
            (EcnMode::Off, _) | (EcnMode::Accurate, None) => {}
            (EcnMode::Classic, _) => {
                if segment.ece {
                    self.on_congestion_mark(tally.delivered_bytes, now_us);
                }
            }
            (EcnMode::Accurate, Some(feedback)) => {
                let packets = self.marks.read(
                    &feedback,
                    tally.delivered_segments,
                    self.mss_bytes,
                    segment.ts_val,
                );
                self.counters.ce_packets += packets;
                tally.ce_bytes = packets * u64::from(self.mss_bytes);
                self.sampler.on_ce(tally.ce_bytes);
                if packets > 0 && !self.controller.handles_ecn() {
                    self.on_congestion_mark(tally.delivered_bytes, now_us);
                }
            }
        }
    }

    /// RFC 3168 §6.1.2: reacts once per window of data.
    fn on_congestion_mark(&mut self, delivered_bytes: u64, now_us: u64) {
        if matches!(self.state, State::Open) {
            self.counters.ecn_reductions += 1;
            self.undo = None;
            let prr = self.reduce(CongestionSignal::Ecn, delivered_bytes, now_us);
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
                let prr = self.reduce(CongestionSignal::Loss, tally.delivered_bytes, now_us);
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
            if !self.controller.owns_window()
                && undo.controller().window_bytes() > self.controller.window_bytes()
            {
                self.controller = undo.into_controller();
            }
            self.leave_recovery();
            // RFC 4015 §3 step 8: what is in flight and a little more may be sent at once; the way
            // back to the window of before is slow start, or it would be one burst.
            let burst = tally.delivered_bytes.min(self.initial_window_bytes);
            self.limit_to_flight(burst.max(u64::from(self.mss_bytes)));
        }
    }

    pub(super) fn detect_losses(&mut self, now_us: u64) -> u64 {
        let situation = self.situation(now_us);
        let (marked, look_again_us) = self.rack.detect(&mut self.board, situation);
        self.timers.reorder_us = look_again_us;
        self.counters.marked_lost_packets += marked;
        self.report_losses(now_us);
        marked
    }

    /// Ends what is over, begins what has to begin. `delivered_bytes` is what the acknowledgement
    /// that led here has delivered.
    pub(super) fn advance_state(&mut self, now_us: u64, delivered_bytes: u64) {
        if self.board.una() >= self.high_seq && !matches!(self.state, State::Open) {
            self.leave_recovery();
            // RFC 6582 §3.2 step 3, option 1: where less is in flight than the new window allows
            // (the receive window had stopped the flow, or all that was sent is lost), the rest
            // would leave as one burst.
            self.limit_to_flight(delivered_bytes.max(u64::from(self.mss_bytes)));
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
                    let prr = self.reduce(CongestionSignal::Loss, delivered_bytes, now_us);
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
    fn reduce(&mut self, signal: CongestionSignal, delivered_bytes: u64, now_us: u64) -> Prr {
        // RFC 9937 §6.1: RecoverFS counts neither what was SACKed before nor misses what the
        // acknowledgement at hand has delivered.
        let outstanding = self.board.next() - self.board.una();
        let recover_fs = outstanding.saturating_sub(self.board.sacked_bytes()) + delivered_bytes;
        self.limit_unused_window();
        self.controller.on_congestion_event(now_us, signal);
        self.high_seq = self.board.next();
        // RFC 3168 §6.1.2: CWR follows a reduction for whatever reason.
        self.cwr_pending = self.ecn == EcnMode::Classic;
        let mut prr =
            Prr::new(self.controller.window_bytes(), recover_fs, self.board.in_flight_bytes());
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

    fn set_timers(&mut self, tally: &Tally, now_us: u64) {
        if self.board.outstanding_segments() == 0 {
            self.timers = Timers::default();
            return;
        }
        if tally.advanced {
            // RFC 6298 §5.3.
            self.timers.rto_base_us = Some(now_us);
        }
        if tally.delivered_bytes > 0 {
            self.arm_probe(now_us);
        }
    }
}
