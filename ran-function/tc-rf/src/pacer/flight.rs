//! What the CU forwarded and the DU has not received yet: bytes on F1-U.

use std::collections::VecDeque;

use super::RlcStatus;

/// Most entries; beyond, packets are counted with the one before them.
const MAX_ENTRIES: usize = 4096;

/// A packet not reported by the DU this long after its expected arrival was lost on F1-U.
const LOST_AFTER_US: u64 = 50_000;

/// Bytes and SDUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InFlight {
    pub(super) bytes: u64,
    pub(super) packets: u64,
}

/// A packet that was forwarded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Time at which it was forwarded.
    pub(super) at_us: u64,
    /// Forwarded so far, it included.
    pub(super) total: InFlight,
}

/// Packets forwarded and not reported as received, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    total: InFlight,
    received: InFlight,
}

impl Flight {
    #[inline]
    pub(super) fn sent(&mut self, len_bytes: u64, now_us: u64) {
        self.total.bytes += len_bytes;
        self.total.packets += 1;
        let entry = Sent { at_us: now_us, total: self.total };
        if self.sent.len() < MAX_ENTRIES {
            self.sent.push_back(entry);
        } else if let Some(last) = self.sent.back_mut() {
            *last = entry;
        }
    }

    /// A status was received at `now_us`. Where the DU does not report what it received, the one-way
    /// delay down is taken to be that of the status up (stolidis2024 §III-B).
    pub(super) fn on_status(&mut self, status: &RlcStatus, now_us: u64) {
        let way_us = now_us.saturating_sub(status.at_us);
        let arrived_us = status.at_us.saturating_sub(way_us);
        let lost_us = arrived_us.saturating_sub(LOST_AFTER_US);
        while let Some(first) = self.sent.front() {
            let received = match status.received_bytes {
                Some(bytes) => first.total.bytes <= bytes || first.at_us < lost_us,
                None => first.at_us <= arrived_us,
            };
            if !received {
                break;
            }
            self.received = first.total;
            self.sent.pop_front();
        }
    }

    /// What is on F1-U as of the last status.
    pub(super) fn in_flight(&self) -> InFlight {
        InFlight {
            bytes: self.total.bytes - self.received.bytes,
            packets: self.total.packets - self.received.packets,
        }
    }

    /// The packets on F1-U, oldest first: when each was forwarded, and its bytes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut before_bytes = self.received.bytes;
        self.sent.iter().map(move |sent| {
            let bytes = sent.total.bytes - before_bytes;
            before_bytes = sent.total.bytes;
            (sent.at_us, bytes)
        })
    }

    /// Bytes ever forwarded.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(at_us: u64, received_bytes: Option<u64>) -> RlcStatus {
        RlcStatus { at_us, received_bytes, ..RlcStatus::default() }
    }

    fn three_packets() -> Flight {
        let mut flight = Flight::default();
        [(0, 100), (1_000, 200), (2_000, 300)].into_iter().for_each(|(at_us, len_bytes)| {
            flight.sent(len_bytes, at_us);
        });
        flight
    }

    #[test]
    fn what_the_du_has_not_received_is_in_flight() {
        let mut flight = three_packets();
        assert_eq!(flight.in_flight(), InFlight { bytes: 600, packets: 3 });
        flight.on_status(&status(5_000, Some(300)), 5_000);
        assert_eq!(flight.in_flight(), InFlight { bytes: 300, packets: 1 });
        assert_eq!(flight.iter().collect::<Vec<_>>(), [(2_000, 300)]);
    }

    #[test]
    fn without_a_report_arrivals_follow_from_the_delay_of_the_status() {
        let mut flight = three_packets();
        // Taken at 11 ms, received at 21 ms: what was sent up to 1 ms had arrived by 11 ms.
        flight.on_status(&status(11_000, None), 21_000);
        assert_eq!(flight.in_flight(), InFlight { bytes: 300, packets: 1 });
    }

    #[test]
    fn packets_lost_on_f1_do_not_stay_in_flight() {
        let mut flight = three_packets();
        flight.on_status(&status(51_000, Some(0)), 51_000);
        assert_eq!(flight.in_flight(), InFlight { bytes: 500, packets: 2 });
        flight.on_status(&status(53_000, Some(0)), 53_000);
        assert_eq!(flight.in_flight(), InFlight::default());
    }

    #[test]
    fn entries_are_bounded_and_bytes_are_not_lost() {
        let mut flight = Flight::default();
        (0..10_000).for_each(|at_us| flight.sent(1_500, at_us));
        assert_eq!(flight.iter().count(), MAX_ENTRIES);
        assert_eq!(flight.iter().map(|(_, bytes)| bytes).sum::<u64>(), 15_000_000);
        assert_eq!(flight.in_flight().packets, 10_000);
    }

    #[test]
    fn a_clock_that_jumps_back_is_tolerated() {
        let mut flight = three_packets();
        flight.on_status(&status(u64::MAX, None), 0);
        assert_eq!(flight.in_flight(), InFlight::default());
        flight.sent(7, 3_000);
        flight.on_status(&status(0, None), u64::MAX);
        assert_eq!(flight.in_flight(), InFlight { bytes: 7, packets: 1 });
    }
}
