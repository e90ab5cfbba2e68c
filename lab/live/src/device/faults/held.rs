//! Packets that are held back until a time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::super::packet_in_flight::PacketInFlight;

/// A packet and when it leaves; the earliest is the greatest, and the first of those that are equal.
#[derive(Debug)]
struct Waiting {
    at_ns: u64,
    number: u64,
    packet: PacketInFlight,
}

impl Waiting {
    fn key(&self) -> (u64, u64) {
        (self.at_ns, self.number)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Packets by the time at which they leave.
#[derive(Debug, Default)]
pub(super) struct Held {
    waiting: BinaryHeap<Waiting>,
    bytes: usize,
    number: u64,
}

impl Held {
    /// Holds a packet until a time.
    pub(super) fn push(&mut self, at_ns: u64, packet: PacketInFlight) {
        self.bytes += packet.bytes().len();
        self.number += 1;
        self.waiting.push(Waiting { at_ns, number: self.number, packet });
    }

    /// The next packet that leaves by `now_ns`, at its time.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<PacketInFlight> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        let Waiting { at_ns, packet, .. } = self.waiting.pop()?;
        self.bytes -= packet.bytes().len();
        Some(PacketInFlight { at_ns, ..packet })
    }

    /// Time at which the next packet leaves.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.waiting.peek().map(|waiting| waiting.at_ns)
    }

    pub(super) fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
