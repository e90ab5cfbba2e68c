//! Token bucket, the meter of policers and shapers (RFC 2697 with one rate and one burst).

/// Tokens per byte. At `r` kbit/s, `r` tokens come each µs, so that the arithmetic is exact.
const TOKENS_PER_BYTE: i64 = 8_000;
/// Longest refill that is accounted for; deeper buckets than this fills do not exist.
const MAX_REFILL_US: u64 = 1_000_000_000;

/// A token bucket on virtual time. It starts full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenBucket {
    rate_kbps: u32,
    depth: i64,
    level: i64,
    updated_us: u64,
}

impl TokenBucket {
    pub(crate) fn new(rate_kbps: u32, burst_bytes: u32, now_us: u64) -> Self {
        let depth = i64::from(burst_bytes) * TOKENS_PER_BYTE;
        Self { rate_kbps, depth, level: depth, updated_us: now_us }
    }

    fn refill(&mut self, now_us: u64) {
        let elapsed_us = now_us.saturating_sub(self.updated_us).min(MAX_REFILL_US);
        let gained = i64::from(self.rate_kbps).saturating_mul(elapsed_us as i64);
        self.level = self.level.saturating_add(gained).min(self.depth);
        self.updated_us = self.updated_us.max(now_us);
    }

    /// Takes the tokens of a packet if they are all there: the policer's question.
    pub(crate) fn conforms(&mut self, len_bytes: u32, now_us: u64) -> bool {
        self.refill(now_us);
        let cost = i64::from(len_bytes) * TOKENS_PER_BYTE;
        if cost > self.level {
            return false;
        }
        self.level -= cost;
        true
    }

    /// Whether it is not in debt: the question of a guarantee.
    pub(crate) fn has_credit(&mut self, now_us: u64) -> bool {
        self.refill(now_us);
        self.level > 0
    }

    /// Time at which a packet of this length may go: the shaper's question. A packet longer than
    /// the bucket is deep goes when the bucket is full, and leaves it in debt.
    pub(crate) fn ready_at_us(&mut self, len_bytes: u32, now_us: u64) -> u64 {
        self.refill(now_us);
        let needed = (i64::from(len_bytes) * TOKENS_PER_BYTE).min(self.depth);
        let missing = needed - self.level;
        if missing <= 0 {
            return now_us;
        }
        now_us + (missing as u64).div_ceil(u64::from(self.rate_kbps.max(1)))
    }

    /// Takes the tokens of a packet that goes, into a debt of at most the bucket's depth and the
    /// packet: what a share sends beyond its guarantee does not suspend the guarantee for longer
    /// than the bucket takes to fill.
    pub(crate) fn spend_within_depth(&mut self, len_bytes: u32) {
        if self.level > -self.depth {
            self.spend(len_bytes);
        }
    }

    /// Takes the tokens of a packet that goes, into debt if need be.
    pub(crate) fn spend(&mut self, len_bytes: u32) {
        self.level -= i64::from(len_bytes) * TOKENS_PER_BYTE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_bits_not_bytes() {
        // 8 Mbit/s is one byte per µs.
        let mut bucket = TokenBucket::new(8_000, 1_000, 0);
        assert!(bucket.conforms(1_000, 0));
        assert!(!bucket.conforms(1, 0));
        assert!(!bucket.conforms(500, 499));
        assert!(bucket.conforms(500, 500));
    }

    #[test]
    fn says_exactly_when_a_packet_may_go() {
        let mut bucket = TokenBucket::new(15_000, 1_500, 0);
        bucket.spend(1_500);
        let ready_us = bucket.ready_at_us(1_500, 0);
        assert_eq!(ready_us, 800);
        assert_eq!(bucket.ready_at_us(1_500, 799), 800);
        assert_eq!(bucket.ready_at_us(1_500, 800), 800);
    }

    #[test]
    fn a_packet_longer_than_the_bucket_goes_and_leaves_debt() {
        let mut bucket = TokenBucket::new(8_000, 100, 0);
        assert_eq!(bucket.ready_at_us(1_500, 0), 0);
        bucket.spend(1_500);
        assert_eq!(bucket.ready_at_us(1_500, 0), 1_500);
    }

    #[test]
    fn does_not_overflow_on_far_instants() {
        let mut bucket = TokenBucket::new(u32::MAX, u32::MAX, 0);
        bucket.spend(u32::MAX);
        assert_eq!(bucket.ready_at_us(u32::MAX, u64::MAX - 1), u64::MAX - 1);
        assert!(bucket.conforms(u32::MAX, 5), "time that went backwards gives no tokens");
    }
}
