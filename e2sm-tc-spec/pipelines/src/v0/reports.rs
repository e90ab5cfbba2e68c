//! The v0 indication of the one pipeline there is.
//!
//! v0 has few kinds and no queue ids: other kinds are reported as the nearest that v0 has (v1 has the
//! full status), and queues are in the order of their ids.

use e2sm_tc::v0::{
    ClassifierStatus, DroppingQueue, Filter, IndicationMessage, MarkingQueue, Meter, PacerStatus,
    PacerType, Policer, Queue, QueueStatus, SchedulerStatus, Shaper,
};
use e2sm_tc::v1::{
    self, Classifier, Pipeline, PipelineStatus, Prefix, QueueDiscipline, QueueSet, Scheduler,
};

/// Most queues shown: FlexRIC's receive buffer of 32 KiB holds no more.
const MAX_QUEUES: usize = 200;
const WILDCARD: i64 = -1;
/// Window of the means of the pipeline.
const WINDOW_MS: u32 = 100;

/// Builds the message from the pipeline in force and its state.
///
/// `status` shall contain the totals of every queue with traffic: v0 reports all queues, and a total of
/// 0 in between means a restart of the queue.
pub fn indication(
    pipeline: &Pipeline,
    status: &PipelineStatus,
    tstamp_us: u64,
) -> IndicationMessage {
    IndicationMessage {
        sch: scheduler(&pipeline.scheduler),
        pcr: PacerStatus {
            kind: match pipeline.pacer {
                v1::Pacer::None => PacerType::Dummy,
                _ => PacerType::Bdp5g,
            },
            id: 0,
            mtr: Meter { bnd_flt: status.pacer.drain_kbps as f32, time_window_ms: WINDOW_MS },
        },
        cls: classifier(&pipeline.classifier),
        q: queues(pipeline, status),
        tstamp: tstamp_us as i64,
    }
}

fn scheduler(scheduler: &Scheduler) -> SchedulerStatus {
    match scheduler {
        Scheduler::StrictPriority { order } => SchedulerStatus::Priority {
            q_prio: order
                .iter()
                .flat_map(|target| {
                    (0..target.count).map(|i| u32::from(target.first) + u32::from(i))
                })
                .take(MAX_QUEUES)
                .collect(),
        },
        _ => SchedulerStatus::RoundRobin,
    }
}

fn classifier(classifier: &Classifier) -> ClassifierStatus {
    match classifier {
        Classifier::Osi(osi) => {
            ClassifierStatus::Osi { flt: osi.filters.iter().map(filter).collect() }
        }
        Classifier::RoundRobin(_) => ClassifierStatus::RoundRobin { dummy: 0 },
        _ => ClassifierStatus::Stochastic { dummy: 0 },
    }
}

fn filter(filter: &v1::Filter) -> Filter {
    let rule = &filter.rule;
    let port = |range: &Option<v1::PortRange>| match range {
        Some(range) if range.low == range.high => i32::from(range.low),
        _ => -1,
    };
    Filter {
        id: u32::from(filter.id),
        src_addr: rule.source.as_ref().map_or(WILDCARD, address),
        dst_addr: rule.destination.as_ref().map_or(WILDCARD, address),
        src_port: port(&rule.source_port),
        dst_port: port(&rule.destination_port),
        protocol: rule.protocol.map_or(-1, i32::from),
        l7: 0,
        dst_queue: i32::from(filter.target.first),
    }
}

fn address(prefix: &Prefix) -> i64 {
    match prefix {
        Prefix::V4 { address, length: 32 } => i64::from(u32::from(*address)),
        _ => WILDCARD,
    }
}

fn queues(pipeline: &Pipeline, status: &PipelineStatus) -> Vec<QueueStatus> {
    let ids = pipeline
        .queues
        .iter()
        .flat_map(|set| (0..set.count).map(move |offset| (set.first.saturating_add(offset), set)));
    let mut ids: Vec<_> = ids.take(MAX_QUEUES).collect();
    ids.sort_by_key(|(id, _)| *id);
    ids.into_iter().map(|(id, set)| queue(id, set, status)).collect()
}

fn queue(id: v1::QueueId, set: &QueueSet, status: &PipelineStatus) -> QueueStatus {
    let state = status.queues.iter().find(|queue| queue.id == id);
    let meter = Meter { bnd_flt: 0.0, time_window_ms: WINDOW_MS };
    let number = u32::from(id);
    let dropping = || DroppingQueue {
        bytes: state.map_or(0, |s| s.backlog_bytes),
        pkts: state.map_or(0, |s| s.backlog_packets),
        bytes_fwd: state.map_or(0, |s| s.forwarded_bytes as u32),
        pkts_fwd: state.map_or(0, |s| s.forwarded_packets as u32),
        dropped_pkts: state.map_or(0, |s| s.dropped_packets as u32),
        avg_sojourn_time: state.map_or(0.0, |s| s.mean_sojourn_us as f32),
        last_sojourn_time: state.map_or(0, |s| i64::from(s.last_sojourn_us)),
    };
    let marking = || {
        let all = dropping();
        MarkingQueue {
            bytes: all.bytes,
            pkts: all.pkts,
            bytes_fwd: all.bytes_fwd,
            pkts_fwd: all.pkts_fwd,
            marked_pkts: state.map_or(0, |s| s.marked_packets as u32),
            avg_sojourn_time: all.avg_sojourn_time,
            last_sojourn_time: all.last_sojourn_time,
        }
    };
    QueueStatus {
        shp: Shaper {
            id: number,
            active: u32::from(set.shaper.is_some()),
            max_rate_kbps: set.shaper.map_or(0, |shaper| shaper.rate_kbps),
            mtr: meter,
        },
        plc: Policer {
            id: number,
            mtr: meter,
            dropped_pkts: state.map_or(0, |s| s.policed_packets as u32),
            marked_pkts: 0,
            max_rate_kbps: set.policer.map_or(0.0, |policer| policer.rate_kbps as f32),
            active: u32::from(set.policer.is_some()),
            dst_id: number,
            dev_id: match set.policer.map(|policer| policer.exceed) {
                Some(v1::ExceedAction::Deviate { queue }) => u32::from(queue),
                _ => number,
            },
        },
        queue: match &set.discipline {
            QueueDiscipline::Fifo { .. } => Queue::Fifo(dropping()),
            QueueDiscipline::Codel(codel) if codel.ecn => Queue::EcnCodel(marking()),
            _ => Queue::Codel(dropping()),
        },
    }
}
