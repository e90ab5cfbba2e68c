//! What faults did.

use serde::Serialize;

use super::packet_in_flight::DropCause;

/// Packets by fault. A packet may be corrupted, reordered and delayed; it is dropped once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FaultCounts {
    /// Dropped, whatever became of others.
    pub(crate) lost_packets: u64,
    /// Dropped in the bad state of the Gilbert–Elliott model.
    pub(crate) burst_lost_packets: u64,
    /// Dropped in an outage.
    pub(crate) outage_packets: u64,
    /// Dropped because more bytes were delayed than are held.
    pub(crate) overflow_packets: u64,
    /// Second copies.
    pub(crate) duplicated_packets: u64,
    /// Packets with a changed bit.
    pub(crate) corrupted_packets: u64,
    /// Held back so that others pass.
    pub(crate) reordered_packets: u64,
    /// Delayed.
    pub(crate) delayed_packets: u64,
    /// Held now.
    pub(crate) held_packets: u64,
}

impl FaultCounts {
    /// Packets that go no further.
    pub(crate) fn dropped_packets(&self) -> u64 {
        self.lost_packets + self.burst_lost_packets + self.outage_packets + self.overflow_packets
    }

    pub(crate) fn count_drop(&mut self, cause: DropCause) {
        *match cause {
            DropCause::Loss => &mut self.lost_packets,
            DropCause::BurstLoss => &mut self.burst_lost_packets,
            DropCause::Outage => &mut self.outage_packets,
            DropCause::Overflow => &mut self.overflow_packets,
        } += 1;
    }

    /// Each kind with its name, for people.
    pub(crate) fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("lost", self.lost_packets),
            ("lost in bursts", self.burst_lost_packets),
            ("lost in outages", self.outage_packets),
            ("lost beyond the bytes that are held", self.overflow_packets),
            ("duplicated", self.duplicated_packets),
            ("corrupted", self.corrupted_packets),
            ("reordered", self.reordered_packets),
            ("delayed", self.delayed_packets),
            ("held at the end", self.held_packets),
        ]
    }

    /// Adds those of another device.
    pub(crate) fn add(&mut self, other: &Self) {
        self.lost_packets += other.lost_packets;
        self.burst_lost_packets += other.burst_lost_packets;
        self.outage_packets += other.outage_packets;
        self.overflow_packets += other.overflow_packets;
        self.duplicated_packets += other.duplicated_packets;
        self.corrupted_packets += other.corrupted_packets;
        self.reordered_packets += other.reordered_packets;
        self.delayed_packets += other.delayed_packets;
        self.held_packets += other.held_packets;
    }
}
