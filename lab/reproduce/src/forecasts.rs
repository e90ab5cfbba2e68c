//! Forecasts by a RIC during a run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value;

use super::seed::with_seed;
use lab_forecast::{
    Capacity, FeedQuantity, Hello, Late, LearnedDrain, Marginal, Perfect, Persistence, Program,
    Ric, RicError, RlcSample, Served, Timing, TrueFuture,
};
use lab_scenario::{LoadedScenario, ScenarioError};
use lab_world::{DEFAULT_EPOCH_US, World};

/// How far a known radio is known beyond the end of a run.
const BEYOND_US: u64 = 1_000_000;

/// A forecaster with its times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecasts {
    /// Forecaster.
    pub forecaster: ForecasterKind,
    /// Delays and horizon.
    pub timing: Timing,
    /// Quantities sent to the CU.
    pub quantity: FeedQuantity,
}

/// A forecaster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecasterKind {
    /// [`Perfect`], from a previous run of this scenario with the same seed.
    Perfect(Box<Value>),
    /// [`Late`].
    Late,
    /// [`Persistence`].
    Persistence,
    /// [`TrueFuture`], of the scenario's radio.
    TrueFuture,
    /// [`LearnedDrain`].
    LearnedDrain,
    /// [`Marginal`], of the scenario's radio from a time on.
    Marginal {
        /// Start of the time whose distribution it knows, virtual µs.
        from_us: u64,
        /// Time from the status of the RLC to the arrival of a packet sent by it, µs.
        lead_us: u64,
        /// Share of the capacity that may be lost, in thousandths.
        lost_milli: u32,
    },
    /// [`Served`].
    Trained(Box<Trained>),
}

/// A trained model and the program that serves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trained {
    /// Program started for each run; its path does not affect results.
    #[serde(skip)]
    pub program: Program,
    /// Its description of the model.
    pub hello: Hello,
    /// T_m in place of the measured one, µs; the value applied is in [`Timing`].
    #[serde(skip)]
    pub t_m_us: Option<u32>,
    /// Quantile of the drain that the CU's pacer is fed, above 0 and below 1.
    pub drain_quantile: f32,
}

impl Trained {
    /// T_m for a number of bearers, µs: as given, or as measured and rounded up.
    pub fn t_m_us(&self, bearers: u32) -> Option<u32> {
        self.t_m_us.or_else(|| self.hello.t_m_us(bearers))
    }
}

impl Forecasts {
    /// The RIC for a run of `loaded`; `None` if stopped.
    ///
    /// # Errors
    /// [`ScenarioError`] of the scenario recorded for [`ForecasterKind::Perfect`].
    pub(super) fn ric(
        &self,
        loaded: &LoadedScenario,
        to_us: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Ric>, ScenarioError> {
        let timing = self.timing;
        let ric = match &self.forecaster {
            ForecasterKind::Perfect(scenario) => {
                let scenario = with_seed(scenario, loaded.scenario.seed);
                let Some(recorded) = record(scenario, to_us, timing.sample_us, stop)? else {
                    return Ok(None);
                };
                Ric::new(timing, move |rnti, drb| {
                    let of_bearer = recorded.get(&(rnti, drb)).cloned();
                    Box::new(Perfect::new(of_bearer.unwrap_or_default()))
                })
            }
            ForecasterKind::Late => Ric::new(timing, move |_, _| Box::new(Late::new(&timing))),
            ForecasterKind::Persistence => {
                Ric::new(timing, |_, _| Box::new(Persistence::default()))
            }
            ForecasterKind::TrueFuture => {
                let radios = radios(loaded, to_us)?;
                Ric::new(timing, move |rnti, _| {
                    let radio = radios.get(&rnti).cloned().unwrap_or_default();
                    Box::new(TrueFuture::new(radio, timing.sums_us()))
                })
            }
            ForecasterKind::LearnedDrain => {
                let learned = LearnedDrain::new(timing.sums_us(), timing.sample_us)
                    .map_err(|error| RicError::Forecaster(error.to_string()))?;
                Ric::new(timing, move |_, _| Box::new(learned.clone()))
            }
            ForecasterKind::Marginal { from_us, lead_us, lost_milli } => {
                let radios = radios(loaded, to_us)?;
                let (span, lead_us) = ((*from_us, to_us), *lead_us);
                let (tti_us, lost) = (timing.sample_us.into(), f64::from(*lost_milli) / 1e3);
                Ric::new(timing, move |rnti, _| {
                    let radio = radios.get(&rnti).cloned().unwrap_or_default();
                    Box::new(Marginal::new(&radio, span, lead_us, tti_us, lost))
                })
            }
            ForecasterKind::Trained(trained) => {
                let served = Served::start(
                    &trained.program,
                    &trained.hello,
                    DEFAULT_EPOCH_US,
                    trained.drain_quantile,
                )
                .map_err(|error| RicError::Forecaster(error.to_string()))?;
                Ric::of_node(timing, Box::new(served))
            }
        };
        Ok(Some(ric.with_quantity(self.quantity)))
    }
}

/// The radio of each UE, by RNTI, as if the UE had all of it.
fn radios(loaded: &LoadedScenario, to_us: u64) -> Result<HashMap<u16, Capacity>, ScenarioError> {
    let radio = |rnti| {
        let slots = World::capacity_series(loaded, rnti, to_us.saturating_add(BEYOND_US))?;
        Ok((rnti, Capacity::new(&slots)))
    };
    loaded.scenario.ues.iter().map(|ue| radio(ue.rnti)).collect()
}

type Recorded = HashMap<(u16, u8), Arc<[RlcSample]>>;

/// Samples of each bearer of a scenario; `None` if stopped.
fn record(
    scenario: Value,
    to_us: u64,
    sample_us: u32,
    stop: &AtomicBool,
) -> Result<Option<Recorded>, ScenarioError> {
    let loaded = LoadedScenario::from_value(scenario, "recorded", Path::new(""), &[])?;
    let mut world = World::new(&loaded)?;
    world.record_drql_limits(true);
    let mut samples: HashMap<(u16, u8), Vec<RlcSample>> = HashMap::new();
    for at_us in (0..=to_us).step_by(sample_us.max(1) as usize) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        world.step_until(at_us, &mut |_| {});
        let limits = world.bearer_samples();
        for mut sample in world.rlc_samples() {
            // DRQL runs in the CU here, so its limit applies.
            let at_cu =
                limits.iter().find(|at_cu| (at_cu.rnti, at_cu.drb) == (sample.rnti, sample.drb));
            if let Some(limit_bytes) = at_cu.and_then(|at_cu| at_cu.pacer_limit_bytes) {
                sample.limit_bytes = limit_bytes;
            }
            samples.entry((sample.rnti, sample.drb)).or_default().push(sample);
        }
    }
    Ok(Some(samples.into_iter().map(|(id, list)| (id, list.into())).collect()))
}
