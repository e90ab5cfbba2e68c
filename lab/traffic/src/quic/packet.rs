//! A QUIC packet, reduced to the frames that the lab uses, and its length.

use crate::ip::UDP_IP_HEADER_BYTES;

/// RFC 9000 §17.3: short header with a connection ID of 8 bytes and a packet number of 2.
const SHORT_HEADER_BYTES: u32 = 1 + 8 + 2;
/// RFC 9001 §5.3: tag of the AEAD.
const AEAD_TAG_BYTES: u32 = 16;
/// What a packet adds to its frames within the UDP payload.
pub(crate) const PACKET_OVERHEAD_BYTES: u32 = SHORT_HEADER_BYTES + AEAD_TAG_BYTES;
/// RFC 9000 §18.2, `max_ack_delay` unless the peer says otherwise.
pub(crate) const MAX_ACK_DELAY_US: u64 = 25_000;
/// RFC 9000 §18.2, `ack_delay_exponent`: unit of the delay in ACK frames, 2³ µs.
const ACK_DELAY_EXPONENT: u32 = 3;

/// A packet with a short header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuicPacket {
    /// Packet number: from 0 in each direction, one more for each packet (RFC 9000 §12.3).
    pub number: u64,
    /// STREAM frame, §19.8.
    pub stream: Option<StreamFrame>,
    /// ACK frame, §19.3.
    pub ack: Option<AckFrame>,
    /// MAX_DATA frame, §19.9: the connection's data up to this offset may be sent.
    pub max_data: Option<u64>,
    /// DATA_BLOCKED frame, §19.12: the limit that stops the sender.
    pub data_blocked: Option<u64>,
    /// ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency §4).
    pub ack_frequency: Option<AckFrequency>,
    /// IMMEDIATE_ACK frame (draft-ietf-quic-ack-frequency §5).
    pub immediate_ack: bool,
    /// PING frame, §19.2.
    pub ping: bool,
}

/// Bytes of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamFrame {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Time since they were first sent, µs; 0 unless they are sent again. For the statistics of the lab;
    /// not on the wire.
    pub age_us: u32,
}

/// Packets that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckFrame {
    /// Ranges of packet numbers, the end excluded, highest first; at least one.
    pub ranges: Box<[(u64, u64)]>,
    /// Time for which the largest waited for this frame, µs.
    pub delay_us: u64,
    /// Counts of marks since the connection began, with ECN.
    pub ecn: Option<EcnCounts>,
}

/// Packets by the mark that they arrived with, RFC 9000 §19.3.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// CE.
    pub ce: u64,
}

/// What the sender of data asks of its receiver, draft-ietf-quic-ack-frequency §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckFrequency {
    /// Ack-eliciting packets that may arrive without an acknowledgement.
    pub eliciting_threshold: u32,
    /// Requested Max Ack Delay.
    pub max_ack_delay_us: u64,
    /// Packets after a gap that have it reported at once; 0: never.
    pub reordering_threshold: u32,
}

/// Length of a variable-length integer, RFC 9000 §16.
fn varint_bytes(value: u64) -> u32 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

impl StreamFrame {
    /// Type, stream ID and offset of a STREAM frame at `offset`. It is the last of its packet, so that it
    /// has no length field.
    pub(super) fn header_bytes(offset: u64) -> u32 {
        1 + 1 + varint_bytes(offset)
    }

    fn wire_bytes(&self) -> u32 {
        Self::header_bytes(self.offset) + self.bytes
    }
}

impl AckFrame {
    /// Largest Acknowledged.
    pub fn largest(&self) -> u64 {
        self.ranges.first().map_or(0, |&(_, end)| end.saturating_sub(1))
    }

    /// Whether it acknowledges this packet.
    pub(super) fn contains(&self, number: u64) -> bool {
        self.ranges.iter().any(|&(start, end)| (start..end).contains(&number))
    }

    /// §19.3: type, Largest Acknowledged, ACK Delay, count, First ACK Range, then Gap and ACK Range Length.
    fn wire_bytes(&self) -> u32 {
        let fixed = 1
            + varint_bytes(self.largest())
            + varint_bytes(self.delay_us >> ACK_DELAY_EXPONENT)
            + varint_bytes(self.ranges.len() as u64);
        let lengths: u32 =
            self.ranges.iter().map(|(start, end)| varint_bytes(end - start - 1)).sum();
        let pairs = self.ranges.iter().zip(self.ranges.iter().skip(1));
        let gaps: u32 = pairs.map(|(above, below)| varint_bytes(above.0 - below.1 - 1)).sum();
        let ecn = self.ecn.map_or(0, |counts| {
            [counts.ect0, counts.ect1, counts.ce].into_iter().map(varint_bytes).sum()
        });
        fixed + lengths + gaps + ecn
    }
}

impl AckFrequency {
    /// Type of two bytes, sequence number, three integers.
    fn wire_bytes(&self) -> u32 {
        2 + 1
            + varint_bytes(u64::from(self.eliciting_threshold))
            + varint_bytes(self.max_ack_delay_us)
            + varint_bytes(u64::from(self.reordering_threshold))
    }
}

impl QuicPacket {
    /// Whether its receiver has to acknowledge it: all frames here but ACK (§13.2).
    pub fn is_ack_eliciting(&self) -> bool {
        self.stream.is_some()
            || self.max_data.is_some()
            || self.data_blocked.is_some()
            || self.ack_frequency.is_some()
            || self.immediate_ack
            || self.ping
    }

    /// Length of the UDP payload without its STREAM frame.
    pub(super) fn control_bytes(&self) -> u32 {
        let flag = |is_set: bool, bytes: u32| if is_set { bytes } else { 0 };
        let limit = |value: Option<u64>| value.map_or(0, |limit| 1 + varint_bytes(limit));
        PACKET_OVERHEAD_BYTES
            + self.ack.as_ref().map_or(0, AckFrame::wire_bytes)
            + limit(self.max_data)
            + limit(self.data_blocked)
            + self.ack_frequency.map_or(0, |it| it.wire_bytes())
            + flag(self.immediate_ack, 2)
            + flag(self.ping, 1)
    }

    /// Length of the UDP payload.
    pub fn udp_payload_bytes(&self) -> u32 {
        self.control_bytes() + self.stream.map_or(0, |frame| frame.wire_bytes())
    }

    /// Length of the IPv4 datagram.
    pub fn datagram_bytes(&self) -> u32 {
        UDP_IP_HEADER_BYTES + self.udp_payload_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_wire() {
        let ping = QuicPacket { ping: true, ..QuicPacket::default() };
        assert_eq!((ping.udp_payload_bytes(), ping.datagram_bytes()), (28, 56));
        let frame = |offset| StreamFrame { offset, bytes: 100, age_us: 0 };
        for (offset, bytes) in [(0, 103), (16_000, 104), (1 << 20, 106), (1 << 30, 110)] {
            let packet = QuicPacket { stream: Some(frame(offset)), ..QuicPacket::default() };
            assert_eq!(packet.udp_payload_bytes(), PACKET_OVERHEAD_BYTES + bytes, "{offset}");
        }
        // Type, largest in 2, delay of 8 ms in 2, count, first range in 2; a gap and a length of 1 each.
        let ranges: Box<[(u64, u64)]> = [(200, 301), (150, 190)].into();
        let ack = AckFrame { ranges, delay_us: 8_000, ecn: None };
        assert_eq!((ack.largest(), ack.wire_bytes()), (300, 1 + 2 + 2 + 1 + 2 + 1 + 1));
        let counts = EcnCounts { ect0: 0, ect1: 300, ce: 7 };
        let with_ecn = AckFrame { ecn: Some(counts), ..ack.clone() };
        assert_eq!(with_ecn.wire_bytes() - ack.wire_bytes(), 1 + 2 + 1);
    }

    #[test]
    fn only_acknowledgements_alone_elicit_none() {
        let ack = AckFrame { ranges: [(0, 1)].into(), delay_us: 0, ecn: None };
        let alone = QuicPacket { ack: Some(ack), ..QuicPacket::default() };
        assert!(!alone.is_ack_eliciting());
        assert!(QuicPacket { max_data: Some(1), ..alone.clone() }.is_ack_eliciting());
        assert!(QuicPacket { ping: true, ..alone }.is_ack_eliciting());
    }
}
