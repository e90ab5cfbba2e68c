//! Discontinuous reception in a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

use super::rules::{Check, ensure, within, within_if_set};

const MAX_CYCLE_MS: u32 = 10_240;

/// DRX of a connected UE (38.321 §5.7): outside its Active Time it is scheduled in no direction and
/// reports no CQI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drx {
    /// Long cycle, 1..=10240 ms.
    #[schemars(range(min = 1, max = 10_240))]
    pub long_cycle_ms: u32,
    /// On-duration at the start of each cycle, 1 ms to the shortest cycle.
    #[schemars(range(min = 1, max = 10_240))]
    pub on_duration_ms: u32,
    /// How long the UE listens after a new transmission in either direction, 0..=2560 ms.
    #[schemars(range(max = 2560))]
    pub inactivity_ms: u32,
    /// Short cycle after it, a divisor of the long one; none if unset.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_240))]
    pub short_cycle_ms: Option<u32>,
    /// Short cycles before the long ones, 1..=16; 1 if unset.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    pub short_cycles: Option<u8>,
    /// Start of the on-duration in a long cycle, below it; drawn from the seed for each UE if unset, so that
    /// UEs wake at different times.
    #[serde(default)]
    #[schemars(range(max = 10_239))]
    pub offset_ms: Option<u32>,
    /// Slots for which the UE waits for a retransmission that is due, 0..=320; 8 if unset.
    #[serde(default)]
    #[schemars(range(max = 320))]
    pub retransmission_slots: Option<u16>,
}

impl Drx {
    /// The shortest cycle.
    fn least_cycle_ms(&self) -> u32 {
        self.short_cycle_ms.unwrap_or(self.long_cycle_ms)
    }
}

pub(super) fn check(drx: &Drx, path: &str) -> Check {
    let Drx { long_cycle_ms, on_duration_ms, short_cycle_ms, offset_ms, .. } = *drx;
    within(format_args!("{path}.long_cycle_ms"), long_cycle_ms, 1..=MAX_CYCLE_MS)?;
    within_if_set(format_args!("{path}.short_cycle_ms"), short_cycle_ms, 1..=MAX_CYCLE_MS)?;
    let is_divisor = short_cycle_ms.is_none_or(|short_ms| long_cycle_ms.is_multiple_of(short_ms));
    let message =
        format_args!("{} is no divisor of long_cycle_ms ({long_cycle_ms})", drx.least_cycle_ms());
    ensure(is_divisor, format_args!("{path}.short_cycle_ms"), message)?;
    within_if_set(format_args!("{path}.short_cycles"), drx.short_cycles, 1..=16)?;
    let is_used = drx.short_cycles.is_none() || short_cycle_ms.is_some();
    ensure(is_used, format_args!("{path}.short_cycles"), "is for a DRX with short_cycle_ms")?;
    within(format_args!("{path}.on_duration_ms"), on_duration_ms, 1..=drx.least_cycle_ms())?;
    within(format_args!("{path}.inactivity_ms"), drx.inactivity_ms, 0..=2560)?;
    within_if_set(format_args!("{path}.offset_ms"), offset_ms, 0..=long_cycle_ms - 1)?;
    within_if_set(format_args!("{path}.retransmission_slots"), drx.retransmission_slots, 0..=320)
}
