//! Expiry of the timers.

use super::{Probe, State, TcpSender};
use crate::packet::Packet;
use crate::tcp::config::EcnMode;
use crate::tcp::congestion::CongestionSignal;
use crate::tcp::rtt::Timers;
use crate::tcp::undo::Undo;

impl TcpSender {
    /// RFC 8985 §7.2: schedules a probe unless losses are known or under repair.
    pub(super) fn arm_probe(&mut self, now_us: u64) {
        let allowed = matches!(self.state, State::Open | State::Reducing(_))
            && self.board.sacked_segments() == 0
            && self.probe.is_none();
        self.timers.probe_us = if allowed {
            let is_only = self.board.outstanding_segments() == 1;
            Some(self.timers.probe_at(now_us, &self.rtt, is_only))
        } else {
            None
        };
    }

    pub(super) fn on_timers(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.update_app_limited(now_us);
        if self.timers.reorder_us.is_some_and(|at_us| at_us <= now_us) {
            self.detect_losses(now_us);
            self.advance_state(now_us, 0);
        }
        // A probe is never scheduled after the time-out; if both are due, the probe goes first and
        // restarts the timer (RFC 8985 §7.2, §7.3).
        if self.timers.probe_us.is_some_and(|at_us| at_us <= now_us) {
            self.send_probe(now_us, out);
        }
        if self.timers.rto_us.is_some_and(|at_us| at_us <= now_us) {
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
            self.limit_unused_window();
            self.controller.on_congestion_event(now_us, CongestionSignal::Loss);
            self.cwr_pending = self.ecn == EcnMode::Classic;
        }
        self.controller.on_retransmission_timeout(now_us);
        let (una, context) = (self.board.una(), self.loss_context(now_us));
        let rack = &self.rack;
        self.counters.lost_packets +=
            self.board.mark_all_lost(|segment| rack.lost_at_timeout(segment, una, context));
        self.report_losses(now_us);
        self.high_seq = self.board.next();
        self.state = State::Loss;
        self.probe = None;
        self.rtt.back_off();
        let rto_us = Some(now_us + self.rtt.rto_us());
        self.timers = Timers { rto_us, reorder_us: None, probe_us: None };
        // §5.4: the earliest segment leaves at once, even if later ones fill the window.
        if let Some((id, _)) = self.board.next_lost() {
            self.retransmit(id, now_us, out);
        }
    }

    /// RFC 8985 §7.3: sends new data, else the last segment again, to elicit an acknowledgement that
    /// reports tail losses.
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
        self.timers.rto_us = Some(now_us + self.rtt.rto_us());
    }
}
