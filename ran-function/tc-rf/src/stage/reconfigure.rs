//! Changes of the queues while packets are queued; no packet is lost.

use e2sm_tc::v1::BufferLimit;

use super::pairs::Pairs;
use super::{Admission, Queue, Rules, Stage};
use crate::Packet;
use crate::arena::{Backlog, Slot};
use crate::queue::{QueueConfig, State};
use crate::scheduler::{Scheduler, SchedulerConfig};
use crate::shaper::Shapers;
use crate::stats::Forwarded;

/// Compiled queues, the rules they share and the pairs they form.
pub(super) fn compile(configs: &[QueueConfig], seed: u64) -> (Vec<Queue>, Vec<Rules>, Pairs) {
    let mut rules: Vec<Rules> = Vec::new();
    let pairs = Pairs::new(configs);
    let queues = configs.iter().enumerate().map(|(index, config)| {
        if rules.last().map(|last| last.queue) != Some(config.rules) {
            rules.push(Rules { queue: config.rules, admission: Admission::Stage });
        }
        let discipline = &config.rules.discipline;
        Queue {
            backlog: Backlog::default(),
            aqm: State::new(discipline, pairs.of(index), seed, u64::from(config.id)),
            id: config.id,
            rules: (rules.len() - 1) as u16,
            forwarded: Forwarded::default(),
        }
    });
    (queues.collect(), rules, pairs)
}

impl<P: Packet> Stage<P> {
    /// All packets, oldest arrival first; the queues are empty afterwards.
    pub(crate) fn take_all(&mut self) -> Vec<Slot> {
        let mut packets = Vec::with_capacity(self.arena.queued.packets as usize);
        for index in 0..self.queues.len() {
            packets.extend(std::iter::from_fn(|| self.pop(index as u32)));
        }
        packets.sort_unstable_by_key(|slot| self.arena.stamp(*slot).sequence);
        self.scheduler.heads_replaced();
        // Other heads may be ready earlier.
        if !self.parked.is_empty() {
            self.parked_until_us = 0;
        }
        self.held_until_us = u64::MAX;
        packets
    }

    /// Other queues, while no packet is queued. A queue that remains keeps its
    /// counters and, if its discipline stays of one kind, the discipline's state.
    pub(crate) fn rebuild(
        &mut self,
        configs: &[QueueConfig],
        scheduler: &SchedulerConfig,
        shapers: Shapers,
        buffer: BufferLimit,
    ) {
        let mut stage = Self::new(configs, scheduler, shapers, buffer, self.seed);
        stage.arena = std::mem::take(&mut self.arena);
        stage.is_gbr = self.is_gbr;
        for index in 0..stage.queues.len() {
            let id = stage.queues[index].id;
            if let Ok(old) = self.queues.binary_search_by_key(&id, |queue| queue.id) {
                stage.queues[index].forwarded = self.queues[old].forwarded;
                stage.signalled[index] = self.signalled[old];
                if self.stats(old).is_some_and(|stats| stats.packets() > 0) {
                    stage.touched.add(index as u32);
                }
                let aqm = std::mem::take(&mut self.queues[old].aqm);
                stage.pairs.inherit(&stage.queues[index].aqm, &self.pairs, &aqm);
                stage.queues[index].aqm.inherit(aqm);
            }
        }
        *self = stage;
    }

    /// The same queues with other parameters; packets stay where they are.
    pub(crate) fn reconfigure(
        &mut self,
        configs: &[QueueConfig],
        scheduler: Option<&SchedulerConfig>,
        shapers: Shapers,
        buffer: BufferLimit,
    ) {
        let (compiled, rules, mut pairs) = compile(configs, self.seed);
        self.rules = rules;
        for (queue, mut new) in self.queues.iter_mut().zip(compiled) {
            queue.rules = new.rules;
            let aqm = std::mem::take(&mut queue.aqm);
            pairs.inherit(&new.aqm, &self.pairs, &aqm);
            new.aqm.inherit(aqm);
            queue.aqm = new.aqm;
        }
        self.pairs = pairs;
        self.buffer = buffer;
        self.shapers = shapers;
        // Parked queues are checked against the new shapers.
        self.parked_until_us = u64::MAX;
        self.held_until_us = u64::MAX;
        for index in self.parked.drain(..) {
            self.scheduler.resume(index);
        }
        if let Some(scheduler) = scheduler {
            self.scheduler = Scheduler::new(scheduler, self.queues.len());
            self.activate_all();
        }
        self.note_admission();
    }

    /// Puts every queue with a backlog on the scheduler, the one with the oldest head first.
    fn activate_all(&mut self) {
        let mut heads: Vec<(u64, u32)> = (0..)
            .zip(&self.queues)
            .filter_map(|(index, queue)| Some((self.arena.head(&queue.backlog)?.sequence, index)))
            .collect();
        heads.sort_unstable();
        for (_, index) in heads {
            self.scheduler.activate(index);
        }
    }
}
