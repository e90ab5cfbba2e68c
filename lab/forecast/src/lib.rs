//! A near-RT RIC on virtual time: it samples each RLC, forecasts it, and feeds the CU (stolidis2024
//! §III).
//!
//! A [`Forecaster`] forecasts one bearer from samples. A [`NodeForecaster`] forecasts all bearers of a
//! node from its E2 indications; [`Served`] is one, with a trained model in a child process. [`Ric`]
//! applies the delays: samples each T_r that take T_RD, inferences of T_m, and forecasts that take
//! T_RC, delivered as E2SM-TC forecast feeds (control style 3).

mod forecasters;
mod learned;
mod radio;
mod reports;
mod ric;
mod served;
mod timing;

use e2sm_tc::v1::CumulatedDrain;

pub use e2sm_tc::v1::DRAIN_QUANTILE;
pub use forecasters::{Late, Perfect, Persistence};
pub use lab_world::RlcSample;
pub use learned::LearnedDrain;
pub use radio::{Capacity, Marginal, TrueFuture};
pub use reports::Report;
pub use ric::{FeedQuantity, ForecastCounts, Ric, RicError};
pub use served::{Hello, Program, Served, ServedError, StepTime};
pub use timing::Timing;

/// Forecasts the RLC of one bearer.
pub trait Forecaster: Send {
    /// Processes a sample that reached the RIC, in order of time.
    fn observe(&mut self, sample: &RlcSample);

    /// Appends the points of `horizon` to the empty `points`; `false` without a forecast.
    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool;
}

/// Forecasts the RLC of all bearers of a node from the reports of its RAN functions.
pub trait NodeForecaster: Send {
    /// Processes a report that reached the RIC, in order of time.
    ///
    /// # Errors
    /// The reason why the forecaster failed.
    fn on_report(&mut self, report: &Report) -> Result<(), String>;

    /// Appends the points of `horizon` for a bearer to the empty `points`; `None` without a forecast.
    ///
    /// # Errors
    /// The reason why it cannot forecast this horizon.
    fn forecast(
        &mut self,
        rnti: u16,
        drb: u8,
        horizon: &Horizon,
        points: &mut Points,
    ) -> Result<Option<Source>, String>;
}

/// Origin of a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The model.
    Model,
    /// The fallback of the model.
    Fallback,
}

/// The points in time of a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Time of the newest sample, virtual µs.
    pub origin_us: u64,
    /// Time of the first point, virtual µs.
    pub first_us: u64,
    /// Time between points (T_w), µs; 1 or more.
    pub step_us: u32,
    /// Number of points (M).
    pub points: u32,
}

impl Horizon {
    /// Times of the points, virtual µs.
    pub fn times_us(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { first_us, step_us, points, .. } = *self;
        (0..u64::from(points)).map(move |k| first_us.saturating_add(k * u64::from(step_us)))
    }
}

/// A forecast: each list of bytes is empty or has a value per point of the horizon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// Occupancy of the RLC, bytes.
    pub occupancy_bytes: Vec<u32>,
    /// DRQL's limit, bytes.
    pub limit_bytes: Vec<u32>,
    /// Drained in the step that ends at the point, bytes.
    pub drain_bytes: Vec<u32>,
    /// Quantiles of the drain summed from the origin on, at points of its own.
    pub cumulated_drain: Option<CumulatedDrain>,
}

impl Points {
    /// Appends the values of a sample, and the bytes drained in the step before it.
    fn push(&mut self, sample: &RlcSample, drain_bytes: u64) {
        self.occupancy_bytes.push(sample.occupancy_bytes);
        self.limit_bytes.push(sample.limit_bytes);
        self.drain_bytes.push(u32::try_from(drain_bytes).unwrap_or(u32::MAX));
    }

    fn clear(&mut self) {
        self.occupancy_bytes.clear();
        self.limit_bytes.clear();
        self.drain_bytes.clear();
        self.cumulated_drain = None;
    }
}
