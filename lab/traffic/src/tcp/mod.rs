//! TCP bulk transfer over an established connection.
//!
//! Handshake and teardown are not modelled: the lab studies the queue of a running transfer. ECN,
//! window scale, SACK and timestamps count as negotiated. Sequence numbers start at 0 and are 64-bit
//! byte offsets; only SACK edges have 32 bits, as on the wire.

mod accecn;
mod ack_thinning;
pub(crate) mod config;
pub mod congestion;
pub(crate) mod pacer;
mod prr;
mod rack;
pub(crate) mod ranges;
pub(crate) mod rate;
mod receiver;
mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod segment;
mod sender;
mod stats;
mod undo;

pub use config::TcpConfig;
pub use congestion::{CongestionControl, CongestionKeys, Form};
pub use receiver::TcpReceiver;
pub use segment::{AccEcn, AccEcnOption, MAX_SACK_BLOCKS, SackBlocks, TcpSegment};
pub use sender::TcpSender;
pub use stats::TcpStats;
