//! The channel of a UE that moves, in a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

use super::rules::{Check, ensure, within, within_if_set};

/// An SNR by 38.901: mean by path loss or as given, shadowing, fast fading by speed, interference.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fading {
    /// Mean SNR after the antennas are combined, -50..=80 dB; or `path`.
    #[serde(default)]
    #[schemars(range(min = -50.0, max = 80.0))]
    pub mean_snr_db: Option<f64>,
    /// Place of the UE, which sets the mean SNR; or `mean_snr_db`.
    #[serde(default)]
    pub path: Option<Path>,
    /// Shadowing; that of the deployment of `path` if unset, none with `mean_snr_db`.
    #[serde(default)]
    pub shadowing: Option<Shadowing>,
    /// Profile of the taps (38.901 tables 7.7.2-1 to -5).
    #[serde(default)]
    pub profile: Profile,
    /// Delay spread, 0..=10000 ns; 100 if unset (38.901 table 7.7.3-1, nominal).
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 10_000.0))]
    pub delay_spread_ns: f64,
    /// Speed, 0..=1000 km/h: Doppler shift and pace of the shadowing.
    pub speed_kmh: f64,
    /// Carrier frequency, 0.1..=100 GHz; 3.5 if unset.
    #[serde(default = "band_n78")]
    #[schemars(range(min = 0.1, max = 100.0))]
    pub carrier_ghz: f64,
    /// Antennas of the UE, which fade independently and are combined, 1..=8; 2 if unset.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 8))]
    pub antennas: u8,
    /// Interference by neighbour cells; none if unset.
    #[serde(default)]
    pub interference: Option<Interference>,
}

/// Profile of the taps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// TDL-A, without line of sight.
    TdlA,
    /// TDL-B, without line of sight.
    TdlB,
    /// TDL-C, without line of sight.
    #[default]
    TdlC,
    /// TDL-D, with line of sight.
    TdlD,
    /// TDL-E, with line of sight.
    TdlE,
}

/// Place of a UE and its link budget.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Deployment (38.901 table 7.4.1-1).
    pub model: Deployment,
    /// Distance on the ground: 10..=5000 m (uma, umi), 10..=10000 m (rma), 1..=150 m (inh); by `route_m`
    /// of the UE if unset.
    #[serde(default)]
    pub distance_m: Option<f64>,
    /// Whether there is a line of sight; drawn with the probability of 38.901 table 7.4.2-1 if unset.
    #[serde(default)]
    pub line_of_sight: Option<bool>,
    /// Power of the gNB over the carrier, -30..=80 dBm; if unset 49 (uma, rma), 44 (umi), 24 (inh) as in 38.901
    /// table 7.8-1.
    #[serde(default)]
    #[schemars(range(min = -30.0, max = 80.0))]
    pub tx_power_dbm: Option<f64>,
    /// Gains of both antennas less other losses, -50..=50 dB; 8 if unset.
    #[serde(default = "eight_db")]
    #[schemars(range(min = -50.0, max = 50.0))]
    pub antenna_gain_db: f64,
    /// Noise figure of the UE, 0..=30 dB; 9 if unset.
    #[serde(default = "nine_db")]
    #[schemars(range(min = 0.0, max = 30.0))]
    pub noise_figure_db: f64,
}

/// Deployment of a gNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deployment {
    /// Urban macro: antenna at 25 m.
    Uma,
    /// Urban micro, street canyon: antenna at 10 m.
    Umi,
    /// Rural macro: antenna at 35 m.
    Rma,
    /// Indoor hotspot, mixed office: antenna at 3 m.
    Inh,
}

impl Deployment {
    /// Shortest distance for which the model holds, m.
    const fn least_m(self) -> f64 {
        if matches!(self, Self::Inh) { 1.0 } else { 10.0 }
    }

    /// Longest distance for which the model holds, m.
    pub(crate) const fn most_m(self) -> f64 {
        match self {
            Self::Uma | Self::Umi => 5_000.0,
            Self::Rma => 10_000.0,
            Self::Inh => 150.0,
        }
    }
}

/// Shadowing: a Gauss–Markov process in dB over the distance.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shadowing {
    /// Standard deviation, 0..=40 dB.
    #[schemars(range(min = 0.0, max = 40.0))]
    pub std_dev_db: f64,
    /// Distance over which the correlation falls to 1/e, 0.1..=10000 m.
    #[schemars(range(min = 0.1, max = 10_000.0))]
    pub correlation_m: f64,
}

/// Neighbour cells that send in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// Rise over thermal noise while they send, 0..=60 dB.
    #[schemars(range(min = 0.0, max = 60.0))]
    pub rise_db: f64,
    /// Share of the time in which they send, 0..=1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: f64,
    /// Mean duration of a burst, 1..=60000 ms; 20 if unset.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 60_000))]
    pub burst_ms: u32,
}

fn hundred() -> f64 {
    100.0
}
fn band_n78() -> f64 {
    3.5
}
fn two() -> u8 {
    2
}
fn eight_db() -> f64 {
    8.0
}
fn nine_db() -> f64 {
    9.0
}
fn twenty() -> u32 {
    20
}

pub(super) fn check(fading: &Fading, path: &str) -> Check {
    let is_one = fading.mean_snr_db.is_some() != fading.path.is_some();
    ensure(is_one, path, "expected either mean_snr_db or path")?;
    within_if_set(format_args!("{path}.mean_snr_db"), fading.mean_snr_db, -50.0..=80.0)?;
    within(format_args!("{path}.delay_spread_ns"), fading.delay_spread_ns, 0.0..=10_000.0)?;
    within(format_args!("{path}.speed_kmh"), fading.speed_kmh, 0.0..=1000.0)?;
    within(format_args!("{path}.carrier_ghz"), fading.carrier_ghz, 0.1..=100.0)?;
    within(format_args!("{path}.antennas"), fading.antennas, 1..=8)?;
    if let Some(shadowing) = fading.shadowing {
        let path = format!("{path}.shadowing");
        within(format_args!("{path}.std_dev_db"), shadowing.std_dev_db, 0.0..=40.0)?;
        within(format_args!("{path}.correlation_m"), shadowing.correlation_m, 0.1..=10_000.0)?;
    }
    if let Some(interference) = fading.interference {
        let path = format!("{path}.interference");
        within(format_args!("{path}.rise_db"), interference.rise_db, 0.0..=60.0)?;
        within(format_args!("{path}.load"), interference.load, 0.0..=1.0)?;
        within(format_args!("{path}.burst_ms"), interference.burst_ms, 1..=60_000)?;
    }
    let Some(place) = fading.path else { return Ok(()) };
    let path = format!("{path}.path");
    let distances_m = place.model.least_m()..=place.model.most_m();
    within_if_set(format_args!("{path}.distance_m"), place.distance_m, distances_m)?;
    within_if_set(format_args!("{path}.tx_power_dbm"), place.tx_power_dbm, -30.0..=80.0)?;
    within(format_args!("{path}.antenna_gain_db"), place.antenna_gain_db, -50.0..=50.0)?;
    within(format_args!("{path}.noise_figure_db"), place.noise_figure_db, 0.0..=30.0)
}
