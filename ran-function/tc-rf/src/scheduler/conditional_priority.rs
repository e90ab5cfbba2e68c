//! Conditional priority of an L4S queue over a classic one: the time-shifted FIFO of RFC 9332
//! §4.2.2.
//!
//! The L queue goes first unless the head of C has waited longer than that of L by more than the
//! time shift. So C adds next to no delay to L, and an L queue that is overloaded
//! delays C by no more than the shift over its own delay: starvation costs L delay, not C
//! throughput ("Sacrifice L4S Throughput or Delay?").

use super::list::{Link, List, Place};
use super::{Algorithm, Heads};

/// Time-shifted FIFO over two queues. Queues that are neither come after both, packet by packet
/// in turn.
#[derive(Clone, Debug)]
pub(crate) struct ConditionalPriority {
    l4s: u32,
    classic: u32,
    time_shift_us: u64,
    others: List,
}

impl ConditionalPriority {
    pub(crate) fn new(l4s: u32, classic: u32, time_shift_us: u32) -> Self {
        Self { l4s, classic, time_shift_us: time_shift_us.into(), others: List::default() }
    }

    fn is_other(&self, queue: u32) -> bool {
        queue != self.l4s && queue != self.classic
    }
}

impl Algorithm for ConditionalPriority {
    fn activate(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::New;
        if self.is_other(queue) {
            self.others.push_back(links, queue);
        }
    }

    fn candidate(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<u32> {
        let waits = |queue: u32| {
            links.get(queue as usize).is_some_and(|link| link.place == Place::New).then_some(queue)
        };
        match (waits(self.l4s), waits(self.classic)) {
            (Some(l4s), Some(classic)) => {
                // An empty queue is returned, so that it leaves.
                let Some(l4s_head) = heads.head(l4s) else { return Some(l4s) };
                let Some(classic_head) = heads.head(classic) else { return Some(classic) };
                let shifted_us = classic_head.arrived_us.saturating_add(self.time_shift_us);
                Some(if l4s_head.arrived_us <= shifted_us { l4s } else { classic })
            }
            (None, None) => self.others.first(),
            (l4s, classic) => l4s.or(classic),
        }
    }

    fn served(&mut self, links: &mut [Link], queue: u32, _: u32) {
        if self.is_other(queue) {
            self.others.rotate(links);
        }
    }

    /// L and C are on no list.
    fn remove_candidate(&mut self, links: &mut [Link], queue: u32) {
        if self.is_other(queue) {
            self.others.pop_front(links);
        }
    }
}
