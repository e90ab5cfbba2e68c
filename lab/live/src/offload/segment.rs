//! What the kernel hands over, as datagrams of at most the MTU with complete checksums.

use bytes::{Bytes, BytesMut};

use super::tcp::{CWR, FIN, PSH, TcpLayout, complete_checksum};
use super::vnet::VnetHeader;

/// A frame that is no packet this program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

/// Calls `take` with each datagram of a frame, in order.
///
/// A large TCP segment is cut as Linux does (`tcp_gso_segment`): headers repeated, sequence number and
/// identification counted up, FIN and PSH in the last segment, CWR in the first (RFC 3168 §6.1.2).
pub(crate) fn datagrams(frame: &[u8], take: &mut dyn FnMut(Bytes)) -> Result<(), Refused> {
    let (header, packet) = VnetHeader::read(frame).ok_or(Refused)?;
    if packet.is_empty() {
        return Err(Refused);
    }
    match header.segment_bytes {
        None => {
            let mut bytes = BytesMut::from(packet);
            if let Some((start, offset)) = header.checksum {
                complete_checksum(&mut bytes, start, offset).ok_or(Refused)?;
            }
            take(bytes.freeze());
            Ok(())
        }
        Some(segment_bytes) => cut(packet, usize::from(segment_bytes), take),
    }
}

fn cut(packet: &[u8], segment_bytes: usize, take: &mut dyn FnMut(Bytes)) -> Result<(), Refused> {
    let layout = TcpLayout::of(packet).ok_or(Refused)?;
    let (headers, payload) = packet.split_at(layout.payload_at);
    if segment_bytes == 0 || payload.is_empty() {
        return Err(Refused);
    }
    let count = payload.len().div_ceil(segment_bytes);
    let mut room = BytesMut::with_capacity(payload.len() + count * headers.len());
    let (sequence, flags) = (layout.sequence(headers), layout.flags(headers));
    let identification = layout.identification(headers);
    for (index, chunk) in payload.chunks(segment_bytes).enumerate() {
        room.extend_from_slice(headers);
        room.extend_from_slice(chunk);
        let mut segment = room.split();
        if !layout.is_ipv6 {
            layout.set_identification(&mut segment, identification.wrapping_add(index as u16));
        }
        let length = segment.len();
        layout.set_length(&mut segment, length);
        layout.set_sequence(&mut segment, sequence.wrapping_add((index * segment_bytes) as u32));
        let mut own_flags = flags;
        if index > 0 {
            own_flags &= !CWR;
        }
        if index + 1 < count {
            own_flags &= !(FIN | PSH);
        }
        layout.set_flags(&mut segment, own_flags);
        layout.set_checksum(&mut segment);
        take(segment.freeze());
    }
    Ok(())
}
