//! Receiving side of RLC-AM (38.322 §5.2.3.2): window, reassembly, and triggers of status reports
//! (§5.3.4).

mod report;

use std::collections::{BTreeMap, VecDeque};

use super::pdu::AmdPdu;
use super::{AmConfig, AmSnLength};
use crate::rlc::ranges::Ranges;
use crate::rlc::um::Payload;

/// Reception state of one SDU of the window.
#[derive(Debug, Clone)]
enum RxSdu {
    Missing,
    /// Received bytes, and the length of the SDU once its last byte is received.
    Partial(Box<(Ranges, Option<u32>)>),
    Complete,
}

impl RxSdu {
    fn is_complete(&self) -> bool {
        matches!(self, Self::Complete)
    }

    /// Whether a byte is missing before the last byte received.
    fn has_gap(&self) -> bool {
        matches!(self, Self::Partial(partial) if partial.0.has_gap())
    }
}

/// Counters of a receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AmReceiverCounts {
    /// PDUs without new bytes.
    pub duplicates: u64,
    /// PDUs outside the reception window.
    pub outside: u64,
    /// STATUS PDUs sent.
    pub status_pdus: u64,
    /// Their bytes.
    pub status_bytes: u64,
}

/// An RLC-AM receiver.
#[derive(Debug, Clone)]
pub struct AmReceiver<P> {
    sn_length: AmSnLength,
    t_reassembly_us: u64,
    in_order: bool,
    incarnation: u32,
    /// RX_Next: all SDUs below are complete. The first of `window`.
    next: u64,
    window: VecDeque<RxSdu>,
    /// RX_Next_Highest: one above the highest SDU of which a byte was received.
    next_highest: u64,
    /// RX_Highest_Status: reports cover the SDUs below.
    highest_status: u64,
    /// RX_Next_Status_Trigger.
    status_trigger: u64,
    expires_us: Option<u64>,
    /// SDUs whose poll waits until reports cover them, in order.
    polled: VecDeque<u64>,
    /// Time since which a report is triggered.
    triggered_since_us: Option<u64>,
    /// Complete SDUs that wait for an earlier one, with in-order delivery.
    waiting: BTreeMap<u64, (u64, Payload<P>)>,
    counts: AmReceiverCounts,
}

impl<P> AmReceiver<P> {
    /// A new entity.
    pub fn new(config: &AmConfig) -> Self {
        Self {
            sn_length: config.sn_length,
            t_reassembly_us: u64::from(config.t_reassembly_us),
            in_order: config.in_order,
            incarnation: 0,
            next: 0,
            window: VecDeque::new(),
            next_highest: 0,
            highest_status: 0,
            status_trigger: 0,
            expires_us: None,
            polled: VecDeque::new(),
            triggered_since_us: None,
            waiting: BTreeMap::new(),
            counts: AmReceiverCounts::default(),
        }
    }

    /// Counters since the beginning.
    pub fn counts(&self) -> AmReceiverCounts {
        self.counts
    }

    /// Complete SDUs that wait for an earlier one.
    pub fn held_payloads(&self) -> usize {
        self.waiting.len()
    }

    /// SDUs from RX_Next to the highest received.
    pub fn window_sdus(&self) -> usize {
        self.window.len()
    }

    /// Time at which t-Reassembly expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.expires_us
    }

    /// Time since which a status report is triggered; `None` if it is not.
    pub fn status_triggered_since_us(&self) -> Option<u64> {
        self.triggered_since_us
    }

    /// Receives a PDU. An SDU that it completes is taken from the transmitter by `take_sdu`, which
    /// returns it with its COUNT, and passed to `deliver`.
    pub fn receive(
        &mut self,
        pdu: AmdPdu,
        now_us: u64,
        mut take_sdu: impl FnMut(u64) -> Option<(u64, Payload<P>)>,
        mut deliver: impl FnMut(u64, Payload<P>),
    ) {
        if pdu.incarnation != self.incarnation {
            return;
        }
        self.expire(now_us);
        let seq = self.sn_length.unwrap_from(pdu.sn, self.next);
        let is_outside = seq != pdu.seq || seq - self.next >= self.sn_length.window();
        let is_new = !is_outside && self.reassemble(seq, &pdu);
        if is_outside && pdu.seq >= self.next {
            self.counts.outside += 1;
        } else if !is_new {
            self.counts.duplicates += 1;
        }
        if is_new {
            self.next_highest = self.next_highest.max(seq + 1);
            if self.at(seq).is_some_and(RxSdu::is_complete) {
                self.on_complete(seq, &mut take_sdu, &mut deliver);
            }
            self.update_timer(now_us);
        }
        if pdu.poll {
            self.on_poll(pdu.seq, !is_new, now_us);
        }
        self.answer_polls(now_us);
    }

    /// State of an SDU; `None` outside the window.
    fn at(&self, seq: u64) -> Option<&RxSdu> {
        self.window.get(usize::try_from(seq.checked_sub(self.next)?).ok()?)
    }

    fn is_missing(&self, seq: u64) -> bool {
        seq >= self.next && !self.at(seq).is_some_and(RxSdu::is_complete)
    }

    /// The first SDU from `seq` on that is not complete.
    fn first_missing(&self, mut seq: u64) -> u64 {
        while !self.is_missing(seq) {
            seq += 1;
        }
        seq
    }

    /// Adds the bytes of a PDU; returns whether any of them is new.
    fn reassemble(&mut self, seq: u64, pdu: &AmdPdu) -> bool {
        let at = (seq - self.next) as usize;
        if self.window.len() <= at {
            self.window.resize_with(at + 1, || RxSdu::Missing);
        }
        let sdu = &mut self.window[at];
        if sdu.is_complete() {
            return false;
        }
        if pdu.is_complete() {
            *sdu = RxSdu::Complete;
            return true;
        }
        if matches!(sdu, RxSdu::Missing) {
            *sdu = RxSdu::Partial(Box::default());
        }
        let RxSdu::Partial(partial) = sdu else { return false };
        let (ranges, total) = partial.as_mut();
        let end = pdu.so + pdu.data_bytes;
        if pdu.last {
            *total = Some(end);
        }
        let is_new = ranges.insert(pdu.so, end) > 0;
        if total.is_some_and(|total| ranges.covers(total)) {
            *sdu = RxSdu::Complete;
        }
        is_new
    }

    /// §5.2.3.2.3, reception of an SDU is complete.
    fn on_complete(
        &mut self,
        seq: u64,
        take_sdu: &mut impl FnMut(u64) -> Option<(u64, Payload<P>)>,
        deliver: &mut impl FnMut(u64, Payload<P>),
    ) {
        if let Some((count, payload)) = take_sdu(seq) {
            if self.in_order && seq > self.next {
                self.waiting.insert(seq, (count, payload));
            } else {
                deliver(count, payload);
            }
        }
        if seq == self.highest_status {
            self.highest_status = self.first_missing(seq);
        }
        if seq == self.next {
            while self.window.front().is_some_and(RxSdu::is_complete) {
                self.window.pop_front();
                self.next += 1;
            }
            while let Some(first) = self.waiting.first_entry().filter(|e| *e.key() < self.next) {
                let (count, payload) = first.remove();
                deliver(count, payload);
            }
        }
    }

    /// §5.2.3.2.3, stopping and starting t-Reassembly.
    fn update_timer(&mut self, now_us: u64) {
        if self.expires_us.is_some() {
            let trigger = self.status_trigger;
            let end = self.next + self.sn_length.window();
            let is_passed = trigger <= self.next;
            let is_only_head = trigger == self.next + 1 && !self.has_gap(self.next);
            if is_passed || is_only_head || trigger > end {
                self.expires_us = None;
            }
        }
        if self.expires_us.is_none() && self.is_incomplete_from(self.next) {
            self.start_timer(now_us);
        }
    }

    /// Whether bytes from `seq` on are missing that precede the last byte received.
    fn is_incomplete_from(&self, seq: u64) -> bool {
        self.next_highest > seq + 1 || (self.next_highest == seq + 1 && self.has_gap(seq))
    }

    fn has_gap(&self, seq: u64) -> bool {
        self.at(seq).is_some_and(RxSdu::has_gap)
    }

    fn start_timer(&mut self, now_us: u64) {
        self.status_trigger = self.next_highest;
        self.expires_us = Some(now_us + self.t_reassembly_us);
    }

    /// Expires t-Reassembly if it is due by `now_us` (§5.2.3.2.4), which triggers a status report.
    pub fn expire(&mut self, now_us: u64) {
        while let Some(at_us) = self.expires_us.filter(|at| *at <= now_us) {
            self.expires_us = None;
            self.highest_status = self.first_missing(self.status_trigger.max(self.next));
            if self.is_incomplete_from(self.highest_status) && self.t_reassembly_us > 0 {
                self.start_timer(at_us);
            }
            self.trigger_status(at_us);
            self.answer_polls(at_us);
        }
    }
}
