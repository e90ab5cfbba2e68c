//! Runs one case of `fifo`, `codel` or `fq_codel`.

use std::collections::BTreeSet;

use e2sm_tc::v1::{BufferLimit, FifoDrop, Overflow};
use tc_rf::queueing::{
    CodelParams, Discipline, Place, QueueConfig, QueueRules, QueueState, Queues, SchedulerConfig,
};

use super::input::{Enqueue, Kind, KindCase, Queue};
use super::output::{Codel, Flow, Packet, Step};
use super::packet::Replayed;

/// The steps of a case, one per dequeue event.
pub(super) fn replay(case: &KindCase) -> Vec<Step> {
    let mut bench = Bench::new(case);
    let mut steps = Vec::new();
    for event in &case.events {
        if let Some(enq) = event.enq {
            bench.enqueue(enq, event.t_us);
        }
        if let Some(count) = event.deq {
            steps.push(bench.dequeue(count, event.t_us));
        }
    }
    steps
}

struct Bench {
    kind: Kind,
    queues: Queues<Replayed>,
    /// Flow of each queue, ascending; one queue for all unless it is FQ-CoDel.
    flows: Vec<u32>,
    seen: BTreeSet<u32>,
    /// Packets marked so far, by queue.
    marked: Vec<u64>,
}

impl Bench {
    fn new(case: &KindCase) -> Self {
        let parameters = &case.queue;
        let flows: Vec<u32> = match parameters.kind {
            Kind::Fifo | Kind::Codel => vec![0],
            Kind::FqCodel => {
                let flows = case.events.iter().filter_map(|event| event.enq);
                flows.map(|enq| enq.flow).collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        let config = queue(parameters);
        let (scheduler, buffer) = scheduling(parameters);
        let queues = Queues::new(&vec![config; flows.len()], &scheduler, buffer);
        let marked = vec![0; flows.len()];
        Self { kind: parameters.kind, queues, flows, seen: BTreeSet::new(), marked }
    }

    fn index(&self, flow: u32) -> usize {
        match self.kind {
            Kind::Fifo | Kind::Codel => 0,
            Kind::FqCodel => self.flows.partition_point(|&other| other < flow),
        }
    }

    fn enqueue(&mut self, enq: Enqueue, now_us: u64) {
        let packet = Replayed::new(&enq, 0);
        self.seen.insert(enq.flow);
        // Every flow of the case has its queue.
        let _ = self.queues.enqueue(self.index(enq.flow), packet, now_us, &mut ());
    }

    fn dequeue(&mut self, count: u32, now_us: u64) -> Step {
        let mut dequeued = Vec::new();
        for _ in 0..count {
            let Some(next) = self.queues.dequeue(now_us, &mut ()) else { break };
            dequeued.push(Packet {
                flow: next.packet.flow,
                size: next.packet.size,
                seq: next.sequence,
                marked: self.took_mark(next.queue),
            });
        }
        Step {
            t_us: now_us,
            dequeued,
            drops: self.total(|state| state.stats.dropped_packets),
            marks: self.total(|state| state.stats.marked_packets),
            ce_threshold_marks: self.total(|state| state.stats.threshold_marked_packets),
            backlog_pkts: self.queues.backlog_packets(),
            backlog_bytes: self.queues.backlog_bytes(),
            codel: match self.kind {
                Kind::Codel => self.queues.state(0).map(|state| codel(&state)),
                Kind::Fifo | Kind::FqCodel => None,
            },
            flows: match self.kind {
                Kind::FqCodel => self.flow_states(),
                Kind::Fifo | Kind::Codel => Vec::new(),
            },
        }
    }

    /// Whether the packet that just left `queue` was marked there.
    fn took_mark(&mut self, queue: usize) -> bool {
        let now = self
            .queues
            .state(queue)
            .map_or(0, |state| state.stats.marked_packets + state.stats.threshold_marked_packets);
        self.marked.get_mut(queue).is_some_and(|before| std::mem::replace(before, now) < now)
    }

    fn total(&self, counter: impl Fn(QueueState) -> u64) -> u64 {
        (0..self.flows.len()).filter_map(|index| self.queues.state(index)).map(counter).sum()
    }

    fn flow_states(&self) -> Vec<Flow> {
        let states = self.seen.iter().map(|&flow| (flow, self.queues.state(self.index(flow))));
        states
            .filter_map(|(flow, state)| {
                let state = state?;
                Some(Flow {
                    flow,
                    deficit: state.deficit,
                    list: match state.place {
                        Place::New => "new",
                        Place::First => "first",
                        Place::Old => "old",
                        Place::Inactive | Place::Parked => "inactive",
                    },
                    backlog_pkts: state.backlog_packets,
                    backlog_bytes: state.backlog_bytes,
                    codel: codel(&state),
                })
            })
            .collect()
    }
}

fn codel(state: &QueueState) -> Codel {
    Codel {
        dropping: state.codel.dropping(),
        count: state.codel.count(),
        drop_next_us: state.codel.drop_next_us(),
    }
}

fn queue(parameters: &Queue) -> QueueConfig {
    let discipline = match parameters.kind {
        Kind::Fifo => Discipline::Fifo { drop: FifoDrop::Tail },
        Kind::Codel | Kind::FqCodel => Discipline::Codel(CodelParams {
            target_us: u64::from(parameters.target_us),
            interval_us: u64::from(parameters.interval_us),
            ecn: parameters.ecn,
            ce_threshold_us: parameters.ce_threshold_us.map(u64::from),
            l4s: parameters.l4s,
            mtu_bytes: u64::from(parameters.mtu_bytes),
        }),
    };
    QueueConfig {
        id: 0,
        rules: QueueRules { discipline, limit_packets: u32::MAX, limit_bytes: u32::MAX },
    }
}

fn scheduling(parameters: &Queue) -> (SchedulerConfig, BufferLimit) {
    let (scheduler, overflow) = match parameters.kind {
        Kind::Fifo | Kind::Codel => (SchedulerConfig::RoundRobin, Overflow::Tail),
        Kind::FqCodel => {
            let quantum_bytes = parameters.quantum_bytes;
            (SchedulerConfig::DeficitRoundRobin { quantum_bytes }, Overflow::FattestHead)
        }
    };
    (scheduler, BufferLimit { packets: parameters.limit_pkts, bytes: u32::MAX, overflow })
}
