//! What is answered.

use serde::Serialize;
use serde_json::Value;

/// The answer to a case.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) id: Value,
    pub(super) steps: Steps,
}

/// One step per dequeue event, in the form of the case.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Steps {
    Kind(Vec<Step>),
    Model(Vec<ModelStep>),
}

/// The answer to anything else.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    id: Value,
    error: String,
}

impl Failure {
    pub(super) fn new(id: Value, error: String) -> Self {
        Self { id, error }
    }
}

/// State after one dequeue event; counters are cumulative.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) t_us: u64,
    pub(super) dequeued: Vec<Packet>,
    pub(super) drops: u64,
    pub(super) marks: u64,
    pub(super) ce_threshold_marks: u64,
    pub(super) backlog_pkts: u32,
    pub(super) backlog_bytes: u64,
    /// State of the one queue of `codel`; null for other kinds.
    pub(super) codel: Option<Codel>,
    /// Flows of `fq_codel` that had a packet so far, by number.
    pub(super) flows: Vec<Flow>,
}

/// A packet that came out.
#[derive(Debug, Serialize)]
pub(super) struct Packet {
    pub(super) flow: u32,
    pub(super) size: u32,
    /// Position among the arrivals of the case, from 0.
    pub(super) seq: u64,
    pub(super) marked: bool,
}

/// Inner state of CoDel.
#[derive(Debug, Serialize)]
pub(super) struct Codel {
    pub(super) dropping: bool,
    pub(super) count: u32,
    pub(super) drop_next_us: u64,
}

/// Inner state of one flow queue.
#[derive(Debug, Serialize)]
pub(super) struct Flow {
    pub(super) flow: u32,
    pub(super) deficit: i64,
    pub(super) list: &'static str,
    pub(super) backlog_pkts: u32,
    pub(super) backlog_bytes: u64,
    pub(super) codel: Codel,
}

/// State after one dequeue event of a case with `queues`; counters are cumulative.
#[derive(Debug, Serialize)]
pub(super) struct ModelStep {
    pub(super) t_us: u64,
    pub(super) dequeued: Vec<ModelPacket>,
    /// Packets dropped since the step before.
    pub(super) dropped: Vec<Dropped>,
    pub(super) backlog_pkts: u32,
    pub(super) backlog_bytes: u64,
    /// Queues that had a packet so far, by id.
    pub(super) queues: Vec<QueueStep>,
}

/// A packet that came out.
#[derive(Debug, Serialize)]
pub(super) struct ModelPacket {
    pub(super) queue: u16,
    pub(super) flow: u32,
    pub(super) size: u32,
    /// Position among the arrivals of the case, from 0.
    pub(super) seq: u64,
    pub(super) sojourn_us: u64,
    /// CE was set here.
    pub(super) marked: bool,
}

/// A packet that was dropped.
#[derive(Debug, Serialize)]
pub(super) struct Dropped {
    pub(super) t_us: u64,
    pub(super) flow: u32,
    pub(super) seq: u64,
    pub(super) reason: &'static str,
}

/// One queue.
#[derive(Debug, Serialize)]
pub(super) struct QueueStep {
    pub(super) queue: u16,
    pub(super) kind: &'static str,
    pub(super) backlog_pkts: u32,
    pub(super) backlog_bytes: u64,
    pub(super) drops: u64,
    pub(super) marks: u64,
    /// Marks for the sojourn alone: `ce_threshold`, step or ramp.
    pub(super) threshold_marks: u64,
    pub(super) last_sojourn_us: u64,
    pub(super) deficit: i64,
    pub(super) list: &'static str,
    /// Inner state of the discipline.
    pub(super) state: Value,
}
