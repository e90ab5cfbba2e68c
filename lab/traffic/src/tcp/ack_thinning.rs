//! Acknowledgements of a Linux receiver, which are fewer than RFC 5681 asks for.
//!
//! - Segments of one burst are merged before TCP sees them (GRO) and acknowledged once.
//! - Segments beyond a gap are acknowledged at once three times, then once per ms (SACK compression, Linux 4.18,
//!   `__tcp_ack_snd_check`).

use super::segment::TcpSegment;
use crate::ip::Ecn;

/// Most bytes of a merged packet (`GRO_LEGACY_MAX_SIZE`).
const MOST_BYTES: u32 = 65_536;
/// Acknowledgements of out-of-order segments before they are compressed (`TCP_FASTRETRANS_THRESH`).
const PROMPT: u8 = 3;
/// Most acknowledgements that one stands for, and longest delay (`tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`).
const MOST_COMPRESSED: u8 = 44;
const LONGEST_US: u64 = 1000;

/// When an acknowledgement is due; the later the more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    Delayed,
    /// A segment beyond a gap.
    OutOfOrder,
    Now,
}

/// Segments that arrive together.
#[derive(Debug, Clone, Copy)]
struct Burst {
    at_us: u64,
    /// Offset after its last segment.
    end: u64,
    bytes: u32,
    segment_bytes: u32,
    /// A shorter segment ends a merged packet.
    is_closed: bool,
    ecn: Ecn,
    urgency: Urgency,
}

/// What a receiver merges and compresses.
#[derive(Debug, Clone, Default)]
pub(super) struct AckThinning {
    burst: Option<Burst>,
    /// Cumulative acknowledgement at which duplicates are counted, and their number.
    duplicates: (u64, u8),
    compressed: u8,
    /// Eight times the smoothed round trip by the timestamps of data (`tcp_rcv_rtt_update`), µs.
    rtt_8_us: u64,
}

impl AckThinning {
    /// Urgency of the burst that ends because `segment` does not continue it.
    pub(super) fn ended_by(
        &mut self,
        segment: &TcpSegment,
        ecn: Ecn,
        now_us: u64,
    ) -> Option<Urgency> {
        let continues = |burst: &Burst| {
            (burst.at_us, burst.end, burst.ecn) == (now_us, segment.seq, ecn)
                && !burst.is_closed
                && segment.payload_bytes <= burst.segment_bytes
                && burst.bytes + segment.payload_bytes <= MOST_BYTES
        };
        self.burst.take_if(|burst| !continues(burst)).map(|burst| burst.urgency)
    }

    /// Adds a segment to the burst.
    pub(super) fn add(&mut self, segment: &TcpSegment, ecn: Ecn, urgency: Urgency, now_us: u64) {
        self.measure_rtt(segment, now_us);
        let bytes = segment.payload_bytes;
        let burst = self.burst.get_or_insert(Burst {
            at_us: now_us,
            end: segment.seq,
            bytes: 0,
            segment_bytes: bytes,
            is_closed: false,
            ecn,
            urgency,
        });
        burst.end = segment.end();
        burst.bytes += bytes;
        burst.is_closed = bytes < burst.segment_bytes;
        burst.urgency = burst.urgency.max(urgency);
    }

    /// Time at which the burst is over.
    pub(super) fn burst_us(&self) -> Option<u64> {
        self.burst.map(|burst| burst.at_us)
    }

    /// Urgency of the burst, which is over.
    pub(super) fn end_burst(&mut self) -> Option<Urgency> {
        self.burst.take().map(|burst| burst.urgency)
    }

    /// Delay of the acknowledgement of an out-of-order segment while `rcv_next` is expected, µs; `None` to send
    /// it at once.
    pub(super) fn compress(&mut self, rcv_next: u64) -> Option<u64> {
        if self.duplicates.0 != rcv_next {
            self.duplicates = (rcv_next, 0);
        }
        if self.compressed >= MOST_COMPRESSED {
            return None;
        }
        if self.duplicates.1 < PROMPT {
            self.duplicates.1 += 1;
            return None;
        }
        self.compressed += 1;
        // 5 % of the round trip.
        Some((self.rtt_8_us / 160).min(LONGEST_US))
    }

    /// Whether acknowledgements wait.
    pub(super) fn holds_back(&self) -> bool {
        self.compressed > 0
    }

    /// An acknowledgement is sent.
    pub(super) fn sent(&mut self) {
        self.compressed = 0;
    }

    fn measure_rtt(&mut self, segment: &TcpSegment, now_us: u64) {
        if segment.ts_ecr == 0 {
            return;
        }
        let sample_us = u64::from((now_us as u32).wrapping_sub(segment.ts_ecr));
        self.rtt_8_us = match self.rtt_8_us {
            0 => sample_us * 8,
            rtt_8_us => rtt_8_us - rtt_8_us / 8 + sample_us,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64, payload_bytes: u32) -> TcpSegment {
        TcpSegment { seq: number * 1448, payload_bytes, ..TcpSegment::default() }
    }

    /// Segments as numbers with length and time; the bursts that end before the last.
    fn bursts(segments: &[(u64, u32, Ecn, u64)]) -> usize {
        let mut thinning = AckThinning::default();
        let mut ended = 0;
        for (number, bytes, ecn, now_us) in segments {
            let segment = segment(*number, *bytes);
            ended += usize::from(thinning.ended_by(&segment, *ecn, *now_us).is_some());
            thinning.add(&segment, *ecn, Urgency::Now, *now_us);
        }
        ended
    }

    #[test]
    fn what_comes_together_and_in_order_is_one_burst() {
        let full = |number, now_us| (number, 1448, Ecn::NotEct, now_us);
        let many: Vec<_> = (0..45).map(|number| full(number, 5)).collect();
        assert_eq!(bursts(&many), 0);
        assert_eq!(bursts(&(0..46).map(|number| full(number, 5)).collect::<Vec<_>>()), 1, "64 KiB");
        assert_eq!(bursts(&[full(0, 5), full(1, 6)]), 1, "another time");
        assert_eq!(bursts(&[full(0, 5), full(2, 5)]), 1, "a gap");
        assert_eq!(bursts(&[full(0, 5), (1, 1448, Ecn::Ce, 5)]), 1, "another mark");
        let short = (1, 100, Ecn::NotEct, 5);
        assert_eq!(bursts(&[full(0, 5), short]), 0, "a shorter one is merged");
        let after = TcpSegment { seq: 1548, payload_bytes: 100, ..TcpSegment::default() };
        let mut thinning = AckThinning::default();
        thinning.add(&segment(0, 1448), Ecn::NotEct, Urgency::Delayed, 5);
        thinning.add(&segment(1, 100), Ecn::NotEct, Urgency::Now, 5);
        assert_eq!(
            thinning.ended_by(&after, Ecn::NotEct, 5),
            Some(Urgency::Now),
            "and is the last"
        );
    }

    #[test]
    fn duplicates_are_prompt_three_times_and_then_compressed() {
        let mut thinning = AckThinning::default();
        let data = TcpSegment { ts_ecr: 10_000, payload_bytes: 1448, ..TcpSegment::default() };
        thinning.add(&data, Ecn::NotEct, Urgency::OutOfOrder, 18_000);
        assert_eq!([0; 3].map(|at| thinning.compress(at)), [None; 3]);
        assert_eq!(thinning.compress(0), Some(400), "5 % of 8 ms");
        for _ in 1..MOST_COMPRESSED {
            assert!(thinning.compress(0).is_some());
        }
        assert_eq!(thinning.compress(0), None, "44 wait");
        thinning.sent();
        assert!(thinning.compress(0).is_some());
        assert_eq!(thinning.compress(1448), None, "the gap moved");
    }
}
