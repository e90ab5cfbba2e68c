//! TCP bulk transfer over an established connection.
//!
//! There is no handshake and no teardown: the lab is about the queue that a running transfer
//! builds, and ECN, window scale, SACK and timestamps are taken as negotiated. Sequence numbers
//! start at 0 and are kept as 64-bit byte offsets; only SACK edges are 32 bits, as on the wire.

mod accecn;
pub(crate) mod config;
pub mod congestion;
mod pacer;
mod prr;
mod rack;
mod ranges;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
pub(crate) mod segment;
mod sender;
mod snapshot;
mod stats;
mod undo;

pub use config::{CongestionControl, TcpConfig};
pub use receiver::TcpReceiver;
pub use segment::{AccEcn, AccEcnOption, MAX_SACK_BLOCKS, SackBlocks, TcpSegment};
pub use sender::TcpSender;
pub use stats::TcpStats;
