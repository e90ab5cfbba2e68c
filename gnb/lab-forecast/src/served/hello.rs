//! What a forecaster says of itself before anything else.

use serde::{Deserialize, Serialize};

/// Frames as this program reads and writes them.
pub(super) const PROTOCOL: u32 = 1;

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
    /// When points are.
    pub horizon: ModelHorizon,
    /// Levels of its quantiles.
    pub quantiles: Vec<f32>,
    /// What is forecast, by the names of `forecast.proto`.
    pub quantities: Vec<String>,
    /// Reports of a bearer before the model is served.
    pub warm_up_steps: u32,
    /// T_m by number of bearers; empty when it was not to be measured. It says nothing of what is
    /// forecast, so it is left out where runs are told apart.
    #[serde(skip_serializing)]
    pub t_m: Vec<StepTime>,
}

/// Points of a model's forecasts: `start + k · step` after the newest sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelHorizon {
    /// To the first point, µs.
    pub start_us: u32,
    /// Between points, µs.
    pub step_us: u32,
    /// How many.
    pub points: u32,
}

/// T_m, from the bytes of an RLC report to those of its forecasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// In each report.
    pub bearers: u32,
    /// Measured.
    pub reports: u32,
    /// Half of them took no longer, µs.
    pub median_us: f64,
}

impl Hello {
    /// Whether forecasts are the same as those of another, T_m aside.
    pub(super) fn is_same_model(&self, other: &Self) -> bool {
        let Self { t_m: _, protocol: _, .. } = self;
        (&self.model_sha256, &self.program_sha256) == (&other.model_sha256, &other.program_sha256)
            && self.horizon == other.horizon
    }

    /// Whether a quantity of `forecast.proto` is forecast.
    pub fn forecasts(&self, quantity: &str) -> bool {
        self.quantities.iter().any(|known| known == quantity)
    }

    /// T_m for so many bearers, rounded up to whole µs; none where it was not measured.
    pub fn t_m_us(&self, bearers: u32) -> Option<u32> {
        let measured = self.t_m.iter().find(|time| time.bearers == bearers)?;
        Some(measured.median_us.ceil() as u32)
    }

    /// What is wrong with it, if anything: of what a run needs.
    pub(super) fn complaint(&self) -> Option<String> {
        let ModelHorizon { step_us, points, .. } = self.horizon;
        if self.protocol != PROTOCOL {
            return Some(format!("frames of version {}; expected {PROTOCOL}", self.protocol));
        }
        if step_us == 0 || !(1..=super::super::ric::FEED_POINTS).contains(&points) {
            return Some(format!(
                "{points} points each {step_us} µs; expected 1 to {} points, 1 µs apart or more",
                super::super::ric::FEED_POINTS
            ));
        }
        if !self.quantiles.iter().any(|level| (level - super::QUANTILE).abs() < 1e-6) {
            return Some(format!("quantiles {:?} without {}", self.quantiles, super::QUANTILE));
        }
        let odd = self.t_m.iter().find(|time| !(0.0..=1e7).contains(&time.median_us))?;
        Some(format!("T_m of {} µs for {} bearers", odd.median_us, odd.bearers))
    }
}
