//! The radio channel of a UE, in a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

use super::fading::{self, Fading};
use super::rules::{Check, ensure, within, within_if_set};

/// The radio channel of a UE.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Channel {
    /// A constant MCS: 0 to the highest of the cell's table (NR 27 or 28, LTE 28).
    FixedMcs(#[schemars(range(max = 28))] u8),
    /// A series of MCS.
    McsSeries(McsSeries),
    /// A series of CQI, 0 being out of range.
    CqiSeries(CqiSeries),
    /// A file of UCC's 5G data set.
    UccCsv(UccCsv),
    /// A series of bit rates.
    RateSeries(RateSeries),
    /// A Mahimahi trace of delivery opportunities.
    Mahimahi(Mahimahi),
    /// A series of SNR.
    SnrSeries(SnrSeries),
    /// A column of a table that a measurement tool wrote.
    MeasuredCsv(MeasuredCsv),
    /// An SNR that is a Gauss–Markov process.
    GaussMarkov(GaussMarkov),
    /// An SNR by the models of 38.901.
    Fading(Fading),
    /// An MCS that is a Markov chain like that of a UE on the move.
    Mobility(Mobility),
    /// A channel of SNR or CQI that the gNB knows in each slot, and on which no block fails but by
    /// `harq.bler`.
    Ideal(Box<Channel>),
}

/// Behaviour after the last value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// Starts again with the first.
    #[default]
    Loop,
    /// Keeps the last.
    Hold,
}

/// A series of MCS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McsSeries {
    /// How long each value holds, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
    /// MCS indices, 0..=28, at least one.
    #[schemars(length(min = 1))]
    pub values: Vec<u8>,
    /// Behaviour after the last value.
    #[serde(default)]
    pub at_end: AtEnd,
}

/// A series of CQI.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CqiSeries {
    /// How long each value holds, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
    /// CQI, 0..=15, at least one.
    #[schemars(length(min = 1))]
    pub values: Vec<u8>,
    /// Behaviour after the last value.
    #[serde(default)]
    pub at_end: AtEnd,
    /// MCS of CQI 1 to 15; if unset, the highest whose efficiency the CQI names.
    #[serde(default)]
    pub cqi_to_mcs: Option<[u8; 15]>,
}

/// A series of SNR.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnrSeries {
    /// How long each value holds, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
    /// SNR, -50..=80 dB, at least one.
    #[schemars(length(min = 1))]
    pub values_db: Vec<f64>,
    /// Behaviour after the last value.
    #[serde(default)]
    pub at_end: AtEnd,
}

/// Quantity of a measured column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// SNR or SINR in dB.
    #[default]
    SnrDb,
    /// CQI, rounded down.
    Cqi,
    /// RSRP in dBm; the SNR is what it is above `noise_dbm`.
    RsrpDbm,
}

/// A column of a table with a first line that names the columns and a row for each period.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredCsv {
    /// File, relative to the scenario file; `.xz` and `.gz` are decompressed.
    pub path: String,
    /// Name of the column.
    pub column: String,
    /// What it holds.
    #[serde(default)]
    pub quantity: Quantity,
    /// Noise and interference in a resource element, -140..=-60 dBm, for `rsrp_dbm`; -120 if unset:
    /// thermal noise in 30 kHz and a noise figure of 9 dB.
    #[serde(default)]
    #[schemars(range(min = -140.0, max = -60.0))]
    pub noise_dbm: Option<f64>,
    /// Time from row to row, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
    /// Replacement of a missing value.
    #[serde(default)]
    pub missing: Missing,
    /// Behaviour after the last row.
    #[serde(default)]
    pub at_end: AtEnd,
}

/// Column of UCC's data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UccColumn {
    /// `CQI`.
    #[default]
    Cqi,
    /// `SNR`, from which a CQI follows.
    Snr,
    /// `DL_bitrate`: goodput of the download; the capacity only where the download filled the link.
    DlBitrate,
}

/// Replacement of a missing value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The value before.
    #[default]
    Hold,
    /// An outage: nothing can be sent.
    Outage,
}

/// A file of UCC's 5G data set: a row a second.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UccCsv {
    /// File, relative to the scenario file; `.xz` and `.gz` are decompressed.
    pub path: String,
    /// Column that is used.
    #[serde(default)]
    pub column: UccColumn,
    /// Replacement of a `-`.
    #[serde(default)]
    pub missing: Missing,
    /// Behaviour after the last second.
    #[serde(default)]
    pub at_end: AtEnd,
    /// MCS of CQI 1 to 15; not for `dl_bitrate`.
    #[serde(default)]
    pub cqi_to_mcs: Option<[u8; 15]>,
}

/// A series of bit rates of transport blocks, each spread evenly over its time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSeries {
    /// How long each value holds, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
    /// Rates in kbit/s, 0..=100000000, at least one.
    #[schemars(length(min = 1))]
    pub values_kbps: Vec<u32>,
    /// Behaviour after the last value.
    #[serde(default)]
    pub at_end: AtEnd,
}

/// A Mahimahi trace: one integer a line, the millisecond of an opportunity.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mahimahi {
    /// File, relative to the scenario file; `.xz` and `.gz` are decompressed.
    pub path: String,
    /// Transport block of one opportunity, 100..=65535 bytes; 1500 if unset. With 1506 a datagram
    /// of 1500 bytes fits whole with its headers of PDCP, RLC and MAC, as in `mm-link`.
    #[serde(default)]
    #[schemars(range(min = 100, max = 65_535))]
    pub opportunity_bytes: Option<u32>,
}

/// An autoregressive process of first order in dB; CQI and MCS follow from the SNR.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GaussMarkov {
    /// Mean SNR, -50..=80 dB.
    #[schemars(range(min = -50.0, max = 80.0))]
    pub mean_snr_db: f64,
    /// Standard deviation, 0..=40 dB.
    #[schemars(range(min = 0.0, max = 40.0))]
    pub std_dev_db: f64,
    /// Time after which the correlation has fallen to 1/e, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub coherence_ms: u32,
    /// Time between two values, 1..=3600000 ms.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
}

fn ten() -> u32 {
    10
}

/// Movement of a UE (irazabal2021 §V-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MobilityPattern {
    /// No movement: mean MCS 18.0.
    Static,
    /// A walk: mean MCS 11.02.
    Pedestrian,
    /// A ride in a car: mean MCS 20.4.
    Car,
    /// A ride in a tram: mean MCS 12.75.
    Tram,
    /// A ride in a train: mean MCS 14.48.
    Train,
}

/// A Markov chain of MCS with the mean, deviation and coherence time of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mobility {
    /// The pattern.
    pub pattern: MobilityPattern,
    /// Mean MCS in place of the pattern's.
    #[serde(default)]
    pub mean_mcs: Option<f64>,
    /// Standard deviation in place of the pattern's.
    #[serde(default)]
    pub std_dev_mcs: Option<f64>,
    /// Coherence time in place of the pattern's, 1..=3600000 ms.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub coherence_ms: Option<u32>,
    /// Time between two values, 1..=3600000 ms; 1000 if unset, as in the paper.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: Option<u32>,
}

const MAX_MS: u32 = 3_600_000;
/// Limit of the channels of `ran`: 100 Gbit/s.
const MAX_KBPS: u32 = ran::channel::rate::MAX_RATE_KBPS;

pub(super) fn check(channel: &Channel, max_mcs: u8, path: &str) -> Check {
    match channel {
        Channel::FixedMcs(mcs) => within(format_args!("{path}.fixed_mcs"), *mcs, 0..=max_mcs),
        Channel::McsSeries(McsSeries { period_ms, values, .. }) => {
            let path = format!("{path}.mcs_series");
            series(*period_ms, values, (max_mcs, "MCS"), (&path, "values"))
        }
        Channel::CqiSeries(CqiSeries { period_ms, values, cqi_to_mcs, .. }) => {
            let path = format!("{path}.cqi_series");
            series(*period_ms, values, (15, "CQI"), (&path, "values"))?;
            mapping(cqi_to_mcs.as_ref(), max_mcs, &path)
        }
        Channel::SnrSeries(SnrSeries { period_ms, values_db, .. }) => {
            let path = format!("{path}.snr_series");
            within(format_args!("{path}.period_ms"), *period_ms, 1..=MAX_MS)?;
            let message = "empty; expected at least one SNR";
            ensure(!values_db.is_empty(), format_args!("{path}.values_db"), message)?;
            values_db.iter().enumerate().try_for_each(|(at, value)| {
                within(format!("{path}.values_db[{at}]"), *value, -50.0..=80.0)
            })
        }
        Channel::MeasuredCsv(csv) => {
            let path = format!("{path}.measured_csv");
            file(&csv.path, &path)?;
            let message = "empty; expected the name of a column";
            ensure(!csv.column.is_empty(), format_args!("{path}.column"), message)?;
            within(format_args!("{path}.period_ms"), csv.period_ms, 1..=MAX_MS)?;
            let is_used = csv.noise_dbm.is_none() || csv.quantity == Quantity::RsrpDbm;
            let message = "is for quantity rsrp_dbm alone";
            ensure(is_used, format_args!("{path}.noise_dbm"), message)?;
            within_if_set(format_args!("{path}.noise_dbm"), csv.noise_dbm, -140.0..=-60.0)
        }
        Channel::Fading(channel) => fading::check(channel, &format!("{path}.fading")),
        Channel::Ideal(channel) => ideal(channel, max_mcs, &format!("{path}.ideal")),
        Channel::UccCsv(csv) => {
            let path = format!("{path}.ucc_csv");
            file(&csv.path, &path)?;
            let is_used = csv.column != UccColumn::DlBitrate || csv.cqi_to_mcs.is_none();
            let message = "is for column cqi and snr alone";
            ensure(is_used, format_args!("{path}.cqi_to_mcs"), message)?;
            mapping(csv.cqi_to_mcs.as_ref(), max_mcs, &path)
        }
        Channel::RateSeries(RateSeries { period_ms, values_kbps, .. }) => {
            let path = format!("{path}.rate_series");
            series(*period_ms, values_kbps, (MAX_KBPS, "rate"), (&path, "values_kbps"))
        }
        Channel::Mahimahi(trace) => mahimahi(trace, &format!("{path}.mahimahi")),
        Channel::GaussMarkov(process) => {
            let path = format!("{path}.gauss_markov");
            within(format_args!("{path}.mean_snr_db"), process.mean_snr_db, -50.0..=80.0)?;
            within(format_args!("{path}.std_dev_db"), process.std_dev_db, 0.0..=40.0)?;
            within(format_args!("{path}.coherence_ms"), process.coherence_ms, 1..=MAX_MS)?;
            within(format_args!("{path}.period_ms"), process.period_ms, 1..=MAX_MS)
        }
        Channel::Mobility(mobility) => {
            let path = format!("{path}.mobility");
            let Mobility { coherence_ms, period_ms, .. } = *mobility;
            within_if_set(format_args!("{path}.coherence_ms"), coherence_ms, 1..=MAX_MS)?;
            within_if_set(format_args!("{path}.period_ms"), period_ms, 1..=MAX_MS)
        }
    }
}

impl Channel {
    /// Whether it has an SNR or a CQI, so that the gNB adapts to it and blocks fail by it.
    pub(super) fn has_reports(&self) -> bool {
        match self {
            Self::CqiSeries(series) => series.cqi_to_mcs.is_none(),
            Self::UccCsv(csv) => csv.column != UccColumn::DlBitrate && csv.cqi_to_mcs.is_none(),
            Self::SnrSeries(_) | Self::MeasuredCsv(_) | Self::GaussMarkov(_) | Self::Fading(_) => {
                true
            }
            Self::FixedMcs(_)
            | Self::McsSeries(_)
            | Self::RateSeries(_)
            | Self::Mahimahi(_)
            | Self::Mobility(_)
            | Self::Ideal(_) => false,
        }
    }
}

impl Channel {
    /// Whether it has an SNR.
    pub(crate) fn has_snr(&self) -> bool {
        match self {
            Self::Ideal(channel) => channel.has_reports(),
            other => other.has_reports(),
        }
    }
}

fn ideal(channel: &Channel, max_mcs: u8, path: &str) -> Check {
    let has_reports = channel.has_reports();
    let message = "expected a channel of SNR or CQI; the gNB knows the others as they are";
    ensure(has_reports, path, message)?;
    check(channel, max_mcs, path)
}

pub(super) fn mahimahi(trace: &Mahimahi, path: &str) -> Check {
    let bytes = trace.opportunity_bytes;
    within_if_set(format_args!("{path}.opportunity_bytes"), bytes, 100..=65_535)?;
    file(&trace.path, path)
}

/// Checks a series: `max` is the highest value and the quantity, `place` the path of the series and
/// the key of its values.
fn series<T: Copy + Default + PartialOrd + std::fmt::Debug + std::fmt::Display>(
    period_ms: u32,
    values: &[T],
    max: (T, &str),
    place: (&str, &str),
) -> Check {
    let (path, key) = place;
    within(format_args!("{path}.period_ms"), period_ms, 1..=MAX_MS)?;
    let message = format_args!("empty; expected at least one {}", max.1);
    ensure(!values.is_empty(), format_args!("{path}.{key}"), message)?;
    let mut values = values.iter().enumerate();
    values.try_for_each(|(at, value)| {
        within(format!("{path}.{key}[{at}]"), *value, T::default()..=max.0)
    })
}

fn mapping(cqi_to_mcs: Option<&[u8; 15]>, max_mcs: u8, path: &str) -> Check {
    let mut values = cqi_to_mcs.into_iter().flatten().enumerate();
    values.try_for_each(|(at, mcs)| within(format!("{path}.cqi_to_mcs[{at}]"), *mcs, 0..=max_mcs))
}

fn file(name: &str, path: &str) -> Check {
    ensure(!name.is_empty(), format_args!("{path}.path"), "empty; expected a file")
}
