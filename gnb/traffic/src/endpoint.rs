//! The contract of every end of a flow.

use crate::packet::Packet;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::tcp::TcpStats;

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

/// What an end can say about itself. Each says what it knows; [`crate::Flow::stats`] puts the two
/// ends together.
pub(crate) trait Measured {
    /// Packets sent and their bytes, IP headers included.
    fn sent(&self) -> (u64, u64) {
        (0, 0)
    }

    /// What arrived here, if that is of interest.
    fn arrivals(&self) -> Option<&Arrivals> {
        None
    }

    /// Downlink packets known to be lost, if this end is the one that knows.
    fn lost_packets(&self) -> Option<u64> {
        None
    }

    /// Round-trip times measured here.
    fn rtt(&self) -> Option<&DelayRecorder> {
        None
    }

    /// The delay the application judges itself by, with its name.
    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        None
    }

    /// The one TCP sender of this end.
    fn tcp_stats(&self) -> Option<TcpStats> {
        None
    }

    /// What the application says about its experience.
    fn figures(&self, _figures: &mut Figures) {}
}
