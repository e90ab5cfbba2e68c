//! Deficit round robin with lists of new and old queues: the scheduler of RFC 8290 §4.

use super::list::{Link, List, Place};
use super::{Algorithm, Heads};

/// DRR++ of FQ-CoDel, with a weight per queue where there are any.
#[derive(Clone, Debug)]
pub(crate) struct Drr {
    quantum: i64,
    /// Weights by queue; a queue beyond their end weighs 1.
    weights: Vec<u8>,
    new: List,
    old: List,
}

impl Drr {
    pub(crate) fn new(quantum_bytes: u32) -> Self {
        Self::weighted(quantum_bytes, Vec::new())
    }

    /// A queue's turn is worth its weight in quanta.
    pub(crate) fn weighted(quantum_bytes: u32, weights: Vec<u8>) -> Self {
        let quantum = i64::from(quantum_bytes.max(1));
        Self { quantum, weights, new: List::default(), old: List::default() }
    }

    /// RFC 8290 §4.2, first part: new queues before old ones; a queue that "has already dequeued
    /// at least a quantum of bytes" gets another quantum and goes to the end of the old ones.
    #[inline]
    pub(crate) fn next_queue(&mut self, links: &mut [Link]) -> Option<u32> {
        while let Some(queue) = self.new.first() {
            let link = &mut links[queue as usize];
            if link.deficit > 0 {
                return Some(queue);
            }
            link.deficit += quantum_of(self.quantum, &self.weights, queue);
            self.new.pop_front(links);
            self.resume(links, queue);
        }
        while let Some(queue) = self.old.first() {
            let link = &mut links[queue as usize];
            if link.deficit > 0 {
                return Some(queue);
            }
            link.deficit += quantum_of(self.quantum, &self.weights, queue);
            self.old.rotate(links);
        }
        None
    }
}

/// Bytes of a queue's turn.
#[inline]
fn quantum_of(quantum: i64, weights: &[u8], queue: u32) -> i64 {
    quantum * weights.get(queue as usize).map_or(1, |&weight| i64::from(weight.max(1)))
}

impl Algorithm for Drr {
    /// RFC 8290 §4.1: a queue that is not active "is added to the end of the list of new queues,
    /// and its number of credits is initiated to the configured quantum".
    #[inline(always)]
    fn activate(&mut self, links: &mut [Link], queue: u32) {
        let link = &mut links[queue as usize];
        link.place = Place::New;
        link.deficit = quantum_of(self.quantum, &self.weights, queue);
        self.new.push_back(links, queue);
    }

    /// A queue that was parked continues with its credits.
    #[inline]
    fn resume(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::Old;
        self.old.push_back(links, queue);
    }

    #[inline]
    fn candidate(&mut self, links: &mut [Link], _: &impl Heads) -> Option<u32> {
        self.next_queue(links)
    }

    #[inline]
    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        links[queue as usize].deficit -= i64::from(len_bytes);
    }

    /// RFC 8290 §4.2: the queue gave no packet. One of the new list "is moved to the end of the
    /// list of old queues", so that it cannot come back as new at once and starve them; one of
    /// the old list "is removed from the list".
    #[inline]
    fn emptied(&mut self, links: &mut [Link], queue: u32) {
        let was_new = links[queue as usize].place == Place::New;
        self.remove_candidate(links, queue);
        if was_new {
            self.resume(links, queue);
        } else {
            links[queue as usize].place = Place::Inactive;
        }
    }

    #[inline]
    fn remove_candidate(&mut self, links: &mut [Link], _: u32) {
        if self.new.pop_front(links).is_none() {
            self.old.pop_front(links);
        }
    }
}
