//! Stage 4: the scheduler over the queues, one algorithm per file. An algorithm implements
//! [`Algorithm`] and is named in `Kind` and `dispatch!`.
//!
//! A scheduler only holds queues that may send: a queue without shaper tokens is taken off its lists
//! until it has them, so it cannot block the others.

mod conditional_priority;
mod drr;
mod edf;
mod guaranteed;
mod inelastic;
mod isolated;
mod list;
mod round_robin;
mod shared;
mod strict_priority;

use e2sm_tc::v1::{self, Pipeline};

use crate::queue::{QueueConfig, index_of};
use conditional_priority::ConditionalPriority;
pub(crate) use drr::Drr;
use edf::EarliestDeadlineFirst;
use guaranteed::Guaranteed;
use inelastic::InelasticFirst;
use isolated::Isolated;
pub(crate) use list::Link;
pub use list::Place;
use round_robin::RoundRobin;
use shared::SharedDrr;
use strict_priority::StrictPriority;

/// The oldest packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadOfLine {
    /// Time at which it entered the pipeline.
    pub(crate) arrived_us: u64,
    /// Position among all packets that ever entered this pipeline.
    pub(crate) sequence: u64,
}

/// The queues of a stage by index.
pub(crate) trait Heads {
    /// The head of a queue; `None` if it is empty.
    fn head(&self, queue: u32) -> Option<HeadOfLine>;
}

/// A scheduling algorithm over queues that have packets. `links` has the state of each queue.
pub(crate) trait Algorithm {
    /// Time is `now_us` from here on.
    fn advance(&mut self, _now_us: u64) {}

    /// An inactive queue received a packet.
    fn activate(&mut self, links: &mut [Link], queue: u32);

    /// A parked queue may send again.
    fn resume(&mut self, links: &mut [Link], queue: u32) {
        self.activate(links, queue);
    }

    /// The queue to serve next. An empty queue may be returned; [`emptied`](Self::emptied) follows.
    fn candidate(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<u32>;

    /// The candidate sent a packet.
    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32);

    /// Takes the candidate off its list; the caller sets its place.
    fn remove_candidate(&mut self, links: &mut [Link], queue: u32);

    /// The candidate had no packet.
    fn emptied(&mut self, links: &mut [Link], queue: u32) {
        self.remove_candidate(links, queue);
        links[queue as usize].place = Place::Inactive;
    }

    /// Older packets were inserted at the heads of queues.
    fn heads_replaced(&mut self) {}

    /// An inactive queue received a packet and waits elsewhere, until [`resume`](Self::resume) or
    /// [`release`](Self::release).
    fn hold(&mut self, _queue: u32) {}

    /// A queue that was held is inactive again.
    fn release(&mut self, _queue: u32) {}
}

#[derive(Clone, Debug)]
#[repr(u8)]
enum Kind {
    Drr(Drr),
    RoundRobin(RoundRobin),
    Isolated(Isolated),
    InelasticFirst(InelasticFirst<Drr>),
    InelasticIsolated(InelasticFirst<Isolated>),
    SharedDrr(SharedDrr),
    Guaranteed(Guaranteed),
    StrictPriority(StrictPriority),
    ConditionalPriority(ConditionalPriority),
    EarliestDeadlineFirst(EarliestDeadlineFirst),
}

/// Calls the algorithm in force.
macro_rules! dispatch {
    ($scheduler:expr, $algorithm:ident => $call:expr) => {
        match &mut $scheduler.kind {
            Kind::Drr($algorithm) => $call,
            Kind::RoundRobin($algorithm) => $call,
            Kind::Isolated($algorithm) => $call,
            Kind::InelasticFirst($algorithm) => $call,
            Kind::InelasticIsolated($algorithm) => $call,
            Kind::SharedDrr($algorithm) => $call,
            Kind::Guaranteed($algorithm) => $call,
            Kind::StrictPriority($algorithm) => $call,
            Kind::ConditionalPriority($algorithm) => $call,
            Kind::EarliestDeadlineFirst($algorithm) => $call,
        }
    };
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
    /// Deficit round robin in which the old queues of a host share its turn.
    Isolated {
        /// Bytes a queue, and a host, may send per turn.
        quantum_bytes: u32,
    },
    /// Queues of inelastic flows first, within a part of what is drained; the rest by deficit round robin.
    InelasticFirst {
        /// Bytes a queue, and a host, may send per turn.
        quantum_bytes: u32,
        /// Most that goes first, thousandths of what is drained.
        part_milli: u16,
        /// QoS flows whose packets are marked as inelastic, a bit each.
        qfis: u64,
        /// Whether hosts have turns.
        by_host: bool,
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
    /// Shares below their guaranteed rate first, then as `Shared`.
    Guaranteed {
        /// Bytes per unit of weight and turn of a share, and per turn of a queue.
        quantum_bytes: u32,
        /// Share of each queue by queue index. A queue beyond the end is a share of its own.
        share_of_queue: Vec<u32>,
        /// Weight of each share; 1 beyond the end.
        weight_of_share: Vec<u8>,
        /// Guarantee of each share; none beyond the end.
        guarantee_of_share: Vec<Option<v1::Guarantee>>,
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

impl SchedulerConfig {
    /// Stage 4 of a pipeline over these queues. `None` only for a target without queues, which
    /// validation refuses.
    pub(crate) fn compile(pipeline: &Pipeline, queues: &[QueueConfig]) -> Option<Self> {
        use v1::Scheduler as Model;
        let classifier = &pipeline.classifier;
        Some(match &pipeline.scheduler {
            Model::RoundRobin => Self::RoundRobin,
            Model::InelasticFirst(model) => Self::InelasticFirst {
                quantum_bytes: model.quantum_bytes,
                part_milli: model.part_milli,
                qfis: model.qfis.iter().fold(0, |bits, qfi| bits | 1 << (qfi & 63)),
                by_host: classifier.isolation().has_turns_of_hosts(),
            },
            Model::DeficitRoundRobin { quantum_bytes }
                if classifier.isolation().has_turns_of_hosts() =>
            {
                Self::Isolated { quantum_bytes: *quantum_bytes }
            }
            Model::DeficitRoundRobin { quantum_bytes } => {
                shared::compile(*quantum_bytes, &[], classifier, queues)?
            }
            Model::Weighted { quantum_bytes, weights } => {
                shared::compile(*quantum_bytes, weights, classifier, queues)?
            }
            Model::Guaranteed { quantum_bytes, shares } => {
                guaranteed::compile(*quantum_bytes, shares, classifier, queues)?
            }
            Model::StrictPriority { order } => {
                Self::StrictPriority { level_of_queue: strict_priority::levels(order, queues)? }
            }
            Model::ConditionalPriority { l4s, classic, time_shift_us } => {
                Self::ConditionalPriority {
                    l4s: index_of(*l4s, queues)?,
                    classic: index_of(*classic, queues)?,
                    time_shift_us: *time_shift_us,
                }
            }
            Model::EarliestDeadlineFirst { budgets } => {
                Self::EarliestDeadlineFirst { budget_us: edf::budgets(budgets, queues)? }
            }
        })
    }
}

/// A scheduler in force over queues `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    links: Vec<Link>,
    kind: Kind,
    /// QoS flows whose packets are marked as inelastic, a bit each.
    qfis: u64,
}

/// DSCPs of inelastic traffic (RFC 4594 §2.3, RFC 5865 §2.3): EF, VOICE-ADMIT, CS5, AF4x and CS4.
const INELASTIC_DSCPS: u64 = 1 << 46 | 1 << 44 | 1 << 40 | 1 << 38 | 1 << 36 | 1 << 34 | 1 << 32;

/// A packet that comes for a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) now_us: u64,
    pub(crate) len_bytes: u32,
    /// Whether no other packet was queued.
    pub(crate) found_empty: bool,
    pub(crate) is_tcp: bool,
    pub(crate) dscp: u8,
    pub(crate) qfi: Option<u8>,
    /// Whether its bearer carries QoS flows of guaranteed rates only.
    pub(crate) of_gbr_bearer: bool,
}

impl Arrived {
    /// Whether it is marked as inelastic.
    fn asks(&self, qfis: u64) -> bool {
        let of_flow = self.qfi.is_some_and(|qfi| qfis >> (qfi & 63) & 1 == 1);
        of_flow || self.of_gbr_bearer || INELASTIC_DSCPS >> (self.dscp & 63) & 1 == 1
    }
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
                let shares = completed(share_of_queue, queues);
                Self::SharedDrr(SharedDrr::new(*quantum_bytes, shares, weight_of_share.clone()))
            }
            SchedulerConfig::Guaranteed {
                quantum_bytes,
                share_of_queue,
                weight_of_share,
                guarantee_of_share,
            } => {
                let shares = completed(share_of_queue, queues);
                let shared = SharedDrr::new(*quantum_bytes, shares, weight_of_share.clone());
                Self::Guaranteed(Guaranteed::new(*quantum_bytes, shared, guarantee_of_share))
            }
            SchedulerConfig::Isolated { quantum_bytes } => {
                Self::Isolated(Isolated::new(*quantum_bytes, queues))
            }
            SchedulerConfig::InelasticFirst {
                quantum_bytes, part_milli, by_host: false, ..
            } => {
                let rest = Drr::new(*quantum_bytes);
                Self::InelasticFirst(InelasticFirst::new(rest, *part_milli, queues))
            }
            SchedulerConfig::InelasticFirst { quantum_bytes, part_milli, .. } => {
                let rest = Isolated::new(*quantum_bytes, queues);
                Self::InelasticIsolated(InelasticFirst::new(rest, *part_milli, queues))
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

/// The share of each queue; those beyond the end get one each.
fn completed(share_of_queue: &[u32], queues: usize) -> Vec<u32> {
    let mut shares = share_of_queue.to_vec();
    let next = shares.iter().max().map_or(0, |&share| share + 1);
    shares.extend((next..).take(queues.saturating_sub(shares.len())));
    shares
}

impl Scheduler {
    pub(crate) fn new(config: &SchedulerConfig, queues: usize) -> Self {
        let qfis = match config {
            SchedulerConfig::InelasticFirst { qfis, .. } => *qfis,
            _ => 0,
        };
        Self { links: vec![Link::default(); queues], kind: Kind::new(config, queues), qfis }
    }

    #[inline]
    pub(crate) fn place(&self, queue: u32) -> Place {
        self.links[queue as usize].place
    }

    pub(crate) fn deficit(&self, queue: u32) -> i64 {
        self.links[queue as usize].deficit
    }

    /// Whether a queue that becomes active now counts against hosts that [`bind`](Self::bind) names.
    #[inline]
    pub(crate) fn binds(&self, queue: u32) -> bool {
        matches!(self.kind, Kind::Isolated(_) | Kind::InelasticIsolated(_))
            && self.place(queue) == Place::Inactive
    }

    /// Names the hosts of a queue that is about to become active, by keyed hashes.
    pub(crate) fn bind(&mut self, queue: u32, hosts: [u64; 2]) {
        match &mut self.kind {
            Kind::Isolated(isolated) => isolated.bind(queue, hosts),
            Kind::InelasticIsolated(first) => first.rest_mut().bind(queue, hosts),
            _ => {}
        }
    }

    /// Whether [`arrived`](Self::arrived) is to be called for each packet.
    #[inline]
    pub(crate) fn watches_arrivals(&self) -> bool {
        matches!(self.kind, Kind::InelasticFirst(_) | Kind::InelasticIsolated(_))
    }

    /// A packet came for a queue, whether it is then queued or dropped.
    pub(crate) fn arrived(&mut self, queue: u32, packet: &Arrived) {
        let asks = packet.asks(self.qfis);
        match &mut self.kind {
            Kind::InelasticFirst(first) => first.arrived(queue, packet, asks),
            Kind::InelasticIsolated(first) => first.arrived(queue, packet, asks),
            _ => {}
        }
    }

    /// What was decided about a queue of an inelastic flow, or of one that says that it is.
    pub(crate) fn inelastic(&self, queue: u32) -> Option<v1::Inelastic> {
        match &self.kind {
            Kind::InelasticFirst(first) => first.inelastic(queue),
            Kind::InelasticIsolated(first) => first.inelastic(queue),
            _ => None,
        }
    }

    /// An inactive queue received a packet.
    #[inline]
    pub(crate) fn activate(&mut self, queue: u32) {
        match &mut self.kind {
            Kind::Drr(drr) => drr.activate(&mut self.links, queue),
            _ => self.activate_by_kind(queue),
        }
    }

    /// The queue to serve next; `heads` gives the queues as they are. The calls below refer to the
    /// queue this returned last, while no packet has been queued since.
    #[inline]
    pub(crate) fn candidate<H: Heads>(
        &mut self,
        heads: impl FnOnce() -> H,
        now_us: u64,
    ) -> Option<u32> {
        match &mut self.kind {
            Kind::Drr(drr) => drr.next_queue(&mut self.links),
            _ => self.candidate_by_kind(&heads(), now_us),
        }
    }

    /// See [`Algorithm::served`].
    #[inline]
    pub(crate) fn served(&mut self, queue: u32, len_bytes: u32) {
        match &mut self.kind {
            Kind::Drr(drr) => drr.served(&mut self.links, queue, len_bytes),
            _ => self.served_by_kind(queue, len_bytes),
        }
    }

    /// See [`Algorithm::emptied`].
    #[inline]
    pub(crate) fn emptied(&mut self, queue: u32) {
        match &mut self.kind {
            Kind::Drr(drr) => drr.emptied(&mut self.links, queue),
            _ => self.emptied_by_kind(queue),
        }
    }

    /// Deficit round robin with the state of the queues, if that is the algorithm in force.
    #[inline]
    pub(crate) fn drr(&mut self) -> Option<(&mut Drr, &mut [Link])> {
        match &mut self.kind {
            Kind::Drr(drr) => Some((drr, &mut self.links)),
            _ => None,
        }
    }

    // Those of all other algorithms, out of the line of deficit round robin.

    #[inline(never)]
    fn activate_by_kind(&mut self, queue: u32) {
        dispatch!(self, algorithm => algorithm.activate(&mut self.links, queue));
    }

    #[inline(never)]
    fn candidate_by_kind(&mut self, heads: &impl Heads, now_us: u64) -> Option<u32> {
        dispatch!(self, algorithm => {
            algorithm.advance(now_us);
            algorithm.candidate(&mut self.links, heads)
        })
    }

    #[inline(never)]
    fn served_by_kind(&mut self, queue: u32, len_bytes: u32) {
        dispatch!(self, algorithm => algorithm.served(&mut self.links, queue, len_bytes));
    }

    #[inline(never)]
    fn emptied_by_kind(&mut self, queue: u32) {
        dispatch!(self, algorithm => algorithm.emptied(&mut self.links, queue));
    }

    /// The candidate's shaper has no tokens.
    pub(crate) fn park(&mut self, queue: u32) {
        dispatch!(self, algorithm => algorithm.remove_candidate(&mut self.links, queue));
        self.links[queue as usize].place = Place::Parked;
    }

    /// See [`Algorithm::resume`].
    pub(crate) fn resume(&mut self, queue: u32) {
        dispatch!(self, algorithm => algorithm.resume(&mut self.links, queue));
    }

    /// See [`Algorithm::heads_replaced`].
    pub(crate) fn heads_replaced(&mut self) {
        dispatch!(self, algorithm => algorithm.heads_replaced());
    }
}
