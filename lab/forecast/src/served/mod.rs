//! A trained model in the loop: a child process `rlc-forecaster lockstep`, connected by pipes.
//!
//! It gets the bytes of the E2 indications and answers each RLC report with a `ForecastBatch`, so
//! features, model, calibration and fallback are those of live operation; virtual time waits for it.
//! T_m is taken from [`Timing`](super::Timing) and not measured here: runs are reproducible.

mod child;
mod hello;

use std::collections::{HashMap, VecDeque};

use prost::Message as _;

use e2sm_tc::v1::{FeedGrid, QuantileColumn, cumulated_drain};

use super::{Horizon, NodeForecaster, Points, Report, Source};
use child::Child;
pub use child::{Program, ServedError};
pub use hello::{Hello, StepTime};
use lab_world::RanFunction;
use proto::forecast::Source as ProtoSource;
use proto::{Forecast, ForecastBatch, Quantity};

/// Generated from `interfaces/proto/forecast.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
mod proto {
    include!(concat!(env!("OUT_DIR"), "/sojourn.forecast.v1.rs"));
}

/// Quantile of occupancy and limit.
const MEDIAN: f32 = 0.5;
/// Limit of batches kept for inferences that have not ended.
const MAX_BATCHES: usize = 1_024;

/// Origin and points of each bearer, by RNTI and DRB.
type ByBearer = HashMap<(u16, u8), (Source, Points)>;

/// A served model, for one run.
#[derive(Debug)]
pub struct Served {
    child: Child,
    hello: Hello,
    /// The points that its forecasts are fed at.
    grid: FeedGrid,
    /// Column of the quantile of occupancy and limit; `drain` is that of the drain.
    level: QuantileColumn,
    drain: QuantileColumn,
    /// Forecasts by time of the report, µs since the Unix epoch; oldest first.
    batches: VecDeque<(u64, ByBearer)>,
    epoch_us: u64,
}

impl Served {
    /// Starts the program for a run whose virtual time 0 is at `epoch_us`. The drain is fed at
    /// `drain_quantile`, above 0 and below 1.
    ///
    /// # Errors
    /// [`ServedError`] when it does not start, refuses the model, or differs from `expected`.
    pub fn start(
        program: &Program,
        expected: &Hello,
        epoch_us: u64,
        drain_quantile: f32,
    ) -> Result<Self, ServedError> {
        let (child, hello) = Child::start(program, &[])?;
        if !hello.is_same_model(expected) {
            return Err(ServedError::Changed {
                program: program.to_string(),
                before: expected.model.clone(),
                now: hello.model.clone(),
            });
        }
        let grid = hello.feed().ok_or_else(|| child.unexpected("a hello without points".into()))?;
        let column = |wanted| {
            let beyond =
                || child.unexpected(format!("quantiles {:?} without {wanted}", hello.quantiles));
            QuantileColumn::at(&hello.quantiles, wanted).ok_or_else(beyond)
        };
        let (level, drain) = (column(MEDIAN)?, column(drain_quantile)?);
        Ok(Self { child, hello, grid, level, drain, batches: VecDeque::new(), epoch_us })
    }

    /// Starts a program to get its hello, with T_m measured for these numbers of bearers.
    ///
    /// # Errors
    /// [`ServedError`].
    pub fn probe(program: &Program, bearers: &[u32]) -> Result<Hello, ServedError> {
        Child::start(program, bearers).map(|(_, hello)| hello)
    }

    fn on_batch(&mut self, batch: &[u8]) -> Result<(), ServedError> {
        let batch = ForecastBatch::decode(batch)
            .map_err(|error| self.child.unexpected(format!("no ForecastBatch: {error}")))?;
        if batch.points_us != self.hello.points_us && !batch.forecasts.is_empty() {
            let (now, before) = (&batch.points_us, &self.hello.points_us);
            return Err(self
                .child
                .unexpected(format!("points at {now:?} µs; the hello had {before:?}")));
        }
        if batch.quantiles != self.hello.quantiles && !batch.forecasts.is_empty() {
            let (now, before) = (&batch.quantiles, &self.hello.quantiles);
            return Err(self
                .child
                .unexpected(format!("quantiles {now:?}; the hello had {before:?}")));
        }
        for forecast in &batch.forecasts {
            let (id, source, points) = self
                .points(forecast, &batch.cumulated_quantiles)
                .map_err(|why| self.child.unexpected(why))?;
            let bearers = match self.batches.back_mut() {
                Some((at_us, bearers)) if *at_us == forecast.origin_us => bearers,
                _ => {
                    self.batches.push_back((forecast.origin_us, ByBearer::new()));
                    let Some((_, bearers)) = self.batches.back_mut() else { continue };
                    bearers
                }
            };
            bearers.insert(id, (source, points));
        }
        while self.batches.len() > MAX_BATCHES {
            self.batches.pop_front();
        }
        Ok(())
    }

    /// Bearer, origin and points of a forecast.
    fn points(
        &self,
        forecast: &Forecast,
        cumulated_quantiles: &[f32],
    ) -> Result<((u16, u8), Source, Points), String> {
        let bearer = forecast.bearer.unwrap_or_default();
        let id = u16::try_from(bearer.rnti).ok().zip(u8::try_from(bearer.drb).ok());
        let id = id.ok_or_else(|| format!("RNTI {}, DRB {}", bearer.rnti, bearer.drb))?;
        let mut points = Points::default();
        for series in &forecast.series {
            let expected = self.hello.points_us.len() * self.hello.quantiles.len();
            if series.values.len() != expected {
                return Err(format!("{} values; expected {expected}", series.values.len()));
            }
            let is_no_size = |value: &&f32| !(0.0..=u32::MAX as f32).contains(*value);
            if let Some(value) = series.values.iter().find(is_no_size) {
                return Err(format!("{value} bytes; expected 0 to {}", u32::MAX));
            }
            let quantity = Quantity::try_from(series.quantity);
            let is_drain = quantity == Ok(Quantity::DrainBytes);
            let column = if is_drain { &self.drain } else { &self.level };
            let values = column.of(&series.values).unwrap_or_default();
            let (list, fed) = match quantity {
                Ok(Quantity::OccupancyBytes) => {
                    (&mut points.occupancy_bytes, self.grid.levels(&values))
                }
                Ok(Quantity::LimitBytes) => (&mut points.limit_bytes, self.grid.levels(&values)),
                Ok(Quantity::DrainBytes) => (&mut points.drain_bytes, self.grid.drain(&values)),
                _ => return Err(format!("quantity {}", series.quantity)),
            };
            *list = fed.unwrap_or_default();
        }
        let sums = &forecast.cumulated_drain_bytes;
        if !sums.is_empty() {
            let drain = cumulated_drain(&self.hello.points_us, cumulated_quantiles, sums);
            points.cumulated_drain = Some(drain.ok_or("a cumulated drain out of order")?);
        }
        let source = match forecast.source() {
            ProtoSource::Model => Source::Model,
            ProtoSource::Persistence => Source::Fallback,
            ProtoSource::Unspecified => return Err("a forecast without source".to_owned()),
        };
        Ok((id, source, points))
    }
}

impl NodeForecaster for Served {
    fn on_report(&mut self, report: &Report) -> Result<(), String> {
        let batch = self.child.send_report(report).map_err(|error| error.to_string())?;
        match batch {
            Some(batch) => self.on_batch(&batch).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    fn forecast(
        &mut self,
        rnti: u16,
        drb: u8,
        horizon: &Horizon,
        points: &mut Points,
    ) -> Result<Option<Source>, String> {
        let (start_us, step_us, count) =
            (self.grid.start_us(), self.grid.step_us(), self.grid.points());
        let requested = (horizon.first_us - horizon.origin_us, horizon.step_us, horizon.points);
        if requested != (u64::from(start_us), step_us, count) {
            return Err(format!(
                "{} points of {} µs from {} µs on requested; those of the model are fed at {count} \
                 of {step_us} from {start_us} on",
                requested.2, requested.1, requested.0
            ));
        }
        let at_us = self.epoch_us + horizon.origin_us;
        while self.batches.front().is_some_and(|(origin_us, _)| *origin_us < at_us) {
            self.batches.pop_front();
        }
        let Some((origin_us, bearers)) = self.batches.front() else { return Ok(None) };
        Ok(bearers.get(&(rnti, drb)).filter(|_| *origin_us == at_us).map(|(source, forecast)| {
            points.clone_from(forecast);
            *source
        }))
    }
}

impl Report {
    /// Kind of its frame; `None` for RAN functions that forecasters do not read.
    fn frame_kind(&self) -> Option<u8> {
        match self.function {
            RanFunction::Rlc => Some(child::RLC),
            RanFunction::Mac => Some(child::MAC),
            RanFunction::TcV1 => Some(child::TC_STATUS),
            RanFunction::Kpm | RanFunction::TcV0 => None,
        }
    }
}
