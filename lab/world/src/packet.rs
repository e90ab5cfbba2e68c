//! A downlink packet inside the gNB.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::{Deref, DerefMut};

use tc_rf::{Ecn, FiveTuple, InnerFlow};
use traffic::{Body, IpVersion, TunnelConfig};

/// Protocol numbers of the IANA registry.
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const UDP: u8 = 17;

/// The first server; the last octet of others is their number. 198.51.100.0/24 and 2001:db8::/32 are for documentation (RFC 5737,
/// RFC 3849).
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
/// The same over IPv6.
pub const SERVER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
/// The far end of every tunnel; 203.0.113.0/24 is for documentation (RFC 5737).
const TUNNEL_SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));
/// The same over IPv6.
const TUNNEL_SERVER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1));
/// First port of the servers: iperf3's.
const SERVER_PORT: u16 = 5201;
/// First dynamic port (RFC 6335 §6).
const UE_PORT: u16 = 49_152;
const UE_PORTS: u32 = 16_384;

/// Index of no QoS flow.
pub(crate) const NO_FLOW: u32 = u32::MAX;

/// Value for "no QFI".
const NO_QFI: u8 = u8::MAX;

/// A tunnel of a UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tunnel {
    pub(crate) config: TunnelConfig,
    /// Determines its port at the UE.
    pub(crate) number: u16,
}

impl Tunnel {
    /// 5-tuple of its downlink packets.
    fn five_tuple(self, rnti: u16) -> FiveTuple {
        let ip_version = self.config.ip_version;
        FiveTuple {
            source: match ip_version {
                IpVersion::V4 => TUNNEL_SERVER,
                IpVersion::V6 => TUNNEL_SERVER_V6,
            },
            destination: ue_address(rnti, ip_version),
            source_port: self.config.server_port(),
            destination_port: UE_PORT + self.number,
            protocol: UDP,
        }
    }
}

/// A downlink packet in CU and DU. It moves some forty times between queues, so it stays in place.
#[derive(Clone, Debug)]
pub(crate) struct GnbPacket(Box<Content>);

/// Fields of a [`GnbPacket`].
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// The packet as its flow's ends see it; in a tunnel the inner one.
    pub(crate) inner: traffic::Packet,
    tunnel: Option<Tunnel>,
    /// DSCP of the outer header, which is not that of the inner one in a tunnel.
    dscp: u8,
    len_bytes: u32,
    /// Time of entry to SDAP.
    pub(crate) ingress_us: u64,
    /// Time of entry to the RLC.
    pub(crate) rlc_us: u64,
    /// Its number on F1-U in a split gNB.
    pub(crate) f1_number: u64,
    /// Bytes of the bearer sent to the DU up to and including it.
    pub(crate) sent_bytes: u64,
    /// Its delay on F1-U.
    pub(crate) f1_delay_us: u32,
    /// Index of its bearer in the world.
    pub(crate) bearer: u32,
    rnti: u16,
    qfi: u8,
    /// Index of its QoS flow if that can move to another DRB.
    qos_flow: u32,
    /// Already counted as forwarded by PDCP.
    pub(crate) is_counted: bool,
    ip_version: IpVersion,
    hosts: Hosts,
}

/// The hosts between which a flow is, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts {
    /// Server, from 1 on.
    pub(crate) server: u8,
    /// Host behind the UE; 1 is the UE itself.
    pub(crate) ue: u8,
}

impl Hosts {
    const FIRST: Self = Self { server: 1, ue: 1 };

    fn server_address(self, ip_version: IpVersion) -> IpAddr {
        match ip_version {
            IpVersion::V4 => IpAddr::V4(Ipv4Addr::new(198, 51, 100, self.server)),
            IpVersion::V6 => {
                IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, self.server.into()))
            }
        }
    }

    /// Hosts behind the UE have an IPv4 network each, and addresses of its IPv6 prefix.
    fn ue_address(self, rnti: u16, ip_version: IpVersion) -> IpAddr {
        match ue_address(rnti, ip_version) {
            IpAddr::V4(v4) => {
                let [ten, pool, high, low] = v4.octets();
                IpAddr::from([ten, pool + (self.ue - 1), high, low])
            }
            IpAddr::V6(v6) => {
                let mut segments = v6.segments();
                segments[7] = self.ue.into();
                IpAddr::from(segments)
            }
        }
    }
}

impl Deref for GnbPacket {
    type Target = Content;

    fn deref(&self) -> &Content {
        &self.0
    }
}

impl DerefMut for GnbPacket {
    fn deref_mut(&mut self) -> &mut Content {
        &mut self.0
    }
}

impl GnbPacket {
    /// A packet of a flow to `rnti`; `bearer` is the index of its bearer in the world.
    pub(crate) fn new(
        inner: traffic::Packet,
        bearer: u32,
        rnti: u16,
        qfi: Option<u8>,
        ip_version: IpVersion,
        tunnel: Option<Tunnel>,
    ) -> Self {
        Self(Box::new(Content {
            dscp: match tunnel {
                Some(tunnel) if !tunnel.config.copy_dscp => 0,
                _ => inner.dscp,
            },
            len_bytes: datagram_bytes(&inner, ip_version, tunnel),
            tunnel,
            inner,
            ingress_us: 0,
            rlc_us: 0,
            f1_number: 0,
            sent_bytes: 0,
            f1_delay_us: 0,
            bearer,
            rnti,
            qfi: qfi.unwrap_or(NO_QFI),
            qos_flow: NO_FLOW,
            is_counted: false,
            ip_version,
            hosts: Hosts::FIRST,
        }))
    }

    /// The same between other hosts than the first server and the UE.
    pub(crate) fn between(mut self, hosts: Hosts) -> Self {
        self.hosts = hosts;
        self
    }

    /// The same of a QoS flow that can move to another DRB, by its index; [`NO_FLOW`] for none.
    pub(crate) fn of_flow(mut self, qos_flow: u32) -> Self {
        self.qos_flow = qos_flow;
        self
    }

    /// Index of its QoS flow if that can move to another DRB.
    pub(crate) fn movable_flow(&self) -> Option<u32> {
        (self.qos_flow != NO_FLOW).then_some(self.qos_flow)
    }

    /// Length of the IP datagram, in a tunnel of the outer one.
    pub(crate) fn len_bytes(&self) -> u32 {
        self.len_bytes
    }
}

/// Length of the IP datagram that carries a packet. Senders assume the header of IPv4.
pub(crate) fn datagram_bytes(
    packet: &traffic::Packet,
    ip_version: IpVersion,
    tunnel: Option<Tunnel>,
) -> u32 {
    let inner_bytes = packet.len_bytes + ip_version.extra_bytes();
    tunnel.map_or(inner_bytes, |tunnel| tunnel.config.outer_bytes(inner_bytes))
}

/// Address of a UE: IPv4 in the pool of Open5GS and OAI's examples; IPv6 in its own prefix (23.501
/// §5.8.2.2.3).
pub fn ue_address(rnti: u16, ip_version: IpVersion) -> IpAddr {
    let [high, low] = rnti.to_be_bytes();
    match ip_version {
        IpVersion::V4 => IpAddr::V4(Ipv4Addr::new(10, 45, high, low)),
        IpVersion::V6 => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x45, rnti, 0, 0, 0, 1)),
    }
}

/// 5-tuple of a downlink packet of connection number `connection`, which determines the ports.
pub(crate) fn five_tuple(
    connection: u32,
    rnti: u16,
    ip_version: IpVersion,
    hosts: Hosts,
    body: &Body,
) -> FiveTuple {
    let protocol = match (body.protocol(), ip_version) {
        (ICMP, IpVersion::V6) => ICMPV6,
        (protocol, _) => protocol,
    };
    let (source_port, destination_port) = if matches!(protocol, ICMP | ICMPV6) {
        (0, 0)
    } else {
        (SERVER_PORT + (connection / UE_PORTS) as u16, UE_PORT + (connection % UE_PORTS) as u16)
    };
    FiveTuple {
        source: hosts.server_address(ip_version),
        destination: hosts.ue_address(rnti, ip_version),
        source_port,
        destination_port,
        protocol,
    }
}

impl tc_rf::Packet for GnbPacket {
    fn len_bytes(&self) -> u32 {
        self.len_bytes()
    }

    fn flow(&self) -> FiveTuple {
        if let Some(tunnel) = self.tunnel {
            return tunnel.five_tuple(self.rnti);
        }
        if let Body::Host(datagram) = &self.inner.body {
            let traffic::Datagram { source, destination, protocol, .. } = **datagram;
            let (source_port, destination_port) = (datagram.source_port, datagram.destination_port);
            return FiveTuple { source, destination, source_port, destination_port, protocol };
        }
        five_tuple(self.inner.flow, self.rnti, self.ip_version, self.hosts, &self.inner.body)
    }

    fn inner(&self) -> Option<InnerFlow> {
        let Body::Host(datagram) = &self.inner.body else { return None };
        let traffic::InnerDatagram {
            source,
            destination,
            source_port,
            destination_port,
            protocol,
            dscp,
            label,
        } = datagram.inner?;
        let flow = FiveTuple { source, destination, source_port, destination_port, protocol };
        Some(InnerFlow { flow, dscp, label })
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn qfi(&self) -> Option<u8> {
        (self.qfi != NO_QFI).then_some(self.qfi)
    }

    /// The ECN field, in a tunnel the outer one. It is the inner one or Not-ECT, and leaves the
    /// tunnel by RFC 6040 §4.2: a mark of the outer header becomes one of the inner, so one field
    /// stands for both.
    fn ecn(&self) -> Ecn {
        if self.tunnel.is_some_and(|tunnel| !tunnel.config.copy_ecn) {
            return Ecn::NotEct;
        }
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

    /// The outer DSCP ends with the tunnel (RFC 2983 §3, pipe model).
    fn set_dscp(&mut self, dscp: u8) {
        self.dscp = dscp;
        if self.tunnel.is_none() {
            self.inner.dscp = dscp;
        }
    }
}

impl ran::Sdu for GnbPacket {
    fn len_bytes(&self) -> u32 {
        self.len_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_ue_have_different_tuples() {
        let udp = Body::Udp { seq: 0 };
        let tuples: std::collections::HashSet<_> = (0..100_000)
            .map(|flow| five_tuple(flow, 0x4601, IpVersion::V4, Hosts::FIRST, &udp))
            .collect();
        assert_eq!(tuples.len(), 100_000);
    }

    #[test]
    fn echo_has_no_ports() {
        let ping = Body::Ping { seq: 0, is_reply: false, request_sent_us: 0 };
        let tuple = five_tuple(7, 0x4601, IpVersion::V4, Hosts::FIRST, &ping);
        assert_eq!((tuple.source_port, tuple.destination_port, tuple.protocol), (0, 0, 1));
        assert_eq!(tuple.destination.to_string(), "10.45.70.1");
        let tuple = five_tuple(7, 0x4601, IpVersion::V6, Hosts::FIRST, &ping);
        assert_eq!((tuple.source_port, tuple.protocol), (0, 58));
        assert_eq!(tuple.destination.to_string(), "2001:db8:45:4601::1");
    }

    #[test]
    fn servers_and_hosts_behind_a_ue_have_addresses_of_their_own() {
        let udp = Body::Udp { seq: 0 };
        let hosts = Hosts { server: 7, ue: 3 };
        let addresses = |version| {
            let tuple = five_tuple(7, 0x4601, version, hosts, &udp);
            (tuple.source.to_string(), tuple.destination.to_string())
        };
        let [v4, v6] = [IpVersion::V4, IpVersion::V6].map(addresses);
        assert_eq!(v4, ("198.51.100.7".to_owned(), "10.47.70.1".to_owned()));
        assert_eq!(v6, ("2001:db8::7".to_owned(), "2001:db8:45:4601::3".to_owned()));
        assert_eq!(Hosts::FIRST.server_address(IpVersion::V4), SERVER);
        assert_eq!(Hosts::FIRST.server_address(IpVersion::V6), SERVER_V6);
    }
}
