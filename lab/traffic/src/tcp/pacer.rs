//! Departure times of paced datagrams.

/// Spaces datagrams at a rate.
///
/// Datagrams leave one by one, as from a host without segmentation offload. Departure times are in
/// nanoseconds, virtual time in microseconds: a datagram leaves at the first microsecond at or after its
/// departure time. The next gap shrinks by that delay, at most by half (as in Linux,
/// `tcp_update_skb_after_send`), so the average rate is exact up to one datagram per 2 µs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pacer {
    next_ns: u64,
}

impl Pacer {
    /// A datagram may leave.
    pub(crate) fn is_due(&self, now_us: u64) -> bool {
        self.next_ns <= now_us.saturating_mul(1_000)
    }

    /// Time at which the next datagram may leave.
    pub(crate) fn next_us(&self) -> u64 {
        self.next_ns.div_ceil(1_000)
    }

    /// A datagram left.
    pub(crate) fn on_sent(&mut self, len_bytes: u32, rate_bps: u64, now_us: u64) {
        let now_ns = now_us.saturating_mul(1_000);
        let gap_ns = u64::from(len_bytes) * 8_000_000_000 / rate_bps.max(1);
        let late_ns = now_ns.saturating_sub(self.next_ns);
        let gap_ns = gap_ns - late_ns.min(gap_ns / 2);
        self.next_ns = self.next_ns.max(now_ns).saturating_add(gap_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_to_microseconds_does_not_slow_the_stream() {
        // 1500 B at 1 Gbit/s are 12 µs; at 900 Mbit/s 13.33 µs.
        let mut pacer = Pacer::default();
        let mut now_us = 0;
        for _ in 0..9_000 {
            assert!(pacer.is_due(now_us));
            pacer.on_sent(1_500, 900_000_000, now_us);
            now_us = pacer.next_us();
        }
        assert!(now_us.abs_diff(120_000) <= 5, "{now_us}");
    }

    #[test]
    fn a_pause_is_not_followed_by_a_burst() {
        let mut pacer = Pacer::default();
        pacer.on_sent(1_500, 12_000_000, 0);
        let mut now_us = 1_000_000;
        let mut sent = Vec::new();
        for _ in 0..4 {
            pacer.on_sent(1_500, 12_000_000, now_us);
            sent.push(now_us);
            now_us = pacer.next_us();
        }
        assert_eq!(sent, [1_000_000, 1_000_500, 1_001_500, 1_002_500]);
    }
}
