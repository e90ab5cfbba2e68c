//! The trait of every end of a flow, and the parameters both ends share.

use crate::ip::{IpVersion, UDP_IP_HEADER_BYTES};
use crate::packet::{Packet, Stamp};
use crate::stats::{Arrivals, DelayRecorder, Due, Figures};
use crate::tcp::TcpStats;
use crate::timer::Periodic;
use crate::tunnel::PATH_MTU_BYTES;

/// One end of a flow: a state machine on virtual time.
///
/// `now_us` must not decrease from call to call. A late call does late what was due; nothing is
/// skipped. Packets to send are appended to `out`, stamped with `now_us`.
pub trait Endpoint {
    /// A packet of this flow arrived. Packets whose body is not for this end are ignored.
    fn on_packet(&mut self, _packet: &Packet, _now_us: u64, _out: &mut Vec<Packet>) {}

    /// Runs timers and transmissions that are due by `now_us`.
    fn poll(&mut self, _now_us: u64, _out: &mut Vec<Packet>) {}

    /// The earliest time at which [`Endpoint::poll`] has something to do without further input;
    /// `None` if only a packet can cause that.
    fn next_deadline_us(&self) -> Option<u64> {
        None
    }
}

/// Parameters that both ends of a flow share, whatever the application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowContext {
    pub(crate) stamp: Stamp,
    /// Seed of the random streams of the flow.
    pub(crate) seed: u64,
    pub(crate) start_us: u64,
    pub(crate) stop_us: Option<u64>,
    pub(crate) ip_version: IpVersion,
    /// The longest datagram that the path or the tunnel carries.
    pub(crate) mtu_bytes: u32,
    /// See [`crate::FlowConfig::deadline_us`].
    pub(crate) deadline_us: Option<u64>,
}

impl Default for FlowContext {
    fn default() -> Self {
        Self {
            stamp: Stamp::default(),
            seed: 0,
            start_us: 0,
            stop_us: None,
            ip_version: IpVersion::V4,
            mtu_bytes: PATH_MTU_BYTES,
            deadline_us: None,
        }
    }
}

impl FlowContext {
    /// The longest payload of a UDP datagram.
    pub(crate) fn udp_payload_bytes(&self) -> u32 {
        self.mtu_bytes.saturating_sub(UDP_IP_HEADER_BYTES + self.ip_version.extra_bytes())
    }

    /// Whether data may be sent at `now_us`.
    pub(crate) fn is_on(&self, now_us: u64) -> bool {
        now_us >= self.start_us && self.stop_us.is_none_or(|stop_us| now_us < stop_us)
    }

    /// Fires each `numerator / denominator` µs while the flow is on.
    pub(crate) fn periodic(&self, numerator: u64, denominator: u64) -> Periodic {
        Periodic::new(self.start_us, self.stop_us, numerator, denominator)
    }
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

    /// Packets in the direction of the data known to be lost, if this end detects losses.
    fn lost_packets(&self) -> Option<u64> {
        None
    }

    /// Frames or packets with a deadline that were sent.
    fn due(&self) -> Option<&Due> {
        None
    }

    /// Delays of the frames or packets with a deadline that arrived, and one above the highest
    /// number among them.
    fn arrived_units(&self) -> Option<(&DelayRecorder, u64)> {
        None
    }

    /// Round-trip times measured here.
    fn rtt(&self) -> Option<&DelayRecorder> {
        None
    }

    /// Times at which the requests of a ping were sent that have no reply so far, µs.
    fn unanswered_us(&self) -> Vec<u64> {
        Vec::new()
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
