//! Queues by flow hash, with fair shares.

use e2sm_tc::v1::{Overflow, Pacer, Pipeline, QueueDiscipline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ParameterError;
use super::parameters::{
    Buffer, CodelParameters, DELAY_US, FlowScheduler, PACER, QUANTUM_BYTES, QUEUES, pacer,
    pacer_schema, within,
};
use super::parts::{between, codel, hash, queues, run};

/// FQ-CoDel (RFC 8290) with a pacer: stochastic hash, CoDel queues, DRR (irazabal2024 §IV-B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodel {
    /// Queues of the stochastic hash; 1024 (RFC 8290 §4.1.2).
    #[schemars(range(min = 1, max = 4096))]
    pub queues: u16,
    /// Between the queues.
    pub scheduler: FlowScheduler,
    /// Deficit per turn, bytes; one Ethernet frame of 1514 (RFC 8290 §4.2).
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// CoDel of each queue.
    pub codel: CodelParameters,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for FqCodel {
    fn default() -> Self {
        Self {
            queues: 1024,
            scheduler: FlowScheduler::default(),
            quantum_bytes: 1514,
            codel: CodelParameters::default(),
            pacer: PACER,
            buffer: Buffer::default(),
        }
    }
}

impl FqCodel {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let flows = run(0, self.queues);
        Pipeline {
            name: "fq_codel".to_owned(),
            classifier: hash(flows),
            queues: vec![queues(flows, QueueDiscipline::Codel(codel(self.codel)))],
            scheduler: between(self.scheduler, self.quantum_bytes, self.queues),
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("queues", self.queues, QUEUES)?;
        within("quantum_bytes", self.quantum_bytes, QUANTUM_BYTES)?;
        self.codel.check()?;
        self.buffer.check()
    }
}

/// FQ-CoDel paced by forecasts of the RLC buffer, for a CU whose reports are old when they arrive
/// (stolidis2024 §III, with DRQL where no forecast is at hand).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrqlForecast {
    /// Queues of the stochastic hash; 1024 (RFC 8290 §4.1.2).
    #[schemars(range(min = 1, max = 4096))]
    pub queues: u16,
    /// Deficit per turn, bytes; one Ethernet frame of 1514 (RFC 8290 §4.2).
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// CoDel of each queue.
    pub codel: CodelParameters,
    /// Age of a forecast from which on it paces by the last report, µs. Half a second: a forecaster
    /// like that of stolidis2024 answers each 400 ms.
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub stale_us: u32,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for DrqlForecast {
    fn default() -> Self {
        let FqCodel { queues, quantum_bytes, codel, buffer, .. } = FqCodel::default();
        Self { queues, quantum_bytes, codel, stale_us: 500_000, buffer }
    }
}

impl DrqlForecast {
    fn fair(&self) -> FqCodel {
        let Self { queues, quantum_bytes, codel, stale_us, buffer } = *self;
        let pacer = Pacer::Forecast { stale_us };
        FqCodel { queues, quantum_bytes, codel, pacer, buffer, ..FqCodel::default() }
    }

    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        Pipeline { name: "drql_forecast".to_owned(), ..self.fair().pipeline() }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("stale_us", self.stale_us, 1_000..=*DELAY_US.end())?;
        self.fair().check()
    }
}
