//! What every device is.

use std::fmt;

use super::counts::FaultCounts;
use super::packet_in_flight::PacketInFlight;

/// A device on the way of packets.
pub(crate) trait Device: fmt::Debug + Send {
    /// A packet reaches the device at its time; what the device lets go now, it hands to `next`. Packets
    /// that an earlier device dropped come too, and are handed on as they are.
    fn push(&mut self, packet: PacketInFlight, next: &mut dyn FnMut(PacketInFlight));

    /// Hands on what the device holds until `now_ns` at the latest, each packet with its time.
    fn poll(&mut self, _now_ns: u64, _next: &mut dyn FnMut(PacketInFlight)) {}

    /// Time at which the device hands on the next packet that it holds.
    fn next_ns(&self) -> Option<u64> {
        None
    }

    /// What the device did to packets.
    fn faults(&self) -> FaultCounts {
        FaultCounts::default()
    }
}
