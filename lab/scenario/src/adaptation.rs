//! Downlink adaptation of a cell, in a scenario.

use ran::phy::subband::subband_sizes_prb;
use schemars::JsonSchema;
use serde::Deserialize;

use super::rules::{Check, ensure, within, within_if_set};

/// How the gNB follows the SNR of its UEs: reports of CQI, outer loop, soft combining. It applies to channels that
/// have an SNR or a CQI, unless they are `ideal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adaptation {
    /// Slots between two measurements of a UE, 1..=1600; 5 ms if unset.
    #[schemars(range(min = 1, max = 1600))]
    pub cqi_period_slots: Option<u16>,
    /// Slots from a measurement until the gNB uses its report, 1..=1600; 4 ms if unset.
    #[schemars(range(min = 1, max = 1600))]
    pub cqi_delay_slots: Option<u16>,
    /// Slots from a transport block until the gNB knows whether it was received (k1 and decoding), 1..=160; 4 ms
    /// if unset.
    #[schemars(range(min = 1, max = 160))]
    pub feedback_slots: Option<u16>,
    /// Target error rate of first transmissions, 0.000001..=0.9; 0.1 if unset. `oai` has a window instead.
    #[schemars(range(min = 0.000001, max = 0.9))]
    pub target_bler: Option<f64>,
    /// How acknowledgements correct the CQI.
    pub outer_loop: OuterLoop,
    /// Fall of the offset with a failed block under `steps`, 0.001..=10 dB; 1 if unset.
    #[schemars(range(min = 0.001, max = 10.0))]
    pub step_up_db: Option<f64>,
    /// Error rates below and above which the MCS changes under `oai`; 0.05 and 0.15 if unset, OAI's defaults.
    pub bler_window: Option<[f64; 2]>,
    /// How a UE combines the transmissions of a block.
    pub combining: Combining,
    /// CQI by sub-band as well, of this size (38.331 `subbandSize`), for `pf` with `per_rbg`; that of the carrier
    /// alone if unset.
    pub subband_size: Option<SubbandSize>,
}

/// Size of a sub-band: the column of 38.214 table 5.2.1.4-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubbandSize {
    /// 4 PRBs of a carrier of 24 to 72, 8 up to 144, 16 up to 275.
    Value1,
    /// Twice as many.
    Value2,
}

impl Adaptation {
    /// PRBs of a sub-band of a carrier of `n_prb`; `None` without sub-bands.
    pub fn subband_prb(&self, n_prb: u16) -> Option<u16> {
        let [small, large] = subband_sizes_prb(n_prb)?;
        Some(match self.subband_size? {
            SubbandSize::Value1 => small,
            SubbandSize::Value2 => large,
        })
    }
}

/// Correction of the CQI by acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OuterLoop {
    /// An offset in dB that rests where `target_bler` of the first transmissions fail.
    #[default]
    Steps,
    /// None: the CQI alone.
    CqiOnly,
    /// OAI's: the MCS moves by one each 100 ms, by `bler_window`, without CQI.
    Oai,
}

/// Soft combining in HARQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combining {
    /// Further coded bits with each transmission.
    #[default]
    IncrementalRedundancy,
    /// The same coded bits with each transmission.
    Chase,
}

pub(super) fn check(adaptation: &Adaptation) -> Check {
    let path = "cell.adaptation";
    let Adaptation { cqi_period_slots, cqi_delay_slots, feedback_slots, .. } = *adaptation;
    within_if_set(format_args!("{path}.cqi_period_slots"), cqi_period_slots, 1..=1600)?;
    within_if_set(format_args!("{path}.cqi_delay_slots"), cqi_delay_slots, 1..=1600)?;
    within_if_set(format_args!("{path}.feedback_slots"), feedback_slots, 1..=160)?;
    let rates = 0.000_001..=0.9;
    within_if_set(format_args!("{path}.target_bler"), adaptation.target_bler, rates.clone())?;
    within_if_set(format_args!("{path}.step_up_db"), adaptation.step_up_db, 0.001..=10.0)?;
    let is_oai = adaptation.outer_loop == OuterLoop::Oai;
    let unused = [
        ("target_bler", adaptation.target_bler.is_some() && is_oai, "steps and cqi_only"),
        ("step_up_db", adaptation.step_up_db.is_some() && is_oai, "steps"),
        ("bler_window", adaptation.bler_window.is_some() && !is_oai, "oai"),
        ("subband_size", adaptation.subband_size.is_some() && is_oai, "steps and cqi_only"),
    ];
    for (key, is_unused, loops) in unused {
        let message = format_args!("is for outer_loop {loops} alone");
        ensure(!is_unused, format_args!("{path}.{key}"), message)?;
    }
    let Some([lower, upper]) = adaptation.bler_window else { return Ok(()) };
    within(format_args!("{path}.bler_window[0]"), lower, rates.clone())?;
    within(format_args!("{path}.bler_window[1]"), upper, rates)?;
    let message = format_args!("{upper} is not above {lower}");
    ensure(upper > lower, format_args!("{path}.bler_window[1]"), message)
}
