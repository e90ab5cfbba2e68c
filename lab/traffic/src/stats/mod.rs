//! Statistics of a flow, in bounded memory.

mod bytes;
mod deadline;
mod delay;
mod figures;

pub use bytes::ByteBins;
pub use deadline::Deadlines;
pub(crate) use deadline::Due;
pub use delay::{DelayRecorder, DelaySummary};
pub use figures::Figures;

use serde::Serialize;

use crate::direction::Direction;
use crate::ip::Ecn;
use crate::packet::Packet;
use crate::tcp::TcpStats;

/// A snapshot of one flow, both ends together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowStats {
    /// The application, by its name in [`crate::AppConfig`].
    pub kind: &'static str,
    /// The direction of its data; packets below are those in this direction.
    pub direction: Direction,
    /// Packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Bytes sent, IP headers included.
    pub sent_bytes: u64,
    /// Packets that arrived.
    pub received_packets: u64,
    /// Bytes that arrived, IP headers included.
    pub received_bytes: u64,
    /// Received packets marked CE.
    pub ce_packets: u64,
    /// Payload bytes handed to the application: for TCP and QUIC in order and once.
    pub goodput_bytes: u64,
    /// Packets known to be lost: for TCP and QUIC those the sender marked lost less those it found to be
    /// spurious, for the others the gaps in the numbering.
    pub lost_packets: u64,
    /// One-way delay.
    pub one_way_delay: DelaySummary,
    /// One-way delay of the packets of the UE (VoIP both ways, game).
    pub uplink_delay: Option<DelaySummary>,
    /// Round-trip time (ping, game, Vivace-like).
    pub rtt: Option<DelaySummary>,
    /// Details of a TCP or QUIC sender, of applications with one connection.
    pub tcp: Option<TcpStats>,
    /// Figures of the application's quality of experience, units in the names.
    pub app: Figures,
}

/// Counts the packets that arrive at one end, their delay, and what reached the application.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    packets: u64,
    bytes: u64,
    ce_packets: u64,
    delay: DelayRecorder,
    goodput: ByteBins,
}

impl Arrivals {
    /// Counts a packet that arrived.
    pub(crate) fn on_packet(&mut self, packet: &Packet, now_us: u64) {
        self.packets += 1;
        self.bytes += u64::from(packet.len_bytes);
        self.ce_packets += u64::from(packet.ecn == Ecn::Ce);
        self.delay.record(now_us, now_us.saturating_sub(packet.sent_us));
    }

    /// Counts payload bytes delivered to the application.
    pub(crate) fn on_delivered(&mut self, bytes: u64, now_us: u64) {
        if bytes > 0 {
            self.goodput.add(now_us, bytes);
        }
    }

    /// Packets, duplicates included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes, IP headers included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets marked CE.
    pub fn ce_packets(&self) -> u64 {
        self.ce_packets
    }

    /// One-way delay of every packet.
    pub fn delay(&self) -> &DelayRecorder {
        &self.delay
    }

    /// Payload handed to the application.
    pub fn goodput(&self) -> &ByteBins {
        &self.goodput
    }
}
