//! The pipeline of a bearer.

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation};
use crate::v1::per::*;

use super::{Classifier, Pacer, QueueSet, Scheduler};

/// Queue identifier, unique within a pipeline.
pub type QueueId = u16;
/// Filter identifier, unique within a classifier.
pub type FilterId = u16;
pub(super) type PipelineName = Visible<1, 64>;
/// `Owner` of the ASN.1: identity of a controller.
pub(super) type Owner = Visible<1, 64>;

sequence! {
    /// The whole six-stage pipeline of a bearer: classifier → policer → queue → scheduler → shaper →
    /// pacer (irazabal2024 §IV-A). Each queue has its own policer and shaper.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Pipeline { ...
        /// Name for operators, e.g. `fq_codel`; at most 64 printable characters.
        name: String as PipelineName,
        /// Stage 1.
        classifier: Classifier,
        /// Stages 2, 3 and 5: at least one queue set, ids disjoint.
        queues: Vec<QueueSet> as ListOf<QueueSet, 1, 256>,
        /// Stage 4.
        scheduler: Scheduler,
        /// Stage 6.
        pacer: Pacer,
        /// Bound on all queues together.
        buffer: BufferLimit,
    }
}

sequence! {
    /// Bound on all queues of a pipeline together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BufferLimit { ...
        /// Packets.
        packets: u32 where POSITIVE,
        /// Bytes.
        bytes: u32 where POSITIVE,
        /// What is dropped at the limit.
        overflow: Overflow,
    }
}

enumerated! {
    /// What is dropped when the whole buffer is full.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Overflow { ...
        /// The arriving packet.
        #[default]
        0 "tail" => Tail,
        /// The head of the queue with most bytes (RFC 8290 §4.1).
        1 "fattest_head" => FattestHead,
    }
}
