//! What arrived at one end.

use super::{ByteBins, DelayRecorder};
use crate::ip::Ecn;
use crate::packet::Packet;

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
    /// Notes that `packet` arrived.
    pub(crate) fn on_packet(&mut self, packet: &Packet, now_us: u64) {
        self.packets += 1;
        self.bytes += u64::from(packet.len_bytes);
        self.ce_packets += u64::from(packet.ecn == Ecn::Ce);
        self.delay.record(now_us, now_us.saturating_sub(packet.sent_us));
    }

    /// Notes that `bytes` of payload reached the application.
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

    /// Packets that carried the mark of congestion.
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
