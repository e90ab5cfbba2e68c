//! The template of this project, deployed by default.

use e2sm_tc::v1::{
    AdaptiveCodel, InelasticFirst, Isolation, Overflow, Pacer, Pipeline, QueueDiscipline, Scheduler,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ParameterError;
use super::l4s::{isolating, marking_by_step, threshold};
use super::parameters::{
    Buffer, CodelParameters, DELAY_US, InelasticParameters, QUANTUM_BYTES, QUEUES,
    isolation_schema, pacer, pacer_schema, within,
};
use super::parts::{queues, run};

/// Packet delay budget of 5QI 8 and 9 (TS 23.501 table 5.7.4-1), µs.
pub(super) const BULK_BOUND_US: u32 = 300_000;
/// Least and longest target of CoDel, µs: what a Cubic download needs on a radio of constant rate, and what
/// recorded radios need.
const TARGET_US: u32 = 15_000;
const MAX_TARGET_US: u32 = 100_000;
/// Interval of CoDel, µs: a long usual round trip (RFC 8289 §4.3) with F1 and the radio.
const INTERVAL_US: u32 = 150_000;

/// A queue per flow, sparse flows first, and packets leave only when the MAC builds the transport
/// block that carries them.
///
/// The hash is set-associative with 8 ways (Høiland-Jørgensen et al. 2018 §III-B): among 32
/// downloads a plain hash puts one call in 30 into the queue of a download. Each queue is as short as
/// keeps the radio busy: `adaptive_codel` judges it by what a good radio drains, so that a dip of the
/// radio costs no goodput, and learns how long it must be. Senders that do not react are limited by
/// `bulk_bound_us`. ECT(1) flows (L4S) are marked above `threshold_us`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LowLatency {
    /// Queues of the stochastic hash, as many again for L4S; 1024 (RFC 8290 §4.1.2).
    #[schemars(range(min = 1, max = 2048))]
    pub queues: u16,
    /// Deficit per turn, bytes: a packet of a call (200 to 255) takes one turn, one of a download
    /// five. A sparse flow whose queue is still in the list of old flows then waits for a fifth of a
    /// long packet instead of a whole one, which matters at low radio rates. FQ-CoDel deployments
    /// below 100 Mbit/s use the same value.
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// Sojourn above which L4S queues mark, µs. If absent, the node measures it, as in `fq_l4s`.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub threshold_us: Option<u32>,
    /// Least target of the queues without L4S, µs. The node lengthens it as far as the radio would run
    /// empty.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub target_us: u32,
    /// Longest target, µs; at least `target_us`.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_target_us: u32,
    /// Interval of CoDel, µs; at least `target_us`.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub interval_us: u32,
    /// Whether packets of ECN-capable flows are marked instead of dropped.
    pub ecn: bool,
    /// Longest wait of senders without L4S that do not react to signals, µs; 300 ms, the packet
    /// delay budget of the default bearer (5QI 8 and 9, TS 23.501 table 5.7.4-1). A shorter one shortens
    /// the targets. Unlimited when null.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bulk_bound_us: Option<u32>,
    /// Between whom shares are fair, as CAKE has it: `flows`; `src_host`, `dst_host`, `hosts` with one
    /// queue for each source, destination or pair of both; `dual_src_host`, `dual_dst_host`,
    /// `dual_hosts` with shares for each of these that its flows divide; `triple` of sources and
    /// destinations, whichever has more flows. On the downlink sources are servers: by default a film
    /// keeps its rate beside a download of many connections, and a host behind the UE beside others.
    #[schemars(schema_with = "isolation_schema")]
    pub isolation: Isolation,
    /// Inelastic flows, which drops do not slow, before shares are fair. None when null.
    pub inelastic: Option<InelasticParameters>,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for LowLatency {
    fn default() -> Self {
        Self {
            queues: 1024,
            quantum_bytes: 300,
            threshold_us: None,
            target_us: TARGET_US,
            max_target_us: MAX_TARGET_US,
            interval_us: INTERVAL_US,
            ecn: true,
            bulk_bound_us: Some(BULK_BOUND_US),
            isolation: Isolation::DualHosts,
            inelastic: Some(InelasticParameters::default()),
            pacer: Pacer::JustInTime,
            buffer: Buffer::default(),
        }
    }
}

impl LowLatency {
    /// Eight as in CAKE, or as many as divide the queues.
    fn ways(&self) -> u8 {
        [8, 4, 2].into_iter().find(|ways| self.queues.is_multiple_of(u16::from(*ways))).unwrap_or(1)
    }

    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let (classic, scalable) = (run(0, self.queues), run(self.queues, self.queues));
        let step = marking_by_step(CodelParameters::default(), self.threshold_us);
        Pipeline {
            name: "low_latency".to_owned(),
            classifier: isolating(scalable, classic, Some(self.ways()), self.isolation),
            queues: vec![queues(classic, self.bulk()), queues(scalable, step)],
            scheduler: self.scheduler(),
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    fn scheduler(&self) -> Scheduler {
        let quantum_bytes = self.quantum_bytes;
        match &self.inelastic {
            None => Scheduler::DeficitRoundRobin { quantum_bytes },
            Some(inelastic) => Scheduler::InelasticFirst(InelasticFirst {
                quantum_bytes,
                part_milli: inelastic.part_milli,
                qfis: inelastic.qfis.clone(),
            }),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("queues", self.queues, *QUEUES.start()..=QUEUES.end() / 2)?;
        within("quantum_bytes", self.quantum_bytes, QUANTUM_BYTES)?;
        threshold(self.threshold_us)?;
        within("target_us", self.target_us, DELAY_US)?;
        within("max_target_us", self.max_target_us, self.target_us..=*DELAY_US.end())?;
        within("interval_us", self.interval_us, self.target_us..=*DELAY_US.end())?;
        if let Some(bound_us) = self.bulk_bound_us {
            within("bulk_bound_us", bound_us, DELAY_US)?;
        }
        if let Some(inelastic) = &self.inelastic {
            inelastic.check()?;
        }
        self.buffer.check()
    }

    /// Stage 3 of flows without L4S. A bound below a target shortens it.
    pub(super) fn bulk(&self) -> QueueDiscipline {
        let longest_us = self.bulk_bound_us.unwrap_or(u32::MAX);
        QueueDiscipline::AdaptiveCodel(AdaptiveCodel {
            target_us: self.target_us.min(longest_us),
            max_target_us: self.max_target_us.min(longest_us),
            interval_us: self.interval_us,
            ecn: self.ecn,
            bound_us: self.bulk_bound_us,
        })
    }
}
