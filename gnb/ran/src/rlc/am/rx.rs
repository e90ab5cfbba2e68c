//! Receiving side of RLC-AM (38.322 §5.2.3.2): a window of SDUs, t-Reassembly, and when the
//! transmitter is to be told (§5.3.4).

mod report;

use std::collections::{BTreeMap, VecDeque};

use super::pdu::AmdPdu;
use super::ranges::Ranges;
use super::{AmConfig, AmSnLength};
use crate::rlc::um::Payload;

/// What is there of one SDU of the window.
#[derive(Debug, Clone)]
enum Place {
    Nothing,
    /// Some bytes, and whether the last of the SDU is among them: the length is known.
    Part(Box<(Ranges, Option<u32>)>),
    Whole,
}

impl Place {
    fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// Whether a byte is missing before the last byte that came.
    fn has_gap(&self) -> bool {
        matches!(self, Self::Part(part) if part.0.has_gap())
    }
}

/// What a receiver counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AmReceiverCounts {
    /// PDUs whose bytes had all come before.
    pub duplicates: u64,
    /// PDUs outside the reception window.
    pub outside: u64,
    /// STATUS PDUs made.
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
    /// RX_Next: all below is whole. The first of `window`.
    next: u64,
    window: VecDeque<Place>,
    /// RX_Next_Highest: one above the highest of which something came.
    next_highest: u64,
    /// RX_Highest_Status: reports tell about what is below.
    highest_status: u64,
    /// RX_Next_Status_Trigger.
    status_trigger: u64,
    expires_us: Option<u64>,
    /// SDUs whose poll waits until reports tell about them, in order.
    polled: VecDeque<u64>,
    /// Since when a report is wanted.
    wanted_since_us: Option<u64>,
    /// Whole SDUs that wait for an earlier one, where order is kept.
    waiting: BTreeMap<u64, (u64, Payload<P>)>,
    counts: AmReceiverCounts,
}

impl<P> AmReceiver<P> {
    /// An empty one.
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
            wanted_since_us: None,
            waiting: BTreeMap::new(),
            counts: AmReceiverCounts::default(),
        }
    }

    /// What it counted so far.
    pub fn counts(&self) -> AmReceiverCounts {
        self.counts
    }

    /// Whole SDUs that wait here for an earlier one.
    pub fn held_payloads(&self) -> usize {
        self.waiting.len()
    }

    /// SDUs of the window about which something is known.
    pub fn window_sdus(&self) -> usize {
        self.window.len()
    }

    /// When t-Reassembly expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.expires_us
    }

    /// Since when a status report is wanted; `None` when none is.
    pub fn status_wanted_since_us(&self) -> Option<u64> {
        self.wanted_since_us
    }

    /// Takes a PDU. Each SDU that is whole now is fetched from the transmitter with `hand_over`,
    /// which answers with its COUNT, and goes to `deliver`.
    pub fn receive(
        &mut self,
        pdu: AmdPdu,
        now_us: u64,
        mut hand_over: impl FnMut(u64) -> Option<(u64, Payload<P>)>,
        mut deliver: impl FnMut(u64, Payload<P>),
    ) {
        if pdu.incarnation != self.incarnation {
            return;
        }
        self.expire(now_us);
        let seq = self.sn_length.unwrap_from(pdu.sn, self.next);
        let is_outside = seq != pdu.seq || seq - self.next >= self.sn_length.window();
        let is_new = !is_outside && self.place(seq, &pdu);
        if is_outside && pdu.seq >= self.next {
            self.counts.outside += 1;
        } else if !is_new {
            self.counts.duplicates += 1;
        }
        if is_new {
            self.next_highest = self.next_highest.max(seq + 1);
            if self.at(seq).is_some_and(Place::is_whole) {
                self.whole(seq, &mut hand_over, &mut deliver);
            }
            self.update_timer(now_us);
        }
        if pdu.poll {
            self.take_poll(pdu.seq, !is_new, now_us);
        }
        self.answer_polls(now_us);
    }

    /// The place of an SDU of the window; `None` below it and above what has come.
    fn at(&self, seq: u64) -> Option<&Place> {
        self.window.get(usize::try_from(seq.checked_sub(self.next)?).ok()?)
    }

    fn is_missing(&self, seq: u64) -> bool {
        seq >= self.next && !self.at(seq).is_some_and(Place::is_whole)
    }

    /// The first SDU from `seq` on that is not whole.
    fn first_missing(&self, mut seq: u64) -> u64 {
        while !self.is_missing(seq) {
            seq += 1;
        }
        seq
    }

    /// Puts the bytes in their place; whether any of them is new.
    fn place(&mut self, seq: u64, pdu: &AmdPdu) -> bool {
        let at = (seq - self.next) as usize;
        if self.window.len() <= at {
            self.window.resize_with(at + 1, || Place::Nothing);
        }
        let place = &mut self.window[at];
        if place.is_whole() {
            return false;
        }
        if pdu.is_complete() {
            *place = Place::Whole;
            return true;
        }
        if matches!(place, Place::Nothing) {
            *place = Place::Part(Box::default());
        }
        let Place::Part(part) = place else { return false };
        let (ranges, total) = part.as_mut();
        let end = pdu.so + pdu.data_bytes;
        if pdu.last {
            *total = Some(end);
        }
        let is_new = ranges.insert(pdu.so, end) > 0;
        if total.is_some_and(|total| ranges.covers(total)) {
            *place = Place::Whole;
        }
        is_new
    }

    /// §5.2.3.2.3, an SDU has become whole.
    fn whole(
        &mut self,
        seq: u64,
        hand_over: &mut impl FnMut(u64) -> Option<(u64, Payload<P>)>,
        deliver: &mut impl FnMut(u64, Payload<P>),
    ) {
        if let Some((count, payload)) = hand_over(seq) {
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
            while self.window.front().is_some_and(Place::is_whole) {
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

    /// Whether something is missing from `seq` on that should have come before what came last.
    fn is_incomplete_from(&self, seq: u64) -> bool {
        self.next_highest > seq + 1 || (self.next_highest == seq + 1 && self.has_gap(seq))
    }

    fn has_gap(&self, seq: u64) -> bool {
        self.at(seq).is_some_and(Place::has_gap)
    }

    fn start_timer(&mut self, now_us: u64) {
        self.status_trigger = self.next_highest;
        self.expires_us = Some(now_us + self.t_reassembly_us);
    }

    /// Lets t-Reassembly expire if its time has come (§5.2.3.2.4): what is missing is lost, and a
    /// status report is wanted.
    pub fn expire(&mut self, now_us: u64) {
        while let Some(at_us) = self.expires_us.filter(|at| *at <= now_us) {
            self.expires_us = None;
            self.highest_status = self.first_missing(self.status_trigger.max(self.next));
            if self.is_incomplete_from(self.highest_status) && self.t_reassembly_us > 0 {
                self.start_timer(at_us);
            }
            self.want_status(at_us);
            self.answer_polls(at_us);
        }
    }
}
