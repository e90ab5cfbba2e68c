//! The contract of every end of a flow.

use crate::packet::Packet;

/// One end of a flow: a state machine on virtual time.
///
/// Calls must come with non-decreasing `now_us`; a call that comes late is served late, nothing is
/// skipped. Packets to send are appended to `out`, already stamped with `now_us`.
pub trait Endpoint {
    /// A packet of this flow arrived. Packets whose body is not for this end are ignored.
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>);

    /// Does whatever is due by `now_us`: timers and scheduled transmissions. Harmless when nothing
    /// is due.
    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>);

    /// The earliest time at which [`Endpoint::poll`] would do something without further input.
    /// `None` when only a packet can wake this end.
    fn next_deadline_us(&self) -> Option<u64>;
}
