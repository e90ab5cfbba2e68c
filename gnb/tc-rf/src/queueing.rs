//! Stages 3 and 4 by themselves: queues under a scheduler, one dequeue at a time. For conformance
//! runs against other implementations, where nothing but the queueing matters.

use e2sm_tc::v1::BufferLimit;

pub use crate::queue::{Codel, CodelParams, Discipline, MTU_BYTES, QueueConfig, QueueRules};
pub use crate::scheduler::{Place, SchedulerConfig};
pub use crate::stage::DROP_BATCH_PACKETS;
pub use crate::stats::QueueStats;

use crate::arena::Queued;
use crate::flow_inventory::FlowRef;
use crate::shaper::Shapers;
use crate::stage::{Stage, StageSink};
use crate::{DropReason, EventSink, Packet};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Packets queued.
    pub backlog_packets: u32,
    /// Bytes queued.
    pub backlog_bytes: u64,
    /// Credits left (RFC 8290 §4.1), bytes.
    pub deficit: i64,
    /// Where it stands with the scheduler.
    pub place: Place,
    /// CoDel's state, untouched for other disciplines.
    pub codel: Codel,
    /// Counters.
    pub stats: QueueStats,
}

impl<P: Packet> Queues<P> {
    /// Queues in the order of their indices, bounded together by `buffer`.
    pub fn new(queues: &[QueueConfig], scheduler: &SchedulerConfig, buffer: BufferLimit) -> Self {
        let stage = Stage::new(queues, scheduler, Shapers::default(), buffer);
        Self { stage, sequence: 0 }
    }

    /// Queues a packet, or drops it or others by the limits. A packet for a queue that is not
    /// there is given back.
    ///
    /// # Errors
    /// The packet, when there is no queue `queue`.
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
        let queued = Queued {
            len_bytes: packet.len_bytes(),
            arrived_us: now_us,
            sequence: self.sequence,
            flow_hash: 0,
            flow: FlowRef::default(),
            packet,
        };
        self.sequence += 1;
        self.stage.enqueue(queue as u32, queued, now_us, &mut Forward(events));
        Ok(())
    }

    /// Takes the next packet; nothing when all queues are empty.
    pub fn dequeue(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> Option<Dequeued<P>> {
        loop {
            let index = self.stage.select(now_us)?;
            if let Some(queued) = self.stage.dequeue(index, now_us, &mut Forward(events)) {
                let Queued { packet, sequence, .. } = queued;
                return Some(Dequeued { packet, queue: index as usize, sequence });
            }
        }
    }

    /// State of a queue.
    pub fn state(&self, queue: usize) -> Option<QueueState> {
        let q = self.stage.queues.get(queue)?;
        Some(QueueState {
            backlog_packets: q.backlog.packets,
            backlog_bytes: q.backlog.bytes,
            deficit: self.stage.scheduler.deficit(queue as u32),
            place: self.stage.scheduler.place(queue as u32),
            codel: q.codel,
            stats: *self.stage.stats.get(queue)?,
        })
    }

    /// Packets queued in all queues.
    pub fn backlog_packets(&self) -> u32 {
        self.stage.packets
    }

    /// Bytes queued in all queues.
    pub fn backlog_bytes(&self) -> u64 {
        self.stage.bytes
    }
}

/// Passes what happens on to a public sink.
struct Forward<'a, S>(&'a mut S);

impl<P, S: EventSink<P>> StageSink<P> for Forward<'_, S> {
    fn dropped(&mut self, queued: Queued<P>, reason: DropReason, now_us: u64) {
        self.0.dropped(queued.packet, reason, now_us);
    }

    fn marked(&mut self, packet: &P, now_us: u64) {
        self.0.marked(packet, now_us);
    }
}
