//! One flow of the scenario.

use traffic::{Flow, IpVersion};

use super::delays::Delays;
use super::packet::{GnbPacket, Hosts, Tunnel, datagram_bytes};

/// A flow bound to a bearer.
#[derive(Clone, Debug)]
pub(crate) struct BoundFlow {
    pub(crate) name: String,
    pub(crate) rnti: u16,
    pub(crate) drb: u8,
    pub(crate) qfi: Option<u8>,
    pub(crate) dscp: u8,
    pub(crate) ip_version: IpVersion,
    pub(crate) hosts: Hosts,
    /// The tunnel that carries it.
    pub(crate) tunnel: Option<Tunnel>,
    /// Index in the world of the bearer that carries its downlink.
    pub(crate) bearer: u32,
    /// Index of its QoS flow if its UE has several DRBs; [`NO_FLOW`](super::packet::NO_FLOW) if it stays.
    pub(crate) qos_flow: u32,
    pub(crate) start_us: u64,
    pub(crate) stop_us: Option<u64>,
    /// Server to CU and back, each.
    pub(crate) core_delay_us: u64,
    /// Time at which its last packet from the server reaches the CU.
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
            .between(self.hosts)
            .of_flow(self.qos_flow)
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
    slow: SlowSeconds,
}

/// A mean sojourn above this is a second that users notice, µs.
const SLOW_US: u64 = 100_000;

/// Seconds in which packets of a flow waited long.
#[derive(Clone, Copy, Debug, Default)]
struct SlowSeconds {
    second: u64,
    sum_us: u64,
    packets: u64,
    ended: u64,
}

impl SlowSeconds {
    fn record(&mut self, now_us: u64, sojourn_us: u64) {
        let second = now_us / 1_000_000;
        if second != self.second {
            self.ended = self.count();
            (self.second, self.sum_us, self.packets) = (second, 0, 0);
        }
        self.sum_us += sojourn_us;
        self.packets += 1;
    }

    /// Seconds so far, the present one included.
    fn count(&self) -> u64 {
        self.ended + u64::from(self.sum_us > SLOW_US * self.packets)
    }
}

impl Queuing {
    /// Seconds in which the mean sojourn of the packets that left was above 100 ms.
    pub(crate) fn slow_s(&self) -> u64 {
        self.slow.count()
    }

    /// Records a packet that leaves the RLC.
    pub(crate) fn record(&mut self, now_us: u64, sojourn_us: u64) {
        self.slow.record(now_us, sojourn_us);
        self.delay.record(sojourn_us);
        self.packets += 1;
        self.below_1ms += u64::from(sojourn_us < 1_000);
    }
}
