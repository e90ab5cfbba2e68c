//! Status reporting (38.322 §5.3.4): triggers and content of reports.

use std::collections::VecDeque;

use super::{AmReceiver, RxSdu};
use crate::rlc::am::status::{MAX_NACK_RANGE, Nack, SO_END_OF_SDU, StatusPdu};
use crate::rlc::um::Payload;

impl<P> AmReceiver<P> {
    /// Handles a poll. The report is delayed until t-Reassembly has expired for the SDUs before the
    /// polled one, so that PDUs late in HARQ are not reported missing.
    pub(super) fn on_poll(&mut self, seq: u64, is_discarded: bool, now_us: u64) {
        let window = self.sn_length.window();
        if is_discarded || seq < self.highest_status || seq >= self.next + window {
            self.trigger_status(now_us);
        } else if self.polled.back().is_none_or(|last| *last < seq) {
            self.polled.push_back(seq);
        }
    }

    /// Triggers a report for polls that need not wait any more.
    pub(super) fn answer_polls(&mut self, now_us: u64) {
        while self.polled.front().is_some_and(|seq| *seq < self.highest_status) {
            self.polled.pop_front();
            self.trigger_status(now_us);
        }
    }

    pub(super) fn trigger_status(&mut self, now_us: u64) {
        self.triggered_since_us.get_or_insert(now_us);
    }

    /// The current report in at most `most_bytes`; if it does not fit, its ACK_SN is the first SDU
    /// left out. `None` if the shortest report does not fit.
    pub fn make_status(&mut self, most_bytes: u32) -> Option<StatusPdu> {
        let mut room = most_bytes.checked_sub(StatusPdu::shortest_bytes())?;
        self.triggered_since_us = None;
        let mut nacks = Vec::new();
        let mut ack = self.highest_status;
        let mut seq = self.next;
        while seq < self.highest_status {
            let (found, beyond) = self.nacks_of(seq);
            let bytes: u32 = found.iter().map(|nack| nack.len_bytes(self.sn_length)).sum();
            if bytes > room {
                // §5.3.4: "the next not received RLC SDU which is not indicated as missing".
                ack = seq;
                break;
            }
            room -= bytes;
            nacks.extend(found);
            seq = beyond;
        }
        let status = StatusPdu { ack_sn: self.sn_length.sn(ack), nacks };
        self.counts.status_pdus += 1;
        self.counts.status_bytes += u64::from(status.len_bytes(self.sn_length));
        Some(status)
    }

    /// Bytes of the current report.
    pub fn status_bytes(&self) -> u32 {
        let mut bytes = StatusPdu::shortest_bytes();
        let mut seq = self.next;
        while seq < self.highest_status {
            let (nacks, beyond) = self.nacks_of(seq);
            bytes += nacks.iter().map(|nack| nack.len_bytes(self.sn_length)).sum::<u32>();
            seq = beyond;
        }
        bytes
    }

    /// NACKs of SDU `seq`, or of the run of completely missing SDUs from there, and the SDU after
    /// them.
    fn nacks_of(&self, seq: u64) -> (Vec<Nack>, u64) {
        let sn = self.sn_length.sn(seq);
        match self.at(seq) {
            Some(RxSdu::Complete) => (Vec::new(), seq + 1),
            Some(RxSdu::Partial(partial)) => {
                let (ranges, total) = partial.as_ref();
                let group = |from, end| Nack { sn, so: Some((offset(from), end)), range: None };
                let gaps = ranges.gaps().map(|(from, to)| group(from, offset(to - 1)));
                let tail = total.is_none().then(|| group(ranges.end(), SO_END_OF_SDU));
                let nacks = gaps.chain(tail).collect();
                (nacks, seq + 1)
            }
            _ => {
                let mut run = 1;
                let is_absent = |seq| self.at(seq).is_none_or(|sdu| matches!(sdu, RxSdu::Missing));
                while run < MAX_NACK_RANGE
                    && seq + u64::from(run) < self.highest_status
                    && is_absent(seq + u64::from(run))
                {
                    run += 1;
                }
                let range = (run > 1).then_some(run);
                (vec![Nack { sn, so: None, range }], seq + u64::from(run))
            }
        }
    }

    /// Re-establishes the entity (38.322 §5.1.2): partial SDUs are discarded, complete ones
    /// delivered.
    pub fn reestablish(&mut self, mut deliver: impl FnMut(u64, Payload<P>)) {
        for (count, payload) in std::mem::take(&mut self.waiting).into_values() {
            deliver(count, payload);
        }
        self.incarnation += 1;
        self.window = VecDeque::new();
        self.polled = VecDeque::new();
        (self.next, self.next_highest, self.highest_status, self.status_trigger) = (0, 0, 0, 0);
        (self.expires_us, self.triggered_since_us) = (None, None);
    }
}

/// SO fields have 16 bits, and no SDU is longer.
fn offset(bytes: u32) -> u16 {
    u16::try_from(bytes).unwrap_or(SO_END_OF_SDU - 1)
}
