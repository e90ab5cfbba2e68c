//! The CU's end of a bearer on F1-U: where its packets are, from delivery status.

use std::collections::VecDeque;

use super::delivery_status::{DeliveryStatus, unwrap_sn24};
use crate::rlc::SduDelays;

/// Most packets in the log: twice an RLC buffer of 10 MB in packets of 100 bytes. Beyond, the oldest
/// are dropped from the log.
const MAX_TRACKED: usize = 200_000;

#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    bytes: u32,
    sent_us: u64,
    /// Transmitted, lost or recalled: no longer in the sums of untransmitted packets.
    is_transmitted: bool,
}

/// Packets below the CU, as of one delivery status frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Bytes that had reached the DU and were not transmitted.
    pub in_rlc_bytes: u64,
    /// Their packets.
    pub in_rlc_packets: u32,
    /// Bytes transmitted and not acknowledged by an RLC-AM status report.
    pub unacknowledged_bytes: u64,
    /// Their packets.
    pub unacknowledged_packets: u32,
    /// Bytes of all packets that had reached the DU, or were lost on F1-U, since the beginning.
    pub received_bytes: u64,
    /// Delays of packets removed from the RLC since the previous frame, from their arrival at the DU
    /// to the frame that reports them.
    pub removed: SduDelays,
}

/// Packets sent by the CU and not reported as removed from the RLC.
#[derive(Debug, Clone, Default)]
pub struct DeliveryTracker {
    log: VecDeque<Sent>,
    next: u64,
    sent_bytes: u64,
    untransmitted_bytes: u64,
    untransmitted_packets: u32,
    undelivered_bytes: u64,
    undelivered_packets: u32,
    lost_packets: u64,
}

impl DeliveryTracker {
    /// The number of the next packet.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Records a packet sent to the DU; returns its number.
    pub fn sent(&mut self, bytes: u32, now_us: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        self.sent_bytes += u64::from(bytes);
        self.untransmitted_bytes += u64::from(bytes);
        self.untransmitted_packets += 1;
        if self.log.len() == MAX_TRACKED {
            self.drop_oldest();
        }
        self.log.push_back(Sent { number, bytes, sent_us: now_us, is_transmitted: false });
        number
    }

    fn drop_oldest(&mut self) {
        if !self.log.is_empty() && !self.mark_transmitted(0) {
            self.undelivered_bytes -= u64::from(self.log[0].bytes);
            self.undelivered_packets -= u32::from(self.log[0].bytes > 0);
        }
        self.log.pop_front();
    }

    /// Packets reported lost on F1-U.
    pub fn lost_packets(&self) -> u64 {
        self.lost_packets
    }

    /// Packets not reported as transmitted or, in AM, delivered.
    pub fn tracked_packets(&self) -> usize {
        self.log.len()
    }

    /// Records that the CU has recalled packet `number`.
    pub fn recalled(&mut self, number: u64) {
        if let Ok(at) = self.log.binary_search_by_key(&number, |sent| sent.number) {
            self.mark_transmitted(at);
            self.log[at].bytes = 0;
        }
    }

    /// Removes a packet from the sums of untransmitted ones; returns whether it was in them.
    fn mark_transmitted(&mut self, at: usize) -> bool {
        let sent = &mut self.log[at];
        let is_first = !sent.is_transmitted;
        if is_first {
            sent.is_transmitted = true;
            self.untransmitted_bytes -= u64::from(sent.bytes);
            self.untransmitted_packets -= 1;
        }
        is_first
    }

    /// Evaluates a frame built by the DU at `made_us`; `down_us` is the delay from CU to DU without
    /// jitter. Frames may arrive in any order; an outdated one changes nothing.
    pub fn on_delivery_status(
        &mut self,
        status: &DeliveryStatus,
        is_am: bool,
        made_us: u64,
        down_us: u64,
    ) -> Outstanding {
        for (first, last) in &status.lost {
            let first = unwrap_sn24(*first, self.next);
            let last = unwrap_sn24(*last, self.next);
            let from = self.log.partition_point(|sent| sent.number < first);
            let to = self.log.partition_point(|sent| sent.number <= last);
            self.lost_packets += last.saturating_sub(first).saturating_add(1).min(self.next);
            for at in from..to {
                // A later packet may have been reported transmitted, and this one with it.
                if !self.mark_transmitted(at) && self.log[at].bytes > 0 {
                    self.undelivered_bytes -= u64::from(self.log[at].bytes);
                    self.undelivered_packets -= 1;
                }
                self.log[at].bytes = 0;
            }
        }
        if let Some(sn) = status.highest_transmitted {
            let highest = unwrap_sn24(sn, self.next);
            let to = self.log.partition_point(|sent| sent.number <= highest);
            // Transmitted packets are at the front: the loop visits newly transmitted ones only.
            for at in (0..to).rev() {
                if !self.mark_transmitted(at) && self.log[at].bytes > 0 {
                    break;
                }
                self.undelivered_bytes += u64::from(self.log[at].bytes);
                self.undelivered_packets += u32::from(self.log[at].bytes > 0);
            }
        }
        let delivered = if is_am { status.highest_delivered } else { status.highest_transmitted };
        let mut removed = SduDelays::default();
        if let Some(sn) = delivered {
            let highest = unwrap_sn24(sn, self.next);
            while let Some(first) = self.log.front().copied() {
                if first.number > highest || !first.is_transmitted {
                    break;
                }
                self.undelivered_bytes -= u64::from(first.bytes);
                self.undelivered_packets -= u32::from(first.bytes > 0);
                if first.bytes > 0 {
                    removed.add(made_us.saturating_sub(first.sent_us.saturating_add(down_us)));
                }
                self.log.pop_front();
            }
        }
        Outstanding { removed, ..self.outstanding(made_us.checked_sub(down_us)) }
    }

    /// Packets in the DU; those sent after `sent_by_us` are still on F1-U.
    fn outstanding(&self, sent_by_us: Option<u64>) -> Outstanding {
        let (mut on_f1_bytes, mut on_f1_packets) = (0, 0);
        for sent in self.log.iter().rev() {
            if sent_by_us.is_some_and(|by_us| sent.sent_us <= by_us) {
                break;
            }
            if !sent.is_transmitted {
                on_f1_bytes += u64::from(sent.bytes);
                on_f1_packets += 1;
            }
        }
        Outstanding {
            in_rlc_bytes: self.untransmitted_bytes - on_f1_bytes,
            in_rlc_packets: self.untransmitted_packets - on_f1_packets,
            unacknowledged_bytes: self.undelivered_bytes,
            unacknowledged_packets: self.undelivered_packets,
            received_bytes: self.sent_bytes - on_f1_bytes,
            removed: SduDelays::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_while_no_packet_is_transmitted() {
        let mut tracker = DeliveryTracker::default();
        (0..MAX_TRACKED as u64 + 500).for_each(|now_us| {
            tracker.sent(100, now_us);
        });
        assert_eq!(tracker.tracked_packets(), MAX_TRACKED);
        let known = tracker.on_delivery_status(&DeliveryStatus::default(), true, 1 << 40, 0);
        assert_eq!(known.in_rlc_packets as usize, MAX_TRACKED);
        let last = (MAX_TRACKED + 499) as u32;
        let frame = DeliveryStatus { highest_transmitted: Some(last), ..Default::default() };
        let known = tracker.on_delivery_status(&frame, true, 1 << 40, 0);
        assert_eq!((known.in_rlc_bytes, known.unacknowledged_packets as usize), (0, MAX_TRACKED));
        tracker.sent(100, 0);
        let known = tracker.on_delivery_status(&frame, true, 1 << 40, 0);
        assert_eq!(
            (known.in_rlc_packets, known.unacknowledged_packets as usize),
            (1, MAX_TRACKED - 1)
        );
    }
}
