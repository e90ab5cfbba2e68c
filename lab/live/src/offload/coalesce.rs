//! Joins TCP segments in sequence into one packet for the kernel, as generic receive offload of Linux
//! does (`tcp_gro_receive`): same headers, consecutive sequence numbers, equal lengths.
//!
//! Nothing waits to be joined: what is open is handed over at the end of each step of the world.

use bytes::Bytes;

use super::tcp::{ACK, CHECKSUM, FIN, FLAGS, PSH, TcpLayout};
use super::vnet::{VNET_HEADER_BYTES, VnetHeader};

/// Longest packet that IP can be.
const MAX_PACKET_BYTES: usize = 65_535;
/// Parts of one write: virtio-net header, headers, payloads.
const MAX_SEGMENTS: usize = 64;

/// A packet for the kernel: a virtio-net header with the packet's headers, then payloads.
pub(crate) struct Frame<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) payloads: &'a [Bytes],
    /// Packets joined in it.
    pub(crate) packets: usize,
}

/// Joins what is pushed in sequence.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    /// Virtio-net header and headers of the first segment.
    head: Vec<u8>,
    payloads: Vec<Bytes>,
    open: Option<Open>,
    /// Whether packets may have wrong checksums. These stay alone: of joined packets the kernel trusts
    /// that their checksums were right.
    checks: bool,
}

/// The run of segments that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    layout: TcpLayout,
    /// Payload of each segment.
    segment_bytes: usize,
    payload_bytes: usize,
    next_sequence: u32,
    next_identification: u16,
}

impl Coalescer {
    /// One that joins packets only after checking their checksums.
    pub(crate) fn checking() -> Self {
        Self { checks: true, ..Self::default() }
    }

    /// Adds a packet; what cannot be joined with it goes to `write` before.
    pub(crate) fn push(&mut self, packet: Bytes, write: &mut dyn FnMut(Frame<'_>)) {
        let layout = TcpLayout::of(&packet).filter(|layout| {
            // Pure acknowledgements, SYN, URG and RST stay alone; so does the end of a run.
            layout.flags(&packet) & !(PSH | FIN | 0xc0) == ACK
                && packet.len() > layout.payload_at
                && (!self.checks || layout.is_intact(&packet))
        });
        let Some(layout) = layout else {
            self.flush(write);
            let head = VnetHeader::default().bytes(false);
            write(Frame { head: &head, payloads: &[packet], packets: 1 });
            return;
        };
        if !self.open.is_some_and(|open| self.continues(&open, &layout, &packet)) {
            self.flush(write);
            self.begin(layout, &packet);
        }
        self.join(&layout, &packet);
        let is_last = layout.flags(&packet) & (PSH | FIN) != 0;
        let is_short =
            self.open.is_some_and(|open| packet.len() - layout.payload_at < open.segment_bytes);
        if is_last || is_short || self.payloads.len() >= MAX_SEGMENTS {
            self.flush(write);
        }
    }

    fn begin(&mut self, layout: TcpLayout, packet: &Bytes) {
        self.head.clear();
        self.head.resize(VNET_HEADER_BYTES, 0);
        self.head.extend_from_slice(&packet[..layout.payload_at]);
        self.open = Some(Open {
            layout,
            segment_bytes: packet.len() - layout.payload_at,
            payload_bytes: 0,
            next_sequence: layout.sequence(packet),
            next_identification: layout.identification(packet),
        });
    }

    fn join(&mut self, layout: &TcpLayout, packet: &Bytes) {
        let Some(open) = &mut self.open else { return };
        let payload = packet.slice(layout.payload_at..);
        open.payload_bytes += payload.len();
        open.next_sequence = open.next_sequence.wrapping_add(payload.len() as u32);
        open.next_identification = open.next_identification.wrapping_add(1);
        let flags = VNET_HEADER_BYTES + layout.tcp_at + FLAGS;
        self.head[flags] |= layout.flags(packet) & (PSH | FIN);
        self.payloads.push(payload);
    }

    /// Whether a packet continues the open run: every header field equal but those that count.
    fn continues(&self, open: &Open, layout: &TcpLayout, packet: &Bytes) -> bool {
        let payload_bytes = packet.len() - layout.payload_at;
        if open.layout != *layout
            || payload_bytes > open.segment_bytes
            || layout.payload_at + open.payload_bytes + payload_bytes > MAX_PACKET_BYTES
            || layout.sequence(packet) != open.next_sequence
        {
            return false;
        }
        let headers = &self.head[VNET_HEADER_BYTES..];
        // Lengths, identification and checksums differ; the flags may differ in PSH and FIN.
        let ip = if layout.is_ipv6 {
            headers[..4] == packet[..4] && headers[6..40] == packet[6..40]
        } else {
            headers[..2] == packet[..2]
                && layout.identification(packet) == open.next_identification
                && headers[6..10] == packet[6..10]
                && headers[12..layout.tcp_at] == packet[12..layout.tcp_at]
        };
        let at = layout.tcp_at;
        let flags = (headers[at + FLAGS] ^ packet[at + FLAGS]) & !(PSH | FIN);
        ip && flags == 0
            && headers[at..at + 4] == packet[at..at + 4]
            && headers[at + 8..at + FLAGS] == packet[at + 8..at + FLAGS]
            && headers[at + 14..at + CHECKSUM] == packet[at + 14..at + CHECKSUM]
            && headers[at + 18..layout.payload_at] == packet[at + 18..layout.payload_at]
    }

    /// Hands the open run over.
    pub(crate) fn flush(&mut self, write: &mut dyn FnMut(Frame<'_>)) {
        let Some(Open { layout, segment_bytes, payload_bytes, .. }) = self.open.take() else {
            return;
        };
        let packets = self.payloads.len();
        let length = layout.payload_at + payload_bytes;
        let (header, headers) = self.head.split_at_mut(VNET_HEADER_BYTES);
        if packets > 1 {
            let vnet = VnetHeader {
                checksum: Some((layout.tcp_at as u16, CHECKSUM as u16)),
                segment_bytes: Some(segment_bytes as u16),
                header_bytes: layout.payload_at as u16,
            };
            header.copy_from_slice(&vnet.bytes(layout.is_ipv6));
            layout.set_length(headers, length);
            // The kernel computes the rest if it forwards the packet; for a local socket it need not.
            let partial = layout.pseudo_header(headers, length).folded();
            let at = layout.tcp_at + CHECKSUM;
            headers[at..at + 2].copy_from_slice(&partial.to_be_bytes());
        }
        write(Frame { head: &self.head, payloads: &self.payloads, packets });
        self.payloads.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::datagrams;
    use super::super::tcp::{CWR, complete_checksum};
    use super::*;

    /// A frame with a TCP segment of this payload to be cut, checksum left to the device.
    fn frame(is_ipv6: bool, options: usize, payload: &[u8], segment: u16, flags: u8) -> Vec<u8> {
        let mut packet = if is_ipv6 {
            let mut ip = vec![0x60, 0, 0, 7, 0, 0, 6, 64];
            ip.extend((0..32).collect::<Vec<u8>>());
            ip
        } else {
            let mut ip = vec![0x45, 2, 0, 0, 0xff, 0xfe, 0x40, 0, 64, 6, 0, 0];
            ip.extend([198, 51, 100, 1, 10, 45, 70, 1]);
            ip
        };
        let tcp_at = packet.len();
        packet.extend([0x14, 0x51, 0xc0, 0, 0xff, 0xff, 0xf0, 0, 1, 2, 3, 4]);
        packet.extend([((20 + options) / 4 * 16) as u8, flags, 9, 9, 0, 0, 0, 0]);
        packet.extend((0..options as u8).collect::<Vec<_>>());
        packet.extend(payload);
        let length = packet.len();
        let layout = TcpLayout::of(&packet).unwrap();
        layout.set_length(&mut packet, length);
        let partial = layout.pseudo_header(&packet, length).folded();
        packet[tcp_at + CHECKSUM..tcp_at + CHECKSUM + 2].copy_from_slice(&partial.to_be_bytes());
        let vnet = VnetHeader {
            checksum: Some((tcp_at as u16, CHECKSUM as u16)),
            segment_bytes: (payload.len() > usize::from(segment)).then_some(segment),
            header_bytes: layout.payload_at as u16,
        };
        [vnet.bytes(is_ipv6).to_vec(), packet].concat()
    }

    fn cut(frame: &[u8]) -> Vec<Bytes> {
        let mut all = Vec::new();
        datagrams(frame, &mut |datagram| all.push(datagram)).unwrap();
        all
    }

    fn joined(packets: &[Bytes]) -> Vec<Vec<u8>> {
        joined_by(Coalescer::default(), packets)
    }

    fn joined_by(mut coalescer: Coalescer, packets: &[Bytes]) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut write = |frame: Frame<'_>| {
            frames.push([frame.head, &frame.payloads.concat()].concat());
        };
        for packet in packets {
            coalescer.push(packet.clone(), &mut write);
        }
        coalescer.flush(&mut write);
        frames
    }

    fn has_right_checksums(packet: &[u8]) -> bool {
        let layout = TcpLayout::of(packet).unwrap();
        let mut again = packet.to_vec();
        layout.set_length(&mut again, packet.len());
        layout.set_checksum(&mut again);
        again == packet
    }

    proptest::proptest! {
        /// Cut and joined again, a large segment is the same but for the identification of IPv4; each
        /// piece has right checksums.
        #[test]
        fn joining_undoes_cutting(
            is_ipv6 in proptest::bool::ANY,
            options in (0..10_usize).prop_map(|words| 4 * words),
            payload in proptest::collection::vec(proptest::num::u8::ANY, 1..40_000),
            segment in 700..9_000_u16,
            push in proptest::bool::ANY,
        ) {
            let flags = ACK | if push { PSH } else { 0 };
            let frame = frame(is_ipv6, options, &payload, segment, flags);
            let pieces = cut(&frame);
            let total: usize = pieces.iter().map(|p| TcpLayout::of(p).map_or(0, |l| p.len() - l.payload_at)).sum();
            proptest::prop_assert_eq!(total, payload.len());
            for piece in &pieces {
                proptest::prop_assert!(has_right_checksums(piece));
            }
            let again = joined(&pieces);
            proptest::prop_assert_eq!(again.len(), 1);
            if pieces.len() > 1 {
                proptest::prop_assert_eq!(&again[0], &frame);
            } else {
                proptest::prop_assert_eq!(&again[0][VNET_HEADER_BYTES..], &pieces[0][..]);
            }
        }

        /// Whatever bytes come: no panic, and nothing is lost or duplicated by joining.
        #[test]
        fn any_packets_leave_once(
            packets in proptest::collection::vec(
                (proptest::sample::select(vec![0x45_u8, 0x46, 0x60, 0]),
                 proptest::collection::vec(proptest::num::u8::ANY, 1..120)),
                0..20,
            ),
        ) {
            let packets: Vec<Bytes> = packets.into_iter().map(|(first, mut bytes)| {
                bytes[0] = first;
                if bytes.len() > 9 { bytes[9] = 6; bytes[6] = if first == 0x60 { 6 } else { 0 }; }
                bytes.into()
            }).collect();
            let mut count = 0;
            let mut coalescer = Coalescer::default();
            let mut write = |frame: Frame<'_>| count += frame.packets;
            for packet in &packets {
                let framed = [&[0; VNET_HEADER_BYTES][..], packet].concat();
                proptest::prop_assert_eq!(cut(&framed), vec![packet.clone()]);
                coalescer.push(packet.clone(), &mut write);
            }
            coalescer.flush(&mut write);
            proptest::prop_assert_eq!(count, packets.len());
        }

        #[test]
        fn any_frame_is_cut_or_refused(
            frame in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let _ = datagrams(&frame, &mut |_| {});
        }
    }

    #[test]
    fn flags_of_one_segment_stay_in_that_segment() {
        let frame = frame(false, 12, &[5; 4000], 1448, ACK | PSH | FIN | CWR);
        let flags: Vec<u8> =
            cut(&frame).iter().map(|p| TcpLayout::of(p).unwrap().flags(p)).collect();
        assert_eq!(flags, [ACK | CWR, ACK, ACK | PSH | FIN]);
    }

    #[test]
    fn a_marked_packet_or_a_gap_ends_a_run() {
        let mut pieces = cut(&frame(false, 12, &[5; 10_000], 1448, ACK));
        assert_eq!(pieces.len(), 7);
        let mut marked = pieces[3].to_vec();
        ip_header::set_traffic_class(&mut marked, 3);
        assert!(has_right_checksums(&marked), "marking keeps the checksum of IPv4");
        pieces[3] = marked.into();
        let parts = |pieces: &[Bytes]| {
            let lengths = joined(pieces).into_iter();
            lengths
                .map(|frame| (frame.len() - VNET_HEADER_BYTES - 52).div_ceil(1448))
                .collect::<Vec<_>>()
        };
        assert_eq!(parts(&pieces), [3, 1, 3]);
        pieces.remove(1);
        assert_eq!(parts(&pieces), [1, 1, 1, 3], "and a lost packet");
    }

    /// The kernel checks what is not joined; of joined packets it trusts that somebody has.
    #[test]
    fn a_corrupted_packet_stays_alone_with_its_wrong_checksum() {
        for is_ipv6 in [false, true] {
            let mut pieces = cut(&frame(is_ipv6, 12, &[5; 10_000], 1448, ACK));
            let mut corrupted = pieces[3].to_vec();
            *corrupted.last_mut().unwrap() ^= 0x10;
            pieces[3] = corrupted.clone().into();
            let frames = joined_by(Coalescer::checking(), &pieces);
            assert_eq!(frames.len(), 3, "{is_ipv6}");
            let alone = [&VnetHeader::default().bytes(false)[..], &corrupted].concat();
            assert_eq!(frames[1], alone, "{is_ipv6}");
            assert_eq!(joined(&pieces).len(), 1, "without checking it is joined");
        }
    }

    #[test]
    fn a_segment_cut_off_anywhere_in_its_headers_has_no_layout() {
        for is_ipv6 in [false, true] {
            let packet = frame(is_ipv6, 12, &[5; 10], 1448, ACK).split_off(VNET_HEADER_BYTES);
            let layout = TcpLayout::of(&packet).unwrap();
            for bytes in 0..layout.payload_at {
                assert_eq!(TcpLayout::of(&packet[..bytes]), None, "{bytes} bytes, IPv6 {is_ipv6}");
            }
        }
    }

    #[test]
    fn a_datagram_gets_its_checksum() {
        // UDP over IPv4 with the sum of the pseudo-header in its field.
        let mut packet = vec![0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([198, 51, 100, 1, 10, 45, 70, 1]);
        packet.extend([0, 7, 0, 7, 0, 10, 0, 0, 0xab, 0xcd]);
        let pseudo: u32 = [0xc633_u32, 0x6401, 0x0a2d, 0x4601, 17, 10].iter().sum();
        let folded = ((pseudo & 0xffff) + (pseudo >> 16)) as u16;
        packet[26..28].copy_from_slice(&folded.to_be_bytes());
        complete_checksum(&mut packet, 20, 6).unwrap();
        let words = packet[20..].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum::<u32>() + pseudo;
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "valid to a receiver");
        assert_eq!(complete_checksum(&mut packet, 20, 9), None, "outside the packet");
    }

    use proptest::strategy::Strategy as _;
}
