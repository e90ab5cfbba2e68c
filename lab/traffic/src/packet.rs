//! An IP datagram, reduced to the fields that queues and endpoints use.

use std::sync::Arc;

use crate::call::{MediaFeedback, MediaPacket};
use crate::datagram::Datagram;
use crate::game::GameMessage;
use crate::ip::{Ecn, UDP_IP_HEADER_BYTES};
use crate::quic::QuicPacket;
use crate::sprout::{SproutData, SproutForecast};
use crate::stream::StreamSegment;
use crate::tcp::TcpSegment;

/// Which connection or datagram stream a packet belongs to. The caller chooses the numbers and maps
/// them to 5-tuples; an application with several connections has consecutive ones.
pub type FlowId = u32;

/// An IP datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Time of sending.
    pub sent_us: u64,
    /// Its connection.
    pub flow: FlowId,
    /// Length of the IP datagram, headers included.
    pub len_bytes: u32,
    /// ECN field; a queue on the way may set it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// DSCP, 0..=63.
    pub dscp: u8,
    /// Payload.
    pub body: Body,
}

impl Packet {
    /// Whether it is a segment with payload.
    pub(crate) fn is_data_segment(&self) -> bool {
        self.body.segment().is_some_and(|segment| segment.payload_bytes > 0)
    }
}

/// Header fields that all packets of a flow share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    pub(crate) flow: FlowId,
    pub(crate) dscp: u8,
    pub(crate) ecn: Ecn,
}

impl Stamp {
    /// The packet as not ECN-capable: reports and acknowledgements.
    pub(crate) fn not_ect(self) -> Self {
        Self { ecn: Ecn::NotEct, ..self }
    }

    /// A packet of this flow, sent now.
    pub(crate) fn packet(self, len_bytes: u32, body: Body, now_us: u64) -> Packet {
        let Self { flow, dscp, ecn } = self;
        Packet { sent_us: now_us, flow, len_bytes, ecn, dscp, body }
    }
}

/// Sends the UDP datagrams of one end and counts them.
#[derive(Debug, Clone)]
pub(crate) struct UdpSender {
    stamp: Stamp,
    sent_packets: u64,
    sent_bytes: u64,
}

impl UdpSender {
    pub(crate) fn new(stamp: Stamp) -> Self {
        Self { stamp, sent_packets: 0, sent_bytes: 0 }
    }

    /// Sends a datagram; returns its length, headers included.
    pub(crate) fn send(
        &mut self,
        payload_bytes: u32,
        body: Body,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> u32 {
        let len_bytes = payload_bytes + UDP_IP_HEADER_BYTES;
        self.sent_packets += 1;
        self.sent_bytes += u64::from(len_bytes);
        out.push(self.stamp.packet(len_bytes, body, now_us));
        len_bytes
    }

    /// Packets sent and their bytes, headers included.
    pub(crate) fn sent(&self) -> (u64, u64) {
        (self.sent_packets, self.sent_bytes)
    }
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment or acknowledgement.
    Tcp(TcpSegment),
    /// A segment of a connection with streams, over TCP or QUIC.
    Streams(Box<StreamSegment>),
    /// A QUIC packet of a bulk transfer.
    Quic(Box<QuicPacket>),
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
        /// Time of sending of the request; the reply echoes it, as in the payload of `ping`.
        request_sent_us: u64,
    },
    /// A datagram of a game.
    Game(GameMessage),
    /// A media packet of a video call.
    Media(MediaPacket),
    /// A report of the receiver of a video call.
    MediaFeedback(Box<MediaFeedback>),
    /// A data packet of the Sprout-like sender, or a heartbeat.
    SproutData(SproutData),
    /// A forecast of the Sprout-like receiver.
    SproutForecast(SproutForecast),
    /// A data packet of the Vivace-like sender.
    VivaceData {
        /// Counts from 0.
        seq: u64,
    },
    /// An acknowledgement of the Vivace-like receiver.
    VivaceAck {
        /// Number of the packet acknowledged.
        seq: u64,
        /// Time at which that packet was sent, echoed like a timestamp option.
        data_sent_us: u64,
    },
    /// A datagram of a real host.
    Host(Arc<Datagram>),
}

impl Body {
    /// The segment of TCP or of QUIC in its terms.
    pub fn segment(&self) -> Option<&TcpSegment> {
        match self {
            Self::Tcp(segment) => Some(segment),
            Self::Streams(streams) => Some(&streams.segment),
            _ => None,
        }
    }

    /// Time since its payload was first sent, µs; 0 unless it is sent again.
    pub fn age_us(&self) -> u32 {
        match self {
            Self::Quic(packet) => packet.stream.map_or(0, |frame| frame.age_us),
            _ => self.segment().map_or(0, |segment| segment.age_us),
        }
    }

    /// Protocol number of the IANA registry, over IPv4.
    pub fn protocol(&self) -> u8 {
        match self {
            Self::Ping { .. } => 1,
            Self::Tcp(_) => 6,
            Self::Streams(streams) if !streams.is_quic => 6,
            Self::Host(datagram) => datagram.protocol,
            _ => 17,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_cheap_to_move() {
        assert!(size_of::<Packet>() <= 120, "{} bytes", size_of::<Packet>());
    }
}
