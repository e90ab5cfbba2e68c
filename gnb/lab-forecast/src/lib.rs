//! A near-RT RIC beside a world: it hears of each RLC, forecasts, and feeds the CU (stolidis2024 §III).
//!
//! [`Forecaster`] is the door for what forecasts one bearer: it is shown samples as they reach the RIC
//! and is asked for points to come. [`NodeForecaster`] is that for what reads the E2 indications of a
//! whole node, as [`Served`] does, a trained model at the end of a pipe. [`Ric`] keeps the time: samples
//! each T_r that take T_RD, an inference of T_m, forecasts that take T_RC, handed over as E2SM-TC
//! forecast feeds (control style 3).

mod forecasters;
mod reports;
mod ric;
mod served;
mod timing;

pub use forecasters::{Late, Perfect, Persistence};
pub use lab_world::RlcSample;
pub use reports::Report;
pub use ric::{Ric, RicError, Said, Tells};
pub use served::{Hello, ModelHorizon, Program, Served, ServedError, StepTime};
pub use timing::Timing;

/// Forecasts the RLC of one bearer.
pub trait Forecaster: Send {
    /// A sample reached the RIC. They come in order of time.
    fn observe(&mut self, sample: &RlcSample);

    /// Writes the points of `horizon`; answers whether there is anything to say. The lists are empty
    /// when it is called.
    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool;
}

/// Forecasts the RLC of all bearers of a node, by what its RAN functions report over E2.
pub trait NodeForecaster: Send {
    /// An indication reached the RIC. They come in order of time, those of one time before the
    /// forecasts that rest on it are asked for.
    ///
    /// # Errors
    /// A sentence, when it cannot go on.
    fn hear(&mut self, report: &Report) -> Result<(), String>;

    /// Writes the points of `horizon` for a bearer; who made them, or none when there is nothing to
    /// say. The lists are empty when it is called.
    ///
    /// # Errors
    /// A sentence, when it cannot say anything of such a horizon.
    fn forecast(
        &mut self,
        rnti: u16,
        drb: u8,
        horizon: &Horizon,
        points: &mut Points,
    ) -> Result<Option<Source>, String>;
}

/// Who made a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The forecaster itself.
    Model,
    /// What it falls back to.
    Fallback,
}

/// What times a forecast is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Time of the newest sample, virtual µs.
    pub origin_us: u64,
    /// Time of the first point, virtual µs.
    pub first_us: u64,
    /// Between points (T_w), µs; 1 or more.
    pub step_us: u32,
    /// How many points (M).
    pub points: u32,
}

impl Horizon {
    /// Times of the points, virtual µs.
    pub fn times_us(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { first_us, step_us, points, .. } = *self;
        (0..u64::from(points)).map(move |k| first_us.saturating_add(k * u64::from(step_us)))
    }
}

/// A forecast: a value per point of the horizon in each list that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// In the RLC, bytes.
    pub occupancy_bytes: Vec<u32>,
    /// DRQL's limit, bytes.
    pub limit_bytes: Vec<u32>,
    /// Drained in the step that ends at the point, bytes.
    pub drain_bytes: Vec<u32>,
}

impl Points {
    /// Adds what a sample says, and what was drained in the step before it.
    fn push(&mut self, sample: &RlcSample, drain_bytes: u64) {
        self.occupancy_bytes.push(sample.occupancy_bytes);
        self.limit_bytes.push(sample.limit_bytes);
        self.drain_bytes.push(u32::try_from(drain_bytes).unwrap_or(u32::MAX));
    }

    fn clear(&mut self) {
        self.occupancy_bytes.clear();
        self.limit_bytes.clear();
        self.drain_bytes.clear();
    }
}
