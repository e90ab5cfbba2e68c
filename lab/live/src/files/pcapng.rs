//! Blocks of the pcapng capture format (draft-ietf-opsawg-pcapng-03), little-endian.

/// Block types (§4).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Version 1.0 (§4.1).
const VERSION: [u16; 2] = [1, 0];
/// "Not specified" (§4.1).
const UNKNOWN_SECTION_BYTES: u64 = u64::MAX;

/// LINKTYPE_RAW of the link-layer types of tcpdump.org: the packet begins with its IPv4 or IPv6 header.
const LINKTYPE_RAW: u16 = 101;
/// 10^-9 s (§4.2).
const NANOSECONDS: u8 = 9;

/// Option codes (§3.5, §4.1 to §4.6).
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SHB_OS: u16 = 3;
const SHB_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TIMESTAMP_RESOLUTION: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_START_TIME: u16 = 2;
const ISB_END_TIME: u16 = 3;
const ISB_RECEIVED: u16 = 4;
const ISB_DROPPED: u16 = 5;

/// Longest value of an option.
const MAX_OPTION_BYTES: usize = u16::MAX as usize;

/// Direction of a packet: the two lowest bits of `epb_flags` (§4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Packets into the gNB.
    Inbound = 1,
    /// Out of the gNB.
    Outbound = 2,
}

/// Content of an Enhanced Packet Block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketBlock<'a> {
    /// Number of its interface.
    pub(crate) interface: u32,
    pub(crate) unix_ns: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) direction: Direction,
    pub(crate) comment: Option<&'a str>,
}

/// Content of an Interface Statistics Block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatisticsBlock {
    /// Number of its interface.
    pub(crate) interface: u32,
    /// First and last time of the capture, Unix ns.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Packets that came, and those of them that are not in the file.
    pub(crate) received: u64,
    pub(crate) dropped: u64,
}

/// Appends a Section Header Block.
pub(crate) fn section(out: &mut Vec<u8>, os: &str, application: &str) {
    block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        VERSION.iter().for_each(|part| out.extend(part.to_le_bytes()));
        out.extend(UNKNOWN_SECTION_BYTES.to_le_bytes());
        option(out, SHB_OS, os.as_bytes());
        option(out, SHB_USER_APPLICATION, application.as_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends an Interface Description Block of IP packets; interfaces are numbered in their order.
pub(crate) fn interface(out: &mut Vec<u8>, name: &str, description: &str) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(LINKTYPE_RAW.to_le_bytes());
        out.extend([0; 2]);
        // No limit of the length.
        out.extend(0_u32.to_le_bytes());
        option(out, IF_NAME, name.as_bytes());
        option(out, IF_DESCRIPTION, description.as_bytes());
        option(out, IF_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends an Enhanced Packet Block.
pub(crate) fn packet(out: &mut Vec<u8>, packet: &PacketBlock<'_>) {
    block(out, ENHANCED_PACKET, |out| {
        out.extend(packet.interface.to_le_bytes());
        timestamp(out, packet.unix_ns);
        let length = (packet.bytes.len() as u32).to_le_bytes();
        // Captured and original length.
        out.extend(length);
        out.extend(length);
        padded(out, packet.bytes);
        option(out, EPB_FLAGS, &(packet.direction as u32).to_le_bytes());
        if let Some(comment) = packet.comment {
            option(out, COMMENT, comment.as_bytes());
        }
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends an Interface Statistics Block.
pub(crate) fn statistics(out: &mut Vec<u8>, statistics: &StatisticsBlock) {
    let StatisticsBlock { interface, start_ns, end_ns, received, dropped } = *statistics;
    block(out, INTERFACE_STATISTICS, |out| {
        out.extend(interface.to_le_bytes());
        timestamp(out, end_ns);
        for (code, time_ns) in [(ISB_START_TIME, start_ns), (ISB_END_TIME, end_ns)] {
            let mut value = Vec::with_capacity(8);
            timestamp(&mut value, time_ns);
            option(out, code, &value);
        }
        option(out, ISB_RECEIVED, &received.to_le_bytes());
        option(out, ISB_DROPPED, &dropped.to_le_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Type, total length, body, total length again (§3.1).
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}

/// The upper 32 bits first (§4.3).
fn timestamp(out: &mut Vec<u8>, time_ns: u64) {
    out.extend(((time_ns >> 32) as u32).to_le_bytes());
    out.extend((time_ns as u32).to_le_bytes());
}

/// Code, length, value padded to 32 bits (§3.5).
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(MAX_OPTION_BYTES)];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    padded(out, value);
}

fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_header_is_that_of_the_draft() {
        let mut out = Vec::new();
        section(&mut out, "Linux", "lab");
        let expected: &[u8] = &[
            0x0a, 0x0d, 0x0d, 0x0a, 52, 0, 0, 0, // type, length
            0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, // byte order, version 1.0
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // section length
            3, 0, 5, 0, b'L', b'i', b'n', b'u', b'x', 0, 0, 0, // shb_os
            4, 0, 3, 0, b'l', b'a', b'b', 0, // shb_userappl
            0, 0, 0, 0, 52, 0, 0, 0, // end of options, length
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn an_interface_has_raw_ip_and_nanoseconds() {
        let mut out = Vec::new();
        interface(&mut out, "ue", "down");
        let expected: &[u8] = &[
            1, 0, 0, 0, 48, 0, 0, 0, // type, length
            101, 0, 0, 0, 0, 0, 0, 0, // link type, reserved, no snap length
            2, 0, 2, 0, b'u', b'e', 0, 0, // if_name
            3, 0, 4, 0, b'd', b'o', b'w', b'n', // if_description
            9, 0, 1, 0, 9, 0, 0, 0, // if_tsresol
            0, 0, 0, 0, 48, 0, 0, 0, // end of options, length
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn a_packet_is_padded_and_has_direction_and_comment() {
        let mut out = Vec::new();
        packet(
            &mut out,
            &PacketBlock {
                interface: 3,
                unix_ns: 0x0102_0304_0506_0708,
                bytes: &[0x45, 7, 9],
                direction: Direction::Outbound,
                comment: Some("SN 5"),
            },
        );
        let expected: &[u8] = &[
            6, 0, 0, 0, 56, 0, 0, 0, // type, length
            3, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, // interface, time, upper half first
            3, 0, 0, 0, 3, 0, 0, 0, 0x45, 7, 9, 0, // lengths, bytes
            2, 0, 4, 0, 2, 0, 0, 0, // epb_flags: outbound
            1, 0, 4, 0, b'S', b'N', b' ', b'5', // opt_comment
            0, 0, 0, 0, 56, 0, 0, 0, // end of options, length
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn statistics_have_what_was_left_out() {
        let mut out = Vec::new();
        statistics(
            &mut out,
            &StatisticsBlock {
                interface: 1,
                start_ns: 5,
                end_ns: 1 << 32,
                received: 9,
                dropped: 2,
            },
        );
        let expected: &[u8] = &[
            5, 0, 0, 0, 76, 0, 0, 0, // type, length
            1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // interface, time
            2, 0, 8, 0, 0, 0, 0, 0, 5, 0, 0, 0, // isb_starttime
            3, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, // isb_endtime
            4, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0, // isb_ifrecv
            5, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0, // isb_ifdrop
            0, 0, 0, 0, 76, 0, 0, 0, // end of options, length
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn every_block_is_a_multiple_of_four_bytes_whatever_the_packet() {
        for length in 0..9 {
            let mut out = Vec::new();
            let bytes = vec![0xff; length];
            let direction = Direction::Inbound;
            packet(
                &mut out,
                &PacketBlock { interface: 0, unix_ns: 0, bytes: &bytes, direction, comment: None },
            );
            assert_eq!(out.len() % 4, 0);
            assert_eq!(out[4..8], out[out.len() - 4..], "both lengths are equal");
        }
    }
}
