//! Stages 3 and 4 by themselves: queues under a scheduler, one dequeue at a time. For conformance
//! runs against other implementations, which compare queueing alone.

use e2sm_tc::v1::{self, BufferLimit, QueueId};

pub use crate::queue::*;
pub use crate::scheduler::{Place, SchedulerConfig};
pub use crate::stage::DROP_BATCH_PACKETS;
pub use crate::stats::QueueStats;

use crate::arena::{Queued, Stamp};
use crate::classifier::Header;
use crate::flow_inventory::FlowRef;
use crate::plan::Plan;
use crate::queue::State;
use crate::shaper::Shapers;
use crate::stage::{Stage, StageSink};
use crate::{DropReason, EventSink, Packet, PipelineError};

/// Queues under a scheduler. With CoDel queues and deficit round robin this is FQ-CoDel.
#[derive(Clone, Debug)]
pub struct Queues<P> {
    stage: Stage<P>,
    sequence: u64,
}

/// A packet that was dequeued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dequeued<P> {
    /// The packet.
    pub packet: P,
    /// Index of its queue.
    pub queue: usize,
    /// Position among all packets that were enqueued, from 0.
    pub sequence: u64,
}

/// State of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueState {
    /// Identifier in the service model.
    pub id: QueueId,
    /// Discipline with its parameters.
    pub discipline: Discipline,
    /// Packets queued.
    pub backlog_packets: u32,
    /// Bytes queued.
    pub backlog_bytes: u64,
    /// Credits left (RFC 8290 §4.1), bytes.
    pub deficit: i64,
    /// Its place in the scheduler.
    pub place: Place,
    /// CoDel's state, untouched for other disciplines.
    pub codel: Codel,
    /// State of the discipline.
    pub aqm: AqmState,
    /// Counters.
    pub stats: QueueStats,
}

impl<P: Packet> Queues<P> {
    /// Queues in the order of their indices, bounded together by `buffer`, with seed 0.
    pub fn new(queues: &[QueueConfig], scheduler: &SchedulerConfig, buffer: BufferLimit) -> Self {
        Self::with_seed(queues, scheduler, buffer, 0)
    }

    /// The same; the disciplines' random numbers come from `seed`.
    pub fn with_seed(
        queues: &[QueueConfig],
        scheduler: &SchedulerConfig,
        buffer: BufferLimit,
        seed: u64,
    ) -> Self {
        let stage = Stage::new(queues, scheduler, Shapers::default(), buffer, seed);
        Self { stage, sequence: 0 }
    }

    /// Stages 3 to 5 of a pipeline of the service model, queues in the order of their ids.
    /// Classifier, policers and pacer are checked and then left out.
    ///
    /// # Errors
    /// What is wrong with the pipeline and where.
    pub fn from_model(pipeline: &v1::Pipeline, seed: u64) -> Result<Self, PipelineError> {
        let plan = Plan::compile(pipeline, 0)?;
        let stage = Stage::new(&plan.queues, &plan.scheduler, plan.shapers, plan.buffer, seed);
        Ok(Self { stage, sequence: 0 })
    }

    /// Number of queues.
    pub fn len(&self) -> usize {
        self.stage.queues.len()
    }

    /// Whether there are no queues at all.
    pub fn is_empty(&self) -> bool {
        self.stage.queues.is_empty()
    }

    /// Index of the queue with this identifier; queues must be in the order of their ids.
    pub fn index_of(&self, id: QueueId) -> Option<usize> {
        self.stage.queues.binary_search_by_key(&id, |queue| queue.id).ok()
    }

    /// Performs the updates of all disciplines that fell due, as the next packet would.
    pub fn advance(&mut self, now_us: u64) {
        self.stage.advance_all(now_us);
    }

    /// Queues a packet, or drops it or others by the limits. A packet for an unknown queue is
    /// returned.
    ///
    /// # Errors
    /// The packet, when there is no queue `queue`.
    #[inline]
    pub fn enqueue(
        &mut self,
        queue: usize,
        packet: P,
        now_us: u64,
        events: &mut impl EventSink<P>,
    ) -> Result<(), P> {
        if queue >= self.stage.queues.len() {
            return Err(packet);
        }
        let stamp = Stamp {
            len_bytes: packet.len_bytes(),
            arrived_us: now_us,
            sequence: self.sequence,
            flow_hash: 0,
            header: Header::of(&packet),
            flow: FlowRef::default(),
        };
        self.sequence += 1;
        self.stage.enqueue(queue, packet, stamp, now_us, &mut Forward(events));
        Ok(())
    }

    /// Takes the next packet; `None` when all queues are empty or parked.
    #[inline(always)]
    pub fn dequeue(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> Option<Dequeued<P>> {
        self.stage.dequeue(
            now_us,
            |_| true,
            &mut Forward(events),
            |queue, queued| {
                let Queued { packet, stamp } = queued;
                Dequeued { packet, queue: queue as usize, sequence: stamp.sequence }
            },
        )
    }

    /// State of a queue.
    pub fn state(&self, queue: usize) -> Option<QueueState> {
        let q = self.stage.queues.get(queue)?;
        Some(QueueState {
            id: q.id,
            discipline: self.stage.discipline(queue as u32),
            backlog_packets: q.backlog.packets,
            backlog_bytes: q.backlog.bytes,
            deficit: self.stage.scheduler.deficit(queue as u32),
            place: self.stage.scheduler.place(queue as u32),
            codel: match q.aqm {
                State::Codel(codel) => codel,
                _ => Codel::default(),
            },
            aqm: q.aqm.snapshot(|pair| self.stage.pairs.state(pair)),
            stats: self.stage.stats(queue)?,
        })
    }

    /// Packets queued in all queues.
    pub fn backlog_packets(&self) -> u32 {
        self.stage.arena.queued.packets
    }

    /// Bytes queued in all queues.
    pub fn backlog_bytes(&self) -> u64 {
        self.stage.arena.queued.bytes
    }
}

/// Forwards events to a public sink.
struct Forward<'a, S>(&'a mut S);

impl<P, S: EventSink<P>> StageSink<P> for Forward<'_, S> {
    fn dropped(&mut self, queued: Queued<P>, reason: DropReason, now_us: u64) {
        self.0.dropped(queued.packet, reason, now_us);
    }

    fn marked(&mut self, packet: &P, now_us: u64) {
        self.0.marked(packet, now_us);
    }
}
