//! What is answered.

use serde::Serialize;
use serde_json::Value;

/// The answer to a case.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) id: Value,
    pub(super) steps: Vec<Step>,
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
    /// Of the one queue of `codel`; null for other kinds.
    pub(super) codel: Option<Codel>,
    /// Of `fq_codel`: all flows that had a packet so far, by number.
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
