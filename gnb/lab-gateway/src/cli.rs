//! The command line of programs that serve a scenario: `gnb-lab serve` and `flexric-node`.
//!
//! Exit code 0 for success, 2 for bad input (the command line, a scenario, a trace), 1 for what the
//! machine refused.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lab_scenario::{LoadedScenario, Override, ScenarioError};
use lab_world::{NodeInfo, World};
use serde_json::Value;

use crate::{LocalClient, Recording, ServeError, ServeOptions};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user's to mend.
    #[error("{0}")]
    Input(String),
    /// The machine's.
    #[error("{0}")]
    Machine(String),
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Address { .. }
            | ServeError::Plaintext { .. }
            | ServeError::PlaintextForecasts { .. }
            | ServeError::TlsFile { .. }
            | ServeError::Tls(_) => Self::Input(error.to_string()),
            _ => Self::Machine(error.to_string()),
        }
    }
}

/// Prints why `program` failed on stderr; returns its exit code.
pub fn exit_code(program: &str, result: Result<(), Failure>) -> ExitCode {
    let failure = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    eprintln!("{program}: {failure}");
    match failure {
        Failure::Input(_) => ExitCode::from(2),
        Failure::Machine(_) => ExitCode::FAILURE,
    }
}

/// Which scenario, and what to change in it.
#[derive(Args, Clone, Debug)]
pub struct ScenarioArgs {
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
    /// Reads and checks the scenario, with further elements replaced.
    ///
    /// # Errors
    /// [`ScenarioError`] as [`LoadedScenario::from_file`].
    pub fn load(&self, further: &[(&str, Value)]) -> Result<LoadedScenario, ScenarioError> {
        let mut overrides = self.overrides.clone();
        let seed = self.seed.map(|seed| ("seed", Value::from(seed)));
        for (path, value) in seed.into_iter().chain(further.iter().cloned()) {
            // The paths given here are keys of the model.
            overrides.extend(Override::new(path, value));
        }
        LoadedScenario::from_file(&self.scenario, &overrides)
    }
}

/// The command line of this process, for the record.
pub fn command_line() -> String {
    let words: Vec<String> = std::env::args().collect();
    words.join(" ")
}

/// Arguments of a program that serves a scenario.
#[derive(Args, Debug)]
pub struct ServeArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,

    /// Folder for the recording of the run: summary, bearers, flows. Nothing is recorded if unset.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    options: ServeOptions,
}

/// Serves until SIGINT, SIGTERM or the end of the duration. `record` begins a recording in the folder
/// of `--out`; `start` starts a component that uses the local client, as in
/// [`serve`](crate::serve).
///
/// # Errors
/// Invalid input, the error of `start`, or a failure of the machine.
pub fn serve_scenario<R: Recording<World>, T>(
    args: ServeArgs,
    record: impl FnOnce(&Path, &mut World) -> Result<R, Failure>,
    start: impl FnOnce(LocalClient, &NodeInfo) -> Result<T, ServeError>,
) -> Result<(), Failure> {
    let loaded = args.scenario.load(&[])?;
    let mut world = World::new(&loaded)?;
    let node = world.node();
    let recording = match &args.out {
        Some(folder) => Some(Box::new(record(folder, &mut world)?) as Box<dyn Recording<World>>),
        None => None,
    };
    crate::serve(world, recording, args.options, |client| start(client, &node))?;
    Ok(())
}
