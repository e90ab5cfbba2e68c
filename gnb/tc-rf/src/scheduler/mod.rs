//! Stage 4: which queue next, one algorithm per file.
//!
//! A scheduler only ever holds queues that may send: one whose shaper says "not yet" is taken off
//! the lists until it may, so it cannot block the others.

mod conditional_priority;
mod drr;
mod edf;
mod list;
mod round_robin;
mod shared;
mod strict_priority;

use conditional_priority::ConditionalPriority;
use drr::Drr;
use edf::EarliestDeadlineFirst;
use list::Link;
pub use list::Place;
use round_robin::RoundRobin;
use shared::SharedDrr;
use strict_priority::StrictPriority;

/// The oldest packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadOfLine {
    /// When it entered the pipeline.
    pub(crate) arrived_us: u64,
    /// Position among all packets that ever entered this pipeline.
    pub(crate) sequence: u64,
}

/// The queues of a stage by index.
pub(crate) trait Heads {
    /// The head of a queue; absent when it is empty.
    fn head(&self, queue: u32) -> Option<HeadOfLine>;
}

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
    /// Deficit round robin in which a queue's turn is its weight in quanta.
    Weighted {
        /// Bytes per unit of weight and turn.
        quantum_bytes: u32,
        /// Weight of each queue by queue index; 1 beyond the end.
        weight_of_queue: Vec<u8>,
    },
    /// Deficit round robin over shares by weight, and over the queues of each share.
    Shared {
        /// Bytes per unit of weight and turn of a share, and per turn of a queue.
        quantum_bytes: u32,
        /// Share of each queue by queue index. A queue beyond the end is a share of its own.
        share_of_queue: Vec<u32>,
        /// Weight of each share; 1 beyond the end.
        weight_of_share: Vec<u8>,
    },
    /// L first unless the head of C is older by more than the shift (RFC 9332 §4.2.2).
    ConditionalPriority {
        /// Index of the L queue.
        l4s: u32,
        /// Index of the C queue.
        classic: u32,
        /// Time shift.
        time_shift_us: u32,
    },
    /// Earliest deadline first.
    EarliestDeadlineFirst {
        /// Delay budget of each queue by queue index; those without one, or beyond the end, come
        /// last.
        budget_us: Vec<Option<u32>>,
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
    Shared(SharedDrr),
    StrictPriority(StrictPriority),
    ConditionalPriority(ConditionalPriority),
    EarliestDeadlineFirst(EarliestDeadlineFirst),
}

impl Kind {
    fn new(config: &SchedulerConfig, queues: usize) -> Self {
        match config {
            SchedulerConfig::RoundRobin => Self::RoundRobin(RoundRobin::default()),
            SchedulerConfig::DeficitRoundRobin { quantum_bytes } => {
                Self::Drr(Drr::new(*quantum_bytes))
            }
            SchedulerConfig::Weighted { quantum_bytes, weight_of_queue } => {
                Self::Drr(Drr::weighted(*quantum_bytes, weight_of_queue.clone()))
            }
            SchedulerConfig::Shared { quantum_bytes, share_of_queue, weight_of_share } => {
                let mut shares = share_of_queue.clone();
                let next = shares.iter().max().map_or(0, |&share| share + 1);
                shares.extend((next..).take(queues.saturating_sub(shares.len())));
                Self::Shared(SharedDrr::new(*quantum_bytes, shares, weight_of_share.clone()))
            }
            SchedulerConfig::StrictPriority { level_of_queue } => {
                let mut levels = level_of_queue.clone();
                levels.resize(queues, u32::from(u16::MAX));
                Self::StrictPriority(StrictPriority::new(levels))
            }
            SchedulerConfig::ConditionalPriority { l4s, classic, time_shift_us } => {
                let priority = ConditionalPriority::new(*l4s, *classic, *time_shift_us);
                Self::ConditionalPriority(priority)
            }
            SchedulerConfig::EarliestDeadlineFirst { budget_us } => {
                let mut budgets = budget_us.clone();
                budgets.resize(queues, None);
                Self::EarliestDeadlineFirst(EarliestDeadlineFirst::new(budgets))
            }
        }
    }
}

impl Scheduler {
    pub(crate) fn new(config: &SchedulerConfig, queues: usize) -> Self {
        Self { links: vec![Link::default(); queues], kind: Kind::new(config, queues) }
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
            Kind::Shared(s) => s.activate(links, queue),
            Kind::StrictPriority(s) => s.activate(links, queue),
            Kind::ConditionalPriority(s) => s.activate(links, queue),
            Kind::EarliestDeadlineFirst(s) => s.activate(links, queue),
        }
    }

    /// The queue to serve next. The calls below refer to the queue this returned last, while no
    /// packet has been queued since.
    pub(crate) fn candidate(&mut self, heads: &impl Heads) -> Option<u32> {
        match &mut self.kind {
            Kind::RoundRobin(s) => s.candidate(),
            Kind::Drr(s) => s.candidate(&mut self.links),
            Kind::Shared(s) => s.candidate(&mut self.links),
            Kind::StrictPriority(s) => s.candidate(),
            Kind::ConditionalPriority(s) => s.candidate(&self.links, heads),
            Kind::EarliestDeadlineFirst(s) => s.candidate(heads),
        }
    }

    /// The candidate sent a packet.
    pub(crate) fn served(&mut self, queue: u32, len_bytes: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.served(links),
            Kind::Drr(s) => s.served(links, queue, len_bytes),
            Kind::Shared(s) => s.served(links, queue, len_bytes),
            Kind::StrictPriority(s) => s.served(links),
            Kind::ConditionalPriority(s) => s.served(links, queue),
            // The deadline of the next head is read when it comes up.
            Kind::EarliestDeadlineFirst(_) => {}
        }
    }

    /// The candidate had no packet.
    pub(crate) fn emptied(&mut self, queue: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::Drr(s) => s.emptied(links, queue),
            Kind::Shared(s) => s.emptied(links, queue),
            _ => {
                self.remove_candidate(queue);
                self.links[queue as usize].place = Place::Inactive;
            }
        }
    }

    /// The candidate's shaper holds it back: it waits aside.
    pub(crate) fn park(&mut self, queue: u32) {
        self.remove_candidate(queue);
        self.links[queue as usize].place = Place::Parked;
    }

    fn remove_candidate(&mut self, queue: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.remove_candidate(links),
            Kind::Drr(s) => s.remove_candidate(links),
            Kind::Shared(s) => s.remove_candidate(links, queue),
            Kind::StrictPriority(s) => s.remove_candidate(links),
            Kind::ConditionalPriority(s) => s.remove_candidate(links, queue),
            Kind::EarliestDeadlineFirst(s) => s.remove_candidate(),
        }
    }

    /// A parked queue may send again.
    pub(crate) fn resume(&mut self, queue: u32) {
        let links = &mut self.links;
        match &mut self.kind {
            Kind::RoundRobin(s) => s.activate(links, queue),
            Kind::Drr(s) => s.resume(links, queue),
            Kind::Shared(s) => s.resume(links, queue),
            Kind::StrictPriority(s) => s.activate(links, queue),
            Kind::ConditionalPriority(s) => s.activate(links, queue),
            Kind::EarliestDeadlineFirst(s) => s.activate(links, queue),
        }
    }

    /// Packets were put in front of those that wait: heads are older than they were.
    pub(crate) fn heads_replaced(&mut self) {
        if let Kind::EarliestDeadlineFirst(s) = &mut self.kind {
            s.heads_replaced();
        }
    }
}
