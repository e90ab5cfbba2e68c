//! What the two ends of a call send each other.

/// Payload of RTP that WebRTC puts in a packet at most.
pub(super) const MAX_MEDIA_BYTES: u32 = 1_200;
/// RTP header (RFC 3550 §5.1) and the header extension with the transport-wide number (RFC 8285).
pub(super) const RTP_HEADER_BYTES: u32 = 12 + 8;
/// RTCP header of a transport-wide feedback (draft-holmer-rmcat-transport-wide-cc §3.1).
const FEEDBACK_HEADER_BYTES: u32 = 20;
/// Each packet reported takes a delta of 2 B and a share of a status chunk.
const FEEDBACK_PER_PACKET_BYTES: u32 = 3;

/// A media packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPacket {
    /// Transport-wide number, from 0.
    pub seq: u64,
    /// Its frame, from 0.
    pub frame: u64,
    /// Its place in the frame.
    pub index: u16,
    /// Packets of the frame.
    pub count: u16,
    /// The frame can be decoded without others.
    pub is_key: bool,
    /// When the camera took the frame.
    pub captured_us: u64,
}

/// What the receiver reports: arrival times, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaFeedback {
    /// Number and arrival time of each packet since the last report, in order of arrival.
    pub arrivals: Vec<(u64, u64)>,
    /// A picture was lost: send a key frame (RFC 4585 §6.3.1).
    pub wants_key_frame: bool,
}

impl MediaFeedback {
    /// Payload of the datagram that carries it.
    pub(super) fn payload_bytes(&self) -> u32 {
        let packets = u32::try_from(self.arrivals.len()).unwrap_or(u32::MAX);
        FEEDBACK_HEADER_BYTES.saturating_add(FEEDBACK_PER_PACKET_BYTES.saturating_mul(packets))
    }
}
