//! Senders and receivers on virtual time.
//!
//! A [`Flow`] pairs the two ends of one application flow: its [`ServerSide`] behind the core
//! network and its [`UeSide`] behind the radio. Both are state machines that never read a clock or
//! a socket: every method takes `now_us`, packets come in by reference and go out by value. Both
//! are `Clone`, so a world that holds them can be forked.
//!
//! Where to look:
//! - [`packet`]: an IP datagram, reduced to the fields that queues and endpoints use.
//! - [`config`]: configuration of a flow; that of each application is beside its code.
//! - [`flow`]: the two ends of each application.
//! - [`endpoint`]: the trait of every end.
//! - [`stream`]: applications over TCP and QUIC: messages, streams, requests and answers.
//! - [`tcp`]: bulk transfer with SACK, RACK-TLP, PRR, ECN, AccECN and pacing; Cubic, Reno, Westwood,
//!   Vegas, BBR v1 to v3, Prague, C2TCP.
//! - [`quic`]: bulk transfer over QUIC with the same congestion controls.
//! - [`udp_cbr`], [`voip`], [`ping`]: constant bit rate, G.711 and echo; [`mos`]: quality of a call.
//! - [`game`], [`cloud_game`], [`call`], [`web`], [`video`], [`screen`]: interactive applications and their
//!   quality of experience; [`download`]: a file over several connections.
//! - [`responsiveness`]: round trips per minute under load.
//! - [`sprout`], [`vivace`]: rate controllers over UDP.
//! - [`host`]: real hosts at both ends, whose datagrams pass as they are.
//! - [`stats`]: goodput, delay and loss, in bounded memory.

pub mod call;
pub mod cloud_game;
pub mod config;
mod datagram;
mod direction;
mod distribution;
pub mod download;
pub mod endpoint;
mod error;
pub mod flow;
pub mod game;
pub mod host;
mod ip;
pub mod mos;
pub mod packet;
pub mod ping;
pub mod quic;
pub mod responsiveness;
mod rng;
pub mod screen;
mod sequence;
pub mod sprout;
pub mod stats;
pub mod stream;
pub mod tcp;
mod timer;
mod tunnel;
pub mod udp_cbr;
pub mod video;
pub mod vivace;
pub mod voip;
pub mod web;

pub use call::CallConfig;
pub use cloud_game::CloudGameConfig;
pub use config::{AppConfig, FlowConfig};
pub use datagram::{Datagram, InnerDatagram};
pub use direction::Direction;
pub use download::DownloadConfig;
pub use endpoint::Endpoint;
pub use error::ConfigError;
pub use flow::{Flow, ServerSide, UeSide};
pub use game::GameConfig;
pub use host::{HostConfig, HostEnd};
pub use ip::{Ecn, IpVersion};
pub use packet::{Body, FlowId, Packet};
pub use ping::PingConfig;
pub use quic::QuicConfig;
pub use responsiveness::ResponsivenessConfig;
pub use rng::Rng;
pub use screen::ScreenConfig;
pub use sprout::SproutConfig;
pub use stats::{Deadlines, DelayRecorder, DelaySummary, Figures, FlowStats};
pub use stream::{HttpConfig, HttpVersion};
pub use tcp::{CongestionControl, CongestionKeys, Form, TcpConfig, TcpStats};
pub use tunnel::{TunnelConfig, TunnelKind};
pub use udp_cbr::UdpCbrConfig;
pub use video::{AbrAlgorithm, VideoConfig};
pub use vivace::VivaceConfig;
pub use voip::VoipConfig;
pub use web::WebConfig;
