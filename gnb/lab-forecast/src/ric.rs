//! The RIC's clock: samples up, an inference at a time, forecasts down.

use std::collections::{HashMap, VecDeque};

use e2sm_tc::v1::{
    self, BearerForecast, BearerId, ControlHeader, ControlMessage, ForecastFeed, UeId,
};

use super::reports::{Report, Subscriptions};
use super::{Forecaster, Horizon, NodeForecaster, Points, RlcSample, Source, Timing};
use lab_scenario::ScenarioError;
use lab_world::{Output, RanFunction, World};

/// Points of a bearer in one feed (E2SM-TC v1 §8).
pub(super) const FEED_POINTS: u32 = 64;
/// A longer forecast goes down in parts, one each so many points; a part begins as many points before
/// it is handed over and reaches 48 beyond, for a CU that looks back to its last status and ahead
/// to what it sends now.
const FEED_STRIDE: u32 = 16;

/// Why a RIC cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RicError {
    /// A control the RAN function did not take.
    #[error("forecast of RNTI {rnti}, DRB {drb}: {why}")]
    Refused {
        /// C-RNTI.
        rnti: u16,
        /// DRB identity.
        drb: u8,
        /// What the RAN function said.
        why: String,
    },
    /// The RAN functions do not report what the forecaster lives on.
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

/// What of a forecast goes to the CU beside the occupancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tells {
    /// DRQL's limit, as stolidis2024 (§IV-B) has it: the CU puts the RLC as forecast in the place of the
    /// RLC.
    #[default]
    Limit,
    /// What will be drained: the CU knows of the RLC itself, and lacks what the MAC pulls until a
    /// packet is there.
    Drain,
}

/// Who made the forecasts that left for the CU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// All.
    pub forecasts: u64,
    /// Those of the model, not of what it falls back to.
    pub by_model: u64,
}

/// Makes the forecaster of a bearer.
type Factory = Box<dyn FnMut(u16, u8) -> Box<dyn Forecaster>>;

/// Who forecasts.
enum Who {
    /// One for each bearer.
    EachBearer { make: Factory, forecasters: HashMap<(u16, u8), Box<dyn Forecaster>> },
    /// One for the node.
    Node { forecaster: Box<dyn NodeForecaster>, subscriptions: Subscriptions },
}

/// What is on its way to the RIC.
#[derive(Clone, Debug)]
enum Up {
    Report(Report),
    Sample(RlcSample),
}

/// A forecast on its way to the CU, or part of it.
#[derive(Clone, Debug)]
struct OnItsWay {
    at_us: u64,
    forecast: BearerForecast,
}

/// A near-RT RIC that forecasts. It works through `World::control`, so that what the
/// CU has of it is what E2SM-TC carries.
pub struct Ric {
    timing: Timing,
    tells: Tells,
    who: Who,
    has_begun: bool,
    next_sample_us: u64,
    /// On its way to the RIC, with when it is there, in order of that.
    up: VecDeque<(u64, Up)>,
    /// Bearers of which a sample came since the inference before, in the order of their coming.
    fresh: Vec<RlcSample>,
    /// When the inference ends, and what it began with.
    inference: Option<(u64, Vec<RlcSample>)>,
    /// In order of time.
    down: VecDeque<OnItsWay>,
    points: Points,
    said: Said,
}

impl Ric {
    /// A RIC that begins at virtual time 0; `make` is called once per bearer, at its first sample.
    pub fn new(timing: Timing, make: impl FnMut(u16, u8) -> Box<dyn Forecaster> + 'static) -> Self {
        let forecasters = HashMap::new();
        Self::of(timing, Who::EachBearer { make: Box::new(make), forecasters })
    }

    /// A RIC whose forecaster lives on the node's E2 indications.
    pub fn of_node(timing: Timing, forecaster: Box<dyn NodeForecaster>) -> Self {
        Self::of(timing, Who::Node { forecaster, subscriptions: Subscriptions::default() })
    }

    fn of(timing: Timing, who: Who) -> Self {
        Self {
            timing,
            tells: Tells::default(),
            who,
            has_begun: false,
            next_sample_us: 0,
            up: VecDeque::new(),
            fresh: Vec::new(),
            inference: None,
            down: VecDeque::new(),
            points: Points::default(),
            said: Said::default(),
        }
    }

    /// Tells the CU this of each forecast.
    #[must_use]
    pub fn telling(mut self, tells: Tells) -> Self {
        self.tells = tells;
        self
    }

    /// Who made the forecasts so far; none where nothing falls back.
    pub fn said(&self) -> Option<Said> {
        matches!(self.who, Who::Node { .. }).then_some(self.said)
    }

    /// Steps the world to `to_us` through `step`, with reports and feeds on the way. `step` hands on
    /// what comes out of the world.
    ///
    /// # Errors
    /// What `step` says, and [`RicError`].
    pub fn step_until<E: From<RicError>>(
        &mut self,
        world: &mut World,
        to_us: u64,
        mut step: impl FnMut(&mut World, u64, &mut dyn FnMut(Output)) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has_begun {
            self.begin(world)?;
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

    fn begin(&mut self, world: &mut World) -> Result<(), RicError> {
        self.has_begun = true;
        world.keep_drql_limits(true);
        if let Who::Node { subscriptions, .. } = &mut self.who {
            *subscriptions = Subscriptions::begin(world, self.timing.sample_us)
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
        let Self { who, up, timing, .. } = self;
        let (to_us, epoch_us) = (to_us.max(world.now_us()), world.epoch_us());
        let Who::Node { subscriptions, .. } = who else { return step(world, to_us, &mut |_| {}) };
        step(world, to_us, &mut |output| {
            let Output::Indication(indication) = output else { return };
            let Some((out_us, report)) = subscriptions.report(indication) else { return };
            let out_us = out_us.saturating_sub(epoch_us);
            let there_us = out_us + u64::from(timing.report_delay_us);
            up.push_back((there_us, Up::Report(report)));
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
            let there_us = now_us + u64::from(self.timing.report_delay_us);
            let samples = world.rlc_samples().map(|sample| (there_us, Up::Sample(sample)));
            self.up.extend(samples);
            self.next_sample_us = now_us + u64::from(self.timing.sample_us.max(1));
        }
        while self.up.front().is_some_and(|(at_us, _)| *at_us <= now_us) {
            match self.up.pop_front() {
                Some((_, Up::Report(report))) => self.hear_report(&report)?,
                Some((_, Up::Sample(sample))) => self.hear(sample),
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

    fn hear_report(&mut self, report: &Report) -> Result<(), RicError> {
        match &mut self.who {
            Who::Node { forecaster, .. } => forecaster.hear(report).map_err(RicError::Forecaster),
            Who::EachBearer { .. } => Ok(()),
        }
    }

    fn hear(&mut self, sample: RlcSample) {
        let id = (sample.rnti, sample.drb);
        if let Who::EachBearer { make, forecasters } = &mut self.who {
            forecasters.entry(id).or_insert_with(|| make(id.0, id.1)).observe(&sample);
        }
        match self.fresh.iter_mut().find(|known| (known.rnti, known.drb) == id) {
            Some(known) => *known = sample,
            None => self.fresh.push(sample),
        }
    }

    /// What is forecast from a sample, into `points`; whether there is anything to say.
    fn ask(&mut self, sample: &RlcSample, horizon: &Horizon) -> Result<bool, RicError> {
        let Self { who, points, tells, said, .. } = self;
        let (rnti, drb) = (sample.rnti, sample.drb);
        points.clear();
        let source = match who {
            Who::EachBearer { forecasters, .. } => match forecasters.get_mut(&(rnti, drb)) {
                Some(forecaster) => forecaster.forecast(horizon, points).then_some(Source::Model),
                None => None,
            },
            Who::Node { forecaster, .. } => {
                forecaster.forecast(rnti, drb, horizon, points).map_err(RicError::Forecaster)?
            }
        };
        let wanted = match tells {
            Tells::Limit => {
                points.drain_bytes.clear();
                &points.limit_bytes
            }
            Tells::Drain => {
                points.limit_bytes.clear();
                &points.drain_bytes
            }
        };
        // Of a bearer whose limit nobody told there is none to forecast.
        let Some(source) = source.filter(|_| !wanted.is_empty()) else { return Ok(false) };
        said.forecasts += 1;
        said.by_model += u64::from(source == Source::Model);
        Ok(true)
    }

    /// An inference ended: its forecasts leave for the CU, in place of what is left of older ones.
    fn forecast(&mut self, newest: &[RlcSample], now_us: u64) -> Result<(), RicError> {
        let Timing { step_us, points: wanted, first_point_us, .. } = self.timing;
        let step_us = step_us.max(1);
        for sample in newest {
            let horizon = Horizon {
                origin_us: sample.time_us,
                first_us: sample.time_us + u64::from(first_point_us),
                step_us,
                points: wanted,
            };
            if !self.ask(sample, &horizon)? {
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
                let start_us = u64::from(first_point_us) + u64::from(from) * u64::from(step_us);
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
        Ok(())
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
