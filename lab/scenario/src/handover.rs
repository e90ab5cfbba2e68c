//! Several cells of one gNB, and handover between them, in a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

/// A cell of several: a DU of its own, with the carrier of `cell`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Site {
    /// Place of its antenna on the ground, x and y in m, -100000..=100000; for UEs with `route_m`.
    pub position_m: [f64; 2],
    /// Its PRBs; those of `cell` if unset.
    #[schemars(range(min = 1, max = 275))]
    pub n_prb: Option<u16>,
}

/// When a UE moves to another cell, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Handover {
    /// Offset of event A3 (38.331 §5.5.4.4), -15..=15 dB; 3 if unset.
    #[schemars(range(min = -15.0, max = 15.0))]
    pub a3_offset_db: f64,
    /// Hysteresis of the event, 0..=15 dB; 1 if unset.
    #[schemars(range(min = 0.0, max = 15.0))]
    pub hysteresis_db: f64,
    /// How long the event must hold (38.331 `timeToTrigger`), 0..=5120 ms; 160 if unset.
    #[schemars(range(max = 5120))]
    pub time_to_trigger_ms: u32,
    /// Measurement period of layer 1 (38.133 table 9.2.5.2-1), a multiple of 20 in 20..=10000 ms; 200 if
    /// unset.
    #[schemars(range(min = 20, max = 10_000))]
    pub measurement_period_ms: u32,
    /// Coefficient k of the layer 3 filter (38.331 §5.5.3.2), 0..=19; 4 if unset, the default of 38.331.
    #[schemars(range(max = 19))]
    pub filter_k: u8,
    /// Time from the event to the gNB's command: measurement report, decision and set-up in the target, at most
    /// 10000 ms; 20 if unset. The source serves the UE until the command.
    #[schemars(range(max = 10_000))]
    pub preparation_ms: u32,
    /// Processing of the command in the UE (38.331 table 12.1-1), at most 10000 ms; 10 if unset.
    #[schemars(range(max = 10_000))]
    pub rrc_processing_ms: u32,
    /// T_interrupt of 38.133 §6.1.1.2.2, at most 10000 ms; 52 if unset: 20 of processing, 20 of fine
    /// tracking (one SMTC period), 2 of margin, and 10 until the next random access occasion.
    #[schemars(range(max = 10_000))]
    pub interruption_ms: u32,
    /// Time from the preamble to the UE's confirmation (38.321 §5.1), at most 10000 ms; 8 if unset.
    #[schemars(range(max = 10_000))]
    pub random_access_ms: u32,
    /// T304 (38.331 §5.3.5.8.3), 50..=10000 ms from the command on; 1000 if unset. If it expires before a random
    /// access to the target succeeds, the handover fails and the UE re-establishes its connection.
    #[schemars(range(min = 50, max = 10_000))]
    pub t304_ms: u32,
    /// Time of the re-establishment, from the expiry of T304 until the UE has its bearers in the cell that it
    /// selects (38.133 §6.2.1, 38.331 §5.3.7), at most 10000 ms; 330 if unset: 50 of processing, 200 of search, 20
    /// until SIB1, 10 until the random access occasion, and 50 of random access and RRC messages.
    #[schemars(range(max = 10_000))]
    pub reestablishment_ms: u32,
    /// Whether the gNB sends in the target what the source had not transmitted (38.401 §8.2.1.1);
    /// otherwise the source drops it. RLC-AM recovers it in any case (38.323 §5.5).
    pub forwarding: bool,
    /// Whether the UE tells which packets it has (PDCP status report, 38.323 §5.4.1), with RLC-AM.
    pub status_report: bool,
}

impl Default for Handover {
    fn default() -> Self {
        Self {
            a3_offset_db: 3.0,
            hysteresis_db: 1.0,
            time_to_trigger_ms: 160,
            measurement_period_ms: 200,
            filter_k: 4,
            preparation_ms: 20,
            rrc_processing_ms: 10,
            interruption_ms: 52,
            random_access_ms: 8,
            t304_ms: 1000,
            reestablishment_ms: 330,
            forwarding: true,
            status_report: true,
        }
    }
}

impl Handover {
    /// Time in which no cell serves the UE, µs.
    pub fn total_interruption_us(&self) -> u64 {
        let ms = [self.rrc_processing_ms, self.interruption_ms, self.random_access_ms];
        ms.into_iter().map(|ms| u64::from(ms) * 1000).sum()
    }
}
