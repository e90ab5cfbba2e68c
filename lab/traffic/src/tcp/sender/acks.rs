//! Processing of an acknowledgement, in this order: scoreboard, RTT, ECN feedback, undoing of a spurious
//! reduction, loss detection by RACK, recovery state, events and growth of the controller, timers. The
//! caller then sends what the window allows.

use super::{State, TcpSender};
use crate::tcp::config::EcnMode;
use crate::tcp::congestion::CongestionSignal;
use crate::tcp::prr::Prr;
use crate::tcp::rtt::Timers;
use crate::tcp::scoreboard::Segment;
use crate::tcp::segment::TcpSegment;
use crate::tcp::undo::Undo;

/// Effects of an acknowledgement.
#[derive(Debug, Default)]
pub(super) struct AckEffects {
    pub(super) delivered_bytes: u64,
    delivered_segments: u64,
    advanced: bool,
    /// Bytes newly reported as CE-marked by AccECN.
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
        self.update_app_limited(now_us);
        let in_flight_before = self.board.in_flight_bytes();
        let was_limited = self.is_window_limited();
        let mut effects = self.update_scoreboard(segment, now_us);
        effects.duplicate = self.process_dsack(segment, una);
        self.sample_rtt(&effects, segment, now_us);

        self.process_ecn_feedback(segment, &mut effects, now_us);
        self.update_probe(segment.ack, &effects, now_us);
        self.undo_if_spurious(segment, &effects);
        let newly_lost = self.detect_losses(now_us);
        self.advance_state(now_us, effects.delivered_bytes);
        if let State::Reducing(prr) | State::Recovery(prr) = &mut self.state {
            prr.on_ack(
                effects.delivered_bytes,
                self.board.in_flight_bytes(),
                effects.advanced && newly_lost == 0,
                u64::from(self.mss_bytes),
            );
        }
        self.report_delivery(&effects, newly_lost, in_flight_before, was_limited, now_us);
        if effects.advanced {
            self.grow(&effects, in_flight_before, now_us);
        }
        self.set_window_pacing();
        self.set_timers(&effects, now_us);
    }

    fn update_scoreboard(&mut self, segment: &TcpSegment, now_us: u64) -> AckEffects {
        let mut effects =
            AckEffects { advanced: segment.ack > self.board.una(), ..AckEffects::default() };
        let Self { board, rack, rtt, sampler, .. } = self;
        let min_rtt_us = rtt.min_us().unwrap_or(0);
        let AckEffects {
            delivered_bytes,
            delivered_segments,
            first_sent_us,
            last_sent_us,
            acked_retransmission,
            ..
        } = &mut effects;
        let mut delivered = |it: &Segment, ts_ecr: Option<u32>| {
            *delivered_segments += 1;
            sampler.on_delivered(it, now_us);
            rack.on_delivered(it, now_us, ts_ecr, min_rtt_us);
            if !it.retransmitted {
                // Karn's algorithm: a retransmitted segment gives no sample by its send time.
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
        effects
    }

    /// RFC 2883: the first block reports a duplicate when it lies below the acknowledgement or
    /// within the second block.
    fn process_dsack(&mut self, segment: &TcpSegment, una_before: u64) -> bool {
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

    fn sample_rtt(&mut self, effects: &AckEffects, segment: &TcpSegment, now_us: u64) {
        let sample_us = match effects.first_sent_us {
            Some(sent_us) => Some(now_us.saturating_sub(sent_us)),
            // All acknowledged segments were retransmitted: the timestamp identifies the transmission
            // (RFC 7323 §4).
            None if effects.advanced => {
                let since_us = (now_us as u32).wrapping_sub(segment.ts_ecr) as i32;
                u64::try_from(since_us).ok()
            }
            None => None,
        };
        if let Some(sample_us) = sample_us {
            self.rtt.on_sample(sample_us, self.board.una(), self.board.next());
        }
        if effects.advanced {
            self.rtt.reset_backoff();
        }
    }

    fn process_ecn_feedback(
        &mut self,
        segment: &TcpSegment,
        effects: &mut AckEffects,
        now_us: u64,
    ) {
        match (self.ecn, segment.accecn) {
            (EcnMode::Off, _) | (EcnMode::Accurate, None) => {}
            (EcnMode::Classic, _) => {
                if segment.ece {
                    self.on_congestion_mark(effects.delivered_bytes, now_us);
                }
            }
            (EcnMode::Accurate, Some(feedback)) => {
                let packets = self.marks.on_feedback(
                    &feedback,
                    effects.delivered_segments,
                    self.mss_bytes,
                    segment.ts_val,
                );
                self.counters.ce_packets += packets;
                effects.ce_bytes = packets * u64::from(self.mss_bytes);
                self.sampler.on_ce(effects.ce_bytes);
                if packets > 0 && !self.controller.handles_ecn() {
                    self.on_congestion_mark(effects.delivered_bytes, now_us);
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

    /// RFC 8985 §7.4: outcome of the tail loss probe.
    fn update_probe(&mut self, ack: u64, effects: &AckEffects, now_us: u64) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.end_seq) else { return };
        if !probe.is_retransmission || effects.duplicate {
            // New data, or the original arrived as well: no loss.
            self.probe = None;
        } else if ack > probe.end_seq {
            // The probe repaired a tail loss; the window is reduced as for any loss.
            self.probe = None;
            self.counters.lost_packets += 1;
            if matches!(self.state, State::Open) {
                self.undo = None;
                let prr = self.reduce(CongestionSignal::Loss, effects.delivered_bytes, now_us);
                self.state = State::Reducing(prr);
            }
        } else if !effects.advanced && effects.delivered_bytes == 0 {
            // A plain duplicate acknowledgement: original and probe both arrived.
            self.probe = None;
        }
    }

    /// Undoes a reduction (RFC 4015, RFC 9438 §4.9) if all its retransmissions were spurious by timestamp
    /// (Eifel, RFC 3522) or D-SACK (RFC 3708).
    fn undo_if_spurious(&mut self, segment: &TcpSegment, effects: &AckEffects) {
        let spurious = self.undo.as_ref().is_some_and(|undo| {
            undo.all_duplicate()
                || (effects.acked_retransmission && undo.echo_predates(segment.ts_ecr))
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
            // RFC 4015 §3 step 8: slow start back to the previous window, to avoid a burst.
            let burst = effects.delivered_bytes.min(self.initial_window_bytes);
            self.limit_to_flight(burst.max(u64::from(self.mss_bytes)));
        }
    }

    pub(super) fn detect_losses(&mut self, now_us: u64) -> u64 {
        let context = self.loss_context(now_us);
        let (marked, recheck_us) = self.rack.detect(&mut self.board, context);
        self.timers.reorder_us = recheck_us;
        self.counters.lost_packets += marked;
        self.report_losses(now_us);
        marked
    }

    /// Leaves a complete recovery, enters a new one. `delivered_bytes`: by the current acknowledgement.
    pub(super) fn advance_state(&mut self, now_us: u64, delivered_bytes: u64) {
        if self.board.una() >= self.high_seq && !matches!(self.state, State::Open) {
            self.leave_recovery();
            // RFC 6582 §3.2 step 3, option 1: if less is in flight than the new window allows (the
            // receive window stopped the flow, or all data is lost), the rest would leave as a burst.
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
                // At most one reduction per round trip.
                State::Reducing(prr) => {
                    self.counters.fast_recoveries += 1;
                    self.state = State::Recovery(prr.clone());
                }
                State::Recovery(_) | State::Loss => {}
            }
        }
    }

    /// Reduces the window of the controller; returns the course of the reduction.
    fn reduce(&mut self, signal: CongestionSignal, delivered_bytes: u64, now_us: u64) -> Prr {
        // RFC 9937 §6.1: RecoverFS excludes data SACKed before and includes data delivered by the
        // current acknowledgement.
        let outstanding = self.board.next() - self.board.una();
        let recover_fs = outstanding.saturating_sub(self.board.sacked_bytes()) + delivered_bytes;
        self.limit_unused_window();
        self.controller.on_congestion_event(now_us, signal);
        self.high_seq = self.board.next();
        // RFC 3168 §6.1.2: CWR follows every reduction.
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

    fn set_timers(&mut self, effects: &AckEffects, now_us: u64) {
        if self.board.outstanding_segments() == 0 {
            self.timers = Timers::default();
            return;
        }
        if effects.advanced {
            // RFC 6298 §5.3.
            self.timers.rto_us = Some(now_us + self.rtt.rto_us());
        }
        if effects.delivered_bytes > 0 {
            self.arm_probe(now_us);
        }
    }
}
