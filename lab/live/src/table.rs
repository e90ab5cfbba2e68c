//! Which flow of the scenario carries a packet: by the UE's address and the DSCP.

use std::collections::HashMap;
use std::net::IpAddr;

use bytes::Bytes;
use ip_header::Headers;
use lab_world::{HostFlow, HostSide, ue_address};
use traffic::{Datagram, Ecn, InnerDatagram, IpVersion};

/// What a packet is to the world.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) flow: u32,
    /// Number of its UE.
    pub(crate) ue: usize,
    pub(crate) side: HostSide,
    pub(crate) datagram: Datagram,
}

/// Why a packet does not enter the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// Not IPv4 or IPv6.
    NotIp,
    /// Multicast, as the kernel's own group membership reports.
    Multicast,
    /// Sent to an address that no UE has.
    NoSuchUe,
}

/// The flows of a UE.
#[derive(Clone, Debug)]
struct UeFlows {
    rnti: u16,
    /// DSCP and index of each; the first also takes other DSCPs.
    flows: Vec<(u8, u32)>,
}

/// The flows of kind `host`, by UE. UEs are numbered in the order of their first flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowTable {
    ues: Vec<UeFlows>,
    by_address: HashMap<IpAddr, usize>,
}

impl FlowTable {
    pub(crate) fn new(flows: &[HostFlow]) -> Self {
        let mut ues: Vec<UeFlows> = Vec::new();
        for flow in flows {
            let own = (flow.dscp, flow.index);
            match ues.iter_mut().find(|ue| ue.rnti == flow.rnti) {
                Some(ue) => ue.flows.push(own),
                None => ues.push(UeFlows { rnti: flow.rnti, flows: vec![own] }),
            }
        }
        let by_address = (0..)
            .zip(&ues)
            .flat_map(|(index, ue)| {
                [IpVersion::V4, IpVersion::V6].map(|version| (ue_address(ue.rnti, version), index))
            })
            .collect();
        Self { ues, by_address }
    }

    /// RNTIs of the UEs, in their order.
    pub(crate) fn rntis(&self) -> impl Iterator<Item = u16> + '_ {
        self.ues.iter().map(|ue| ue.rnti)
    }

    /// Index of each flow with the number of its UE.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        (0..)
            .zip(&self.ues)
            .flat_map(|(ue, flows)| flows.flows.iter().map(move |(_, index)| (*index, ue)))
    }

    /// Number of the UE that has an address.
    pub(crate) fn ue_of(&self, address: IpAddr) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    /// The flow of a packet that the server sent.
    pub(crate) fn sent_by_server(&self, bytes: Bytes) -> Result<Routed, Stray> {
        let datagram = datagram(bytes)?;
        let ue = self.ue_of(datagram.destination).ok_or(Stray::NoSuchUe)?;
        Ok(self.routed(ue, HostSide::Server, datagram))
    }

    /// The flow of a packet that UE number `ue` sent.
    pub(crate) fn sent_by_ue(&self, ue: usize, bytes: Bytes) -> Result<Routed, Stray> {
        Ok(self.routed(ue, HostSide::Ue, datagram(bytes)?))
    }

    fn routed(&self, ue: usize, side: HostSide, datagram: Datagram) -> Routed {
        let flows = &self.ues[ue].flows;
        let own = flows.iter().find(|(dscp, _)| *dscp == datagram.dscp);
        let flow = own.or(flows.first()).map_or(0, |(_, index)| *index);
        Routed { flow, ue, side, datagram }
    }
}

/// Reads the headers of a packet.
fn datagram(bytes: Bytes) -> Result<Datagram, Stray> {
    let (headers, header_bytes) = Headers::parse_with_length(&bytes).ok_or(Stray::NotIp)?;
    let e2sm_tc::v1::FiveTuple { source, destination, source_port, destination_port, protocol } =
        headers.flow;
    if destination.is_multicast() {
        return Err(Stray::Multicast);
    }
    Ok(Datagram {
        payload_bytes: bytes.len() as u32 - header_bytes,
        ecn: match headers.ecn {
            e2sm_tc::v1::Ecn::NotEct => Ecn::NotEct,
            e2sm_tc::v1::Ecn::Ect0 => Ecn::Ect0,
            e2sm_tc::v1::Ecn::Ect1 => Ecn::Ect1,
            e2sm_tc::v1::Ecn::Ce => Ecn::Ce,
        },
        dscp: headers.dscp,
        inner: headers.inner.map(|inner| InnerDatagram {
            source: inner.flow.source,
            destination: inner.flow.destination,
            source_port: inner.flow.source_port,
            destination_port: inner.flow.destination_port,
            protocol: inner.flow.protocol,
            dscp: inner.dscp,
            label: inner.label,
        }),
        bytes,
        source,
        destination,
        source_port,
        destination_port,
        protocol,
    })
}

/// The bytes of a packet with the DSCP and ECN field that it has now.
pub(crate) fn bytes_of(packet: &traffic::Packet, datagram: &Datagram) -> Bytes {
    if (packet.ecn, packet.dscp) == (datagram.ecn, datagram.dscp) {
        return datagram.bytes.clone();
    }
    let mut bytes = datagram.bytes.to_vec();
    ip_header::set_traffic_class(&mut bytes, packet.dscp << 2 | packet.ecn.codepoint());
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> FlowTable {
        let flow = |index, rnti, dscp| HostFlow { index, name: String::new(), rnti, drb: 1, dscp };
        FlowTable::new(&[flow(3, 0x4601, 0), flow(4, 0x4602, 0), flow(5, 0x4601, 46)])
    }

    /// A UDP datagram to an address.
    fn udp(destination: [u8; 4], traffic_class: u8) -> Bytes {
        let mut bytes = vec![0x45, traffic_class, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 198, 51, 100, 1];
        bytes.extend(destination);
        bytes.extend([0x14, 0x51, 0xc0, 0, 0, 10, 0, 0, 1, 2]);
        bytes.into()
    }

    #[test]
    fn address_and_dscp_select_the_flow() {
        let table = table();
        assert_eq!(table.rntis().collect::<Vec<_>>(), [0x4601, 0x4602]);
        assert_eq!(table.flows().collect::<Vec<_>>(), [(3, 0), (5, 0), (4, 1)]);
        for (destination, class, flow) in [
            ([10, 45, 0x46, 1], 0, 3),
            ([10, 45, 0x46, 1], 46 << 2, 5),
            ([10, 45, 0x46, 1], 10 << 2, 3),
            ([10, 45, 0x46, 2], 46 << 2, 4),
        ] {
            let routed = table.sent_by_server(udp(destination, class)).unwrap();
            assert_eq!((routed.flow, routed.side), (flow, HostSide::Server));
        }
        let routed = table.sent_by_ue(0, udp([198, 51, 100, 1], 46 << 2 | 1)).unwrap();
        assert_eq!((routed.flow, routed.side), (5, HostSide::Ue));
        let Datagram { ecn, dscp, payload_bytes, .. } = routed.datagram;
        assert_eq!((ecn, dscp, payload_bytes), (Ecn::Ect1, 46, 2));
    }

    #[test]
    fn strays_are_told_apart() {
        let table = table();
        let stray = |bytes: Bytes| table.sent_by_server(bytes).unwrap_err();
        assert_eq!(stray(udp([10, 45, 0x46, 3], 0)), Stray::NoSuchUe);
        assert_eq!(stray(udp([224, 0, 0, 22], 0)), Stray::Multicast);
        assert_eq!(stray(vec![0x95; 40].into()), Stray::NotIp);
    }

    #[test]
    fn a_mark_of_the_queue_is_in_the_bytes() {
        let datagram = datagram(udp([10, 45, 0x46, 1], 46 << 2 | 2)).unwrap();
        let mut packet = traffic::Packet {
            sent_us: 0,
            flow: 3,
            len_bytes: 30,
            ecn: Ecn::Ect0,
            dscp: 46,
            body: traffic::Body::Host(datagram.clone().into()),
        };
        assert_eq!(bytes_of(&packet, &datagram), datagram.bytes, "unchanged");
        packet.ecn = Ecn::Ce;
        let marked = Headers::parse(&bytes_of(&packet, &datagram)).unwrap();
        assert_eq!((marked.ecn, marked.dscp), (e2sm_tc::v1::Ecn::Ce, 46));
        packet.dscp = 8;
        assert_eq!(Headers::parse(&bytes_of(&packet, &datagram)).unwrap().dscp, 8);
    }
}
