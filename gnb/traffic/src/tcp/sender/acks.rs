//! What an acknowledgement means.
//!
//! The order matters: the scoreboard learns what was delivered, then RTT, then ECN, then a reduction
//! that proves unnecessary is taken back, then RACK looks for losses, then the state moves, then the
//! controller grows the window, then the timers are set. The caller sends what the window allows.

use super::{State, TcpSender};
use crate::tcp::congestion::{AckEvent, CongestionSignal};
use crate::tcp::prr::Prr;
use crate::tcp::scoreboard::Segment;
use crate::tcp::segment::TcpSegment;
use crate::tcp::timers::Timers;
use crate::tcp::undo::Undo;

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

impl TcpSender {
    pub(super) fn on_ack(&mut self, segment: &TcpSegment, now_us: u64) {
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

    pub(super) fn detect_losses(&mut self, now_us: u64) -> u64 {
        let situation = self.situation(now_us);
        let (marked, look_again_us) = self.rack.detect(&mut self.board, situation);
        self.timers.reorder_us = look_again_us;
        self.counters.marked_lost_packets += marked;
        marked
    }

    /// Ends what is over, begins what has to begin.
    pub(super) fn advance_state(&mut self, now_us: u64) {
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
        // A window that is not used says nothing about the network (RFC 7661). In slow start,
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
