//! Queues of `low_latency` in a CU far from its DU.

use e2sm_tc::v1::{Pacer, Pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parameters::{Buffer, DELAY_US, within};
use super::{LowLatency, ParameterError};

/// Queues of `low_latency` in a CU far from its DU, which keeps as much in flight and in the RLC as drains
/// until what it sends arrives, by forecasts of the cumulated drain.
///
/// The level p of the pacer is the newsvendor's ratio of the objective: the cost of a byte that the radio
/// could have carried to that of both this and a byte that waits in the RLC. `goodput_floor_milli` gives
/// it as the share of windows that lose nothing, `bulk_delay_us` lowers it where bulk would wait longer.
/// Sparse and inelastic flows belong on a second DRB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BaseStock {
    /// Queues of the stochastic hash, as many again for L4S; as in `low_latency`.
    #[schemars(range(min = 1, max = 2048))]
    pub queues: u16,
    /// Deficit per turn, bytes; as in `low_latency`.
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// Delay from CU to DU, one way, µs. Each round trip crosses F1 twice: the interval of CoDel is longer by
    /// both crossings (RFC 8289 §4.3), its least target in proportion (§4.4). 10 ms (stolidis2024 §IV-D).
    #[schemars(range(min = 0, max = 1_000_000))]
    pub f1_delay_us: u32,
    /// Share of the radio that is used while bulk waits, at least, thousandths; 98 %, what pacers keep
    /// where CU and DU are together.
    #[schemars(range(min = 500, max = 999))]
    pub goodput_floor_milli: u16,
    /// Time within which what is sent leaves the RLC at the median, µs, though the floor would have more
    /// sent; at least the median of the lead time is. Unlimited when null.
    #[schemars(range(min = 63, max = 10_000_000))]
    pub bulk_delay_us: Option<u32>,
    /// Age of a forecast from which on 5G-BDP paces, µs; as in `drql_forecast`.
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub stale_us: u32,
    /// Whether packets of ECN-capable flows are marked instead of dropped.
    pub ecn: bool,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for BaseStock {
    fn default() -> Self {
        let LowLatency { queues, quantum_bytes, ecn, buffer, .. } = LowLatency::default();
        Self {
            queues,
            quantum_bytes,
            f1_delay_us: 10_000,
            goodput_floor_milli: 980,
            bulk_delay_us: None,
            stale_us: 500_000,
            ecn,
            buffer,
        }
    }
}

impl BaseStock {
    fn queues(&self) -> LowLatency {
        let near = LowLatency::default();
        let interval_us = near.interval_us.saturating_add(self.f1_delay_us.saturating_mul(2));
        let target_us =
            u64::from(near.target_us) * u64::from(interval_us) / u64::from(near.interval_us);
        LowLatency {
            queues: self.queues,
            quantum_bytes: self.quantum_bytes,
            target_us: u32::try_from(target_us).unwrap_or(u32::MAX),
            max_target_us: near.max_target_us.max(u32::try_from(target_us).unwrap_or(u32::MAX)),
            interval_us,
            ecn: self.ecn,
            pacer: Pacer::BaseStock {
                stale_us: self.stale_us,
                level_milli: self.goodput_floor_milli,
                bound_us: self.bulk_delay_us,
            },
            buffer: self.buffer,
            ..near
        }
    }

    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        Pipeline { name: "base_stock".to_owned(), ..self.queues().pipeline() }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("f1_delay_us", self.f1_delay_us, 0..=1_000_000)?;
        within("goodput_floor_milli", self.goodput_floor_milli, 500..=999)?;
        if let Some(delay_us) = self.bulk_delay_us {
            within("bulk_delay_us", delay_us, 63..=*DELAY_US.end())?;
        }
        within("stale_us", self.stale_us, 1_000..=*DELAY_US.end())?;
        self.queues().check()
    }
}
