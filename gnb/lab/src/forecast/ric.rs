//! The RIC's clock: samples up, an inference at a time, forecasts down.

use std::collections::{HashMap, VecDeque};

use e2sm_tc::v1::{
    self, BearerForecast, BearerId, ControlHeader, ControlMessage, ForecastFeed, UeId,
};

use super::{Forecaster, Horizon, Points, RlcSample, Timing};
use crate::scenario::ScenarioError;
use crate::world::{RanFunction, World};

/// Points of a bearer in one feed (E2SM-TC v1 §8).
const FEED_POINTS: u32 = 64;
/// A longer forecast goes down in parts, one each so many points; a part begins as many points before
/// it is handed over and reaches 48 beyond, for a CU that looks back to its last status and ahead
/// to what it sends now.
const FEED_STRIDE: u32 = 16;

/// A control the RAN function did not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("forecast of RNTI {rnti}, DRB {drb}: {why}")]
pub struct RicError {
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// What the RAN function said.
    pub why: String,
}

impl From<RicError> for ScenarioError {
    fn from(error: RicError) -> Self {
        Self::new("forecast feed", "", error.to_string())
    }
}

/// Makes the forecaster of a bearer.
type Factory = Box<dyn FnMut(u16, u8) -> Box<dyn Forecaster>>;

/// A forecast on its way to the CU, or part of it.
#[derive(Clone, Debug)]
struct OnItsWay {
    at_us: u64,
    forecast: BearerForecast,
}

/// A near-RT RIC with a forecaster per bearer. It works through `World::control`, so that what the
/// CU has of it is what E2SM-TC carries.
pub struct Ric {
    timing: Timing,
    make: Factory,
    forecasters: HashMap<(u16, u8), Box<dyn Forecaster>>,
    next_sample_us: u64,
    /// Samples on their way to the RIC, with when they are there.
    up: VecDeque<(u64, RlcSample)>,
    /// Bearers of which a sample came since the inference before, in the order of their coming.
    fresh: Vec<RlcSample>,
    /// When the inference ends, and what it began with.
    inference: Option<(u64, Vec<RlcSample>)>,
    /// In order of time.
    down: VecDeque<OnItsWay>,
    points: Points,
}

impl Ric {
    /// A RIC that begins at virtual time 0; `make` is called once per bearer, at its first sample.
    pub fn new(timing: Timing, make: impl FnMut(u16, u8) -> Box<dyn Forecaster> + 'static) -> Self {
        Self {
            timing,
            make: Box::new(make),
            forecasters: HashMap::new(),
            next_sample_us: 0,
            up: VecDeque::new(),
            fresh: Vec::new(),
            inference: None,
            down: VecDeque::new(),
            points: Points::default(),
        }
    }

    /// Steps the world to `to_us` through `step`, with samples and feeds on the way.
    ///
    /// # Errors
    /// What `step` says, and [`RicError`] when a forecast is refused.
    pub fn step_until<E: From<RicError>>(
        &mut self,
        world: &mut World,
        to_us: u64,
        mut step: impl FnMut(&mut World, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.next_sample_us == 0 {
            world.keep_drql_limits(true);
        }
        loop {
            let next_us = self.next_us();
            if next_us > to_us {
                break;
            }
            step(world, next_us.max(world.now_us()))?;
            self.run_due(world)?;
        }
        step(world, to_us.max(world.now_us()))
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
            let there_us = now_us + u64::from(self.timing.report_delay_us);
            self.up.extend(world.rlc_samples().map(|sample| (there_us, sample)));
            self.next_sample_us = now_us + u64::from(self.timing.sample_us.max(1));
        }
        while self.up.front().is_some_and(|(at_us, _)| *at_us <= now_us) {
            let Some((_, sample)) = self.up.pop_front() else { break };
            self.hear(sample);
        }
        if self.inference.as_ref().is_some_and(|(at_us, _)| *at_us <= now_us)
            && let Some((_, samples)) = self.inference.take()
        {
            self.forecast(&samples, now_us);
        }
        if self.inference.is_none() && !self.fresh.is_empty() {
            let samples = std::mem::take(&mut self.fresh);
            match self.timing.inference_us {
                0 => self.forecast(&samples, now_us),
                us => self.inference = Some((now_us + u64::from(us), samples)),
            }
        }
        while self.down.front().is_some_and(|down| down.at_us <= now_us) {
            let Some(down) = self.down.pop_front() else { break };
            feed(world, down.forecast)?;
        }
        Ok(())
    }

    fn hear(&mut self, sample: RlcSample) {
        let id = (sample.rnti, sample.drb);
        let make = &mut self.make;
        self.forecasters.entry(id).or_insert_with(|| make(id.0, id.1)).observe(&sample);
        match self.fresh.iter_mut().find(|known| (known.rnti, known.drb) == id) {
            Some(known) => *known = sample,
            None => self.fresh.push(sample),
        }
    }

    /// An inference ended: its forecasts leave for the CU, in place of what is left of older ones.
    fn forecast(&mut self, newest: &[RlcSample], now_us: u64) {
        let Timing { step_us, points: wanted, .. } = self.timing;
        let step_us = step_us.max(1);
        for sample in newest {
            let Some(forecaster) = self.forecasters.get_mut(&(sample.rnti, sample.drb)) else {
                continue;
            };
            let horizon = Horizon {
                origin_us: sample.time_us,
                first_us: sample.time_us + self.timing.latency_us(),
                step_us,
                points: wanted,
            };
            self.points.clear();
            if !forecaster.forecast(&horizon, &mut self.points) {
                continue;
            }
            let bearer = BearerId { ue: UeId::Rnti(sample.rnti), drb: sample.drb };
            let there_us = now_us + u64::from(self.timing.control_delay_us);
            self.down.retain(|down| down.forecast.bearer != bearer || down.at_us <= there_us);
            for handed in (0..wanted).step_by(FEED_STRIDE as usize) {
                let from = handed.saturating_sub(FEED_STRIDE);
                let range = from as usize..(from + FEED_POINTS).min(wanted) as usize;
                let part = |list: &[u32]| list.get(range.clone()).unwrap_or_default().to_vec();
                let at_us = there_us + u64::from(handed) * u64::from(step_us);
                let start_us = self.timing.latency_us() + u64::from(from) * u64::from(step_us);
                let forecast = BearerForecast {
                    bearer,
                    origin_us: sample.time_us,
                    horizon_start_us: u32::try_from(start_us).unwrap_or(u32::MAX),
                    step_us,
                    occupancy_bytes: part(&self.points.occupancy_bytes),
                    limit_bytes: part(&self.points.limit_bytes),
                    drain_bytes: part(&self.points.drain_bytes),
                };
                let place = self.down.partition_point(|down| down.at_us <= at_us);
                self.down.insert(place, OnItsWay { at_us, forecast });
                if from + FEED_POINTS >= wanted {
                    break;
                }
            }
        }
    }
}

/// Hands a forecast to the CU; its times become Unix time. That of a bearer which is no more there is
/// dropped.
fn feed(world: &mut World, mut forecast: BearerForecast) -> Result<(), RicError> {
    let UeId::Rnti(rnti) = forecast.bearer.ue else { return Ok(()) };
    let drb = forecast.bearer.drb;
    if !world.rlc_samples().any(|sample| (sample.rnti, sample.drb) == (rnti, drb)) {
        return Ok(());
    }
    let refused = |why: String| RicError { rnti, drb, why };
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
