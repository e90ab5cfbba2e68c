//! The header of virtio-net before each packet (virtio 1.2 §5.1.6), in the byte order of the host.

/// Length of the header: flags, GSO type, header length, GSO size, checksum start, checksum offset.
pub(crate) const VNET_HEADER_BYTES: usize = 10;

/// VIRTIO_NET_HDR_F_NEEDS_CSUM.
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// VIRTIO_NET_HDR_GSO_ECN: CWR is for the first segment only.
const GSO_ECN: u8 = 0x80;

/// What the header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    /// Where the checksum is still to be computed: start of the bytes it covers, offset of its field
    /// from there.
    pub(crate) checksum: Option<(u16, u16)>,
    /// Payload bytes of each segment, if the packet is a TCP segment to be cut.
    pub(crate) segment_bytes: Option<u16>,
    /// Bytes of all headers, for a packet to be cut.
    pub(crate) header_bytes: u16,
}

impl VnetHeader {
    /// Reads the header; the rest is the packet. `None` for too few bytes or a GSO type that was not
    /// offered to the kernel.
    pub(crate) fn read(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (header, packet) = frame.split_at_checked(VNET_HEADER_BYTES)?;
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let segment_bytes = match header[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 | GSO_TCPV6 => Some(word(4)),
            _ => return None,
        };
        let checksum = (header[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(8)));
        Some((Self { checksum, segment_bytes, header_bytes: word(2) }, packet))
    }

    /// The bytes of the header; `is_ipv6` is of the packet to be cut.
    pub(crate) fn bytes(&self, is_ipv6: bool) -> [u8; VNET_HEADER_BYTES] {
        let mut bytes = [0; VNET_HEADER_BYTES];
        let mut set = |at: usize, word: u16| {
            bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        };
        if let Some(segment_bytes) = self.segment_bytes {
            set(2, self.header_bytes);
            set(4, segment_bytes);
        }
        if let Some((start, offset)) = self.checksum {
            set(6, start);
            set(8, offset);
        }
        bytes[0] = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = match (self.segment_bytes, is_ipv6) {
            (None, _) => GSO_NONE,
            (Some(_), false) => GSO_TCPV4,
            (Some(_), true) => GSO_TCPV6,
        };
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for is_ipv6 in [false, true] {
            for header in [
                VnetHeader::default(),
                VnetHeader { checksum: Some((20, 16)), ..VnetHeader::default() },
                VnetHeader {
                    checksum: Some((40, 16)),
                    segment_bytes: Some(1448),
                    header_bytes: 72,
                },
            ] {
                let mut frame = header.bytes(is_ipv6).to_vec();
                frame.extend([7, 8]);
                assert_eq!(VnetHeader::read(&frame), Some((header, &[7, 8][..])));
            }
        }
    }

    #[test]
    fn short_frames_and_other_offloads_are_refused() {
        assert_eq!(VnetHeader::read(&[0; 9]), None);
        let udp = [0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(VnetHeader::read(&udp), None);
    }
}
