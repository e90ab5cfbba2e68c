//! What a flow has to say about itself, in bounded memory.

mod arrivals;
mod bytes;
mod delay;
mod figures;

pub use arrivals::Arrivals;
pub use bytes::ByteBins;
pub use delay::{DelayRecorder, DelaySummary};
pub use figures::Figures;

use serde::Serialize;

use crate::tcp::TcpStats;

/// A snapshot of one flow, both ends together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowStats {
    /// The application, by its name in [`crate::AppConfig`].
    pub kind: &'static str,
    /// Downlink packets the server sent, retransmissions included.
    pub sent_packets: u64,
    /// Downlink bytes the server sent, IP headers included.
    pub sent_bytes: u64,
    /// Downlink packets that arrived at the UE.
    pub received_packets: u64,
    /// Downlink bytes that arrived at the UE, IP headers included.
    pub received_bytes: u64,
    /// Of them those that carried the mark of congestion.
    pub ce_packets: u64,
    /// Payload bytes handed to the application at the UE: for TCP in order and once.
    pub goodput_bytes: u64,
    /// Downlink packets known to be lost: for TCP those the sender marked lost less those it found
    /// to be spurious, for the others the gaps in the numbering.
    pub lost_packets: u64,
    /// One-way delay, server to UE.
    pub one_way_delay: DelaySummary,
    /// One-way delay of what the UE sent by itself (VoIP both ways, game).
    pub uplink_delay: Option<DelaySummary>,
    /// Round-trip time (ping, game, Vivace-like).
    pub rtt: Option<DelaySummary>,
    /// Details of a TCP sender, of applications with one connection.
    pub tcp: Option<TcpStats>,
    /// What the application says about its experience, units in the names.
    pub app: Figures,
}
