//! Status reports, t-PollRetransmit, re-establishment.

use std::ops::Range;

use super::{AmTransmitter, StatusOutcome};
use crate::rlc::am::status::{Nack, SO_END_OF_SDU, StatusPdu};

impl<P> AmTransmitter<P> {
    /// Handles a status report; `removed` gets the time in the buffer of each SDU it removes.
    pub fn receive_status(
        &mut self,
        status: &StatusPdu,
        now_us: u64,
        mut removed: impl FnMut(u64),
    ) -> StatusOutcome {
        let mut outcome = StatusOutcome::default();
        let ack = self.sn_length.unwrap_from(status.ack_sn, self.base);
        let partly = self.queue.get(self.unsent).is_some_and(|held| held.sent > 0);
        if ack > self.base + self.unsent as u64 + u64::from(partly) {
            outcome.is_ignored = true;
            return outcome;
        }
        // SDUs between NACKs are acknowledged.
        let mut from = self.base;
        for nack in &status.nacks {
            // An outdated report may name a run of SDUs of which the first are acknowledged since:
            // numbers below the window stay below it.
            let first = self.sn_length.unwrap_around(nack.sn, self.base);
            let beyond = first + i64::from(nack.range.unwrap_or(1));
            let Ok(beyond) = u64::try_from(beyond) else { continue };
            if beyond <= from || beyond > ack {
                continue;
            }
            let start = u64::try_from(first).map_or(from, |first| first.max(from));
            self.acknowledge(from, start, now_us, &mut removed);
            outcome.max_retx_reached |= self.on_nack(nack, first, start..beyond);
            from = beyond;
        }
        self.acknowledge(from, ack, now_us, &mut removed);
        self.polling.on_status(from.max(ack));
        self.advance();
        outcome
    }

    /// Positive acknowledgement of `from..to`.
    fn acknowledge(&mut self, from: u64, to: u64, now_us: u64, removed: &mut impl FnMut(u64)) {
        for seq in from..to {
            let at = (seq - self.base) as usize;
            let Some(held) = self.queue.get(at) else { break };
            // An SDU sent in part cannot be received in full.
            if held.is_acknowledged || held.sent < held.bytes {
                continue;
            }
            let (bytes, again) = (held.bytes, !held.retx.is_empty());
            let (retx_bytes, retx_cost) = (held.retx.bytes(), self.retx_cost_of(held));
            removed(now_us.saturating_sub(held.enqueued_us));
            if again {
                self.retx.remove(&seq);
                self.retx_bytes -= retx_bytes;
                self.retx_cost -= retx_cost;
            } else {
                self.unacknowledged_packets -= 1;
                self.unacknowledged_bytes -= bytes;
            }
            self.held_packets -= 1;
            self.held_bytes -= bytes;
            self.acknowledged_bytes += u64::from(bytes);
            let held = &mut self.queue[at];
            held.retx.clear();
            held.is_acknowledged = true;
        }
    }

    /// Negative acknowledgement of `missing`, the SDUs from `first` on that are in the window; returns
    /// whether maxRetxThreshold is reached.
    fn on_nack(&mut self, nack: &Nack, first: i64, missing: Range<u64>) -> bool {
        let mut max_retx_reached = false;
        let beyond = missing.end;
        for seq in missing {
            let Some(sent) = self.held(seq).map(|held| held.sent) else { break };
            let mut from = 0;
            let mut to = sent;
            if let Some((start, end)) = nack.so {
                if i64::try_from(seq) == Ok(first) {
                    from = u32::from(start);
                }
                if seq + 1 == beyond && end != SO_END_OF_SDU {
                    to = to.min(u32::from(end) + 1);
                }
            }
            max_retx_reached |= self.retransmit(seq, from, to);
        }
        max_retx_reached
    }

    /// Considers bytes of an SDU for retransmission (§5.3.2); returns whether its RETX_COUNT reaches
    /// maxRetxThreshold.
    fn retransmit(&mut self, seq: u64, from: u32, to: u32) -> bool {
        let Some(held) = self.held(seq) else { return false };
        if held.is_acknowledged || from >= to {
            return false;
        }
        let before = self.retx_cost_of(held);
        let at = (seq - self.base) as usize;
        let held = &mut self.queue[at];
        let is_new = held.retx.is_empty();
        self.retx_bytes += held.retx.insert(from, to);
        let mut is_over = false;
        if is_new {
            let count = held.retx_count.map_or(0, |count| count.saturating_add(1));
            held.retx_count = Some(count);
            is_over = count >= self.max_retx_threshold;
            self.retx.insert(seq);
            if at < self.unsent {
                self.unacknowledged_packets -= 1;
                self.unacknowledged_bytes -= self.queue[at].bytes;
            }
        }
        self.retx_cost = self.retx_cost - before + self.retx_cost_of(&self.queue[at]);
        is_over
    }

    /// Moves TX_Next_Ack to the first SDU that is not acknowledged.
    fn advance(&mut self) {
        while self.queue.front().is_some_and(|held| held.is_acknowledged) {
            self.queue.pop_front();
            self.base += 1;
            self.unsent -= 1;
            self.counted -= 1;
        }
        self.count_window();
    }

    /// Time at which t-PollRetransmit expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.polling.deadline_us()
    }

    /// Expires t-PollRetransmit if it is due by `now_us`; returns whether maxRetxThreshold is reached.
    /// §5.3.3.4: without data to carry the poll, the last SDU sent is retransmitted.
    pub fn expire(&mut self, now_us: u64) -> bool {
        if !self.polling.expire(now_us) || !self.retx.is_empty() || self.has_new() {
            return false;
        }
        let mut sent = self.queue.iter().take(self.unsent).enumerate();
        let last = sent.rfind(|(_, held)| !held.is_acknowledged);
        let Some((at, bytes)) = last.map(|(at, held)| (at, held.bytes)) else { return false };
        self.retransmit(self.base + at as u64, 0, bytes)
    }

    /// Re-establishes the entity after radio link failure (38.322 §5.1.2); PDCP retransmits in order
    /// everything not acknowledged (38.323 §5.1.2, §5.5).
    pub fn reestablish(&mut self) {
        self.queue.retain(|held| !held.is_acknowledged);
        for held in &mut self.queue {
            held.sent = 0;
            held.retx_count = None;
            held.retx.clear();
        }
        self.incarnation += 1;
        (self.base, self.unsent, self.counted) = (0, 0, 0);
        self.retx.clear();
        (self.retx_bytes, self.retx_cost, self.new_cost) = (0, 0, 0);
        (self.unacknowledged_packets, self.unacknowledged_bytes) = (0, 0);
        self.unsent_bytes = self.held_bytes;
        self.polling.reset();
        self.count_window();
    }
}
