//! Frames as RTP packets, paced.

use std::collections::VecDeque;

use super::{MAX_MEDIA_BYTES, MediaPacket, RTP_HEADER_BYTES};

/// A media packet that waits for the pacer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) packet: MediaPacket,
    pub(crate) payload_bytes: u32,
}

/// Splits frames into packets and spreads these over time.
#[derive(Debug, Clone, Default)]
pub(crate) struct FramePacer {
    waiting: VecDeque<Waiting>,
    next_ns: u64,
    next_seq: u64,
}

impl FramePacer {
    /// A frame was captured. Its packets are of equal size, as libwebrtc's packetiser makes them. A frame
    /// has at most as many packets as its index can count.
    pub(crate) fn push(&mut self, number: u64, bytes: u32, is_key: bool, now_us: u64) {
        let count = bytes.div_ceil(MAX_MEDIA_BYTES).clamp(1, u32::from(u16::MAX));
        for index in 0..count {
            let part = bytes / count + u32::from(index < bytes % count);
            let packet = MediaPacket {
                seq: self.next_seq,
                frame: number,
                index: index as u16,
                count: count as u16,
                is_key,
                captured_us: now_us,
            };
            self.next_seq += 1;
            let payload_bytes = part.min(MAX_MEDIA_BYTES) + RTP_HEADER_BYTES;
            self.waiting.push_back(Waiting { packet, payload_bytes });
        }
    }

    /// The next packet that is due.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<Waiting> {
        if self.next_ns <= now_us * 1_000 { self.waiting.pop_front() } else { None }
    }

    /// A packet was sent at `rate_bps`; the next is due once it has passed at that rate.
    pub(crate) fn on_sent(&mut self, len_bytes: u32, rate_bps: f64, now_us: u64) {
        let gap_ns = (f64::from(len_bytes) * 8e9 / rate_bps) as u64;
        self.next_ns = self.next_ns.max(now_us * 1_000) + gap_ns;
    }

    /// Time at which the next packet is due.
    pub(crate) fn next_us(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then(|| self.next_ns.div_ceil(1_000))
    }
}
