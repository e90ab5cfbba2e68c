//! Deficit round robin in two levels: shares in turn by weight, and within a share its queues in
//! turn. What a host, or a DiffServ class, gets does not grow with the number of its flows.
//!
//! CAKE reaches the same for hosts by dividing a flow's quantum by the flows of its host
//! (Høiland-Jørgensen et al. 2018 §III-B). Quanta that small cost rounds without a packet; two
//! levels cost O(1) per packet however many flows a share has, and are what CAKE does for its
//! DiffServ tins (§III-C).

use std::collections::BTreeMap;

use e2sm_tc::v1::{Classifier, QueueWeight};

use super::drr::Drr;
use super::list::{Link, Place};
use super::{Algorithm, Heads, SchedulerConfig};
use crate::queue::{QueueConfig, Target};

/// Shares of queues.
#[derive(Clone, Debug)]
pub(crate) struct SharedDrr {
    /// Share of each queue.
    share_of_queue: Vec<u32>,
    shares: Drr,
    share_links: Vec<Link>,
    /// Queues of each share in turn.
    queues: Vec<Drr>,
}

impl SharedDrr {
    /// `share_of_queue` gives the share of each queue by queue index, `weights` the weight of
    /// each share.
    pub(crate) fn new(quantum_bytes: u32, share_of_queue: Vec<u32>, weights: Vec<u8>) -> Self {
        let shares = share_of_queue.iter().max().map_or(0, |&share| share as usize + 1);
        Self {
            share_of_queue,
            shares: Drr::weighted(quantum_bytes, weights),
            share_links: vec![Link::default(); shares],
            queues: vec![Drr::new(quantum_bytes); shares],
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.queues.len() as u32
    }

    pub(super) fn share_of(&self, queue: u32) -> u32 {
        self.share_of_queue[queue as usize]
    }

    /// The next queue of a share out of turn; `served_within` follows.
    pub(super) fn candidate_of(
        &mut self,
        share: u32,
        links: &mut [Link],
        heads: &impl Heads,
    ) -> Option<u32> {
        self.queues[share as usize].candidate(links, heads)
    }

    /// A queue sent a packet that does not count against the turn of its share.
    pub(super) fn served_within(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].served(links, queue, len_bytes);
    }
}

impl Algorithm for SharedDrr {
    fn activate(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].activate(links, queue);
        if self.share_links[share as usize].place == Place::Inactive {
            self.shares.activate(&mut self.share_links, share);
        }
    }

    /// A share whose queues were all parked continues with its credits.
    fn resume(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].resume(links, queue);
        if self.share_links[share as usize].place == Place::Inactive {
            self.shares.resume(&mut self.share_links, share);
        }
    }

    fn candidate(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<u32> {
        loop {
            let share = self.shares.candidate(&mut self.share_links, heads)?;
            if let Some(queue) = self.queues[share as usize].candidate(links, heads) {
                return Some(queue);
            }
            self.shares.emptied(&mut self.share_links, share);
        }
    }

    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].served(links, queue, len_bytes);
        self.shares.served(&mut self.share_links, share, len_bytes);
    }

    fn emptied(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].emptied(links, queue);
    }

    fn remove_candidate(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].remove_candidate(links, queue);
    }
}

/// The turn that a queue is served in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// Its own.
    Own(u32),
    /// That of a host.
    Host(u32),
    /// That of a target of the list.
    Listed(u32),
}

/// Deficit round robin by weight. Queues of a host share a turn unless they are listed, and so do
/// queues of a target that is listed as shared.
pub(super) fn compile(
    quantum_bytes: u32,
    weights: &[QueueWeight],
    classifier: &Classifier,
    queues: &[QueueConfig],
) -> Option<SchedulerConfig> {
    let hosts = match classifier {
        Classifier::HostThenFlow(hash) if hash.ways > 1 => {
            Some((hash.target, u32::from(hash.ways)))
        }
        _ if weights.is_empty() => {
            return Some(SchedulerConfig::DeficitRoundRobin { quantum_bytes });
        }
        _ => None,
    };
    let count = queues.len() as u32;
    // Each queue is a share of its own until it joins one.
    let mut share: Vec<Share> = (0..count).map(Share::Own).collect();
    let mut weight = vec![1; queues.len()];
    if let Some((target, ways)) = hosts {
        let target = Target::resolve(&target, queues)?;
        for offset in 0..target.count {
            share[(target.first + offset) as usize] = Share::Host(offset / ways);
        }
    }
    for (listed, position) in weights.iter().zip(0..) {
        let target = Target::resolve(&listed.target, queues)?;
        for index in target.first..target.first + target.count {
            share[index as usize] =
                if listed.shared { Share::Listed(position) } else { Share::Own(index) };
            weight[index as usize] = listed.weight;
        }
    }
    if share.iter().all(|share| matches!(share, Share::Own(_))) {
        let weight_of_queue = weight;
        return Some(SchedulerConfig::Weighted { quantum_bytes, weight_of_queue });
    }
    let mut numbers = BTreeMap::new();
    let mut weight_of_share = Vec::new();
    let share_of_queue = share
        .iter()
        .zip(&weight)
        .map(|(share, &weight)| {
            *numbers.entry(*share).or_insert_with(|| {
                weight_of_share.push(weight);
                weight_of_share.len() as u32 - 1
            })
        })
        .collect();
    Some(SchedulerConfig::Shared { quantum_bytes, share_of_queue, weight_of_share })
}
