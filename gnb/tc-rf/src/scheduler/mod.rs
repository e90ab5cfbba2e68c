//! Stage 4: which queue next, one algorithm per file.
//!
//! A scheduler only ever holds queues that may send: one whose shaper says "not yet" is taken off
//! the lists until it may, so it cannot block the others.

mod drr;
mod list;
mod round_robin;
mod strict_priority;

use drr::Drr;
use list::Link;
pub use list::Place;
use round_robin::RoundRobin;
use strict_priority::StrictPriority;

/// Which scheduler, with its parameters, as compiled from the service model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerConfig {
    /// Packet by packet in turn.
    RoundRobin,
    /// Deficit round robin with new and old lists (RFC 8290 §4).
    DeficitRoundRobin {
        /// Bytes a queue may send per turn.
        quantum_bytes: u32,
    },
    /// Strict priority; the level of each queue by queue index, 0 the highest.
    StrictPriority {
        /// Levels.
        level_of_queue: Vec<u32>,
    },
}

/// A scheduler in force over queues `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    links: Vec<Link>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    RoundRobin(RoundRobin),
    Drr(Drr),
    StrictPriority(StrictPriority),
}

impl Scheduler {
    pub(crate) fn new(config: &SchedulerConfig, queues: usize) -> Self {
        let kind = match config {
            SchedulerConfig::RoundRobin => Kind::RoundRobin(RoundRobin::default()),
            SchedulerConfig::DeficitRoundRobin { quantum_bytes } => {
                Kind::Drr(Drr::new(*quantum_bytes))
            }
            SchedulerConfig::StrictPriority { level_of_queue } => {
                let mut levels = level_of_queue.clone();
                levels.resize(queues, u32::from(u16::MAX));
                Kind::StrictPriority(StrictPriority::new(levels))
            }
        };
        Self { links: vec![Link::default(); queues], kind }
    }

    pub(crate) fn place(&self, queue: u32) -> Place {
        self.links[queue as usize].place
    }

    pub(crate) fn deficit(&self, queue: u32) -> i64 {
        self.links[queue as usize].deficit
    }

    /// A packet was queued.
    pub(crate) fn activate(&mut self, queue: u32) {
        let links = &mut self.links;
        if links[queue as usize].place != Place::Inactive {
            return;
        }
        match &mut self.kind {
            Kind::RoundRobin(s) => s.activate(links, queue),
            Kind::Drr(s) => s.activate(links, queue),
            Kind::StrictPriority(s) => s.activate(links, queue),
        }
    }

    /// The queue to ask next. The calls below refer to the queue this returned last.
    pub(crate) fn candidate(&mut self) -> Option<u32> {
        match &mut self.kind {
            Kind::RoundRobin(s) => s.candidate(),
            Kind::Drr(s) => s.candidate(&mut self.links),
            Kind::StrictPriority(s) => s.candidate(),
        }
    }

    /// The candidate sent a packet.
    pub(crate) fn served(&mut self, queue: u32, len_bytes: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.served(links),
            Kind::Drr(s) => s.served(links, queue, len_bytes),
            Kind::StrictPriority(s) => s.served(links),
        }
    }

    /// The candidate had no packet.
    pub(crate) fn emptied(&mut self, queue: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.remove_candidate(links),
            Kind::Drr(s) => return s.emptied(links, queue),
            Kind::StrictPriority(s) => s.remove_candidate(links),
        }
        links[queue as usize].place = Place::Inactive;
    }

    /// The candidate's shaper holds it back: it waits aside.
    pub(crate) fn park(&mut self, queue: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.remove_candidate(links),
            Kind::Drr(s) => s.remove_candidate(links),
            Kind::StrictPriority(s) => s.remove_candidate(links),
        }
        links[queue as usize].place = Place::Parked;
    }

    /// A parked queue may send again.
    pub(crate) fn resume(&mut self, queue: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.activate(links, queue),
            Kind::Drr(s) => s.resume(links, queue),
            Kind::StrictPriority(s) => s.activate(links, queue),
        }
    }
}
