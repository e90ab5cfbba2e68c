//! Earliest deadline first (Liu and Layland 1973): a packet's deadline is its arrival plus the
//! delay budget of its queue.
//!
//! A queue's packets leave in order and have one budget, so its head has its earliest deadline,
//! and the heads decide. The heap holds each waiting queue once, under a key that is its head's or
//! an earlier one: heads leave and deadlines only grow, so a key is corrected when it comes up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use e2sm_tc::v1::QueueBudget;

use super::list::{Link, Place};
use super::{Algorithm, HeadOfLine, Heads};
use crate::queue::{QueueConfig, Target};

/// Order of service. Queues without a budget come after all that have one, oldest packet first;
/// equal deadlines are served in order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    has_no_budget: bool,
    deadline_us: u64,
    sequence: u64,
}

/// Earliest deadline first over queues.
#[derive(Clone, Debug)]
pub(crate) struct EarliestDeadlineFirst {
    /// Delay budgets by queue.
    budget_us: Vec<Option<u32>>,
    waiting: BinaryHeap<Reverse<(Key, u32)>>,
}

impl EarliestDeadlineFirst {
    pub(crate) fn new(budget_us: Vec<Option<u32>>) -> Self {
        let waiting = BinaryHeap::with_capacity(budget_us.len());
        Self { budget_us, waiting }
    }

    fn key(&self, queue: u32, head: HeadOfLine) -> Key {
        let budget_us = self.budget_us.get(queue as usize).copied().flatten();
        Key {
            has_no_budget: budget_us.is_none(),
            deadline_us: head.arrived_us.saturating_add(budget_us.unwrap_or(0).into()),
            sequence: head.sequence,
        }
    }
}

impl Algorithm for EarliestDeadlineFirst {
    fn activate(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::New;
        self.waiting.push(Reverse((Key::default(), queue)));
    }

    fn candidate(&mut self, _: &mut [Link], heads: &impl Heads) -> Option<u32> {
        loop {
            let Reverse((key, queue)) = *self.waiting.peek()?;
            // An empty queue is returned, so that it leaves.
            let Some(head) = heads.head(queue) else { return Some(queue) };
            let actual = self.key(queue, head);
            if actual <= key {
                return Some(queue);
            }
            if let Some(mut top) = self.waiting.peek_mut() {
                top.0.0 = actual;
            }
        }
    }

    /// The deadline of the next head is read when it comes up.
    fn served(&mut self, _: &mut [Link], _: u32, _: u32) {}

    fn remove_candidate(&mut self, _: &mut [Link], _: u32) {
        if let Some(top) = self.waiting.peek_mut() {
            PeekMut::pop(top);
        }
    }

    /// Heads may be older than their keys: all keys are renewed.
    fn heads_replaced(&mut self) {
        let queues = self.waiting.drain().map(|Reverse((_, queue))| queue);
        let renewed: Vec<_> = queues.map(|queue| Reverse((Key::default(), queue))).collect();
        self.waiting.extend(renewed);
    }
}

/// Delay budget of each queue.
pub(super) fn budgets(budgets: &[QueueBudget], queues: &[QueueConfig]) -> Option<Vec<Option<u32>>> {
    let mut budget_us = vec![None; queues.len()];
    for budget in budgets {
        let target = Target::resolve(&budget.target, queues)?;
        budget_us.get_mut(target.range())?.fill(Some(budget.budget_us));
    }
    Some(budget_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Arrivals([u64; 2]);

    impl Heads for Arrivals {
        fn head(&self, queue: u32) -> Option<HeadOfLine> {
            let arrived_us = *self.0.get(queue as usize)?;
            Some(HeadOfLine { arrived_us, sequence: arrived_us })
        }
    }

    #[test]
    fn packets_put_in_front_bring_their_deadlines() {
        let mut links = [Link::default(); 2];
        let mut edf = EarliestDeadlineFirst::new(vec![Some(50), Some(10)]);
        edf.activate(&mut links, 0);
        edf.activate(&mut links, 1);
        // Deadlines 150 and 120.
        assert_eq!(edf.candidate(&mut links, &Arrivals([100, 110])), Some(1));
        // Queue 0 gets older packets: deadlines 60 and 120.
        edf.heads_replaced();
        assert_eq!(edf.candidate(&mut links, &Arrivals([10, 110])), Some(0));
        edf.remove_candidate(&mut links, 0);
        assert_eq!(edf.candidate(&mut links, &Arrivals([10, 110])), Some(1));
    }
}
