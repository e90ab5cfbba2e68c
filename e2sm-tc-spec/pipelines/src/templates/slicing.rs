//! Listed flows, separate from the rest.

use e2sm_tc::v1::{
    FiveTuple, FlowMatch, Overflow, Pacer, Pipeline, QueueDiscipline, QueueSet, Scheduler, Shaper,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ParameterError;
use super::parameters::{
    Buffer, CodelParameters, FlowScheduler, PACER, QUANTUM_BYTES, check_matches, pacer,
    pacer_schema, within,
};
use super::parts::{FIFO, between, codel, exactly, one, osi, queues, run};

/// What a classifier of any node may hold; nodes declare their own bound.
const MAX_FILTERS: usize = 4096;

/// The greedy flows in a second CoDel queue (irazabal2024 §V-C, the game case). The queues are
/// served by DRR where the paper has packet round robin, which favours the longer packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegregateGreedy {
    /// The flows to set apart, E2SM-TC `FiveTuple`s.
    #[schemars(with = "Vec<Value>")]
    pub greedy: Vec<FiveTuple>,
    /// Between the two queues; `strict_priority` serves the other flows first.
    pub scheduler: FlowScheduler,
    /// Deficit per turn, bytes; one Ethernet frame of 1514 (RFC 8290 §4.2).
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// CoDel of both queues.
    pub codel: CodelParameters,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on both queues together.
    pub buffer: Buffer,
}

impl Default for SegregateGreedy {
    fn default() -> Self {
        Self {
            greedy: Vec::new(),
            scheduler: FlowScheduler::default(),
            quantum_bytes: 1514,
            codel: CodelParameters::default(),
            pacer: PACER,
            buffer: Buffer::default(),
        }
    }
}

impl SegregateGreedy {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let filters = self.greedy.iter().map(exactly);
        Pipeline {
            name: "segregate_greedy".to_owned(),
            classifier: osi(filters.map(|rule| (rule, one(1))), one(0)),
            queues: vec![queues(run(0, 2), QueueDiscipline::Codel(codel(self.codel)))],
            scheduler: between(self.scheduler, self.quantum_bytes, 2),
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("greedy", self.greedy.len(), 0..=MAX_FILTERS)?;
        within("quantum_bytes", self.quantum_bytes, QUANTUM_BYTES)?;
        self.codel.check()?;
        self.buffer.check()
    }
}

/// One slice of `flow_slicing`: the flows of a queue and the rate it is held to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Packets that match any of these belong to the slice, E2SM-TC `FlowMatch`es.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub matches: Vec<FlowMatch>,
    /// Flows that belong to the slice, E2SM-TC `FiveTuple`s.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub flows: Vec<FiveTuple>,
    /// Rate limit, an E2SM-TC `Shaper`; none when absent.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    pub shaper: Option<Shaper>,
}

/// A FIFO per slice, in turn, each with its shaper (irazabal2024 §V-B); queue 0 has the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowSlicing {
    /// Queues 1 and up.
    pub slices: Vec<Slice>,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for FlowSlicing {
    fn default() -> Self {
        Self { slices: Vec::new(), pacer: PACER, buffer: Buffer::default() }
    }
}

impl FlowSlicing {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let slices = || (1..).zip(&self.slices);
        let rules = slices().flat_map(|(id, slice)| {
            let flows = slice.flows.iter().map(exactly);
            slice.matches.iter().cloned().chain(flows).map(move |rule| (rule, one(id)))
        });
        let mut sets = vec![queues(one(0), FIFO)];
        sets.extend(
            slices().map(|(id, slice)| QueueSet { shaper: slice.shaper, ..queues(one(id), FIFO) }),
        );
        Pipeline {
            name: "flow_slicing".to_owned(),
            classifier: osi(rules, one(0)),
            queues: sets,
            scheduler: Scheduler::RoundRobin,
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("slices", self.slices.len(), 0..=MAX_FILTERS - 1)?;
        let rules: usize =
            self.slices.iter().map(|slice| slice.matches.len() + slice.flows.len()).sum();
        within("slices: rules", rules, 0..=MAX_FILTERS)?;
        for (i, slice) in self.slices.iter().enumerate() {
            check_matches(&format!("slices[{i}]"), &slice.matches)?;
        }
        self.buffer.check()
    }
}
