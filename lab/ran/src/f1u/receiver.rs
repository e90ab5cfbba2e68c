//! The DU's end of a bearer on F1-U: lost packets, and the COUNT of each packet.
//!
//! The CU numbers packets (NR-U sequence number, 38.425 §5.5.3.9, here without wrapping; it is also the
//! NR PDCP sequence number of delivery status). COUNT is assigned here, so that packets recalled by the
//! CU or refused by a full RLC leave no gap. A packet lost on F1-U leaves one, for which the UE's PDCP
//! waits until t-Reordering expires.

use std::collections::VecDeque;

/// Most missing numbers kept: far more than a link loses within a report period.
const MAX_MISSING: usize = 65_536;

/// A number that has not arrived although a later one has.
#[derive(Debug, Clone, Copy)]
struct Missing {
    number: u64,
    /// The COUNT reserved for it; `None` once it may have been assigned to another packet.
    count: Option<u64>,
    since_us: u64,
    is_reported: bool,
}

/// The DU's end of one bearer.
#[derive(Debug, Clone)]
pub struct NrUReceiver {
    /// A frame this much later than its successor is lost.
    reordering_us: u64,
    expected: u64,
    /// Packets below this number carry their COUNT.
    numbered_below: u64,
    missing: VecDeque<Missing>,
    /// COUNT and number of packets in the RLC, in order of arrival.
    in_rlc: VecDeque<(u64, u64)>,
    highest_transmitted: Option<u64>,
    highest_delivered: Option<u64>,
    lost: u64,
}

impl NrUReceiver {
    /// A receiver without packets. A frame that is `reordering_us` later than its successor is lost.
    pub fn new(reordering_us: u32) -> Self {
        Self {
            reordering_us: u64::from(reordering_us),
            expected: 0,
            numbered_below: 0,
            missing: VecDeque::new(),
            in_rlc: VecDeque::new(),
            highest_transmitted: None,
            highest_delivered: None,
            lost: 0,
        }
    }

    /// A receiver in a DU that a bearer enters: the first `packets` are those that PDCP sends again
    /// (38.425 §5.4.1, retransmission flag), which keep their COUNTs, lost or not.
    pub fn after_recovery(reordering_us: u32, packets: u64) -> Self {
        Self { numbered_below: packets, ..Self::new(reordering_us) }
    }

    /// Receives packet `number`; returns its COUNT, where `next_count` is the next one of the RLC.
    pub fn receive(&mut self, number: u64, next_count: u64, now_us: u64) -> u64 {
        if number < self.expected {
            let at = self.missing.iter().position(|missing| missing.number == number);
            let late = at.and_then(|at| self.missing.remove(at));
            self.lost -= u64::from(late.is_some_and(|missing| missing.is_reported));
            return late.and_then(|missing| missing.count).unwrap_or(next_count);
        }
        let mut count = next_count;
        while self.expected < number {
            if self.missing.len() == MAX_MISSING {
                self.missing.pop_front();
            }
            let has_count = self.expected < self.numbered_below;
            self.missing.push_back(Missing {
                number: self.expected,
                count: (!has_count).then_some(count),
                since_us: now_us,
                is_reported: false,
            });
            self.expected += 1;
            count += u64::from(!has_count);
        }
        self.expected = number + 1;
        count
    }

    /// Records that the RLC has enqueued packet `number` with `count`.
    pub fn enqueued(&mut self, number: u64, count: u64) {
        self.in_rlc.push_back((count, number));
    }

    /// Records a recall by the CU, after which the RLC continues with `next_count`.
    pub fn recalled(&mut self, next_count: u64) {
        self.in_rlc.retain(|(count, _)| *count < next_count);
        for missing in &mut self.missing {
            missing.count = missing.count.filter(|count| *count < next_count);
        }
    }

    /// Records the RLC's progress: the highest COUNT sent in full and, in AM, the COUNT below which
    /// all SDUs are acknowledged.
    pub fn progress(&mut self, sent: Option<u64>, acknowledged: Option<u64>) {
        let Some(sent) = sent else { return };
        let is_am = acknowledged.is_some();
        let mut kept = 0;
        while let Some((count, number)) = self.in_rlc.get(kept).copied() {
            if count > sent {
                break;
            }
            self.highest_transmitted = self.highest_transmitted.max(Some(number));
            if !is_am || acknowledged.is_some_and(|below| count < below) {
                if is_am {
                    self.highest_delivered = self.highest_delivered.max(Some(number));
                }
                self.in_rlc.remove(kept);
            } else {
                kept += 1;
            }
        }
    }

    /// Highest number sent in full and, in AM, delivered to the UE.
    pub fn highest(&self) -> (Option<u64>, Option<u64>) {
        (self.highest_transmitted, self.highest_delivered)
    }

    /// Whether a loss has not been reported.
    pub fn has_unreported_loss(&self, now_us: u64) -> bool {
        self.missing.iter().any(|missing| self.is_newly_lost(missing, now_us))
    }

    fn is_newly_lost(&self, missing: &Missing, now_us: u64) -> bool {
        !missing.is_reported && missing.since_us.saturating_add(self.reordering_us) <= now_us
    }

    /// Ranges of numbers (first and last) found lost since the previous call, at most `most`.
    pub fn take_lost(&mut self, now_us: u64, most: usize) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for at in 0..self.missing.len() {
            let missing = self.missing[at];
            if !self.is_newly_lost(&missing, now_us) {
                continue;
            }
            let number = missing.number;
            let is_full = ranges.len() == most;
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ if is_full => break,
                _ => ranges.push((number, number)),
            }
            self.missing[at].is_reported = true;
            self.lost += 1;
        }
        // Reported packets may still arrive late; the last 1024 are kept for that.
        while self.missing.len() > 1024 && self.missing.front().is_some_and(|m| m.is_reported) {
            self.missing.pop_front();
        }
        ranges
    }

    /// Packets reported lost, without those that arrived later.
    pub fn lost_packets(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_and_without_loss_counts_are_the_next_ones_of_the_rlc() {
        let mut receiver = NrUReceiver::new(0);
        for number in 0..10 {
            assert_eq!(receiver.receive(number, number, number), number);
            receiver.enqueued(number, number);
        }
        // The RLC refused 10; PDCP gives its COUNT to 11.
        assert_eq!(receiver.receive(10, 10, 10), 10);
        assert_eq!(receiver.receive(11, 10, 11), 10);
        assert!(!receiver.has_unreported_loss(1_000_000));
    }

    #[test]
    fn a_lost_packet_leaves_a_gap_and_is_reported_once() {
        let mut receiver = NrUReceiver::new(0);
        receiver.receive(0, 0, 0);
        assert_eq!(receiver.receive(3, 1, 10), 3, "COUNTs 1 and 2 stay open");
        assert_eq!(receiver.receive(5, 4, 20), 5);
        assert!(receiver.has_unreported_loss(20));
        assert_eq!(receiver.take_lost(20, 8), [(1, 2), (4, 4)]);
        assert_eq!((receiver.take_lost(30, 8), receiver.lost_packets()), (vec![], 3));
    }

    #[test]
    fn a_late_packet_gets_its_count_and_is_not_lost() {
        let mut receiver = NrUReceiver::new(500);
        receiver.receive(0, 0, 0);
        receiver.receive(2, 1, 100);
        assert!(!receiver.has_unreported_loss(599));
        assert_eq!(receiver.receive(1, 3, 400), 1);
        assert!(receiver.take_lost(10_000, 8).is_empty());
        receiver.receive(4, 3, 20_000);
        assert_eq!(receiver.take_lost(20_500, 8), [(3, 3)]);
        assert_eq!((receiver.receive(3, 5, 21_000), receiver.lost_packets()), (3, 0));
    }

    #[test]
    fn numbers_follow_the_rlc_through_recall() {
        let mut receiver = NrUReceiver::new(0);
        for number in 0..6 {
            let count = receiver.receive(number, number, 0);
            receiver.enqueued(number, count);
        }
        receiver.progress(Some(1), None);
        assert_eq!(receiver.highest(), (Some(1), None));
        // 3, 4 and 5 go back to the CU, which sends other packets as 6 and 7.
        receiver.recalled(3);
        for (number, next_count) in [(6, 3), (7, 4)] {
            let count = receiver.receive(number, next_count, 0);
            assert_eq!(count, next_count, "no gap");
            receiver.enqueued(number, count);
        }
        receiver.progress(Some(3), None);
        assert_eq!(receiver.highest(), (Some(6), None));
    }

    #[test]
    fn packets_that_carry_their_count_leave_no_gap() {
        let mut receiver = NrUReceiver::after_recovery(500, 3);
        // 0 and 1 are late; 3 is the first new one, for which the RLC has COUNT 9.
        receiver.receive(2, 9, 0);
        assert_eq!(receiver.receive(3, 9, 10), 9);
        assert_eq!(receiver.receive(5, 10, 20), 11, "4 is missing");
        receiver.receive(0, 12, 30);
        assert_eq!(receiver.receive(4, 12, 40), 10);
        assert_eq!(receiver.take_lost(10_000, 8), [(1, 1)]);
    }

    #[test]
    fn in_am_delivery_lags_behind_transmission() {
        let mut receiver = NrUReceiver::new(0);
        for number in 0..6 {
            let count = receiver.receive(number, number, 0);
            receiver.enqueued(number, count);
        }
        receiver.progress(Some(4), Some(0));
        assert_eq!(receiver.highest(), (Some(4), None));
        receiver.progress(Some(5), Some(3));
        assert_eq!(receiver.highest(), (Some(5), Some(2)));
    }
}
