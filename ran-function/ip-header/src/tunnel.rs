//! Flows that the outermost 5-tuple does not tell apart: those inside a tunnel that can be read, and
//! those whose ports are hidden.
//!
//! | tunnel | recognised by | its label |
//! |---|---|---|
//! | IP in IP (RFC 2003, RFC 2473, RFC 4213) | protocol 4, 41 | |
//! | GRE (RFC 2784, RFC 2890), with Ethernet as in NVGRE (RFC 7637) | protocol 47, version 0 | key |
//! | GTP-U (TS 29.281) | UDP to 2152 | TEID |
//! | VXLAN (RFC 7348) | UDP to 4789 | VNI |
//! | ESP (RFC 4303), in UDP (RFC 3948) | protocol 50, UDP of port 4500 | SPI |
//!
//! What is in ESP is encrypted: the SPI alone tells its flows apart. Fragments and ESP over IPv6 are
//! distinguished by the flow label as well (RFC 6437 §3), which a tunnel's entry sets by the flow that it
//! carries (RFC 6438 §3).
//!
//! Linux's flow dissector (`skb_flow_dissect_flow_keys`, what `sch_fq_codel` and `sch_cake` hash by)
//! reads IP in IP and GRE with its key too, and takes the label of any IPv6 packet that has one instead
//! of its ports. It stops at UDP and at ESP, so that all of a GTP-U, VXLAN or ESP tunnel is one flow.

use e2sm_tc::v1::FiveTuple;

use crate::layer::Layer;

/// IP headers read behind the outermost one. Deeper tunnels are distinguished by the headers up to there.
pub const MAX_NESTING: usize = 4;

/// Extension headers of GTP-U that are skipped; TS 29.281 §5.2.1 defines ten.
const MAX_GTPU_EXTENSIONS: usize = 10;

/// Numbers of the IANA registry of protocols.
const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const ESP: u8 = 50;

/// UDP ports of the IANA registry.
const GTPU_PORT: u16 = 2152;
const ESP_PORT: u16 = 4500;
const VXLAN_PORT: u16 = 4789;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_TRANSPARENT_ETHERNET: u16 = 0x6558;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q and 802.1ad.
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];

/// The innermost flow of a packet that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Addresses, ports, protocol; those of the outermost header if only the label is more.
    pub flow: FiveTuple,
    /// DSCP of that header.
    pub dscp: u8,
    /// Key, TEID, VNI or SPI in the low 32 bits, the IPv6 flow label above; 0 without.
    pub label: u64,
}

/// What a tunnel's header leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tunnelled<'a> {
    label: u32,
    /// An IP packet, if one follows that is not encrypted.
    ip: Option<&'a [u8]>,
}

/// What tells the flow of a packet apart beyond its 5-tuple. What does not make sense inside a tunnel
/// is left at that, and what was read before it counts.
pub(crate) fn innermost(outer: &Layer<'_>) -> Option<Inner> {
    let mut layer = *outer;
    let mut inner = None;
    for nesting in 0..=MAX_NESTING {
        let tunnelled = tunnelled(&layer);
        let number = tunnelled.map_or(0, |tunnelled| tunnelled.label);
        let hidden = layer.is_fragment || layer.flow.protocol == ESP;
        let flow_label = if hidden { layer.flow_label } else { 0 };
        let label = u64::from(flow_label) << 32 | u64::from(number);
        if label != 0 {
            let dscp = layer.traffic_class >> 2;
            inner = Some(Inner { flow: layer.flow, dscp, label });
        }
        let within = tunnelled.filter(|_| nesting < MAX_NESTING).and_then(|tunnelled| tunnelled.ip);
        let Some(next) = within.and_then(Layer::parse).filter(|next| !next.is_cut) else {
            break;
        };
        inner = Some(Inner {
            flow: next.flow,
            dscp: next.traffic_class >> 2,
            // Networks with a key each may use the same addresses.
            label: u64::from(number),
        });
        layer = next;
    }
    inner
}

/// The tunnel whose header follows, if one does.
fn tunnelled<'a>(layer: &Layer<'a>) -> Option<Tunnelled<'a>> {
    if layer.is_fragment || layer.flow.protocol == TCP {
        return None;
    }
    let payload = layer.payload;
    match layer.flow.protocol {
        IPV4 | IPV6 => {
            let version = if layer.flow.protocol == IPV4 { 4 } else { 6 };
            Some(Tunnelled { label: 0, ip: of_version(payload, version) })
        }
        GRE => gre(payload),
        ESP => Some(Tunnelled { label: u32_at(payload, 0)?, ip: None }),
        UDP => match (layer.flow.source_port, layer.flow.destination_port) {
            (_, GTPU_PORT) => gtpu(payload),
            (_, VXLAN_PORT) => vxlan(payload),
            (ESP_PORT, _) | (_, ESP_PORT) => esp_in_udp(payload),
            _ => None,
        },
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn of_version(bytes: &[u8], version: u8) -> Option<&[u8]> {
    bytes.first().is_some_and(|first| first >> 4 == version).then_some(bytes)
}

fn of_ethertype(ethertype: u16, bytes: &[u8]) -> Option<&[u8]> {
    match ethertype {
        ETHERTYPE_IPV4 => of_version(bytes, 4),
        ETHERTYPE_IPV6 => of_version(bytes, 6),
        _ => None,
    }
}

/// The IP packet of an Ethernet frame, with at most two VLAN tags.
fn in_ethernet(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    let mut ethertype = u16_at(frame, at)?;
    for _ in 0..2 {
        if ETHERTYPES_VLAN.contains(&ethertype) {
            at += 4;
            ethertype = u16_at(frame, at)?;
        }
    }
    of_ethertype(ethertype, frame.get(at + 2..)?)
}

/// RFC 2784 §2.1, RFC 2890 §2: flags, protocol type, then checksum, key and sequence number, each if
/// its flag is set. A packet with routing (RFC 1701) or of another version (PPTP) is not looked into.
fn gre(bytes: &[u8]) -> Option<Tunnelled<'_>> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const VERSION: u16 = 0x0007;
    let flags = u16_at(bytes, 0)?;
    if flags & (ROUTING | VERSION) != 0 {
        return None;
    }
    let ethertype = u16_at(bytes, 2)?;
    let mut at = 4;
    let mut word_if = |flag| {
        let present = flags & flag != 0;
        at += if present { 4 } else { 0 };
        present.then(|| at - 4)
    };
    word_if(CHECKSUM);
    let label = match word_if(KEY) {
        Some(key_at) => u32_at(bytes, key_at)?,
        None => 0,
    };
    word_if(SEQUENCE);
    let payload = bytes.get(at..)?;
    let ip = match ethertype {
        ETHERTYPE_TRANSPARENT_ETHERNET => in_ethernet(payload),
        _ => of_ethertype(ethertype, payload),
    };
    Some(Tunnelled { label, ip })
}

/// TS 29.281 §5.1: version 1, protocol type GTP, a G-PDU. If any of the flags E, S and PN is set, four
/// bytes follow the TEID, the last of which is the type of the first extension header (§5.2.1).
fn gtpu(bytes: &[u8]) -> Option<Tunnelled<'_>> {
    const VERSION_AND_TYPE: u8 = 0b1111_0000;
    const VERSION_1_GTP: u8 = 0b0011_0000;
    const ANY_OPTIONAL: u8 = 0b0000_0111;
    const EXTENSION: u8 = 0b0000_0100;
    const G_PDU: u8 = 255;
    let (&flags, &message) = (bytes.first()?, bytes.get(1)?);
    if flags & VERSION_AND_TYPE != VERSION_1_GTP || message != G_PDU {
        return None;
    }
    let label = u32_at(bytes, 4)?;
    let mut at = 8;
    if flags & ANY_OPTIONAL != 0 {
        at += 4;
        let mut next_type = if flags & EXTENSION != 0 { *bytes.get(at - 1)? } else { 0 };
        for _ in 0..MAX_GTPU_EXTENSIONS {
            if next_type == 0 {
                break;
            }
            // The length is in units of four bytes; the last byte is the type of the next header.
            let length = usize::from(*bytes.get(at)?) * 4;
            if length == 0 {
                return None;
            }
            at += length;
            next_type = *bytes.get(at - 1)?;
        }
        if next_type != 0 {
            return Some(Tunnelled { label, ip: None });
        }
    }
    let payload = bytes.get(at..)?;
    Some(Tunnelled { label, ip: of_version(payload, 4).or_else(|| of_version(payload, 6)) })
}

/// RFC 7348 §5: the I flag, and a VNI of 24 bits before one reserved byte.
fn vxlan(bytes: &[u8]) -> Option<Tunnelled<'_>> {
    const VNI_IS_VALID: u8 = 0b0000_1000;
    if bytes.first()? & VNI_IS_VALID == 0 {
        return None;
    }
    let label = u32_at(bytes, 4)? >> 8;
    Some(Tunnelled { label, ip: in_ethernet(bytes.get(8..)?) })
}

/// RFC 3948 §2: an SPI that is not zero; zero is the marker of IKE (§2.2), one byte a keep-alive (§2.3).
fn esp_in_udp(bytes: &[u8]) -> Option<Tunnelled<'_>> {
    match u32_at(bytes, 0)? {
        0 => None,
        spi => Some(Tunnelled { label: spi, ip: None }),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{Headers, set_traffic_class};

    fn ipv4(protocol: u8, tos: u8, last: u8, payload: &[u8]) -> Vec<u8> {
        let length = (20 + payload.len()) as u16;
        let mut bytes = vec![0x45, tos];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, protocol, 0, 0, 198, 51, 100, last, 10, 45, 70, 1]);
        bytes.extend(payload);
        bytes
    }

    fn ipv6(next_header: u8, flow_label: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (6 << 28 | flow_label).to_be_bytes().to_vec();
        bytes.extend((payload.len() as u16).to_be_bytes());
        bytes.extend([next_header, 64]);
        bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend(payload);
        bytes
    }

    fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = [source, destination, 8 + payload.len() as u16, 0]
            .into_iter()
            .flat_map(u16::to_be_bytes)
            .collect::<Vec<u8>>();
        bytes.extend(payload);
        bytes
    }

    /// The flow that the tests put into tunnels: UDP 5201 → 49152 with DSCP 46.
    fn plain() -> Vec<u8> {
        ipv4(UDP, 46 << 2, 9, &udp(5201, 49_152, &[1, 2, 3]))
    }

    fn ethernet(ethertype: u16, tags: &[u16], ip: &[u8]) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        for tag in tags {
            bytes.extend(tag.to_be_bytes());
            bytes.extend([0, 7]);
        }
        bytes.extend(ethertype.to_be_bytes());
        bytes.extend(ip);
        bytes
    }

    fn gtpu_header(flags: u8, rest: &[u8], ip: &[u8]) -> Vec<u8> {
        let mut bytes = vec![flags, 255];
        bytes.extend(((rest.len() + ip.len()) as u16).to_be_bytes());
        bytes.extend(7_u32.to_be_bytes());
        bytes.extend(rest);
        bytes.extend(ip);
        bytes
    }

    fn gre_header(flags: u16, ethertype: u16, words: &[u32], payload: &[u8]) -> Vec<u8> {
        let mut bytes =
            [flags, ethertype].into_iter().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend(payload);
        bytes
    }

    fn vxlan_header(flags: u8, frame: &[u8]) -> Vec<u8> {
        let mut bytes = vec![flags, 0, 0, 0, 0, 0, 5, 0];
        bytes.extend(frame);
        bytes
    }

    /// Every tunnel with the flow of [`plain`] in it, and its label.
    fn tunnels() -> Vec<(&'static str, Vec<u8>, u64)> {
        let inner = plain();
        let inner_v6 = ipv6(UDP, 0, &udp(5201, 49_152, &[1, 2, 3]));
        let over_udp = |port, payload: &[u8]| ipv4(UDP, 0, 1, &udp(40_000, port, payload));
        let pdu_session = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
        vec![
            ("4in4", ipv4(IPV4, 0, 1, &inner), 0),
            ("6in4", ipv4(IPV6, 0, 1, &inner_v6), 0),
            ("4in6", ipv6(IPV4, 0, &inner), 0),
            ("6in6", ipv6(IPV6, 0, &inner_v6), 0),
            ("gre", ipv4(GRE, 0, 1, &gre_header(0, 0x0800, &[], &inner)), 0),
            ("gre of IPv6", ipv4(GRE, 0, 1, &gre_header(0, 0x86dd, &[], &inner_v6)), 0),
            (
                "gre with checksum, key and sequence number",
                ipv6(GRE, 0, &gre_header(0xb000, 0x0800, &[1, 77, 3], &inner)),
                77,
            ),
            (
                "gre with sequence number",
                ipv4(GRE, 0, 1, &gre_header(0x1000, 0x0800, &[3], &inner)),
                0,
            ),
            (
                "nvgre",
                ipv4(
                    GRE,
                    0,
                    1,
                    &gre_header(0x2000, 0x6558, &[0x500], &ethernet(0x0800, &[], &inner)),
                ),
                0x500,
            ),
            ("gtpu", over_udp(2152, &gtpu_header(0x30, &[], &inner)), 7),
            ("gtpu with sequence number", over_udp(2152, &gtpu_header(0x32, &[0; 4], &inner)), 7),
            (
                "gtpu with a PDU session container",
                over_udp(2152, &gtpu_header(0x34, &pdu_session, &inner_v6)),
                7,
            ),
            ("vxlan", over_udp(4789, &vxlan_header(8, &ethernet(0x0800, &[], &inner))), 5),
            (
                "vxlan with two VLAN tags",
                over_udp(4789, &vxlan_header(8, &ethernet(0x86dd, &[0x88a8, 0x8100], &inner_v6))),
                5,
            ),
        ]
    }

    #[test]
    fn flows_in_tunnels_are_those_inside() {
        for (name, bytes, label) in tunnels() {
            let headers = Headers::parse(&bytes).expect("an IP packet");
            let inner = headers.inner.unwrap_or_else(|| panic!("{name}: nothing inside"));
            let FiveTuple { source_port, destination_port, protocol, .. } = inner.flow;
            assert_eq!((source_port, destination_port, protocol), (5201, 49_152, 17), "{name}");
            assert_eq!(inner.label, label, "{name}");
            let dscp = if inner.flow.source.is_ipv4() { 46 } else { 0 };
            assert_eq!((inner.dscp, headers.dscp), (dscp, 0), "{name}");
            assert_ne!(headers.flow, inner.flow, "{name}");
        }
        assert_eq!(Headers::parse(&plain()).expect("an IP packet").inner, None);
    }

    #[test]
    fn the_depth_is_bounded() {
        let mut bytes = plain();
        for depth in 1..=MAX_NESTING + 3 {
            bytes = ipv4(IPV4, 0, depth as u8, &bytes);
            let inner = Headers::parse(&bytes).and_then(|headers| headers.inner).expect("a tunnel");
            let reached = inner.flow.protocol == UDP;
            assert_eq!(reached, depth <= MAX_NESTING, "{depth}");
        }
    }

    #[test]
    fn esp_is_told_apart_by_its_spi() {
        let label = |bytes: &[u8]| {
            let headers = Headers::parse(bytes).expect("an IP packet");
            headers.inner.map(|inner| {
                assert_eq!(inner.flow, headers.flow, "nothing inside can be read");
                inner.label
            })
        };
        let (spi, ike) = ([0, 1, 2, 3, 0, 0, 0, 9], [0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(label(&ipv4(ESP, 0, 1, &spi)), Some(0x0001_0203));
        assert_eq!(label(&ipv4(UDP, 0, 1, &udp(4500, 61_000, &spi))), Some(0x0001_0203));
        assert_eq!(label(&ipv4(UDP, 0, 1, &udp(61_000, 4500, &spi))), Some(0x0001_0203));
        assert_eq!(label(&ipv4(UDP, 0, 1, &udp(4500, 61_000, &ike))), None, "IKE");
        assert_eq!(label(&ipv4(UDP, 0, 1, &udp(4500, 61_000, &[0xff]))), None, "a keep-alive");
        assert_eq!(label(&ipv6(ESP, 0xabcde, &spi)), Some(0x000a_bcde_0001_0203));
    }

    #[test]
    fn fragments_over_ipv6_are_told_apart_by_the_flow_label() {
        let fragment = |label| {
            // RFC 8200 §4.5: UDP, offset 0, more fragments.
            let mut payload = vec![UDP, 0, 0, 1, 0, 0, 0, 7];
            payload.extend(udp(5201, 49_152, &[1; 8]));
            Headers::parse(&ipv6(44, label, &payload)).expect("an IP packet")
        };
        assert_eq!(fragment(0).inner, None);
        let (one, two) = (fragment(1), fragment(2));
        assert_eq!(one.flow, two.flow);
        assert_ne!(one.inner, two.inner);
        // With ports the label is not needed: an application that changes it stays one flow.
        let whole = Headers::parse(&ipv6(UDP, 5, &udp(5201, 49_152, &[1])));
        assert_eq!(whole.expect("an IP packet").inner, None);
    }

    #[test]
    fn what_makes_no_sense_inside_is_left_at_the_outer_flow() {
        let inner = plain();
        let over_udp = |port, payload: &[u8]| ipv4(UDP, 0, 1, &udp(40_000, port, payload));
        let longer_than_it_is = {
            let mut bytes = inner.clone();
            bytes[3] += 1;
            bytes
        };
        for (name, bytes) in [
            ("IPv6 announced, IPv4 found", ipv4(IPV6, 0, 1, &inner)),
            ("no packet", ipv4(IPV4, 0, 1, &[])),
            ("a packet cut off", ipv4(IPV4, 0, 1, &longer_than_it_is)),
            ("gre with routing", ipv4(GRE, 0, 1, &gre_header(0x4000, 0x0800, &[0], &inner))),
            ("PPTP", ipv4(GRE, 0, 1, &gre_header(0x3001, 0x880b, &[0, 0], &inner))),
            ("gre of MPLS", ipv4(GRE, 0, 1, &gre_header(0, 0x8847, &[], &inner))),
            ("gtpu of version 2", over_udp(2152, &gtpu_header(0x50, &[], &inner))),
            ("gtpu with an extension of no length", {
                over_udp(2152, &gtpu_header(0x34, &[0, 0, 0, 0x85, 0, 0, 0, 0], &inner))
            }),
            ("vxlan without VNI", over_udp(4789, &vxlan_header(0, &ethernet(0x0800, &[], &inner)))),
            ("a TCP connection to 2152", ipv4(TCP, 0, 1, &[8, 104, 8, 104, 0, 0, 0, 0])),
        ] {
            assert_eq!(Headers::parse(&bytes).expect("an IP packet").inner, None, "{name}");
        }
        // More extension headers than there are: the TEID still tells the tunnel's sessions apart.
        let endless = [[1, 0, 0, 0x85]; 12].concat();
        let bytes = over_udp(2152, &gtpu_header(0x34, &endless, &inner));
        let headers = Headers::parse(&bytes).expect("an IP packet");
        assert_eq!(headers.inner.map(|inner| (inner.flow, inner.label)), Some((headers.flow, 7)));
    }

    #[test]
    fn each_prefix_of_a_tunnel_is_read_without_a_panic() {
        for (name, bytes, _) in tunnels() {
            for length in 20..bytes.len() {
                let headers = Headers::parse(&bytes[..length]);
                let inner = headers.and_then(|headers| headers.inner);
                assert_ne!(
                    inner.map(|inner| inner.flow.source_port),
                    Some(5201),
                    "{name}: {length} bytes hold no whole packet"
                );
            }
        }
    }

    #[test]
    fn a_rewritten_outer_header_leaves_the_inner_flow() {
        for (name, mut bytes, _) in tunnels() {
            let before = Headers::parse(&bytes).and_then(|headers| headers.inner);
            set_traffic_class(&mut bytes, 0xb9);
            let after = Headers::parse(&bytes).and_then(|headers| headers.inner);
            assert_eq!(before, after, "{name}");
        }
    }

    #[test]
    fn the_innermost_addresses_are_those_of_the_host_behind_the_tunnel() {
        let bytes = ipv6(IPV4, 0, &plain());
        let inner = Headers::parse(&bytes).and_then(|headers| headers.inner).expect("a tunnel");
        assert_eq!(inner.flow.destination, IpAddr::from([10, 45, 70, 1]));
    }

    proptest::proptest! {
        /// Tunnels whose bytes are damaged anywhere.
        #[test]
        fn damaged_tunnels_are_read(
            which in 0..14_usize,
            damage in proptest::collection::vec((0..96_usize, proptest::num::u8::ANY), 0..8),
        ) {
            let (_, mut bytes, _) = tunnels().swap_remove(which);
            for (at, value) in damage {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            let _ = Headers::parse(&bytes);
        }
    }
}
