//! Classes by DSCP.

use e2sm_tc::v1::{Overflow, Pacer, Pipeline, QueueDiscipline, QueueSet, QueueWeight, Scheduler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ParameterError;
use super::parameters::{
    Buffer, CodelParameters, DELAY_US, PACER, QUEUES, pacer, pacer_schema, within,
};
use super::parts::{FIFO, codel, marked, one, osi, queues, run};
use crate::limits::MTU_BYTES;

/// A class of `cake_diffserv`.
struct Tin {
    dscps: &'static [u8],
    weight: u8,
}

/// The four tins of CAKE's `diffserv4` (tc-cake(8)) with the weights they share an unshaped link
/// by: 1, 1/16, 1/2 and 1/4 of best effort. Of the codepoint that `diffserv4` reads as TOS1 or LE,
/// LE stays (RFC 8622).
const TINS: [Tin; 4] = [
    // Best effort: all that no other tin names.
    Tin { dscps: &[], weight: 16 },
    // Bulk: CS1, LE.
    Tin { dscps: &[8, 1], weight: 1 },
    // Video: AF4x, AF3x, CS3, AF2x, CS2, TOS4.
    Tin { dscps: &[34, 36, 38, 26, 28, 30, 24, 18, 20, 22, 16, 4], weight: 8 },
    // Voice: CS7, CS6, EF, VOICE-ADMIT, CS5, CS4.
    Tin { dscps: &[56, 48, 46, 44, 40, 32], weight: 4 },
];

/// Bytes per unit of weight. Small, since a packet may wait for the other tins for a whole round of 29
/// units; 256 is the minimum of `quantum_bytes`.
const TIN_QUANTUM_BYTES: u32 = 256;

/// CAKE's DiffServ mode (Høiland-Jørgensen et al. 2018 §III): four tins by DSCP that share by weight,
/// in each of them COBALT queues by flow hash. Unlike in CAKE, the hash within a tin is not
/// set-associative, hosts are not separated, and a pacer replaces the shaper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeDiffserv {
    /// Queues of all tins together; 1024 (RFC 8290 §4.1.2).
    #[schemars(range(min = 1, max = 4096))]
    pub queues: u16,
    /// CoDel of each COBALT queue.
    pub codel: CodelParameters,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for CakeDiffserv {
    fn default() -> Self {
        Self {
            queues: 1024,
            codel: CodelParameters::default(),
            pacer: PACER,
            buffer: Buffer::default(),
        }
    }
}

impl CakeDiffserv {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let flows = self.queues.div_ceil(TINS.len() as u16).max(1);
        let target = |tin: u16| run(tin * flows, flows);
        let tins = || (0u16..).zip(&TINS).map(|(id, tin)| (target(id), tin));
        let rules = tins()
            .flat_map(|(target, tin)| tin.dscps.iter().map(move |&dscp| (marked(dscp), target)));
        let weights =
            tins().map(|(target, tin)| QueueWeight { target, weight: tin.weight, shared: true });
        Pipeline {
            name: "cake_diffserv".to_owned(),
            classifier: osi(rules, target(0)),
            queues: tins()
                .map(|(target, _)| queues(target, QueueDiscipline::Cobalt(codel(self.codel))))
                .collect(),
            scheduler: Scheduler::Weighted {
                quantum_bytes: TIN_QUANTUM_BYTES,
                weights: weights.collect(),
            },
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("queues", self.queues, QUEUES)?;
        self.codel.check()?;
        self.buffer.check()
    }
}

/// One class of `bode_diffserv`: what is marked for it and how long it may wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundedClass {
    /// DSCPs, 0 to 63.
    #[schemars(inner(range(min = 0, max = 63)))]
    pub dscps: Vec<u8>,
    /// BoDe's bound, µs.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bound_us: u32,
}

/// DiffServ with bounded delay (abbasloo2019 §VII-C): a BoDe queue per class, in strict priority,
/// and a tail-drop FIFO for what has no delay requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BodeDiffserv {
    /// Classes from highest to lowest; what none names comes last, without a bound.
    pub classes: Vec<BoundedClass>,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together, half of it on what has no class.
    pub buffer: Buffer,
}

impl Default for BodeDiffserv {
    fn default() -> Self {
        Self { classes: abbasloo2019_classes(), pacer: PACER, buffer: Buffer::default() }
    }
}

/// Classes 1 and 2 of abbasloo2019 §VII-C: applications that need less than 50 ms and less than
/// 100 ms. The paper leaves the DSCPs to the servers; these are the service classes of RFC 4594
/// §2.3 that are so sensitive: telephony, real-time interactive and signalling (EF, VOICE-ADMIT,
/// CS4, CS5), then multimedia conferencing and streaming and broadcast video (AF4x, AF3x, CS3).
fn abbasloo2019_classes() -> Vec<BoundedClass> {
    vec![
        BoundedClass { dscps: vec![46, 44, 32, 40], bound_us: 50_000 },
        BoundedClass { dscps: vec![34, 36, 38, 26, 28, 30, 24], bound_us: 100_000 },
    ]
}

impl BodeDiffserv {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let rest = self.classes.len() as u16;
        let classes = || (0u16..).zip(&self.classes);
        let rules = classes()
            .flat_map(|(id, class)| class.dscps.iter().map(move |&dscp| (marked(dscp), one(id))));
        let mut sets: Vec<_> = classes()
            .map(|(id, class)| {
                queues(
                    one(id),
                    QueueDiscipline::Bode { bound_us: class.bound_us, spare_bytes: None },
                )
            })
            .collect();
        // Tail drop at half the buffer, so that the rest cannot take the room of the classes.
        sets.push(QueueSet {
            limit_packets: Some((self.buffer.packets / 2).max(1)),
            limit_bytes: Some((self.buffer.bytes / 2).max(MTU_BYTES)),
            ..queues(one(rest), FIFO)
        });
        Pipeline {
            name: "bode_diffserv".to_owned(),
            classifier: osi(rules, one(rest)),
            queues: sets,
            scheduler: Scheduler::StrictPriority { order: (0..=rest).map(one).collect() },
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("classes", self.classes.len(), 0..=64)?;
        for (i, class) in self.classes.iter().enumerate() {
            within(&format!("classes[{i}].bound_us"), class.bound_us, DELAY_US)?;
            for dscp in &class.dscps {
                within(&format!("classes[{i}].dscps"), *dscp, 0..=63)?;
            }
        }
        self.buffer.check()
    }
}
