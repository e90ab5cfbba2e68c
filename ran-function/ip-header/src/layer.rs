//! One IP header with its extensions, and the header of TCP, UDP or ICMP behind it.

use std::net::IpAddr;

use e2sm_tc::v1::FiveTuple;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// An IP packet, or one inside another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    pub(crate) flow: FiveTuple,
    pub(crate) traffic_class: u8,
    pub(crate) is_fragment: bool,
    /// Flow label (RFC 6437); 0 for IPv4, and for IPv6 without one.
    pub(crate) flow_label: u32,
    /// What follows the header of TCP, UDP or ICMP; that of another protocol from its start.
    pub(crate) payload: &'a [u8],
    /// Whether the IP header promises more bytes than there are.
    pub(crate) is_cut: bool,
}

impl<'a> Layer<'a> {
    /// Reads an IPv4 or IPv6 packet; `None` when it is none.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        // Lax: the pipeline does not care whether the payload is all there.
        let packet = LaxSlicedPacket::from_ip(bytes).ok()?;
        let net = packet.net.as_ref()?;
        let (source, destination, traffic_class, flow_label, is_fragment) = match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                (
                    IpAddr::V4(header.source_addr()),
                    IpAddr::V4(header.destination_addr()),
                    *bytes.get(1)?,
                    0,
                    header.is_fragmenting_payload(),
                )
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                (
                    IpAddr::V6(header.source_addr()),
                    IpAddr::V6(header.destination_addr()),
                    header.traffic_class(),
                    header.flow_label().value(),
                    ip.is_payload_fragmented(),
                )
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let ip_payload = net.ip_payload_ref()?;
        let (payload, source_port, destination_port) = match &packet.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                (tcp.payload(), tcp.source_port(), tcp.destination_port())
            }
            Some(TransportSlice::Udp(udp)) => {
                (udp.payload(), udp.source_port(), udp.destination_port())
            }
            Some(TransportSlice::Icmpv4(icmp)) => (icmp.payload(), 0, 0),
            Some(TransportSlice::Icmpv6(icmp)) => (icmp.payload(), 0, 0),
            None => (ip_payload.payload, 0, 0),
        };
        let (source_port, destination_port) =
            if is_fragment { (0, 0) } else { (source_port, destination_port) };
        let protocol = ip_payload.ip_number.0;
        let flow = FiveTuple { source, destination, source_port, destination_port, protocol };
        let is_cut = ip_payload.incomplete;
        Some(Self { flow, traffic_class, is_fragment, flow_label, payload, is_cut })
    }
}
