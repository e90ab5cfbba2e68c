//! One flow of the scenario.

use traffic::{Flow, IpVersion};

use super::delays::Delays;
use super::packet::{GnbPacket, Tunnel, datagram_bytes};

/// A flow bound to a bearer.
#[derive(Clone, Debug)]
pub(crate) struct BoundFlow {
    pub(crate) name: String,
    pub(crate) rnti: u16,
    pub(crate) drb: u8,
    pub(crate) qfi: Option<u8>,
    pub(crate) dscp: u8,
    pub(crate) ip_version: IpVersion,
    /// The tunnel that carries it.
    pub(crate) tunnel: Option<Tunnel>,
    /// Index of its bearer in the world.
    pub(crate) bearer: u32,
    pub(crate) start_us: u64,
    pub(crate) stop_us: Option<u64>,
    /// Server to CU and back, each.
    pub(crate) core_delay_us: u64,
    /// When its last packet from the server reaches the CU.
    pub(crate) core_last_us: u64,
    /// Number of its connections; connections are numbered across flows, in the order of the flows.
    pub(crate) connections: u16,
    pub(crate) ends: Flow,
    pub(crate) queuing: Queuing,
}

impl BoundFlow {
    /// A downlink packet of this flow.
    pub(crate) fn packet(&self, inner: traffic::Packet) -> GnbPacket {
        GnbPacket::new(inner, self.bearer, self.rnti, self.qfi, self.ip_version, self.tunnel)
    }

    /// Length of the IP datagram that carries a packet of this flow, that of the tunnel if it is in one.
    pub(crate) fn datagram_bytes(&self, packet: &traffic::Packet) -> u32 {
        datagram_bytes(packet, self.ip_version, self.tunnel)
    }
}

/// Sojourn of a flow's packets in SDAP and RLC (irazabal2021 §V-G).
#[derive(Clone, Debug, Default)]
pub(crate) struct Queuing {
    pub(crate) delay: Delays,
    /// Packets below one LTE TTI (first column of irazabal2021 Table 2).
    pub(crate) below_1ms: u64,
    pub(crate) packets: u64,
}

impl Queuing {
    pub(crate) fn record(&mut self, sojourn_us: u64) {
        self.delay.record(sojourn_us);
        self.packets += 1;
        self.below_1ms += u64::from(sojourn_us < 1_000);
    }
}
