//! Deficit round robin in two levels: shares in turn by weight, and within a share its queues in
//! turn. What a host, or a DiffServ class, gets does not grow with the number of its flows.
//!
//! CAKE reaches the same for hosts by dividing a flow's quantum by the flows of its host
//! (Høiland-Jørgensen et al. 2018 §III-B). Quanta that small cost rounds without a packet; two
//! levels cost O(1) per packet however many flows a share has, and are what CAKE does for its
//! DiffServ tins (§III-C).

use super::drr::Drr;
use super::list::{Link, Place};

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

    fn share_of(&self, queue: u32) -> u32 {
        self.share_of_queue[queue as usize]
    }

    pub(crate) fn activate(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].activate(links, queue);
        if self.share_links[share as usize].place == Place::Inactive {
            self.shares.activate(&mut self.share_links, share);
        }
    }

    /// A share all queues of which were held back goes on with the credits it had.
    pub(crate) fn resume(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].resume(links, queue);
        if self.share_links[share as usize].place == Place::Inactive {
            self.shares.resume(&mut self.share_links, share);
        }
    }

    pub(crate) fn candidate(&mut self, links: &mut [Link]) -> Option<u32> {
        loop {
            let share = self.shares.candidate(&mut self.share_links)?;
            if let Some(queue) = self.queues[share as usize].candidate(links) {
                return Some(queue);
            }
            self.shares.emptied(&mut self.share_links, share);
        }
    }

    pub(crate) fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].served(links, queue, len_bytes);
        self.shares.served(&mut self.share_links, share, len_bytes);
    }

    pub(crate) fn emptied(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].emptied(links, queue);
    }

    pub(crate) fn remove_candidate(&mut self, links: &mut [Link], queue: u32) {
        let share = self.share_of(queue);
        self.queues[share as usize].remove_candidate(links);
    }
}
