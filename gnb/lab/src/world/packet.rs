//! A packet inside the gNB: what the traffic source sent, and what SDAP knows about it.

use std::net::{IpAddr, Ipv4Addr};

use tc_rf::{Ecn, FiveTuple};
use traffic::Body;

/// Protocol numbers of the IANA registry.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The server of every flow; 198.51.100.0/24 is for documentation (RFC 5737).
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
/// First port of the servers: iperf3's.
const SERVER_PORT: u16 = 5201;
/// First dynamic port (RFC 6335 §6).
const UE_PORT: u16 = 49_152;
const UE_PORTS: u32 = 16_384;

/// Stands for "no QFI".
const NO_QFI: u8 = u8::MAX;

/// A downlink packet on its way through CU and DU.
#[derive(Clone, Debug)]
pub(crate) struct GnbPacket {
    pub(crate) inner: traffic::Packet,
    /// When it entered SDAP.
    pub(crate) ingress_us: u64,
    /// When it entered the RLC.
    pub(crate) rlc_us: u64,
    /// Index of its bearer in the world.
    pub(crate) bearer: u32,
    rnti: u16,
    qfi: u8,
}

impl GnbPacket {
    pub(crate) fn new(inner: traffic::Packet, bearer: u32, rnti: u16, qfi: Option<u8>) -> Self {
        Self { inner, ingress_us: 0, rlc_us: 0, bearer, rnti, qfi: qfi.unwrap_or(NO_QFI) }
    }
}

/// Address of a UE, in the pool that Open5GS and OAI's examples use.
pub(crate) fn ue_address(rnti: u16) -> IpAddr {
    let [high, low] = rnti.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, 45, high, low))
}

/// 5-tuple of a downlink packet of flow number `flow`: ports follow from the number, so that no
/// packet has to carry them.
pub(crate) fn five_tuple(flow: u32, rnti: u16, body: &Body) -> FiveTuple {
    let protocol = match body {
        Body::Tcp(_) => TCP,
        Body::Udp { .. } => UDP,
        Body::Ping { .. } => ICMP,
    };
    let (source_port, destination_port) = if protocol == ICMP {
        (0, 0)
    } else {
        (SERVER_PORT + (flow / UE_PORTS) as u16, UE_PORT + (flow % UE_PORTS) as u16)
    };
    FiveTuple {
        source: SERVER,
        destination: ue_address(rnti),
        source_port,
        destination_port,
        protocol,
    }
}

impl tc_rf::Packet for GnbPacket {
    fn len_bytes(&self) -> u32 {
        self.inner.len_bytes
    }

    fn flow(&self) -> FiveTuple {
        five_tuple(self.inner.flow, self.rnti, &self.inner.body)
    }

    fn dscp(&self) -> u8 {
        self.inner.dscp
    }

    fn qfi(&self) -> Option<u8> {
        (self.qfi != NO_QFI).then_some(self.qfi)
    }

    fn ecn(&self) -> Ecn {
        match self.inner.ecn {
            traffic::Ecn::NotEct => Ecn::NotEct,
            traffic::Ecn::Ect0 => Ecn::Ect0,
            traffic::Ecn::Ect1 => Ecn::Ect1,
            traffic::Ecn::Ce => Ecn::Ce,
        }
    }

    fn set_ce(&mut self) {
        self.inner.ecn = traffic::Ecn::Ce;
    }

    fn set_dscp(&mut self, dscp: u8) {
        self.inner.dscp = dscp;
    }
}

impl ran::Sdu for GnbPacket {
    fn len_bytes(&self) -> u32 {
        self.inner.len_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_ue_have_tuples_of_their_own() {
        let udp = Body::Udp { seq: 0 };
        let tuples: std::collections::HashSet<_> =
            (0..100_000).map(|flow| five_tuple(flow, 0x4601, &udp)).collect();
        assert_eq!(tuples.len(), 100_000);
    }

    #[test]
    fn echo_has_no_ports() {
        let ping = Body::Ping { seq: 0, is_reply: false, request_sent_us: 0 };
        let tuple = five_tuple(7, 0x4601, &ping);
        assert_eq!((tuple.source_port, tuple.destination_port, tuple.protocol), (0, 0, 1));
        assert_eq!(tuple.destination.to_string(), "10.45.70.1");
    }
}
