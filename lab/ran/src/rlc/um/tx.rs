//! Transmitting side of RLC-UM (38.322 §5.2.2.1): a drop-tail FIFO with segmentation.

use std::collections::VecDeque;

use super::SnLength;
use super::pdu::{Payload, UmdPdu, header_bytes, longest_pdu, mac_subheader_bytes};

/// The largest RLC SDU: a PDCP SDU of 9000 bytes (38.323 §4.3.1) and its headers.
pub const MAX_SDU_BYTES: u32 = 9000 + 8;

#[derive(Debug, Clone)]
struct Queued<P> {
    sdu: P,
    bytes: u32,
    /// PDCP's COUNT.
    count: u64,
    enqueued_us: u64,
}

/// An RLC-UM transmitter.
#[derive(Debug, Clone)]
pub struct UmTransmitter<P> {
    sn_length: SnLength,
    limit_packets: u32,
    limit_bytes: u32,
    queue: VecDeque<Queued<P>>,
    /// Bytes sent of the first SDU.
    sent_of_head: u32,
    /// Bytes not sent.
    bytes: u32,
    /// Transport block bytes of all queued SDUs without segmentation.
    whole_cost: u64,
    next_sn: u16,
    /// COUNT of the next SDU from PDCP.
    next_count: u64,
    highest_sent_count: Option<u64>,
}

impl<P> UmTransmitter<P> {
    /// A new entity.
    pub fn new(sn_length: SnLength, limit_packets: u32, limit_bytes: u32) -> Self {
        Self {
            sn_length,
            limit_packets,
            limit_bytes,
            queue: VecDeque::new(),
            sent_of_head: 0,
            bytes: 0,
            whole_cost: 0,
            next_sn: 0,
            next_count: 0,
            highest_sent_count: None,
        }
    }

    /// Enqueues an SDU of `bytes` (with PDCP and SDAP headers).
    ///
    /// # Errors
    /// Returns the SDU if it exceeds a limit of the buffer or [`MAX_SDU_BYTES`].
    pub fn enqueue(&mut self, sdu: P, bytes: u32, now_us: u64) -> Result<(), P> {
        self.enqueue_as(self.next_count, sdu, bytes, now_us)
    }

    /// Enqueues as [`enqueue`](Self::enqueue) does, with the COUNT assigned by PDCP.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_as(&mut self, count: u64, sdu: P, bytes: u32, now_us: u64) -> Result<(), P> {
        let over = self.queue.len() as u64 >= u64::from(self.limit_packets)
            || u64::from(self.bytes) + u64::from(bytes) > u64::from(self.limit_bytes);
        if over || bytes == 0 || bytes > MAX_SDU_BYTES {
            return Err(sdu);
        }
        self.bytes += bytes;
        self.whole_cost += u64::from(self.cost(true, bytes));
        self.queue.push_back(Queued { sdu, bytes, count, enqueued_us: now_us });
        self.next_count = self.next_count.max(count + 1);
        Ok(())
    }

    /// COUNT of the next SDU.
    pub fn next_count(&self) -> u64 {
        self.next_count
    }

    /// Highest COUNT sent in full.
    pub fn highest_sent_count(&self) -> Option<u64> {
        self.highest_sent_count
    }

    /// Bytes waiting for the MAC.
    pub fn occupancy_bytes(&self) -> u32 {
        self.bytes
    }

    /// SDUs not sent in full.
    pub fn occupancy_packets(&self) -> u32 {
        self.queue.len() as u32
    }

    /// SDUs that may be added: as many as the limits leave, whatever their lengths.
    pub fn room_packets(&self) -> u32 {
        if self.bytes > 0 && self.limit_bytes - self.bytes < MAX_SDU_BYTES {
            return 0;
        }
        self.limit_packets.saturating_sub(self.occupancy_packets())
    }

    /// Arrival time of the first SDU.
    pub fn head_enqueued_us(&self) -> Option<u64> {
        self.queue.front().map(|head| head.enqueued_us)
    }

    /// Transport block bytes that empty the buffer in one pull.
    pub fn demand_bytes(&self) -> u64 {
        match self.queue.front() {
            None => 0,
            Some(head) if self.sent_of_head == 0 => {
                debug_assert!(self.whole_cost >= u64::from(head.bytes));
                self.whole_cost
            }
            Some(head) => {
                self.whole_cost - u64::from(self.cost(true, head.bytes))
                    + u64::from(self.cost(false, head.bytes - self.sent_of_head))
            }
        }
    }

    /// Transport block bytes of each SDU without segmentation, or of the rest of a head sent in part.
    /// They sum to [`demand_bytes`](Self::demand_bytes).
    pub fn block_bytes_of_sdus(&self) -> impl Iterator<Item = u32> + '_ {
        self.queue.iter().enumerate().map(|(at, queued)| {
            let sent = if at == 0 { self.sent_of_head } else { 0 };
            self.cost(sent == 0, queued.bytes - sent)
        })
    }

    /// Transport block bytes of the last PDU of an SDU.
    fn cost(&self, first: bool, rest: u32) -> u32 {
        let pdu = header_bytes(self.sn_length, first, true) + rest;
        pdu + mac_subheader_bytes(pdu)
    }

    /// Removes the SDUs of which no byte is sent (38.322 §5.4: PDCP can discard an SDU only if no
    /// segment of it was submitted to lower layers) and returns them, oldest first. PDCP reuses their
    /// COUNTs.
    pub fn take_unsent(&mut self) -> impl ExactSizeIterator<Item = P> + use<P> {
        // Moves the queue instead of thousands of SDUs.
        let mut unsent = std::mem::take(&mut self.queue);
        if self.sent_of_head > 0 {
            self.queue.extend(unsent.pop_front());
        }
        self.bytes -= unsent.iter().map(|queued| queued.bytes).sum::<u32>();
        self.whole_cost = self.queue.iter().map(|q| u64::from(self.cost(true, q.bytes))).sum();
        for queued in unsent.iter().rev() {
            if queued.count + 1 != self.next_count {
                break;
            }
            self.next_count = queued.count;
        }
        unsent.into_iter().map(|queued| queued.sdu)
    }

    /// Every queued SDU with its COUNT, oldest first, the one sent in part included.
    pub fn into_numbered(self) -> impl Iterator<Item = (u64, P)> {
        self.queue.into_iter().map(|queued| (queued.count, queued.sdu))
    }

    /// The next SDU has this COUNT: PDCP goes on where another entity ended.
    pub fn continue_at(&mut self, next_count: u64) {
        self.next_count = next_count;
    }

    /// Every queued SDU, oldest first, the one sent in part included.
    pub fn into_sdus(self) -> impl Iterator<Item = P> {
        self.queue.into_iter().map(|queued| queued.sdu)
    }

    /// Fills `grant_bytes` of a transport block with PDUs and their MAC subheaders; returns the bytes
    /// used. `emit` gets each PDU with its length, `waited` the time in the queue of each SDU whose
    /// first byte is sent.
    pub fn pull(
        &mut self,
        grant_bytes: u32,
        now_us: u64,
        mut waited: impl FnMut(u64),
        mut emit: impl FnMut(UmdPdu<P>, u32),
    ) -> u32 {
        let mut used = 0;
        while let Some(head) = self.queue.front() {
            let (count, so, enqueued_us) = (head.count, self.sent_of_head, head.enqueued_us);
            let rest = head.bytes - so;
            let longest = longest_pdu(grant_bytes - used);
            let last = header_bytes(self.sn_length, so == 0, true) + rest <= longest;
            let header = header_bytes(self.sn_length, so == 0, last);
            // Of a segment, at least one byte is sent and at least one stays.
            let data_bytes = if last { rest } else { longest.saturating_sub(header).min(rest - 1) };
            if data_bytes == 0 {
                break;
            }
            if so == 0 {
                waited(now_us.saturating_sub(enqueued_us));
            }
            let sn = self.next_sn;
            self.sent_of_head += data_bytes;
            self.bytes -= data_bytes;
            let payload = if last { self.remove_head(so > 0, now_us) } else { None };
            let pdu_bytes = header + data_bytes;
            used += pdu_bytes + mac_subheader_bytes(pdu_bytes);
            emit(UmdPdu { sn, count, so, data_bytes, last, payload }, pdu_bytes);
            if !last {
                break;
            }
        }
        used
    }

    /// Removes the head, sent in full. TX_Next counts segmented SDUs only.
    fn remove_head(&mut self, is_segmented: bool, now_us: u64) -> Option<Payload<P>> {
        let Queued { sdu, bytes, count, enqueued_us } = self.queue.pop_front()?;
        self.sent_of_head = 0;
        self.next_sn = (self.next_sn + u16::from(is_segmented)) % self.sn_length.modulus();
        self.whole_cost -= u64::from(self.cost(true, bytes));
        self.highest_sent_count = self.highest_sent_count.max(Some(count));
        Some(Payload { sdu, enqueued_us, dequeued_us: now_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transmitter() -> UmTransmitter<u32> {
        UmTransmitter::new(SnLength::Twelve, 10, 10_000)
    }

    fn pull(tx: &mut UmTransmitter<u32>, grant: u32) -> (u32, Vec<UmdPdu<u32>>) {
        let mut pdus = Vec::new();
        let used = tx.pull(grant, 0, |_| {}, |pdu, _| pdus.push(pdu));
        (used, pdus)
    }

    #[test]
    fn complete_sdus_carry_no_sequence_number_and_segments_share_one() {
        let mut tx = transmitter();
        for sdu in 0..3 {
            tx.enqueue(sdu, 1000, 0).unwrap();
        }
        // 1000 + 1 + 3, then 496 bytes for a segment: 3 of MAC, 2 of RLC.
        let (used, pdus) = pull(&mut tx, 1500);
        assert_eq!(used, 1500);
        assert!(pdus[0].is_complete());
        assert_eq!((pdus[1].so, pdus[1].data_bytes, pdus[1].last), (0, 491, false));
        let (used, pdus) = pull(&mut tx, 5000);
        assert_eq!((pdus[0].so, pdus[0].data_bytes, pdus[0].last), (491, 509, true));
        assert_eq!((pdus[0].sn, pdus[1].sn), (0, 1));
        assert_eq!(used, 509 + 4 + 3 + 1000 + 1 + 3);
        assert_eq!((tx.occupancy_bytes(), tx.occupancy_packets(), tx.demand_bytes()), (0, 0, 0));
    }

    #[test]
    fn an_sdu_sent_in_part_stays_and_the_rest_is_returned_in_order() {
        let mut tx = transmitter();
        for sdu in 0..4 {
            tx.enqueue(sdu, 1000, 0).unwrap();
        }
        pull(&mut tx, 1500);
        assert_eq!(tx.take_unsent().collect::<Vec<_>>(), [2, 3]);
        assert_eq!((tx.occupancy_bytes(), tx.occupancy_packets()), (509, 1));
        assert_eq!(tx.demand_bytes(), 509 + 4 + 3);
        let (_, pdus) = pull(&mut tx, 5000);
        assert_eq!((pdus.len(), pdus[0].so, pdus[0].last), (1, 491, true));
        assert_eq!((tx.take_unsent().count(), tx.demand_bytes()), (0, 0));
    }

    #[test]
    fn demand_is_what_one_pull_needs() {
        let mut tx = transmitter();
        for bytes in [40, 1500, 252, 255, 256] {
            tx.enqueue(0, bytes, 0).unwrap();
        }
        pull(&mut tx, 700);
        let demand = tx.demand_bytes() as u32;
        assert_eq!(tx.block_bytes_of_sdus().sum::<u32>(), demand);
        let (used, _) = pull(&mut tx.clone(), demand);
        assert_eq!(used, demand);
        let (_, pdus) = pull(&mut tx, demand - 1);
        assert!(!pdus.last().unwrap().last);
    }

    #[test]
    fn a_grant_too_small_for_a_byte_is_not_used() {
        let mut tx = transmitter();
        tx.enqueue(0, 1000, 0).unwrap();
        for grant in 0..=4 {
            assert_eq!(pull(&mut tx, grant), (0, vec![]));
        }
        assert_eq!(pull(&mut tx, 5).1[0].data_bytes, 1);
    }

    #[test]
    fn the_tail_is_dropped_at_either_limit() {
        let mut tx = transmitter();
        for sdu in 0..10 {
            tx.enqueue(sdu, 1000, 0).unwrap();
        }
        assert_eq!(tx.enqueue(10, 1, 0), Err(10), "packets");
        let mut tx = transmitter();
        for sdu in 0..4 {
            tx.enqueue(sdu, 2500, 0).unwrap();
        }
        assert_eq!(tx.enqueue(4, 1, 0), Err(4), "bytes");
        pull(&mut tx, 100);
        assert_eq!(tx.enqueue(5, 95, 0), Ok(()), "bytes sent make room");
    }

    #[test]
    fn an_sdu_longer_than_pdcp_allows_is_refused() {
        let mut tx = UmTransmitter::new(SnLength::Six, u32::MAX, u32::MAX);
        assert_eq!(tx.enqueue(1, MAX_SDU_BYTES + 1, 0), Err(1));
        assert_eq!(tx.enqueue(1, 0, 0), Err(1));
        assert_eq!(tx.enqueue(1, MAX_SDU_BYTES, 0), Ok(()));
    }
}
