//! Transmitting side of RLC-AM (38.322 §5.2.3.1 and §5.3.2): SDUs stay in the buffer until a status
//! report acknowledges them.
//!
//! The buffer is one queue with TX_Next_Ack at its head. SDUs before `unsent` are sent in full, the one
//! at `unsent` may be sent in part, later ones are not sent.

mod feedback;
mod recovery;

use std::collections::{BTreeSet, VecDeque};

use super::pdu::{AmdPdu, header_bytes};
use super::poll::Polling;
use super::{AmConfig, AmSnLength};
use crate::rlc::ranges::Ranges;
use crate::rlc::um::Payload;
use crate::rlc::um::pdu::{longest_pdu, mac_subheader_bytes};
use crate::rlc::um::tx::MAX_SDU_BYTES;

#[derive(Debug, Clone)]
struct Held<P> {
    /// The packet, until the receiver has all its bytes.
    sdu: Option<P>,
    bytes: u32,
    /// PDCP's COUNT.
    count: u64,
    enqueued_us: u64,
    /// Bytes sent once.
    sent: u32,
    /// Time at which the last of them was sent.
    sent_us: u64,
    is_acknowledged: bool,
    /// RETX_COUNT; `None` before the first retransmission.
    retx_count: Option<u8>,
    /// Bytes to be retransmitted.
    retx: Ranges,
}

/// Result of a status report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusOutcome {
    /// The report was ignored, because it acknowledges SDUs outside the window.
    pub is_ignored: bool,
    /// The RETX_COUNT of an SDU has reached maxRetxThreshold.
    pub max_retx_reached: bool,
}

/// An RLC-AM transmitter.
#[derive(Debug, Clone)]
pub struct AmTransmitter<P> {
    sn_length: AmSnLength,
    max_retx_threshold: u8,
    limit_packets: u32,
    limit_bytes: u32,
    queue: VecDeque<Held<P>>,
    /// TX_Next_Ack: number of the first SDU of the queue.
    base: u64,
    /// Index of the first SDU not sent in full.
    unsent: usize,
    /// End of the SDUs within the window, whose cost is in `new_cost`.
    counted: usize,
    /// Numbers of SDUs with retransmissions.
    retx: BTreeSet<u64>,
    polling: Polling,
    incarnation: u32,
    /// COUNT of the next SDU from PDCP.
    next_count: u64,
    /// SDUs not acknowledged, and their bytes: bounded by the limits.
    held_packets: u32,
    held_bytes: u32,
    /// Those of `held_bytes` that have not been sent.
    unsent_bytes: u32,
    /// Bytes to be retransmitted.
    retx_bytes: u32,
    /// Transport block bytes of new data within the window, without segmentation.
    new_cost: u64,
    /// Transport block bytes of retransmissions, without segmentation.
    retx_cost: u64,
    unacknowledged_packets: u32,
    unacknowledged_bytes: u32,
    retx_pdus: u64,
    retx_pdu_bytes: u64,
    highest_sent_count: Option<u64>,
    acknowledged_bytes: u64,
}

impl<P> AmTransmitter<P> {
    /// A new entity.
    pub fn new(config: &AmConfig, limit_packets: u32, limit_bytes: u32) -> Self {
        Self {
            sn_length: config.sn_length,
            max_retx_threshold: config.max_retx_threshold,
            limit_packets,
            limit_bytes,
            queue: VecDeque::new(),
            base: 0,
            unsent: 0,
            counted: 0,
            retx: BTreeSet::new(),
            polling: Polling::new(config),
            incarnation: 0,
            next_count: 0,
            held_packets: 0,
            held_bytes: 0,
            unsent_bytes: 0,
            retx_bytes: 0,
            new_cost: 0,
            retx_cost: 0,
            unacknowledged_packets: 0,
            unacknowledged_bytes: 0,
            retx_pdus: 0,
            retx_pdu_bytes: 0,
            highest_sent_count: None,
            acknowledged_bytes: 0,
        }
    }

    /// Enqueues an SDU of `bytes` (with PDCP and SDAP headers).
    ///
    /// # Errors
    /// Returns the SDU if it exceeds a limit of the buffer, in which SDUs stay until they are
    /// acknowledged (kumar2018 §III), or [`MAX_SDU_BYTES`].
    pub fn enqueue(&mut self, sdu: P, bytes: u32, now_us: u64) -> Result<(), P> {
        self.enqueue_as(self.next_count, sdu, bytes, now_us)
    }

    /// Enqueues as [`enqueue`](Self::enqueue) does, with the COUNT assigned by PDCP.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_as(&mut self, count: u64, sdu: P, bytes: u32, now_us: u64) -> Result<(), P> {
        if self.is_beyond_limits(bytes) || bytes == 0 || bytes > MAX_SDU_BYTES {
            return Err(sdu);
        }
        self.push(count, Some(sdu), bytes, now_us);
        Ok(())
    }

    /// COUNT of the next SDU.
    pub fn next_count(&self) -> u64 {
        self.next_count
    }

    /// Bytes waiting for the MAC, retransmissions included.
    pub fn occupancy_bytes(&self) -> u32 {
        self.unsent_bytes.saturating_add(self.retx_bytes)
    }

    /// SDUs waiting for the MAC, retransmissions included.
    pub fn occupancy_packets(&self) -> u32 {
        let partly = self.queue.get(self.unsent).is_some_and(|held| !held.retx.is_empty());
        (self.queue.len() - self.unsent + self.retx.len() - usize::from(partly)) as u32
    }

    /// SDUs sent in full that only wait for a status report.
    pub fn unacknowledged_packets(&self) -> u32 {
        self.unacknowledged_packets
    }

    /// Their bytes.
    pub fn unacknowledged_bytes(&self) -> u32 {
        self.unacknowledged_bytes
    }

    /// Bytes of acknowledged SDUs since the beginning.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged_bytes
    }

    /// SDUs in the buffer, those waiting for an acknowledgement included.
    pub fn held_packets(&self) -> u32 {
        self.held_packets
    }

    /// Arrival time of the oldest SDU waiting for the MAC.
    pub fn head_enqueued_us(&self) -> Option<u64> {
        let again = self.retx.first().and_then(|seq| self.held(*seq));
        let new = self.queue.get(self.unsent);
        again.into_iter().chain(new).map(|held| held.enqueued_us).min()
    }

    /// Highest COUNT sent in full, and the COUNT below which all SDUs are acknowledged.
    pub fn progress(&self) -> (Option<u64>, u64) {
        let acknowledged = self.queue.front().map_or(self.next_count, |held| held.count);
        (self.highest_sent_count, acknowledged)
    }

    /// Retransmitted PDUs since the beginning, and their bytes.
    pub fn retransmitted(&self) -> (u64, u64) {
        (self.retx_pdus, self.retx_pdu_bytes)
    }

    /// SDUs that may be added to be sent: as many as the transmitting window (38.322 §5.2.3.1.1) and
    /// the limits of the buffer leave, whatever their lengths.
    pub fn room_packets(&self) -> u32 {
        if self.held_bytes > 0 && self.limit_bytes - self.held_bytes < MAX_SDU_BYTES {
            return 0;
        }
        let in_window = self.sn_length.window().saturating_sub(self.queue.len() as u64);
        let in_buffer = self.limit_packets.saturating_sub(self.held_packets);
        u64::from(in_buffer).min(in_window) as u32
    }

    /// SDUs not received in full, sent or not.
    pub fn undelivered(&self) -> usize {
        self.queue.iter().filter(|held| held.sdu.is_some()).count()
    }

    /// Transport block bytes for everything that may be sent in one pull.
    pub fn demand_bytes(&self) -> u64 {
        self.new_cost + self.retx_cost
    }

    /// Transport block bytes of each retransmission, then of each new SDU, without segmentation. They
    /// sum to [`demand_bytes`](Self::demand_bytes).
    pub fn block_bytes_of_sdus(&self) -> impl Iterator<Item = u32> + '_ {
        let again = self.retx.iter().filter_map(|seq| self.held(*seq));
        let pieces = again.flat_map(|held| held.retx.pieces());
        let again = pieces.map(|(from, to)| self.cost(*from == 0, to - from));
        let new = self.queue.range(self.unsent..self.counted);
        let new = new.map(|held| self.cost(held.sent == 0, held.bytes - held.sent));
        again.chain(new).map(|cost| cost as u32)
    }

    /// Transport block bytes of a PDU with `rest` bytes of data.
    fn cost(&self, first: bool, rest: u32) -> u64 {
        let pdu = header_bytes(self.sn_length, first) + rest;
        u64::from(pdu + mac_subheader_bytes(pdu))
    }

    fn retx_cost_of(&self, held: &Held<P>) -> u64 {
        held.retx.pieces().iter().map(|(from, to)| self.cost(*from == 0, to - from)).sum()
    }

    fn held(&self, seq: u64) -> Option<&Held<P>> {
        let at = seq.checked_sub(self.base)?;
        self.queue.get(usize::try_from(at).ok()?)
    }

    /// Adds the cost of SDUs that are now within the window.
    fn count_window(&mut self) {
        let window = usize::try_from(self.sn_length.window()).unwrap_or(usize::MAX);
        let end = self.queue.len().min(window);
        while self.counted < end {
            let held = &self.queue[self.counted];
            self.new_cost += self.cost(true, held.bytes);
            self.counted += 1;
        }
    }

    /// Whether new data may be sent.
    fn has_new(&self) -> bool {
        self.unsent < self.counted
    }

    /// Removes the SDUs of which no byte is sent (38.322 §5.4) and returns them, oldest first. They
    /// leave no gap in the sequence numbers; PDCP reuses their COUNTs.
    pub fn take_unsent(&mut self) -> impl ExactSizeIterator<Item = P> + use<P> {
        let partly = self.queue.get(self.unsent).is_some_and(|held| held.sent > 0);
        let kept = (self.unsent + usize::from(partly)).min(self.queue.len());
        let unsent = self.queue.split_off(kept);
        let bytes = unsent.iter().map(|held| held.bytes).sum::<u32>();
        self.held_packets -= unsent.len() as u32;
        self.held_bytes -= bytes;
        self.unsent_bytes -= bytes;
        for held in unsent.iter().rev() {
            if held.count + 1 != self.next_count {
                break;
            }
            self.next_count = held.count;
        }
        self.counted = self.counted.min(kept);
        self.new_cost = match self.queue.get(self.unsent) {
            Some(head) => self.cost(false, head.bytes - head.sent),
            None => 0,
        };
        let sdus: Vec<P> = unsent.into_iter().filter_map(|held| held.sdu).collect();
        sdus.into_iter()
    }

    /// Every SDU that is not received, oldest first.
    pub fn into_sdus(self) -> impl Iterator<Item = P> {
        self.queue.into_iter().filter_map(|held| held.sdu)
    }

    /// Takes SDU `seq`, completely received, with its COUNT; `None` if it was taken before.
    pub fn take_received(&mut self, seq: u64) -> Option<(u64, Payload<P>)> {
        let at = usize::try_from(seq.checked_sub(self.base)?).ok()?;
        let held = self.queue.get_mut(at)?;
        let sdu = held.sdu.take()?;
        let (enqueued_us, dequeued_us) = (held.enqueued_us, held.sent_us);
        Some((held.count, Payload { sdu, enqueued_us, dequeued_us }))
    }

    /// Fills `grant_bytes` of a transport block with PDUs and their MAC subheaders, retransmissions
    /// first (38.322 §5.2.3.1.1); returns the bytes used. `emit` gets each PDU with its length,
    /// `waited` the time in the queue of each SDU whose first byte is sent.
    pub fn pull(
        &mut self,
        grant_bytes: u32,
        now_us: u64,
        mut waited: impl FnMut(u64),
        mut emit: impl FnMut(AmdPdu, u32),
    ) -> u32 {
        let mut used = 0;
        loop {
            let longest = longest_pdu(grant_bytes - used);
            let made = if self.retx.is_empty() {
                self.new_pdu(longest, now_us, &mut waited)
            } else {
                self.retransmission_pdu(longest)
            };
            let Some((mut pdu, new_bytes)) = made else { break };
            let is_empty = self.retx.is_empty() && self.unsent == self.queue.len();
            // §5.3.3.2: poll if the buffer is empty or the window stalled.
            let is_stalled = self.unsent < self.queue.len() && !self.has_new();
            pdu.poll = self.polling.on_pdu(new_bytes, is_empty || is_stalled);
            if pdu.poll {
                self.polling.sent(self.highest_sent_seq(), now_us);
            }
            let pdu_bytes = pdu.len_bytes(self.sn_length);
            if new_bytes == 0 {
                self.retx_pdus += 1;
                self.retx_pdu_bytes += u64::from(pdu_bytes);
            }
            used += pdu_bytes + mac_subheader_bytes(pdu_bytes);
            emit(pdu, pdu_bytes);
        }
        used
    }

    fn highest_sent_seq(&self) -> u64 {
        let partly = self.queue.get(self.unsent).is_some_and(|held| held.sent > 0);
        let sent = self.unsent + usize::from(partly);
        self.base + (sent as u64).saturating_sub(1)
    }

    fn pdu(&self, seq: u64, so: u32, data_bytes: u32, last: bool) -> AmdPdu {
        let (sn, incarnation) = (self.sn_length.sn(seq), self.incarnation);
        AmdPdu { sn, seq, incarnation, so, data_bytes, last, poll: false }
    }

    /// A PDU of new data, and the bytes of data in it.
    fn new_pdu(
        &mut self,
        longest: u32,
        now_us: u64,
        waited: &mut impl FnMut(u64),
    ) -> Option<(AmdPdu, u32)> {
        if !self.has_new() {
            return None;
        }
        let head = &self.queue[self.unsent];
        let (so, whole, count) = (head.sent, head.bytes, head.count);
        let rest = whole - so;
        let data_bytes = longest.saturating_sub(header_bytes(self.sn_length, so == 0)).min(rest);
        if data_bytes == 0 {
            return None;
        }
        if so == 0 {
            waited(now_us.saturating_sub(head.enqueued_us));
        }
        let last = data_bytes == rest;
        self.new_cost -= self.cost(so == 0, rest);
        self.unsent_bytes -= data_bytes;
        let pdu = self.pdu(self.base + self.unsent as u64, so, data_bytes, last);
        let head = &mut self.queue[self.unsent];
        head.sent += data_bytes;
        head.sent_us = now_us;
        if last {
            let again = !head.retx.is_empty();
            self.unsent += 1;
            self.highest_sent_count = self.highest_sent_count.max(Some(count));
            if !again {
                self.unacknowledged_packets += 1;
                self.unacknowledged_bytes += whole;
            }
        } else {
            self.new_cost += self.cost(false, rest - data_bytes);
        }
        Some((pdu, data_bytes))
    }

    /// A PDU of a retransmission, segmented to the grant.
    fn retransmission_pdu(&mut self, longest: u32) -> Option<(AmdPdu, u32)> {
        let seq = *self.retx.first()?;
        let held = self.held(seq)?;
        let (from, to) = held.retx.first()?;
        let most = longest.saturating_sub(header_bytes(self.sn_length, from == 0));
        let data_bytes = most.min(to - from);
        if data_bytes == 0 {
            return None;
        }
        let last = from + data_bytes == held.bytes;
        let before = self.retx_cost_of(held);
        let pdu = self.pdu(seq, from, data_bytes, last);
        let at = (seq - self.base) as usize;
        self.queue[at].retx.take_first(data_bytes);
        self.retx_bytes -= data_bytes;
        self.retx_cost = self.retx_cost - before + self.retx_cost_of(&self.queue[at]);
        if self.queue[at].retx.is_empty() {
            self.retx.remove(&seq);
            if at < self.unsent {
                self.unacknowledged_packets += 1;
                self.unacknowledged_bytes += self.queue[at].bytes;
            }
        }
        Some((pdu, 0))
    }
}
