//! The first frame of a forecaster: model, layout and T_m.

use e2sm_tc::v1::{FeedGrid, QuantileColumn};
use serde::{Deserialize, Serialize};

/// Supported version of the frames.
pub(super) const PROTOCOL: u32 = 2;
/// Time between the RLC reports of `rlc-forecaster lockstep`.
const REPORT_US: u32 = 1_000;

/// Model, layout and T_m of `rlc-forecaster lockstep`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the frames.
    pub protocol: u32,
    /// Name and version of the model.
    pub model: String,
    /// Digest of the model directory.
    pub model_sha256: String,
    /// Digest of the program's code.
    pub program_sha256: String,
    /// Points of its forecasts, µs after the newest sample; increasing.
    pub points_us: Vec<u32>,
    /// Levels of its quantiles.
    pub quantiles: Vec<f32>,
    /// Quantities that are forecast, by the names of `forecast.proto`.
    pub quantities: Vec<String>,
    /// Reports of a bearer before the model is used.
    pub warm_up_steps: u32,
    /// T_m by number of bearers; empty if not measured. Not serialised: it does not affect forecasts.
    #[serde(skip_serializing)]
    pub t_m: Vec<StepTime>,
}

/// T_m, from the bytes of an RLC report to those of its forecasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// Bearers in each report.
    pub bearers: u32,
    /// Reports measured.
    pub reports: u32,
    /// Median, µs.
    pub median_us: f64,
}

impl Hello {
    /// Whether the other gives the same forecasts.
    pub(super) fn is_same_model(&self, other: &Self) -> bool {
        (&self.model_sha256, &self.program_sha256) == (&other.model_sha256, &other.program_sha256)
            && self.points_us == other.points_us
    }

    /// The points of a forecast feed in place of the model's; `None` if these do not increase.
    pub fn feed(&self) -> Option<FeedGrid> {
        FeedGrid::over(&self.points_us, REPORT_US)
    }

    /// Whether a quantity of `forecast.proto` is forecast.
    pub fn forecasts(&self, quantity: &str) -> bool {
        self.quantities.iter().any(|known| known == quantity)
    }

    /// Whether a quantile is forecast, or one on either side of it.
    pub fn has_quantile(&self, level: f32) -> bool {
        QuantileColumn::at(&self.quantiles, level).is_some()
    }

    /// T_m for this number of bearers, rounded up to whole µs; `None` if not measured.
    pub fn t_m_us(&self, bearers: u32) -> Option<u32> {
        let measured = self.t_m.iter().find(|time| time.bearers == bearers)?;
        Some(measured.median_us.ceil() as u32)
    }

    /// Checks what a run needs.
    pub(super) fn validate(&self) -> Result<(), String> {
        if self.protocol != PROTOCOL {
            return Err(format!("frames of version {}; expected {PROTOCOL}", self.protocol));
        }
        if self.feed().is_none() {
            return Err(format!(
                "points at {:?} µs; expected one or more that increase",
                self.points_us
            ));
        }
        if !self.quantiles.iter().any(|level| (level - super::MEDIAN).abs() < 1e-6) {
            return Err(format!("quantiles {:?} without {}", self.quantiles, super::MEDIAN));
        }
        if !self.has_quantile(super::MEDIAN) {
            return Err(format!("quantiles {:?}; expected increasing", self.quantiles));
        }
        match self.t_m.iter().find(|time| !(0.0..=1e7).contains(&time.median_us)) {
            Some(time) => Err(format!("T_m of {} µs for {} bearers", time.median_us, time.bearers)),
            None => Ok(()),
        }
    }
}
