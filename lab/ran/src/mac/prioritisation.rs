//! Logical channel prioritisation (38.321 §5.4.3.1): shares of a transport block among the channels of a UE.
//!
//! First each channel, in the order of priority, has what its bucket holds; what is left goes to the
//! channels in the order of priority. Equal priorities take turns, block by block. The standard binds the
//! UE; the gNB here does the same in the downlink.

use crate::error::{ConfigError, ensure};

/// Most kByte/s of `prioritisedBitRate` short of infinity, which is for signalling (38.331).
const MOST_KBYTES_PER_S: u32 = 65_536;

/// Priority and guaranteed share of a logical channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalChannel {
    /// 1 to 16; smaller is served first.
    pub priority: u8,
    /// `prioritisedBitRate`, kByte/s: what it has before channels of higher priority take more than theirs;
    /// at 0 it has what they leave.
    pub rate_kbytes_per_s: u32,
    /// `bucketSizeDuration`: the time for which an unused rate is kept.
    pub bucket_us: u32,
}

impl Default for LogicalChannel {
    /// Strict priority: 38.331 has defaults for signalling bearers only (§9.2.1). The priority is that of
    /// 5QI 9.
    fn default() -> Self {
        Self::STRICT
    }
}

impl LogicalChannel {
    pub(crate) const STRICT: Self = Self { priority: 9, rate_kbytes_per_s: 0, bucket_us: 100_000 };

    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let Self { priority, rate_kbytes_per_s: rate, bucket_us } = *self;
        ensure((1..=16).contains(&priority), "priority", priority, "1 (first) to 16")?;
        let expected = format!("0 to {MOST_KBYTES_PER_S} kByte/s");
        ensure(rate <= MOST_KBYTES_PER_S, "rate_kbytes_per_s", rate, expected)?;
        let expected = "5000 to 1000000 us";
        ensure((5_000..=1_000_000).contains(&bucket_us), "bucket_us", bucket_us, expected)
    }

    /// Whether it has a share that channels of higher priority cannot take.
    pub(crate) fn has_rate(&self) -> bool {
        self.rate_kbytes_per_s > 0
    }
}

/// Bj of a logical channel. It starts empty, and may be below 0 after a packet that was larger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Thousandths of a byte: 1 kByte/s in 1 µs.
    level_mbytes: i64,
    /// Time up to which the rate is counted.
    since_us: u64,
}

impl Bucket {
    /// Bytes that the channel may take in a block of `now_us` before channels of lower priority.
    pub(crate) fn first_bytes(&mut self, channel: &LogicalChannel, now_us: u64) -> u64 {
        let rate = i64::from(channel.rate_kbytes_per_s);
        let elapsed_us = now_us.saturating_sub(self.since_us).min(u64::from(u32::MAX)) as i64;
        let most_mbytes = rate * i64::from(channel.bucket_us);
        self.level_mbytes = (self.level_mbytes + rate * elapsed_us).min(most_mbytes);
        self.since_us = now_us;
        // Bj > 0 lets the channel take a packet.
        u64::try_from(self.level_mbytes).map_or(0, |level| level.div_ceil(1000))
    }

    /// Takes what a channel had of its share.
    pub(crate) fn take(&mut self, bytes: u32) {
        self.level_mbytes -= 1000 * i64::from(bytes);
    }
}

/// Bytes of the fewest whole packets of a channel that use up `first_bytes`; a packet is not segmented
/// where it fits whole.
pub(crate) fn whole_packets(first_bytes: u64, packets: impl Iterator<Item = u32>) -> u64 {
    let mut sum_bytes = 0;
    for packet_bytes in packets {
        if sum_bytes >= first_bytes {
            break;
        }
        sum_bytes += u64::from(packet_bytes);
    }
    sum_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(rate: u32) -> LogicalChannel {
        LogicalChannel { rate_kbytes_per_s: rate, ..LogicalChannel::default() }
    }

    #[test]
    fn a_bucket_fills_at_the_rate_up_to_its_size_and_owes_what_a_packet_took_too_much() {
        let (channel, mut bucket) = (channel(8), Bucket::default());
        assert_eq!(bucket.first_bytes(&channel, 0), 0, "it starts empty");
        assert_eq!(bucket.first_bytes(&channel, 10_000), 80);
        bucket.take(1500);
        assert_eq!(bucket.first_bytes(&channel, 100_000), 0, "720 of 1420 bytes are paid back");
        assert_eq!(bucket.first_bytes(&channel, 200_000), 100);
        assert_eq!(bucket.first_bytes(&channel, 9_000_000), 800, "100 ms of 8 kByte/s");
    }

    #[test]
    fn a_share_is_of_whole_packets() {
        let packets = || [1500, 1500, 60].into_iter();
        let shares = [0, 1, 1500, 1501, 9000].map(|first| whole_packets(first, packets()));
        assert_eq!(shares, [0, 1500, 1500, 3000, 3060]);
    }

    #[test]
    fn values_outside_the_standard_are_refused() {
        for (wrong, part) in [
            (LogicalChannel { priority: 17, ..channel(0) }, "priority: 17"),
            (channel(65_537), "rate_kbytes_per_s: 65537"),
            (LogicalChannel { bucket_us: 4_999, ..channel(0) }, "bucket_us: 4999"),
        ] {
            let error = wrong.validate().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
