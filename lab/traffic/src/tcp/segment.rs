//! A TCP segment, reduced to the fields that the lab uses.

use std::num::NonZeroU32;

use crate::ip::{IP_HEADER_BYTES, TCP_HEADER_BYTES};

/// Timestamp option with padding, RFC 7323 Appendix A. It is on every segment.
const TIMESTAMP_OPTION_BYTES: u32 = 12;
/// AccECN option with its three counters, and a NOP for alignment (RFC 9768 §3.2.3).
const ACCECN_OPTION_BYTES: u32 = 12;
/// Headers of a data segment: IP, TCP and the timestamp option.
pub(crate) const HEADER_BYTES: u32 = IP_HEADER_BYTES + TCP_HEADER_BYTES + TIMESTAMP_OPTION_BYTES;
/// SACK blocks that fit beside timestamps and the AccECN option.
pub(super) const MAX_SACK_BLOCKS_WITH_ACCECN: usize = 1;
/// SACK blocks that fit beside timestamps in the 40 bytes of options (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// A segment of data, or a pure acknowledgement when `payload_bytes` is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpSegment {
    /// First byte of the payload, as an offset into the stream. On the wire: modulo 2³².
    pub seq: u64,
    /// Next byte expected from the peer.
    pub ack: u64,
    /// Payload.
    pub payload_bytes: u32,
    /// Receive window from `ack` on, bytes, after scaling.
    pub window_bytes: u32,
    /// Timestamp of the sender, µs modulo 2³² (RFC 7323; Linux has offered µs since 6.7).
    pub ts_val: u32,
    /// Timestamp echoed.
    pub ts_ecr: u32,
    /// Selective acknowledgements, RFC 2018; the first may report a duplicate, RFC 2883.
    pub sack: SackBlocks,
    /// ECN-Echo, RFC 3168 §6.1.
    pub ece: bool,
    /// Congestion window reduced, RFC 3168 §6.1.2.
    pub cwr: bool,
    /// Content of the application message that ends with this segment, reduced to one word: the lab counts
    /// payload bytes without carrying them.
    pub message: Option<NonZeroU32>,
    /// Time since its payload was first sent, µs; 0 unless it is a retransmission. For the statistics of
    /// the lab; not on the wire.
    pub age_us: u32,
    /// AccECN feedback in place of ECE and CWR; `None` unless negotiated.
    pub accecn: Option<AccEcn>,
}

/// Accurate ECN feedback, RFC 9768.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcn {
    /// The ACE field, three bits: packets that arrived marked, modulo 8 (§3.2.2).
    pub ace: u8,
    /// The option; `None` unless negotiated and there is room.
    pub option: Option<AccEcnOption>,
}

/// The AccECN option: payload bytes by the mark they arrived with, modulo 2²⁴ (§3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcnOption {
    /// EE0B: arrived as ECT(0).
    pub ect0_bytes: u32,
    /// ECEB: arrived as CE.
    pub ce_bytes: u32,
    /// EE1B: arrived as ECT(1).
    pub ect1_bytes: u32,
}

impl TcpSegment {
    /// First byte after the payload.
    pub fn end(&self) -> u64 {
        self.seq.saturating_add(u64::from(self.payload_bytes))
    }

    /// Length of the IP datagram that carries it.
    pub fn datagram_bytes(&self) -> u32 {
        // A SACK option is two NOPs for alignment, kind, length, and 8 bytes a block.
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() as u32 };
        let accecn = match self.accecn {
            Some(AccEcn { option: Some(_), .. }) => ACCECN_OPTION_BYTES,
            _ => 0,
        };
        HEADER_BYTES + sack + accecn + self.payload_bytes
    }
}

/// Up to three SACK blocks, each two 32-bit edges as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    edges: [(u32, u32); MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// Adds `[start, end)`; `false` if the option is full.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        match self.edges.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = (start as u32, end as u32);
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks as stream offsets `(start, end)`, in order. `near` is an offset within 2 GiB of
    /// all of them, such as the cumulative acknowledgement.
    pub fn iter(&self, near: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.edges
            .iter()
            .take(self.len())
            .map(move |&(start, end)| (unwrap_near(start, near), unwrap_near(end, near)))
    }
}

/// The offset closest to `near` whose low 32 bits are `wire`.
fn unwrap_near(wire: u32, near: u64) -> u64 {
    let distance = wire.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sack_edges_survive_the_wrap_of_the_sequence_space() {
        let near = (1 << 32) - 100;
        let mut sack = SackBlocks::default();
        assert!(sack.push(near - 50, near));
        assert!(sack.push(near + 90, near + 300));
        assert!(sack.push(near + 400, near + 500));
        assert!(!sack.push(near + 600, near + 700), "a fourth does not fit");
        let blocks: Vec<_> = sack.iter(near).collect();
        assert_eq!(blocks, [(near - 50, near), (near + 90, near + 300), (near + 400, near + 500)]);
    }

    #[test]
    fn a_full_segment_makes_a_1500_byte_datagram() {
        let mut segment = TcpSegment { payload_bytes: 1448, ..TcpSegment::default() };
        assert_eq!(segment.datagram_bytes(), 1500);
        segment.payload_bytes = 0;
        assert_eq!(segment.datagram_bytes(), 52);
        segment.sack.push(1, 2);
        assert_eq!(segment.datagram_bytes(), 64);
    }
}
