//! Stage 5: token buckets behind the queues; queues of one group share a bucket.

use e2sm_tc::v1;

use crate::token_bucket::TokenBucket;

/// No shaper.
const NONE: u32 = u32::MAX;

/// The shapers of a pipeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapers {
    /// Bucket of each queue, by queue index; empty when there is no shaper at all.
    bucket_of_queue: Vec<u32>,
    buckets: Vec<Bucket>,
    /// Whether all queues share one bucket.
    one_for_all: bool,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    config: v1::Shaper,
    tokens: TokenBucket,
}

impl Shapers {
    /// One entry per queue, in the order of queue indices.
    pub(crate) fn new<'a>(
        shapers: impl Iterator<Item = Option<&'a v1::Shaper>>,
        now_us: u64,
    ) -> Self {
        let mut this = Self::default();
        for shaper in shapers {
            let index = shaper.map_or(NONE, |config| this.bucket_for(config, now_us));
            this.bucket_of_queue.push(index);
        }
        this.one_for_all = this.buckets.len() == 1 && !this.bucket_of_queue.contains(&NONE);
        if this.buckets.is_empty() {
            this.bucket_of_queue.clear();
        }
        this
    }

    fn bucket_for(&mut self, config: &v1::Shaper, now_us: u64) -> u32 {
        let shared = config
            .group
            .and_then(|group| self.buckets.iter().position(|b| b.config.group == Some(group)));
        let index = shared.unwrap_or_else(|| {
            let tokens = TokenBucket::new(config.rate_kbps, config.burst_bytes, now_us);
            self.buckets.push(Bucket { config: *config, tokens });
            self.buckets.len() - 1
        });
        index as u32
    }

    /// Takes over the tokens that `previous` held for the same shaper on queue `theirs`, so that
    /// a reconfiguration gives no fresh burst.
    pub(crate) fn inherit(&mut self, ours: usize, previous: &Self, theirs: usize) {
        let Some(old) = previous.bucket(theirs).copied() else { return };
        if let Some(new) = self.bucket_mut(ours)
            && new.config == old.config
        {
            new.tokens = old.tokens;
        }
    }

    /// Whether no queue has a shaper.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Whether all queues share one bucket.
    #[inline]
    pub(crate) fn one_for_all(&self) -> bool {
        self.one_for_all
    }

    fn bucket(&self, queue: usize) -> Option<&Bucket> {
        self.buckets.get(*self.bucket_of_queue.get(queue)? as usize)
    }

    #[inline]
    fn bucket_mut(&mut self, queue: usize) -> Option<&mut Bucket> {
        self.buckets.get_mut(*self.bucket_of_queue.get(queue)? as usize)
    }

    /// Time at which queue `queue` may send a packet of this length; `now_us` if at once.
    #[inline]
    pub(crate) fn ready_at_us(&mut self, queue: u32, len_bytes: u32, now_us: u64) -> u64 {
        match self.bucket_mut(queue as usize) {
            Some(bucket) => bucket.tokens.ready_at_us(len_bytes, now_us),
            None => now_us,
        }
    }

    /// Accounts for a packet that went.
    #[inline]
    pub(crate) fn spend(&mut self, queue: u32, len_bytes: u32) {
        if let Some(bucket) = self.bucket_mut(queue as usize) {
            bucket.tokens.spend(len_bytes);
        }
    }
}
