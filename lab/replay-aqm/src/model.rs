//! Runs one case in the words of the service model.

use std::collections::BTreeSet;

use e2sm_tc::v1::{Classifier, Pacer, Pipeline, QueueTarget};
use tc_rf::queueing::{Place, Queues};
use tc_rf::{DropReason, EventSink};

use super::input::{Enqueue, ModelCase};
use super::output::{Dropped, ModelPacket, ModelStep, QueueStep};
use super::packet::Replayed;
use super::state;

/// The steps of a case, one per dequeue event.
///
/// # Errors
/// What the TC RAN function refuses of the queues, the scheduler or the buffer, and where.
pub(super) fn replay(case: ModelCase) -> Result<Vec<ModelStep>, String> {
    let first = case.queues.iter().map(|set| set.first).min().unwrap_or(0);
    let pipeline = Pipeline {
        name: "replay".to_owned(),
        classifier: Classifier::RoundRobin(QueueTarget { first, count: 1 }),
        queues: case.queues,
        scheduler: case.scheduler,
        pacer: Pacer::None,
        buffer: case.buffer,
    };
    let queues = Queues::from_model(&pipeline, case.seed).map_err(|error| error.to_string())?;
    let mut bench = Bench { queues, drops: Drops::default(), seen: BTreeSet::new(), next: 0 };
    let mut steps = Vec::new();
    for event in &case.events {
        if let Some(enq) = event.enq {
            bench.enqueue(&enq, event.t_us);
        }
        if let Some(count) = event.deq {
            steps.push(bench.dequeue(count, event.t_us));
        }
    }
    Ok(steps)
}

/// What was dropped since the last step.
#[derive(Debug, Default)]
struct Drops(Vec<Dropped>);

impl EventSink<Replayed> for Drops {
    fn dropped(&mut self, packet: Replayed, reason: DropReason, now_us: u64) {
        self.0.push(Dropped {
            t_us: now_us,
            flow: packet.flow,
            seq: packet.seq,
            reason: reason.name(),
        });
    }
}

struct Bench {
    queues: Queues<Replayed>,
    drops: Drops,
    /// Queues that had a packet, by index.
    seen: BTreeSet<usize>,
    next: u64,
}

impl Bench {
    fn enqueue(&mut self, enq: &Enqueue, now_us: u64) {
        let index = enq.queue.and_then(|id| self.queues.index_of(id)).unwrap_or(0);
        let packet = Replayed::new(enq, self.next).at(now_us);
        self.next += 1;
        self.seen.insert(index);
        // The queue is there: the case was checked, and there is at least one.
        let _ = self.queues.enqueue(index, packet, now_us, &mut self.drops);
    }

    fn dequeue(&mut self, count: u32, now_us: u64) -> ModelStep {
        let mut dequeued = Vec::new();
        for _ in 0..count {
            let Some(next) = self.queues.dequeue(now_us, &mut self.drops) else { break };
            dequeued.push(ModelPacket {
                queue: self.queues.state(next.queue).map_or(0, |state| state.id),
                flow: next.packet.flow,
                size: next.packet.size,
                seq: next.packet.seq,
                sojourn_us: now_us - next.packet.arrived_us,
                marked: next.packet.marked,
            });
        }
        self.queues.advance(now_us);
        ModelStep {
            t_us: now_us,
            dequeued,
            dropped: std::mem::take(&mut self.drops.0),
            backlog_pkts: self.queues.backlog_packets(),
            backlog_bytes: self.queues.backlog_bytes(),
            queues: self.seen.iter().filter_map(|&index| self.queue(index)).collect(),
        }
    }

    fn queue(&self, index: usize) -> Option<QueueStep> {
        let state = self.queues.state(index)?;
        Some(QueueStep {
            queue: state.id,
            kind: state.discipline.name(),
            backlog_pkts: state.backlog_packets,
            backlog_bytes: state.backlog_bytes,
            drops: state.stats.dropped_packets,
            marks: state.stats.marked_packets,
            threshold_marks: state.stats.threshold_marked_packets,
            last_sojourn_us: state.stats.last_sojourn_us,
            deficit: state.deficit,
            list: match state.place {
                Place::New => "new",
                Place::First => "first",
                Place::Old => "old",
                Place::Inactive => "inactive",
                Place::Parked => "shaped",
            },
            state: state::inner(&state),
        })
    }
}
