//! The fields of a TCP segment that cutting and joining change, by their offsets in the packet.

use super::checksum::Sum;

const TCP: u8 = 6;
/// Offsets in the IPv4 header (RFC 791 §3.1).
const V4_LENGTH: usize = 2;
const V4_IDENTIFICATION: usize = 4;
const V4_FRAGMENT: usize = 6;
const V4_PROTOCOL: usize = 9;
const V4_CHECKSUM: usize = 10;
const V4_ADDRESSES: std::ops::Range<usize> = 12..20;
/// Offsets in the IPv6 header (RFC 8200 §3).
const V6_HEADER_BYTES: usize = 40;
const V6_LENGTH: usize = 4;
const V6_NEXT_HEADER: usize = 6;
const V6_ADDRESSES: std::ops::Range<usize> = 8..40;
/// Offsets in the TCP header (RFC 9293 §3.1).
const SEQUENCE: usize = 4;
const DATA_OFFSET: usize = 12;
pub(super) const FLAGS: usize = 13;
pub(super) const CHECKSUM: usize = 16;
const MIN_TCP_BYTES: usize = 20;

pub(super) const FIN: u8 = 0x01;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;
pub(super) const CWR: u8 = 0x80;

/// Where the headers of a TCP segment over IPv4 or IPv6 lie; without fragments and, in IPv6, without
/// extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpLayout {
    pub(super) is_ipv6: bool,
    /// Start of the TCP header.
    pub(super) tcp_at: usize,
    /// Start of the payload: the length of all headers.
    pub(super) payload_at: usize,
}

impl TcpLayout {
    /// `None` if the packet is none whose layout this is.
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        let first = *packet.first()?;
        let (is_ipv6, tcp_at) = match first >> 4 {
            4 => {
                let fragment = packet.get(V4_FRAGMENT..V4_FRAGMENT + 2)?;
                let is_whole = fragment[0] & 0x3f == 0 && fragment[1] == 0;
                let header = usize::from(first & 0x0f) * 4;
                if !is_whole || *packet.get(V4_PROTOCOL)? != TCP || header < 20 {
                    return None;
                }
                (false, header)
            }
            6 if *packet.get(V6_NEXT_HEADER)? == TCP => (true, V6_HEADER_BYTES),
            _ => return None,
        };
        let tcp_bytes = usize::from(packet.get(tcp_at + DATA_OFFSET)? >> 4) * 4;
        let payload_at = tcp_at + tcp_bytes;
        (tcp_bytes >= MIN_TCP_BYTES && packet.len() >= payload_at).then_some(Self {
            is_ipv6,
            tcp_at,
            payload_at,
        })
    }

    pub(super) fn sequence(&self, packet: &[u8]) -> u32 {
        let at = self.tcp_at + SEQUENCE;
        u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
    }

    pub(super) fn set_sequence(&self, packet: &mut [u8], sequence: u32) {
        let at = self.tcp_at + SEQUENCE;
        packet[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
    }

    pub(super) fn flags(&self, packet: &[u8]) -> u8 {
        packet[self.tcp_at + FLAGS]
    }

    pub(super) fn set_flags(&self, packet: &mut [u8], flags: u8) {
        packet[self.tcp_at + FLAGS] = flags;
    }

    /// Identification of the IPv4 header.
    pub(super) fn identification(&self, packet: &[u8]) -> u16 {
        u16::from_be_bytes([packet[V4_IDENTIFICATION], packet[V4_IDENTIFICATION + 1]])
    }

    pub(super) fn set_identification(&self, packet: &mut [u8], value: u16) {
        packet[V4_IDENTIFICATION..V4_IDENTIFICATION + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// Sets the lengths of the IP header to a packet of `len_bytes`, and the checksum of IPv4.
    pub(super) fn set_length(&self, packet: &mut [u8], len_bytes: usize) {
        if self.is_ipv6 {
            let payload = (len_bytes - V6_HEADER_BYTES) as u16;
            packet[V6_LENGTH..V6_LENGTH + 2].copy_from_slice(&payload.to_be_bytes());
            return;
        }
        packet[V4_LENGTH..V4_LENGTH + 2].copy_from_slice(&(len_bytes as u16).to_be_bytes());
        packet[V4_CHECKSUM..V4_CHECKSUM + 2].fill(0);
        let checksum = Sum::default().add(&packet[..self.tcp_at]).checksum();
        packet[V4_CHECKSUM..V4_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Sum of the pseudo-header (RFC 9293 §3.1) of a packet of `len_bytes`.
    pub(super) fn pseudo_header(&self, packet: &[u8], len_bytes: usize) -> Sum {
        let addresses = if self.is_ipv6 { V6_ADDRESSES } else { V4_ADDRESSES };
        Sum::default()
            .add(&packet[addresses])
            .add_word(u16::from(TCP))
            .add_word((len_bytes - self.tcp_at) as u16)
    }

    /// Whether the checksum of TCP of a whole packet is right.
    pub(super) fn is_intact(&self, packet: &[u8]) -> bool {
        self.pseudo_header(packet, packet.len()).add(&packet[self.tcp_at..]).checksum() == 0
    }

    /// Sets the checksum of TCP of a whole packet.
    pub(super) fn set_checksum(&self, packet: &mut [u8]) {
        let at = self.tcp_at + CHECKSUM;
        packet[at..at + 2].fill(0);
        let sum = self.pseudo_header(packet, packet.len()).add(&packet[self.tcp_at..]);
        packet[at..at + 2].copy_from_slice(&sum.checksum().to_be_bytes());
    }
}

/// Completes a checksum that the kernel left to the device: the field has the sum of the
/// pseudo-header. `None` if the positions lie outside the packet.
pub(super) fn complete_checksum(packet: &mut [u8], start: u16, offset: u16) -> Option<()> {
    let (start, offset) = (usize::from(start), usize::from(offset));
    let sum = Sum::default().add(packet.get(start..)?).checksum();
    // UDP: 0 means "no checksum" (RFC 768), so a sum of 0 is sent as its equal 0xffff.
    let sum = if sum == 0 { 0xffff } else { sum };
    packet.get_mut(start + offset..start + offset + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}
