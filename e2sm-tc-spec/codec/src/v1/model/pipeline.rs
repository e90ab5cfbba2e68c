//! The pipeline of a bearer, stage by stage.

use serde::{Deserialize, Serialize};

use super::{Classifier, Pacer, QueueSet, Scheduler};

/// Queue identifier, unique within a pipeline.
pub type QueueId = u16;
/// Filter identifier, unique within a classifier.
pub type FilterId = u16;

/// The whole six-stage pipeline of a bearer: classifier → policer → queue → scheduler → shaper →
/// pacer (irazabal2024 §IV-A). Policers and shapers live with their queue (1:1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Operator-visible name of the composition, e.g. `fq_codel`; at most 64 printable characters.
    pub name: String,
    /// Stage 1.
    pub classifier: Classifier,
    /// Stages 2, 3 and 5: at least one queue set, ids disjoint.
    pub queues: Vec<QueueSet>,
    /// Stage 4.
    pub scheduler: Scheduler,
    /// Stage 6.
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: BufferLimit,
}

/// Bound on all queues of a pipeline together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferLimit {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u32,
    /// Who pays at the limit.
    pub overflow: Overflow,
}

/// What is dropped when the whole buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Overflow {
    /// The arriving packet.
    #[default]
    Tail,
    /// The head of the queue with most bytes (RFC 8290 §4.1).
    FattestHead,
}
