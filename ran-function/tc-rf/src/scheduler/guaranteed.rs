//! Guaranteed rates over deficit round robin by weight: a share goes first while its token bucket
//! has credit. Every packet of a share spends credit, whichever way it came to its turn, so a share
//! gets the larger of its guarantee and of its part by weight, not both.
//!
//! Guarantees that the radio cannot carry would leave the shares without one nothing at all, where TCP
//! gives a connection up after minutes and no reply tells the user why: these have a floor.

use e2sm_tc::v1::{Classifier, Guarantee, QueueShare, QueueWeight};

use super::list::Link;
use super::shared::{self, SharedDrr};
use super::{Algorithm, Heads, SchedulerConfig};
use crate::queue::{QueueConfig, Target};
use crate::token_bucket::TokenBucket;

/// Bytes within guarantees for each byte that the shares without one have at least: a twentieth of the
/// bearer, which a guaranteed rate may lack and still count as kept.
const BYTES_PER_FLOOR_BYTE: i64 = 19;
/// Shares without a guarantee that are looked at for one packet.
const LOOKED_AT: usize = 64;

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
    turn: Turn,
    /// The shares without a guarantee.
    plain: Vec<u32>,
    /// Position in `plain` at which the next look begins, and how many in a row had no packet.
    next_plain: usize,
    empty_plain: usize,
    quantum_bytes: i64,
    /// Sent within guarantees beyond what the floor of the shares without one was worth.
    ahead_bytes: i64,
}

/// Why the candidate has its turn.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// The credit of this index.
    Credit(usize),
    /// The floor.
    Floor,
    /// Its weight.
    Weight,
}

impl Guaranteed {
    /// `guarantees` gives the guarantee of each share.
    pub(crate) fn new(
        quantum_bytes: u32,
        shares: SharedDrr,
        guarantees: &[Option<Guarantee>],
    ) -> Self {
        let is_plain = |share: &u32| !matches!(guarantees.get(*share as usize), Some(Some(_)));
        let plain = (0..shares.count()).filter(is_plain).collect();
        let credits = (0..).zip(guarantees).filter_map(|(share, guarantee)| {
            let Guarantee { rate_kbps, burst_bytes } = (*guarantee)?;
            let bucket = TokenBucket::new(rate_kbps, burst_bytes, 0);
            Some(Credit { share, rate_kbps, bucket, finish_ns: 0 })
        });
        let credits = credits.collect();
        Self {
            shares,
            credits,
            now_us: 0,
            virtual_ns: 0,
            turn: Turn::Weight,
            plain,
            next_plain: 0,
            empty_plain: 0,
            quantum_bytes: i64::from(quantum_bytes),
            ahead_bytes: 0,
        }
    }

    /// The next queue of the shares without a guarantee, if these have less than their floor.
    fn next_floor(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<u32> {
        if self.ahead_bytes < self.quantum_bytes * BYTES_PER_FLOOR_BYTE {
            return None;
        }
        for _ in 0..self.plain.len().min(LOOKED_AT) {
            let share = *self.plain.get(self.next_plain)?;
            self.next_plain = (self.next_plain + 1) % self.plain.len();
            if let Some(queue) = self.shares.candidate_of(share, links, heads) {
                self.empty_plain = 0;
                return Some(queue);
            }
            self.empty_plain += 1;
        }
        if self.empty_plain >= self.plain.len() {
            // Nobody waits: what was not asked for is not owed.
            (self.ahead_bytes, self.empty_plain) = (0, 0);
        }
        None
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
        let Some((index, queue)) = self.next_credit(links, heads) else {
            self.turn = Turn::Weight;
            return self.shares.candidate(links, heads);
        };
        if let Some(queue) = self.next_floor(links, heads) {
            self.turn = Turn::Floor;
            return Some(queue);
        }
        self.turn = Turn::Credit(index);
        Some(queue)
    }

    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let share = self.shares.share_of(queue);
        if let Some(credit) = self.credits.iter_mut().find(|credit| credit.share == share) {
            credit.bucket.spend_within_depth(len_bytes);
        } else {
            // Ahead of their floor by one packet at most: it is the least that they get, not a share.
            let worth_bytes = i64::from(len_bytes) * BYTES_PER_FLOOR_BYTE;
            self.ahead_bytes = (self.ahead_bytes - worth_bytes).max(-worth_bytes);
        }
        let credit = match self.turn {
            Turn::Credit(index) => self.credits.get_mut(index),
            Turn::Floor => return self.shares.served_within(links, queue, len_bytes),
            Turn::Weight => None,
        };
        let Some(credit) = credit else {
            return self.shares.served(links, queue, len_bytes);
        };
        // At most two quanta are owed, so that the floor is no burst.
        let most = 2 * self.quantum_bytes * BYTES_PER_FLOOR_BYTE;
        self.ahead_bytes = (self.ahead_bytes + i64::from(len_bytes)).min(most);
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
