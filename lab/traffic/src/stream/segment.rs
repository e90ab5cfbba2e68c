//! What a packet of a connection with streams carries.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::tcp::TcpSegment;

/// Bytes of one stream in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Number of the stream.
    pub stream: u32,
    /// First byte within the message.
    pub offset: u32,
    /// Number of bytes.
    pub bytes: u32,
    /// Whether the message ends with it.
    pub is_last: bool,
    /// Content of the message.
    pub word: Option<NonZeroU32>,
}

/// A segment of a connection with streams, or an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSegment {
    /// Numbers and acknowledgements; those of QUIC in the terms of TCP.
    pub segment: TcpSegment,
    /// What its payload consists of, in order.
    pub frames: Arc<[Frame]>,
    /// Whether it is a QUIC packet.
    pub is_quic: bool,
}
