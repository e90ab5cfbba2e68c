//! Strict priority: the highest level with a backlog; queues of one level in turn.

use e2sm_tc::v1::QueueTarget;

use super::list::{Link, List, Place};
use super::{Algorithm, Heads};
use crate::queue::{QueueConfig, Target};

/// Strict priority over levels, 0 the highest.
#[derive(Clone, Debug)]
pub(crate) struct StrictPriority {
    level_of_queue: Vec<u32>,
    levels: Vec<List>,
    /// Bit per level that has queues on its list.
    occupied: Vec<u64>,
}

impl StrictPriority {
    /// `level_of_queue` gives the level of each queue, by queue index.
    pub(crate) fn new(level_of_queue: Vec<u32>) -> Self {
        let levels = level_of_queue.iter().max().map_or(0, |&level| level as usize + 1);
        Self {
            level_of_queue,
            levels: vec![List::default(); levels],
            occupied: vec![0; levels.div_ceil(64)],
        }
    }

    fn top(&self) -> Option<usize> {
        let word = self.occupied.iter().position(|&bits| bits != 0)?;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }
}

impl Algorithm for StrictPriority {
    fn activate(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::New;
        let level = self.level_of_queue[queue as usize] as usize;
        self.levels[level].push_back(links, queue);
        self.occupied[level / 64] |= 1 << (level % 64);
    }

    fn candidate(&mut self, _: &mut [Link], _: &impl Heads) -> Option<u32> {
        self.levels[self.top()?].first()
    }

    fn served(&mut self, links: &mut [Link], _: u32, _: u32) {
        if let Some(level) = self.top() {
            self.levels[level].rotate(links);
        }
    }

    fn remove_candidate(&mut self, links: &mut [Link], _: u32) {
        if let Some(level) = self.top() {
            self.levels[level].pop_front(links);
            if self.levels[level].first().is_none() {
                self.occupied[level / 64] &= !(1 << (level % 64));
            }
        }
    }
}

/// Level of each queue: the position of its target; queues without a target follow, one by one, by id.
pub(super) fn levels(order: &[QueueTarget], queues: &[QueueConfig]) -> Option<Vec<u32>> {
    let mut levels = vec![None; queues.len()];
    for (level, target) in (0..).zip(order) {
        let target = Target::resolve(target, queues)?;
        levels.get_mut(target.range())?.fill(Some(level));
    }
    let mut next = order.len() as u32;
    let mut last = || {
        next += 1;
        next - 1
    };
    Some(levels.into_iter().map(|level| level.unwrap_or_else(&mut last)).collect())
}
