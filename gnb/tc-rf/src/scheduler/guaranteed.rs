//! Guaranteed rates over deficit round robin by weight: a share goes first while its token bucket
//! has credit. Every packet of a share spends credit, whichever way it came to its turn, so a share
//! gets the larger of its guarantee and of its part by weight, not both.

use e2sm_tc::v1::{Classifier, Guarantee, QueueShare, QueueWeight};

use super::list::Link;
use super::shared::{self, SharedDrr};
use super::{Algorithm, Heads, SchedulerConfig};
use crate::queue::{QueueConfig, Target};
use crate::token_bucket::TokenBucket;

/// A guarantee in force.
#[derive(Clone, Debug)]
struct Credit {
    share: u32,
    rate_kbps: u32,
    bucket: TokenBucket,
    /// Virtual time at which all that was sent within the guarantee would have been sent at its
    /// rate, ns.
    finish_ns: u64,
}

/// Shares of queues, some with a guaranteed rate.
///
/// Among shares with credit the order is start-time fair queueing (Goyal et al. 1997) by rate: when
/// the radio carries less than all guarantees together, each gets the same part of its own.
#[derive(Clone, Debug)]
pub(crate) struct Guaranteed {
    shares: SharedDrr,
    credits: Vec<Credit>,
    now_us: u64,
    /// Start tag of the packet that was sent last within a guarantee.
    virtual_ns: u64,
    /// Index of the credit by which the candidate has its turn.
    turn: Option<usize>,
}

impl Guaranteed {
    /// `guarantees` gives the guarantee of each share.
    pub(crate) fn new(shares: SharedDrr, guarantees: &[Option<Guarantee>]) -> Self {
        let credits = (0..).zip(guarantees).filter_map(|(share, guarantee)| {
            let Guarantee { rate_kbps, burst_bytes } = (*guarantee)?;
            let bucket = TokenBucket::new(rate_kbps, burst_bytes, 0);
            Some(Credit { share, rate_kbps, bucket, finish_ns: 0 })
        });
        let credits = credits.collect();
        Self { shares, credits, now_us: 0, virtual_ns: 0, turn: None }
    }

    /// The credit with the earliest start tag of the shares that have packets, and its next queue.
    fn next_credit(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<(usize, u32)> {
        let Self { shares, credits, now_us, virtual_ns, .. } = self;
        let mut best: Option<(u64, usize, u32)> = None;
        for (index, credit) in credits.iter_mut().enumerate() {
            let start_ns = credit.finish_ns.max(*virtual_ns);
            if best.is_some_and(|(earliest_ns, ..)| start_ns >= earliest_ns)
                || !credit.bucket.has_credit(*now_us)
            {
                continue;
            }
            if let Some(queue) = shares.candidate_of(credit.share, links, heads) {
                best = Some((start_ns, index, queue));
            }
        }
        best.map(|(_, index, queue)| (index, queue))
    }
}

impl Algorithm for Guaranteed {
    fn advance(&mut self, now_us: u64) {
        self.now_us = now_us;
    }

    fn activate(&mut self, links: &mut [Link], queue: u32) {
        self.shares.activate(links, queue);
    }

    fn resume(&mut self, links: &mut [Link], queue: u32) {
        self.shares.resume(links, queue);
    }

    fn candidate(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<u32> {
        let next = self.next_credit(links, heads);
        self.turn = next.map(|(index, _)| index);
        next.map(|(_, queue)| queue).or_else(|| self.shares.candidate(links, heads))
    }

    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let share = self.shares.share_of(queue);
        if let Some(credit) = self.credits.iter_mut().find(|credit| credit.share == share) {
            credit.bucket.spend_within_depth(len_bytes);
        }
        let Some(credit) = self.turn.and_then(|index| self.credits.get_mut(index)) else {
            return self.shares.served(links, queue, len_bytes);
        };
        self.virtual_ns = self.virtual_ns.max(credit.finish_ns);
        let bits_per_ms = u64::from(credit.rate_kbps.max(1));
        credit.finish_ns = self.virtual_ns + u64::from(len_bytes) * 8_000_000 / bits_per_ms;
        self.shares.served_within(links, queue, len_bytes);
    }

    fn emptied(&mut self, links: &mut [Link], queue: u32) {
        self.shares.emptied(links, queue);
    }

    fn remove_candidate(&mut self, links: &mut [Link], queue: u32) {
        self.shares.remove_candidate(links, queue);
    }
}

/// Stage 4 with these shares; without any, plain deficit round robin.
pub(super) fn compile(
    quantum_bytes: u32,
    shares: &[QueueShare],
    classifier: &Classifier,
    queues: &[QueueConfig],
) -> Option<SchedulerConfig> {
    let weights: Vec<_> = shares
        .iter()
        .map(|&QueueShare { target, weight, .. }| QueueWeight { target, weight, shared: true })
        .collect();
    let config = shared::compile(quantum_bytes, &weights, classifier, queues)?;
    let SchedulerConfig::Shared { quantum_bytes, share_of_queue, weight_of_share } = config else {
        return Some(config);
    };
    let mut guarantee_of_share = vec![None; weight_of_share.len()];
    for listed in shares {
        let first = Target::resolve(&listed.target, queues)?.first;
        let share = *share_of_queue.get(first as usize)?;
        guarantee_of_share[share as usize] = listed.guarantee;
    }
    Some(SchedulerConfig::Guaranteed {
        quantum_bytes,
        share_of_queue,
        weight_of_share,
        guarantee_of_share,
    })
}
