//! A trained model in the loop: `rlc-forecaster lockstep` at the other end of a pipe.
//!
//! It is handed the bytes of the E2 indications and answers each RLC report with a `ForecastBatch`, so
//! that features, model, calibration and fall-back are those that serve live, and virtual time waits
//! for them. How long it takes is not measured here: T_m is in [`Timing`](super::Timing), as the
//! program measured it at another time, or runs would differ from each other.

mod child;
mod hello;

use std::collections::{HashMap, VecDeque};

use prost::Message as _;

use super::{Horizon, NodeForecaster, Points, Report, Source};
use child::Child;
pub use child::{Program, ServedError};
pub use hello::{Hello, ModelHorizon, StepTime};
use lab_world::RanFunction;
use proto::forecast::Source as ProtoSource;
use proto::{Forecast, ForecastBatch, Quantity};

/// Generated from `interfaces/proto/forecast.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
mod proto {
    include!(concat!(env!("OUT_DIR"), "/sojourn.forecast.v1.rs"));
}

/// The quantile that stands for a forecast. A pacer takes one number for what will be, and the level
/// it keeps copies of is put right by each status: what is too high as often as too low cancels out.
const QUANTILE: f32 = 0.5;
/// Forecasts kept for inferences that have not ended.
const KEPT: usize = 1_024;

/// What was said of each bearer, by RNTI and DRB, and by whom.
type ByBearer = HashMap<(u16, u8), (Source, Points)>;

/// A served model, for one run.
#[derive(Debug)]
pub struct Served {
    child: Child,
    hello: Hello,
    /// By time of the report, µs since the Unix epoch; oldest first.
    said: VecDeque<(u64, ByBearer)>,
    epoch_us: u64,
}

impl Served {
    /// Starts the program for a run whose virtual time 0 is at `epoch_us`.
    ///
    /// # Errors
    /// [`ServedError`] when it does not start, refuses the model, or is not what `expected` says.
    pub fn start(program: &Program, expected: &Hello, epoch_us: u64) -> Result<Self, ServedError> {
        let (child, hello) = Child::start(program, &[])?;
        if !hello.is_same_model(expected) {
            return Err(ServedError::Changed {
                program: program.to_string(),
                before: expected.model.clone(),
                now: hello.model.clone(),
            });
        }
        Ok(Self { child, hello, said: VecDeque::new(), epoch_us })
    }

    /// Asks a program what it serves, with T_m measured for so many bearers at a time.
    ///
    /// # Errors
    /// [`ServedError`].
    pub fn probe(program: &Program, bearers: &[u32]) -> Result<Hello, ServedError> {
        Child::start(program, bearers).map(|(_, hello)| hello)
    }

    fn take_in(&mut self, batch: &[u8]) -> Result<(), ServedError> {
        let batch = ForecastBatch::decode(batch)
            .map_err(|error| self.child.garbage(format!("no ForecastBatch: {error}")))?;
        let median = batch.quantiles.iter().position(|level| (level - QUANTILE).abs() < 1e-6);
        for forecast in &batch.forecasts {
            let (id, source, points) = median
                .ok_or_else(|| format!("quantiles {:?} without {QUANTILE}", batch.quantiles))
                .and_then(|median| self.points(forecast, median, batch.quantiles.len()))
                .map_err(|why| self.child.garbage(why))?;
            let of_time = match self.said.back_mut() {
                Some((at_us, of_time)) if *at_us == forecast.origin_us => of_time,
                _ => {
                    self.said.push_back((forecast.origin_us, ByBearer::new()));
                    let Some((_, of_time)) = self.said.back_mut() else { continue };
                    of_time
                }
            };
            of_time.insert(id, (source, points));
        }
        while self.said.len() > KEPT {
            self.said.pop_front();
        }
        Ok(())
    }

    /// What a forecast says at the middle quantile.
    fn points(
        &self,
        forecast: &Forecast,
        median: usize,
        quantiles: usize,
    ) -> Result<((u16, u8), Source, Points), String> {
        let bearer = forecast.bearer.unwrap_or_default();
        let id = u16::try_from(bearer.rnti).ok().zip(u8::try_from(bearer.drb).ok());
        let id = id.ok_or_else(|| format!("RNTI {}, DRB {}", bearer.rnti, bearer.drb))?;
        let horizon = &self.hello.horizon;
        if (forecast.horizon_start_us, forecast.step_us) != (horizon.start_us, horizon.step_us) {
            return Err(format!(
                "points from {} µs each {} µs; the hello had {} and {}",
                forecast.horizon_start_us, forecast.step_us, horizon.start_us, horizon.step_us
            ));
        }
        let mut points = Points::default();
        for series in &forecast.series {
            let list = match Quantity::try_from(series.quantity) {
                Ok(Quantity::OccupancyBytes) => &mut points.occupancy_bytes,
                Ok(Quantity::LimitBytes) => &mut points.limit_bytes,
                Ok(Quantity::DrainBytes) => &mut points.drain_bytes,
                _ => return Err(format!("quantity {}", series.quantity)),
            };
            let wanted = horizon.points as usize * quantiles;
            if series.values.len() != wanted {
                return Err(format!("{} values; expected {wanted}", series.values.len()));
            }
            for value in series.values.iter().skip(median).step_by(quantiles) {
                if !(0.0..=u32::MAX as f32).contains(value) {
                    return Err(format!("{value} bytes; expected 0 to {}", u32::MAX));
                }
                list.push(value.round() as u32);
            }
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
    fn hear(&mut self, report: &Report) -> Result<(), String> {
        let batch = self.child.hand(report).map_err(|error| error.to_string())?;
        match batch {
            Some(batch) => self.take_in(&batch).map_err(|error| error.to_string()),
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
        let ModelHorizon { start_us, step_us, points: count } = self.hello.horizon;
        let asked = (horizon.first_us - horizon.origin_us, horizon.step_us, horizon.points);
        if asked != (u64::from(start_us), step_us, count) {
            return Err(format!(
                "asked for {} points of {} µs from {} µs on; the model has {count} of {step_us} \
                 from {start_us} on",
                asked.2, asked.1, asked.0
            ));
        }
        let at_us = self.epoch_us + horizon.origin_us;
        while self.said.front().is_some_and(|(said_us, _)| *said_us < at_us) {
            self.said.pop_front();
        }
        let Some((said_us, of_time)) = self.said.front() else { return Ok(None) };
        Ok(of_time.get(&(rnti, drb)).filter(|_| *said_us == at_us).map(|(source, said)| {
            points.clone_from(said);
            *source
        }))
    }
}

impl Report {
    /// Kind of its frame; none for what no forecaster reads.
    fn frame_kind(&self) -> Option<u8> {
        match self.function {
            RanFunction::Rlc => Some(child::RLC),
            RanFunction::Mac => Some(child::MAC),
            RanFunction::TcV1 => Some(child::TC_STATUS),
            RanFunction::Kpm | RanFunction::TcV0 => None,
        }
    }
}
