//! L4S traffic in queues of its own.

use e2sm_tc::v1::{
    Classifier, Codel, Isolation, L4sEcnClassifier, Overflow, Pacer, Pipeline, QueueDiscipline,
    QueueTarget, QueueWeight, Scheduler,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ParameterError;
use super::parameters::{
    Buffer, CodelParameters, DELAY_US, FlowScheduler, PACER, QUANTUM_BYTES, QUEUES, pacer,
    pacer_schema, within,
};
use super::parts::{between, codel, one, queues, run};
use crate::limits::MTU_BYTES;

/// A classifier by ECN as RFC 9331 §5.1 and §5.3 classify.
pub(super) fn by_ecn(l4s: QueueTarget, classic: QueueTarget, ways: Option<u8>) -> Classifier {
    Classifier::L4sEcn(L4sEcnClassifier::new(l4s, classic, ways))
}

/// The same, with shares between others than flows.
pub(super) fn isolating(
    l4s: QueueTarget,
    classic: QueueTarget,
    ways: Option<u8>,
    isolation: Isolation,
) -> Classifier {
    let isolation = (isolation != Isolation::Flows).then_some(isolation);
    Classifier::L4sEcn(L4sEcnClassifier { isolation, ..L4sEcnClassifier::new(l4s, classic, ways) })
}

/// CoDel that marks ECT(1) by a step (RFC 8290 §4.2 `ce_threshold`).
pub(super) fn marking_by_step(
    parameters: CodelParameters,
    threshold_us: Option<u32>,
) -> QueueDiscipline {
    QueueDiscipline::Codel(Codel { ce_threshold_us: threshold_us, l4s: true, ..codel(parameters) })
}

/// Refuses a threshold out of range.
pub(super) fn threshold(threshold_us: Option<u32>) -> Result<(), ParameterError> {
    threshold_us.map_or(Ok(()), |threshold_us| within("threshold_us", threshold_us, DELAY_US))
}

/// The DualQ of L4S as irazabal2024 §IV-B composes it: a classifier by ECN (RFC 9331 §5.1), two
/// queues under coupled DualPI2 (RFC 9332), which share by weight, and a pacer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct L4s {
    /// Delay target of the classic queue, µs; 15 ms (RFC 9332 appendix A.1).
    #[schemars(range(min = 1, max = 10_000_000))]
    pub classic_target_us: u32,
    /// Update period of the controller, µs: the lesser of the target and a third of the longest
    /// round trip, 15 ms (RFC 9332 appendix A.1).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub classic_update_us: u32,
    /// Coupling factor in thousandths; 2 (RFC 9332 appendix A.1).
    #[schemars(range(min = 1, max = 100_000))]
    pub coupling_milli: u32,
    /// Share of the radio that the classic queue has at least while both wait, %; 10, as in Linux's DualPI2
    /// (RFC 9332 §4.2.2, weighted). L waits for a packet of an unresponsive classic flow, not for its queue.
    #[schemars(range(min = 1, max = 50))]
    pub classic_protection_pct: u8,
    /// Age that a classic packet has to have beyond an L4S packet's to go first, µs: the
    /// time-shifted FIFO of RFC 9332 appendix A in place of the share. It makes L wait for as long
    /// as an unresponsive classic flow keeps its queue longer.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub time_shift_us: Option<u32>,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on both queues together.
    pub buffer: Buffer,
}

impl Default for L4s {
    fn default() -> Self {
        Self {
            classic_target_us: 15_000,
            classic_update_us: 15_000,
            coupling_milli: 2_000,
            classic_protection_pct: 10,
            time_shift_us: None,
            pacer: PACER,
            buffer: Buffer::default(),
        }
    }
}

impl L4s {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let pair = QueueDiscipline::DualPi2 {
            target_us: self.classic_target_us,
            update_us: self.classic_update_us,
            coupling_milli: self.coupling_milli,
        };
        Pipeline {
            name: "l4s".to_owned(),
            classifier: by_ecn(one(0), one(1), None),
            queues: vec![queues(run(0, 2), pair)],
            scheduler: self.scheduler(),
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    fn scheduler(&self) -> Scheduler {
        if let Some(time_shift_us) = self.time_shift_us {
            return Scheduler::ConditionalPriority { l4s: 0, classic: 1, time_shift_us };
        }
        // Turns as short as the share allows: by the largest divisor in common.
        let classic = self.classic_protection_pct;
        let divisors = [50_u8, 25, 20, 10, 5, 4, 2];
        let common = divisors.into_iter().find(|n| classic.is_multiple_of(*n)).unwrap_or(1);
        let weight = |queue, pct: u8| QueueWeight {
            target: one(queue),
            weight: pct / common,
            shared: false,
        };
        let weights = vec![weight(0, 100_u8.saturating_sub(classic)), weight(1, classic)];
        Scheduler::Weighted { quantum_bytes: MTU_BYTES, weights }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("classic_target_us", self.classic_target_us, DELAY_US)?;
        within("classic_update_us", self.classic_update_us, 1..=1_000_000)?;
        within("coupling_milli", self.coupling_milli, 1..=100_000)?;
        within("classic_protection_pct", self.classic_protection_pct, 1..=50)?;
        if let Some(time_shift_us) = self.time_shift_us {
            within("time_shift_us", time_shift_us, DELAY_US)?;
        }
        self.buffer.check()
    }
}

/// L4S with a queue per flow: ECT(1) and CE packets in queues marked by a step, the rest as in `fq_codel`; all flows of both kinds share by DRR, which does what the coupling does
/// in `l4s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqL4s {
    /// Queues of the stochastic hash, as many again for L4S; 1024 (RFC 8290 §4.1.2).
    #[schemars(range(min = 1, max = 2048))]
    pub queues: u16,
    /// Sojourn above which L4S queues mark, µs. If absent, 2 ms and the longest recent gap between
    /// departures from the bearer, which the node measures: a slot without downlink, a grant of
    /// another UE, a packet on a slow radio.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub threshold_us: Option<u32>,
    /// Deficit per turn, bytes; one Ethernet frame of 1514 (RFC 8290 §4.2).
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// CoDel of the queues without L4S.
    pub codel: CodelParameters,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for FqL4s {
    fn default() -> Self {
        Self {
            queues: 1024,
            threshold_us: None,
            quantum_bytes: 1514,
            codel: CodelParameters::default(),
            pacer: PACER,
            buffer: Buffer::default(),
        }
    }
}

impl FqL4s {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let (classic, scalable) = (run(0, self.queues), run(self.queues, self.queues));
        Pipeline {
            name: "fq_l4s".to_owned(),
            classifier: by_ecn(scalable, classic, None),
            queues: vec![
                queues(classic, QueueDiscipline::Codel(codel(self.codel))),
                queues(scalable, marking_by_step(self.codel, self.threshold_us)),
            ],
            scheduler: between(FlowScheduler::default(), self.quantum_bytes, 0),
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("queues", self.queues, *QUEUES.start()..=QUEUES.end() / 2)?;
        threshold(self.threshold_us)?;
        within("quantum_bytes", self.quantum_bytes, QUANTUM_BYTES)?;
        self.codel.check()?;
        self.buffer.check()
    }
}
