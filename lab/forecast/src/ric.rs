//! Scheduling of a RIC on virtual time: samples up, one inference at a time, forecasts down.

use std::collections::{HashMap, VecDeque};

use e2sm_tc::v1::{
    self, BearerForecast, BearerId, ControlHeader, ControlMessage, ForecastFeed, UeId,
};

use super::reports::{Report, Subscriptions};
use super::timing::FEED_POINTS;
use super::{Forecaster, Horizon, NodeForecaster, Points, RlcSample, Source, Timing};
use lab_scenario::ScenarioError;
use lab_world::{Output, RanFunction, World};

/// A longer forecast is delivered in parts, one per this many points. A part covers 16 points before
/// its delivery and 48 after it: the CU needs those since its last status and those ahead.
const FEED_STRIDE: u32 = 16;

/// Failure of a RIC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RicError {
    /// The RAN function refused a control.
    #[error("forecast of RNTI {rnti}, DRB {drb}: {why}")]
    Refused {
        /// C-RNTI.
        rnti: u16,
        /// DRB identity.
        drb: u8,
        /// Reason of the RAN function.
        why: String,
    },
    /// The RAN functions refused a subscription of the forecaster.
    #[error("subscription: {0}")]
    Subscription(String),
    /// The forecaster failed.
    #[error("forecaster: {0}")]
    Forecaster(String),
}

impl From<RicError> for ScenarioError {
    fn from(error: RicError) -> Self {
        Self::new("forecasts", "", error.to_string())
    }
}

/// Quantity that is fed to the CU beside the occupancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedQuantity {
    /// DRQL's limit (stolidis2024 §IV-B): the CU uses the forecast in place of the state of the RLC.
    #[default]
    Limit,
    /// The drain: the CU knows the state of the RLC, but not what the MAC pulls until a packet
    /// arrives.
    Drain,
    /// The drain, and a limit for it.
    DrainAndLimit,
    /// Quantiles of the cumulated drain, for the pacer `base_stock`.
    CumulatedDrain,
}

/// Numbers of forecasts sent to the CU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForecastCounts {
    /// All forecasts.
    pub forecasts: u64,
    /// Those of the model, without those of its fallback.
    pub by_model: u64,
}

/// Creates the forecaster of a bearer.
type Factory = Box<dyn FnMut(u16, u8) -> Box<dyn Forecaster>>;

enum Forecasters {
    /// One per bearer.
    PerBearer { create: Factory, by_id: HashMap<(u16, u8), Box<dyn Forecaster>> },
    /// One for the node.
    Node { forecaster: Box<dyn NodeForecaster>, subscriptions: Subscriptions },
}

/// A message to the RIC.
#[derive(Clone, Debug)]
enum Up {
    Report(Report),
    Sample(RlcSample),
}

/// A forecast, or part of one, sent to the CU.
#[derive(Clone, Debug)]
struct Down {
    at_us: u64,
    forecast: BearerForecast,
}

/// A near-RT RIC that forecasts. It uses `World::control`, so the CU gets what E2SM-TC carries.
pub struct Ric {
    timing: Timing,
    quantity: FeedQuantity,
    forecasters: Forecasters,
    has_started: bool,
    next_sample_us: u64,
    /// Messages to the RIC in order of arrival, with its time.
    up: VecDeque<(u64, Up)>,
    /// Newest sample of each bearer since the last inference started, in order of first arrival.
    fresh: Vec<RlcSample>,
    /// End of the current inference, and its samples.
    inference: Option<(u64, Vec<RlcSample>)>,
    /// Forecasts to the CU in order of arrival.
    down: VecDeque<Down>,
    points: Points,
    counts: ForecastCounts,
}

impl Ric {
    /// A RIC that starts at virtual time 0; `create` is called at the first sample of each bearer.
    pub fn new(
        timing: Timing,
        create: impl FnMut(u16, u8) -> Box<dyn Forecaster> + 'static,
    ) -> Self {
        let (create, by_id) = (Box::new(create), HashMap::new());
        Self::of(timing, Forecasters::PerBearer { create, by_id })
    }

    /// A RIC whose forecaster uses the E2 indications of the node.
    pub fn of_node(timing: Timing, forecaster: Box<dyn NodeForecaster>) -> Self {
        Self::of(timing, Forecasters::Node { forecaster, subscriptions: Subscriptions::default() })
    }

    fn of(timing: Timing, forecasters: Forecasters) -> Self {
        Self {
            timing,
            quantity: FeedQuantity::default(),
            forecasters,
            has_started: false,
            next_sample_us: 0,
            up: VecDeque::new(),
            fresh: Vec::new(),
            inference: None,
            down: VecDeque::new(),
            points: Points::default(),
            counts: ForecastCounts::default(),
        }
    }

    /// Sets the quantity that is fed to the CU.
    #[must_use]
    pub fn with_quantity(mut self, quantity: FeedQuantity) -> Self {
        self.quantity = quantity;
        self
    }

    /// Numbers of forecasts so far; `None` for forecasters without a fallback.
    pub fn counts(&self) -> Option<ForecastCounts> {
        matches!(self.forecasters, Forecasters::Node { .. }).then_some(self.counts)
    }

    /// Steps the world to `to_us` through `step`, which passes on the outputs of the world, and
    /// delivers reports and forecasts at their times.
    ///
    /// # Errors
    /// Those of `step`, and [`RicError`].
    pub fn step_until<E: From<RicError>>(
        &mut self,
        world: &mut World,
        to_us: u64,
        mut step: impl FnMut(&mut World, u64, &mut dyn FnMut(Output)) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has_started {
            self.start(world)?;
        }
        loop {
            let next_us = self.next_us();
            if next_us > to_us {
                break;
            }
            self.step(world, next_us, &mut step)?;
            self.run_due(world)?;
        }
        self.step(world, to_us, &mut step)
    }

    fn start(&mut self, world: &mut World) -> Result<(), RicError> {
        self.has_started = true;
        world.record_drql_limits(true);
        if let Forecasters::Node { subscriptions, .. } = &mut self.forecasters {
            *subscriptions = Subscriptions::subscribe(world, self.timing.sample_us)
                .map_err(RicError::Subscription)?;
        }
        Ok(())
    }

    fn step<E>(
        &mut self,
        world: &mut World,
        to_us: u64,
        step: &mut impl FnMut(&mut World, u64, &mut dyn FnMut(Output)) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { forecasters, up, timing, .. } = self;
        let (to_us, epoch_us) = (to_us.max(world.now_us()), world.epoch_us());
        let Forecasters::Node { subscriptions, .. } = forecasters else {
            return step(world, to_us, &mut |_| {});
        };
        step(world, to_us, &mut |output| {
            let Output::Indication(indication) = output else { return };
            let Some((out_us, report)) = subscriptions.report(indication) else { return };
            let out_us = out_us.saturating_sub(epoch_us);
            let arrival_us = out_us + u64::from(timing.report_delay_us);
            up.push_back((arrival_us, Up::Report(report)));
        })
    }

    fn next_us(&self) -> u64 {
        let up = self.up.front().map(|(at_us, _)| *at_us);
        let inference = self.inference.as_ref().map(|(at_us, _)| *at_us);
        let down = self.down.front().map(|down| down.at_us);
        [up, inference, down].into_iter().flatten().fold(self.next_sample_us, u64::min)
    }

    fn run_due(&mut self, world: &mut World) -> Result<(), RicError> {
        let now_us = world.now_us();
        if self.next_sample_us <= now_us {
            let arrival_us = now_us + u64::from(self.timing.report_delay_us);
            let samples = world.rlc_samples().map(|sample| (arrival_us, Up::Sample(sample)));
            self.up.extend(samples);
            self.next_sample_us = now_us + u64::from(self.timing.sample_us.max(1));
        }
        while self.up.front().is_some_and(|(at_us, _)| *at_us <= now_us) {
            match self.up.pop_front() {
                Some((_, Up::Report(report))) => self.on_report(&report)?,
                Some((_, Up::Sample(sample))) => self.on_sample(sample),
                None => break,
            }
        }
        if self.inference.as_ref().is_some_and(|(at_us, _)| *at_us <= now_us)
            && let Some((_, samples)) = self.inference.take()
        {
            self.forecast(&samples, now_us)?;
        }
        if self.inference.is_none() && !self.fresh.is_empty() {
            let samples = std::mem::take(&mut self.fresh);
            match self.timing.inference_us {
                0 => self.forecast(&samples, now_us)?,
                us => self.inference = Some((now_us + u64::from(us), samples)),
            }
        }
        while self.down.front().is_some_and(|down| down.at_us <= now_us) {
            let Some(down) = self.down.pop_front() else { break };
            feed(world, down.forecast)?;
        }
        Ok(())
    }

    fn on_report(&mut self, report: &Report) -> Result<(), RicError> {
        match &mut self.forecasters {
            Forecasters::Node { forecaster, .. } => {
                forecaster.on_report(report).map_err(RicError::Forecaster)
            }
            Forecasters::PerBearer { .. } => Ok(()),
        }
    }

    fn on_sample(&mut self, sample: RlcSample) {
        let id = (sample.rnti, sample.drb);
        if let Forecasters::PerBearer { create, by_id } = &mut self.forecasters {
            by_id.entry(id).or_insert_with(|| create(id.0, id.1)).observe(&sample);
        }
        match self.fresh.iter_mut().find(|known| (known.rnti, known.drb) == id) {
            Some(known) => *known = sample,
            None => self.fresh.push(sample),
        }
    }

    /// Forecasts a bearer into `points`; `false` without a forecast.
    fn forecast_bearer(&mut self, sample: &RlcSample, horizon: &Horizon) -> Result<bool, RicError> {
        let Self { forecasters, points, quantity, counts, .. } = self;
        let (rnti, drb) = (sample.rnti, sample.drb);
        points.clear();
        let source = match forecasters {
            Forecasters::PerBearer { by_id, .. } => match by_id.get_mut(&(rnti, drb)) {
                Some(forecaster) => forecaster.forecast(horizon, points).then_some(Source::Model),
                None => None,
            },
            Forecasters::Node { forecaster, .. } => {
                forecaster.forecast(rnti, drb, horizon, points).map_err(RicError::Forecaster)?
            }
        };
        let is_fed = match quantity {
            FeedQuantity::Limit => {
                points.drain_bytes.clear();
                !points.limit_bytes.is_empty()
            }
            FeedQuantity::Drain => {
                points.limit_bytes.clear();
                !points.drain_bytes.is_empty()
            }
            FeedQuantity::DrainAndLimit => !points.drain_bytes.is_empty(),
            FeedQuantity::CumulatedDrain => {
                points.drain_bytes.clear();
                points.limit_bytes.clear();
                points.cumulated_drain.is_some()
            }
        };
        if *quantity != FeedQuantity::CumulatedDrain {
            points.cumulated_drain = None;
        }
        // A bearer without a reported limit has no forecast of it.
        let Some(source) = source.filter(|_| is_fed) else { return Ok(false) };
        counts.forecasts += 1;
        counts.by_model += u64::from(source == Source::Model);
        Ok(true)
    }

    /// Sends the forecasts of an inference that ended, in place of undelivered older ones.
    fn forecast(&mut self, newest: &[RlcSample], now_us: u64) -> Result<(), RicError> {
        let Timing { step_us, points: count, first_point_us, .. } = self.timing;
        let step_us = step_us.max(1);
        for sample in newest {
            let horizon = Horizon {
                origin_us: sample.time_us,
                first_us: sample.time_us + u64::from(first_point_us),
                step_us,
                points: count,
            };
            if !self.forecast_bearer(sample, &horizon)? {
                continue;
            }
            let bearer = BearerId { ue: UeId::Rnti(sample.rnti), drb: sample.drb };
            let arrival_us = now_us + u64::from(self.timing.control_delay_us);
            self.down.retain(|down| down.forecast.bearer != bearer || down.at_us <= arrival_us);
            for delivered in (0..count).step_by(FEED_STRIDE as usize) {
                let from = delivered.saturating_sub(FEED_STRIDE);
                let range = from as usize..(from + FEED_POINTS).min(count) as usize;
                let part = |list: &[u32]| list.get(range.clone()).unwrap_or_default().to_vec();
                let at_us = arrival_us + u64::from(delivered) * u64::from(step_us);
                let start_us = u64::from(first_point_us) + u64::from(from) * u64::from(step_us);
                let forecast = BearerForecast {
                    bearer,
                    origin_us: sample.time_us,
                    horizon_start_us: u32::try_from(start_us).unwrap_or(u32::MAX),
                    step_us,
                    occupancy_bytes: part(&self.points.occupancy_bytes),
                    limit_bytes: part(&self.points.limit_bytes),
                    drain_bytes: part(&self.points.drain_bytes),
                    cumulated_drain: self.points.cumulated_drain.clone(),
                };
                let place = self.down.partition_point(|down| down.at_us <= at_us);
                self.down.insert(place, Down { at_us, forecast });
                if from + FEED_POINTS >= count {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Delivers a forecast to the CU with Unix times; that of a released bearer is dropped.
fn feed(world: &mut World, mut forecast: BearerForecast) -> Result<(), RicError> {
    let UeId::Rnti(rnti) = forecast.bearer.ue else { return Ok(()) };
    let drb = forecast.bearer.drb;
    if !world.rlc_samples().any(|sample| (sample.rnti, sample.drb) == (rnti, drb)) {
        return Ok(());
    }
    let refused = |why: String| RicError::Refused { rnti, drb, why };
    forecast.origin_us += world.epoch_us();
    let header = ControlHeader { style: 3, correlation_id: 1 };
    let message = ControlMessage::ForecastFeed(ForecastFeed { bearers: vec![forecast] });
    let header = v1::encode(&header).map_err(|error| refused(error.to_string()))?;
    let message = v1::encode(&message).map_err(|error| refused(error.to_string()))?;
    let reply = world
        .control(RanFunction::TcV1.oid(), &header, &message)
        .map_err(|error| refused(error.to_string()))?;
    if reply.acknowledged { Ok(()) } else { Err(refused(reply.detail)) }
}
