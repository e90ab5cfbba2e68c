//! v0 reports as v1 pipeline status.
//!
//! v0 has no head-of-line age: the longest last sojourn among the queues that hold packets stands for
//! it. It has no ingress counters: what was forwarded, dropped and is queued adds up to them. Its
//! counters have 32 bits and are extended here. Units that v0 leaves open are taken as µs for sojourn
//! times and kbit/s for the bandwidth of the pacer.

use std::collections::BTreeMap;

use e2sm_tc::v0::{IndicationMessage, Queue, QueueStatus as ReportedQueue};
use e2sm_tc::v1::{BearerId, PacerStatus, PipelineStatus, QueueId, QueueStatus};
use serde::Deserialize;

use super::state::{NodeState, numbers_of};

/// A counter that seems to have grown by at least this much restarted from 0.
const RESTART: u32 = 1 << 31;

/// The parts of a pipeline status that neither [`NodeState`] nor the report has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BearerContext {
    /// The bearer of the one pipeline.
    pub bearer: BearerId,
    /// Revision in force.
    pub revision: u32,
    /// Lease left, ms; absent without lease.
    pub lease_left_ms: Option<u32>,
    /// Who installed the pipeline.
    pub owner: Option<String>,
    /// Occupancy of the RLC buffer, from RLC reports.
    pub rlc_occupancy_bytes: u32,
}

/// The counters of a node's queues since its first report.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    queues: BTreeMap<QueueId, Extended>,
    /// Counts of queues that were removed.
    retired: Totals,
}

#[derive(Clone, Copy, Debug, Default)]
struct Extended {
    reported: Totals,
    total: Totals,
}

impl Counters {
    /// Takes the next report, in the order of their time stamps.
    pub fn take(&mut self, report: &IndicationMessage) {
        let numbers = numbers_of(report);
        let retired = &mut self.retired;
        self.queues.retain(|id, counters| {
            let kept = numbers.contains(id);
            if !kept {
                retired.add(&counters.total);
            }
            kept
        });
        for (id, status) in numbers.into_iter().zip(&report.q) {
            let counters = self.queues.entry(id).or_default();
            let reported = Totals::reported(status);
            counters.total.add(&reported.since(&counters.reported));
            counters.reported = reported;
        }
    }

    fn of_queue(&self, queue: QueueId) -> Totals {
        self.queues.get(&queue).map(|counters| counters.total).unwrap_or_default()
    }

    /// All queues there are and were.
    fn of_bearer(&self) -> Totals {
        let mut sum = self.retired;
        self.queues.values().for_each(|counters| sum.add(&counters.total));
        sum
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    forwarded_packets: u64,
    forwarded_bytes: u64,
    dropped_packets: u64,
    marked_packets: u64,
    policed_packets: u64,
}

impl Totals {
    fn reported(status: &ReportedQueue) -> Self {
        let queue = Reading::of(&status.queue);
        Self {
            forwarded_packets: queue.forwarded_packets.into(),
            forwarded_bytes: queue.forwarded_bytes.into(),
            dropped_packets: queue.dropped_packets.into(),
            marked_packets: queue.marked_packets.into(),
            policed_packets: status.plc.dropped_pkts.into(),
        }
    }

    fn each(&mut self) -> [&mut u64; 5] {
        [
            &mut self.forwarded_packets,
            &mut self.forwarded_bytes,
            &mut self.dropped_packets,
            &mut self.marked_packets,
            &mut self.policed_packets,
        ]
    }

    fn add(&mut self, other: &Self) {
        let mut other = *other;
        self.each().into_iter().zip(other.each()).for_each(|(sum, part)| *sum += *part);
    }

    /// Growth of reported counters of 32 bits since `before`.
    fn since(mut self, before: &Self) -> Self {
        let mut before = *before;
        for (now, before) in self.each().into_iter().zip(before.each()) {
            let grown = (*now as u32).wrapping_sub(*before as u32);
            if grown < RESTART {
                *now = grown.into();
            }
        }
        self
    }
}

/// One queue of a report.
struct Reading {
    backlog_bytes: u32,
    backlog_packets: u32,
    forwarded_bytes: u32,
    forwarded_packets: u32,
    dropped_packets: u32,
    marked_packets: u32,
    mean_sojourn: f32,
    last_sojourn: i64,
}

impl Reading {
    fn of(queue: &Queue) -> Self {
        match *queue {
            Queue::Fifo(queue) | Queue::Codel(queue) => Self {
                backlog_bytes: queue.bytes,
                backlog_packets: queue.pkts,
                forwarded_bytes: queue.bytes_fwd,
                forwarded_packets: queue.pkts_fwd,
                dropped_packets: queue.dropped_pkts,
                marked_packets: 0,
                mean_sojourn: queue.avg_sojourn_time,
                last_sojourn: queue.last_sojourn_time,
            },
            Queue::EcnCodel(queue) => Self {
                backlog_bytes: queue.bytes,
                backlog_packets: queue.pkts,
                forwarded_bytes: queue.bytes_fwd,
                forwarded_packets: queue.pkts_fwd,
                dropped_packets: 0,
                marked_packets: queue.marked_pkts,
                mean_sojourn: queue.avg_sojourn_time,
                last_sojourn: queue.last_sojourn_time,
            },
        }
    }
}

/// The v1 status of the one pipeline, with all its queues; a report leaves out those without packets
/// and without traffic since the last. `counters` have taken the report.
pub fn lift(
    report: &IndicationMessage,
    counters: &Counters,
    state: &NodeState,
    context: &BearerContext,
) -> PipelineStatus {
    let (mut longest_us, mut backlog_bytes, mut backlog_packets) = (0, 0, 0);
    let mut queues = Vec::with_capacity(report.q.len());
    for (id, status) in numbers_of(report).into_iter().zip(&report.q) {
        let (queue, total) = (Reading::of(&status.queue), counters.of_queue(id));
        let last_sojourn_us = queue.last_sojourn.clamp(0, u32::MAX.into()) as u32;
        if queue.backlog_packets > 0 {
            longest_us = last_sojourn_us.max(longest_us);
        }
        backlog_bytes += u64::from(queue.backlog_bytes);
        backlog_packets += u64::from(queue.backlog_packets);
        queues.push(QueueStatus {
            id: state.v1_id(id),
            backlog_bytes: queue.backlog_bytes,
            backlog_packets: queue.backlog_packets,
            forwarded_packets: total.forwarded_packets,
            forwarded_bytes: total.forwarded_bytes,
            dropped_packets: total.dropped_packets,
            marked_packets: total.marked_packets,
            policed_packets: total.policed_packets,
            mean_sojourn_us: queue.mean_sojourn as u32,
            last_sojourn_us,
            shaped: false,
        });
    }
    let all = counters.of_bearer();
    PipelineStatus {
        bearer: context.bearer,
        revision: context.revision,
        name: state.pipeline().name.clone(),
        // v0 has other queues than the transaction named, and does not report everything.
        digest: None,
        safe: state.is_safe(),
        lease_left_ms: context.lease_left_ms,
        owner: context.owner.clone(),
        head_of_line_age_us: longest_us,
        queues,
        pacer: PacerStatus {
            // Casts of floats saturate, and NaN becomes 0.
            drain_kbps: report.pcr.mtr.bnd_flt as u32,
            rlc_occupancy_bytes: context.rlc_occupancy_bytes,
            forwarded_bytes: all.forwarded_bytes,
            limit_bytes: None,
            by_forecast: None,
        },
        ingress_packets: all.forwarded_packets + all.dropped_packets + backlog_packets,
        ingress_bytes: all.forwarded_bytes + backlog_bytes,
        dropped_packets: all.dropped_packets + all.policed_packets,
        by_default: None,
        qos: None,
        qos_flows: None,
    }
}
