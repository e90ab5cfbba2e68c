//! The IP header: what is read of it once, and the two fields that are changed in place.

mod layer;
mod tunnel;

use e2sm_tc::v1::{Ecn, FiveTuple};

use layer::Layer;
pub use tunnel::{Inner, MAX_NESTING};

/// The fields of a packet that a pipeline reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Addresses, ports, protocol.
    pub flow: FiveTuple,
    /// DSCP (RFC 2474).
    pub dscp: u8,
    /// ECN codepoint (RFC 3168).
    pub ecn: Ecn,
    /// What tells flows apart that `flow` does not: those in a tunnel, and those whose ports are
    /// hidden.
    pub inner: Option<Inner>,
}

impl Headers {
    /// Reads the headers of an IPv4 or IPv6 packet; `None` when these are none. All fragments of
    /// a flow count as one flow without ports, for only the first has any.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::parse_with_length(bytes).map(|(headers, _)| headers)
    }

    /// Parses as [`parse`](Self::parse) does, with the bytes of the IP header, its extensions and
    /// the header of TCP, UDP or ICMP.
    pub fn parse_with_length(bytes: &[u8]) -> Option<(Self, u32)> {
        let outer = Layer::parse(bytes)?;
        let header_bytes = (bytes.len() - outer.payload.len()) as u32;
        let headers = Self {
            flow: outer.flow,
            dscp: outer.traffic_class >> 2,
            ecn: ecn_of(outer.traffic_class),
            inner: tunnel::innermost(&outer),
        };
        Some((headers, header_bytes))
    }
}

fn ecn_of(traffic_class: u8) -> Ecn {
    match traffic_class & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

impl Headers {
    /// DSCP and ECN as the byte of the header.
    pub fn traffic_class(&self) -> u8 {
        let ecn = match self.ecn {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        };
        self.dscp << 2 | ecn
    }
}

/// Rewrites the traffic class (DSCP and ECN, RFC 3260 §4) of the header at the start of `bytes`.
pub fn set_traffic_class(bytes: &mut [u8], value: u8) {
    match bytes {
        [first, tos, ..] if *first >> 4 == 4 => {
            let old = u16::from_be_bytes([*first, *tos]);
            *tos = value;
            let new = u16::from_be_bytes([*first, value]);
            if let Some([high, low]) = bytes.get_mut(10..12) {
                let sum = updated(u16::from_be_bytes([*high, *low]), old, new);
                [*high, *low] = sum.to_be_bytes();
            }
        }
        [first, second, ..] if *first >> 4 == 6 => {
            // The traffic class lies across two bytes (RFC 8200 §3).
            *first = (*first & 0xf0) | (value >> 4);
            *second = (value << 4) | (*second & 0x0f);
        }
        _ => {}
    }
}

/// RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header with its checksum, then UDP ports 5201 → 49152.
    fn ipv4(tos: u8, fragment_offset: u16, identification: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, tos, 0, 28];
        bytes.extend(identification.to_be_bytes());
        bytes.extend(fragment_offset.to_be_bytes());
        bytes.extend([64, 17, 0, 0, 198, 51, 100, 1, 10, 45, 70, 1]);
        let sum = checksum(&bytes);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend([0x14, 0x51, 0xc0, 0x00, 0, 8, 0, 0]);
        bytes
    }

    /// RFC 1071 §1, over a header whose own field is zero.
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn ipv6(traffic_class: u8) -> Vec<u8> {
        let mut bytes = vec![0x60 | traffic_class >> 4, traffic_class << 4 | 0x0a, 0xbc, 0xde];
        bytes.extend([0, 8, 17, 64]);
        bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend([0x14, 0x51, 0xc0, 0x00, 0, 8, 0, 0]);
        bytes
    }

    #[test]
    fn headers_of_both_versions_are_read() {
        for bytes in [ipv4(0b1011_1001, 0, 1), ipv6(0b1011_1001)] {
            let (headers, length) = Headers::parse_with_length(&bytes).expect("an IP packet");
            let flow = headers.flow;
            assert_eq!((flow.source_port, flow.destination_port, flow.protocol), (5201, 49152, 17));
            assert_eq!((headers.dscp, headers.ecn), (46, Ecn::Ect1));
            assert_eq!(length, bytes.len() as u32, "no payload");
        }
    }

    #[test]
    fn all_fragments_of_a_flow_are_one_flow() {
        let first = Headers::parse(&ipv4(0, 0x2000, 7)).expect("an IP packet");
        let second = Headers::parse(&ipv4(0, 0x00b9, 7)).expect("an IP packet");
        assert_eq!(first.flow, second.flow);
        assert_eq!(first.flow.source_port, 0);
    }

    #[test]
    fn a_rewritten_ipv4_header_keeps_a_right_checksum() {
        // Every old and new value, and identifications that drive the sum over its wrap.
        for identification in [0, 0x1234, 0xffff, 0xb1e6, 0xb1e7] {
            for old in 0..=255 {
                for new in [0, 1, 2, 3, 0xb8, 0xbb, 0xff] {
                    let mut bytes = ipv4(old, 0, identification);
                    set_traffic_class(&mut bytes, new);
                    let mut blank = bytes[..20].to_vec();
                    blank[10..12].fill(0);
                    assert_eq!(bytes[10..12], checksum(&blank).to_be_bytes());
                    assert_eq!(bytes[1], new);
                }
            }
        }
    }

    #[test]
    fn a_rewritten_ipv6_header_keeps_version_and_flow_label() {
        let mut bytes = ipv6(0xb8);
        set_traffic_class(&mut bytes, 0xbb);
        assert_eq!(bytes, ipv6(0xbb));
    }

    proptest::proptest! {
        /// Whatever arrives: no panic, nothing but the traffic class and the checksum changes, and
        /// what is read afterwards is what was written.
        #[test]
        fn any_bytes_are_read_and_rewritten(
            version in proptest::sample::select(vec![4_u8, 6, 0, 15]),
            mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..128),
            value in proptest::num::u8::ANY,
        ) {
            if let Some(first) = bytes.first_mut() {
                *first = version << 4 | *first & 0x0f;
            }
            let before = Headers::parse(&bytes);
            set_traffic_class(&mut bytes, value);
            let after = Headers::parse(&bytes);
            if let (Some(before), Some(after)) = (before, after) {
                proptest::prop_assert_eq!(before.flow, after.flow);
                proptest::prop_assert_eq!((after.dscp, after.ecn), (value >> 2, ecn_of(value)));
            } else {
                proptest::prop_assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn what_is_no_ip_packet_is_none() {
        let whole = ipv4(0, 0, 1);
        for length in 0..20 {
            assert_eq!(Headers::parse(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(Headers::parse(&[0x95; 64]), None);
        let mut short = [0x45];
        set_traffic_class(&mut short, 3);
        assert_eq!(short, [0x45]);
    }
}
