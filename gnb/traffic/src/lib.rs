//! Senders and receivers on virtual time.
//!
//! A [`Flow`] pairs the two ends of one application flow: its [`ServerSide`] behind the core
//! network and its [`UeSide`] behind the radio. Both are state machines that never read a clock or
//! a socket: every method takes `now_us`, packets come in by reference and go out by value. Both
//! are `Clone`, so a world that holds them can be forked.
//!
//! Where to look:
//! - [`packet`]: what travels — an IP datagram reduced to what queues and endpoints look at.
//! - [`config`]: what a scenario says about a flow, and the typed errors when it says it wrongly.
//! - [`flow`]: the pairing, and which ends exist for which application.
//! - [`endpoint`]: the contract of every end.
//! - [`tcp`]: bulk transfer with Cubic or Reno, SACK, RACK-TLP, PRR and ECN.
//! - [`udp_cbr`], [`voip`], [`ping`]: constant bit rate, G.711 and echo.
//! - [`stats`]: goodput, delay and loss, in bounded memory.

pub mod config;
pub mod endpoint;
pub mod flow;
pub mod packet;
pub mod ping;
mod rng;
mod sequence;
pub mod stats;
pub mod tcp;
mod timer;
pub mod udp_cbr;
pub mod voip;

pub use config::{
    AppConfig, ConfigError, CongestionAlgorithm, FlowConfig, PingConfig, TcpConfig, UdpCbrConfig,
    VoipConfig,
};
pub use endpoint::Endpoint;
pub use flow::{Flow, ServerSide, UeSide};
pub use packet::{Body, Ecn, FlowId, Packet};
pub use stats::{DelayRecorder, DelaySummary, FlowStats};
pub use tcp::TcpStats;
