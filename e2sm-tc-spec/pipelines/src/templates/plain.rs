//! One FIFO.

use e2sm_tc::v1::{
    BufferLimit, Classifier, FifoDrop, Overflow, Pacer, Pipeline, QueueDiscipline, Scheduler,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ParameterError;
use super::parameters::{Buffer, PACER, pacer, pacer_schema};
use super::parts::{FIFO, one, queues};

/// The usual safe pipeline: [`Transparent`].
pub fn transparent() -> Pipeline {
    Transparent {}.pipeline()
}

/// One deep FIFO that holds nothing back: what the gNB does without traffic control. The usual
/// safe pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transparent {}

impl Transparent {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        Pipeline {
            name: "transparent".to_owned(),
            classifier: Classifier::RoundRobin(one(0)),
            queues: vec![queues(one(0), FIFO)],
            scheduler: Scheduler::RoundRobin,
            pacer: Pacer::None,
            buffer: BufferLimit { packets: 65_536, bytes: 64 << 20, overflow: Overflow::Tail },
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }
}

/// One FIFO and a pacer. It moves the queue out of the RLC, where nothing can be done about it;
/// within the bearer every flow still waits for every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BdpOnly {
    /// Which end a full FIFO drops: `tail` or `head`.
    #[schemars(with = "Value", extend("enum" = ["tail", "head"]))]
    pub drop: FifoDrop,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on the queue.
    pub buffer: Buffer,
}

impl Default for BdpOnly {
    fn default() -> Self {
        Self { drop: FifoDrop::Tail, pacer: PACER, buffer: Buffer::default() }
    }
}

impl BdpOnly {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        Pipeline {
            name: "bdp_only".to_owned(),
            queues: vec![queues(one(0), QueueDiscipline::Fifo { drop: self.drop })],
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::Tail),
            ..transparent()
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.buffer.check()
    }
}
