//! The scenario a command works on.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use crate::scenario::{LoadedScenario, Override, ScenarioError};

/// Which scenario, and what to change in it.
#[derive(Args, Clone, Debug)]
pub(super) struct ScenarioArgs {
    /// Scenario file.
    #[arg(value_name = "SCENARIO.yaml")]
    scenario: PathBuf,

    /// Seed, in place of the scenario's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Replace an element, e.g. cell.n_prb=51 or flows[0].congestion_control=reno.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<Override>,
}

impl ScenarioArgs {
    /// Reads and checks it, with further elements replaced.
    pub(super) fn load(&self, further: &[(&str, Value)]) -> Result<LoadedScenario, ScenarioError> {
        let mut overrides = self.overrides.clone();
        let seed = self.seed.map(|seed| ("seed", Value::from(seed)));
        for (path, value) in seed.into_iter().chain(further.iter().cloned()) {
            // The paths given here are keys of the model.
            overrides.extend(Override::new(path, value));
        }
        LoadedScenario::from_file(&self.scenario, &overrides)
    }
}

/// How this process was called, for the record.
pub(super) fn command_line() -> String {
    let words: Vec<String> = std::env::args().collect();
    words.join(" ")
}
