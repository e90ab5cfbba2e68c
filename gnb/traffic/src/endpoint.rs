//! The trait of every end of a flow.

use crate::packet::Packet;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::tcp::TcpStats;

/// One end of a flow: a state machine on virtual time.
///
/// `now_us` must not decrease from call to call. A late call does late what was due; nothing is
/// skipped. Packets to send are appended to `out`, stamped with `now_us`.
pub trait Endpoint {
    /// A packet of this flow arrived. Packets whose body is not for this end are ignored.
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>);

    /// Runs timers and transmissions that are due by `now_us`; nothing if none is due.
    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>);

    /// The earliest time at which [`Endpoint::poll`] has something to do without further input;
    /// `None` if only a packet can cause that.
    fn next_deadline_us(&self) -> Option<u64>;
}

/// Measurements of one end; [`crate::Flow::stats`] combines both ends.
pub(crate) trait Measured {
    /// Packets sent and their bytes, IP headers included.
    fn sent(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Packets that arrived here, if they are counted.
    fn arrivals(&self) -> Option<&Arrivals> {
        None
    }

    /// Downlink packets known to be lost, if this end detects losses.
    fn lost_packets(&self) -> Option<u64> {
        None
    }

    /// Round-trip times measured here.
    fn rtt(&self) -> Option<&DelayRecorder> {
        None
    }

    /// The delay that matters to the application, with its name.
    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        None
    }

    /// Statistics of the TCP sender, if this end has exactly one.
    fn tcp_stats(&self) -> Option<TcpStats> {
        None
    }

    /// Figures of the application's quality of experience.
    fn figures(&self, _figures: &mut Figures) {}
}
