//! What a RIC forecasts during a run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value;

use super::run::with_seed;
use crate::forecast::{Late, Perfect, Persistence, Ric, RlcSample, Timing};
use crate::scenario::{LoadedScenario, ScenarioError};
use crate::world::World;

/// A forecaster with its times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecasts {
    /// What forecasts.
    pub forecaster: ForecasterKind,
    /// How long what takes.
    pub timing: Timing,
}

/// What forecasts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecasterKind {
    /// [`Perfect`] about this scenario, run before with the same seed.
    Perfect(Box<Value>),
    /// [`Late`].
    Late,
    /// [`Persistence`].
    Persistence,
}

impl Forecasts {
    /// The RIC for a run of `loaded`; none when told to stop.
    ///
    /// # Errors
    /// [`ScenarioError`] of the scenario that is to be known in advance.
    pub(super) fn ric(
        &self,
        loaded: &LoadedScenario,
        to_us: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Ric>, ScenarioError> {
        let timing = self.timing;
        Ok(Some(match &self.forecaster {
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
        }))
    }
}

type Recorded = HashMap<(u16, u8), Arc<[RlcSample]>>;

/// Samples of each bearer of a scenario; none when told to stop.
fn record(
    scenario: Value,
    to_us: u64,
    sample_us: u32,
    stop: &AtomicBool,
) -> Result<Option<Recorded>, ScenarioError> {
    let loaded = LoadedScenario::from_value(scenario, "recorded", Path::new(""), &[])?;
    let mut world = World::new(&loaded)?;
    world.keep_drql_limits(true);
    let mut samples: HashMap<(u16, u8), Vec<RlcSample>> = HashMap::new();
    for at_us in (0..=to_us).step_by(sample_us.max(1) as usize) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        world.step_until(at_us, &mut |_| {});
        let limits = world.bearer_samples();
        for mut sample in world.rlc_samples() {
            // Here DRQL runs in the CU, and its limit is the one that holds.
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
