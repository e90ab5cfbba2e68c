//! Stage 2: a token bucket in front of a queue.

use e2sm_tc::v1::{self, ExceedAction};

use crate::token_bucket::TokenBucket;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The packet is within the rate.
    Conforms,
    /// The packet is above the rate: drop it.
    Drop,
    /// The packet is above the rate: to the queue at this index.
    Deviate(u32),
    /// The packet is above the rate: rewrite its DSCP.
    Remark(u8),
}

/// The policer of one queue. A packet longer than the burst never conforms (RFC 2697 §3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policer {
    pub(crate) config: v1::Policer,
    bucket: TokenBucket,
    exceed: Verdict,
}

impl Policer {
    /// `deviate_index` is the index of the queue that `Deviate` names.
    pub(crate) fn new(config: v1::Policer, deviate_index: u32, now_us: u64) -> Self {
        let exceed = match config.exceed {
            ExceedAction::Drop => Verdict::Drop,
            ExceedAction::Deviate { .. } => Verdict::Deviate(deviate_index),
            ExceedAction::Remark { dscp } => Verdict::Remark(dscp),
        };
        let bucket = TokenBucket::new(config.rate_kbps, config.burst_bytes, now_us);
        Self { config, bucket, exceed }
    }

    /// Takes over the tokens of the policer that was here before, if it was the same one.
    pub(crate) fn inherit(&mut self, previous: &Self) {
        if previous.config == self.config {
            self.bucket = previous.bucket;
        }
    }

    pub(crate) fn police(&mut self, len_bytes: u32, now_us: u64) -> Verdict {
        if self.bucket.conforms(len_bytes, now_us) { Verdict::Conforms } else { self.exceed }
    }
}
