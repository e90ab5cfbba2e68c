//! One IP datagram, reduced to what queues and endpoints look at.

use serde::{Deserialize, Serialize};

use crate::tcp::TcpSegment;

/// Which flow of the scenario a packet belongs to. The caller chooses the numbers and maps them to
/// 5-tuples.
pub type FlowId = u32;

/// IPv4 header without options, RFC 791.
pub const IP_HEADER_BYTES: u32 = 20;
/// UDP header, RFC 768.
pub const UDP_HEADER_BYTES: u32 = 8;
/// ICMP echo header, RFC 792.
pub const ICMP_HEADER_BYTES: u32 = 8;
/// TCP header, RFC 9293.
pub const TCP_HEADER_BYTES: u32 = 20;

/// The ECN field of the IP header, RFC 3168 §5 and RFC 9331.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// 00: the transport does not understand ECN.
    #[default]
    NotEct,
    /// 10: ECN-capable, classic.
    Ect0,
    /// 01: ECN-capable, L4S.
    Ect1,
    /// 11: congestion experienced.
    Ce,
}

/// One IP datagram on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// When its sender let it go.
    pub sent_us: u64,
    /// Whose it is.
    pub flow: FlowId,
    /// Length of the IP datagram, headers included.
    pub len_bytes: u32,
    /// ECN field; a queue on the way may set it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// DSCP, 0..=63.
    pub dscp: u8,
    /// What it carries.
    pub body: Body,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment or acknowledgement.
    Tcp(TcpSegment),
    /// A UDP datagram (CBR) or RTP frame (VoIP).
    Udp {
        /// Counts from 0, one per datagram of this direction.
        seq: u64,
    },
    /// An ICMP echo request or reply.
    Ping {
        /// Counts from 0, one per request.
        seq: u64,
        /// A reply rather than a request.
        is_reply: bool,
        /// When the request was sent; the reply brings it back, as `ping` does in its payload.
        request_sent_us: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_cheap_to_move() {
        assert!(size_of::<Packet>() <= 120, "{} bytes", size_of::<Packet>());
    }
}
