//! QUIC bulk transfer over an established connection: RFC 9000, RFC 9002 and
//! draft-ietf-quic-ack-frequency.
//!
//! One end sends a stream, the other acknowledges it. Unlike TCP a packet number is never used again, so
//! that an acknowledgement names one transmission; loss is detected by the packet and the time threshold;
//! a probe time-out sends and never marks lost; acknowledgements state how long they waited. Datagrams leave
//! in bursts, as segmentation offload (GSO) hands them to the kernel.
//!
//! Congestion control, rate samples and the pacer are those of [`crate::tcp`].
//!
//! Handshake, 0-RTT, loss of keys and migration are not modelled; ECN and the extension for the frequency
//! of acknowledgements count as negotiated. The sender of data acknowledges what the receiver sends (PING,
//! MAX_DATA) in its next packet of data.

mod config;
mod ecn;
mod packet;
mod receiver;
mod rtt;
mod sender;
mod sent;
mod stream;

pub(crate) use config::MIN_UDP_PAYLOAD_BYTES;
pub use config::{AckFrequencyConfig, QuicConfig};
pub use packet::{AckFrame, AckFrequency, EcnCounts, QuicPacket, StreamFrame};
pub(crate) use packet::{MAX_ACK_DELAY_US, PACKET_OVERHEAD_BYTES};
pub use receiver::QuicReceiver;
pub use sender::QuicSender;
