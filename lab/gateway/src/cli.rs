//! The command line of programs that serve a scenario: `gnb-lab serve` and `flexric-node`.
//!
//! Exit code 0 for success, 2 for bad input (command line, scenario, trace), 1 for a system error.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lab_scenario::{LoadedScenario, Override, ScenarioError};
use lab_world::{NodeInfo, World};
use serde_json::Value;
use tracing_subscriber::EnvFilter;

pub use crate::options::quantile;
use crate::{LocalClient, Recording, ServeError, ServeOptions};
pub use serving::terminal::escaped;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Bad input.
    #[error("{0}")]
    Input(String),
    /// An error of the system: files, network, processes.
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
            | ServeError::UnknownClients { .. }
            | ServeError::Forecasts { .. }
            | ServeError::Setup(_) => Self::Input(error.to_string()),
            _ => Self::Machine(error.to_string()),
        }
    }
}

/// Logging to stderr.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// Lowest severity that is logged. Takes precedence over RUST_LOG, which filters by module
    /// (RUST_LOG=info,lab_gateway=debug). Default: RUST_LOG if set, else info.
    #[arg(long, value_name = "LEVEL", value_enum, global = true)]
    log_level: Option<LogLevel>,

    /// Format of log lines.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, global = true)]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl LogArgs {
    /// Starts logging to stderr.
    pub fn start(self) {
        let filter = match self.log_level {
            Some(LogLevel::Error) => EnvFilter::new("error"),
            Some(LogLevel::Warn) => EnvFilter::new("warn"),
            Some(LogLevel::Info) => EnvFilter::new("info"),
            Some(LogLevel::Debug) => EnvFilter::new("debug"),
            Some(LogLevel::Trace) => EnvFilter::new("trace"),
            None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info")),
        };
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(io::stderr().is_terminal())
            .with_writer(io::stderr);
        // Fails only if the process already has a subscriber.
        let _ = match self.log_format {
            LogFormat::Text => log.try_init(),
            LogFormat::Json => log.json().try_init(),
        };
    }
}

/// Prints why `program` failed on stderr; returns its exit code.
pub fn exit_code(program: &str, result: Result<(), Failure>) -> ExitCode {
    let failure = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    eprintln!("{program}: {}", escaped(&failure.to_string()));
    match failure {
        Failure::Input(_) => ExitCode::from(2),
        Failure::Machine(_) => ExitCode::FAILURE,
    }
}

/// Scenario file and replaced elements.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Scenario")]
pub struct ScenarioArgs {
    /// Scenario file.
    #[arg(value_name = "SCENARIO.yaml")]
    scenario: PathBuf,

    /// Seed, instead of the scenario's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Replace an element, e.g. cell.n_prb=51 or flows[0].congestion_control=reno; [*] is every element
    /// of a list: ues[*].drbs[*].pipeline=low_latency.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<Override>,
}

impl ScenarioArgs {
    /// The scenario file.
    pub fn path(&self) -> &Path {
        &self.scenario
    }

    /// The replaced elements: those of `--set`, of `--seed`, of `further`.
    pub fn overrides(&self, further: &[(&str, Value)]) -> Vec<Override> {
        let mut overrides = self.overrides.clone();
        let seed = self.seed.map(|seed| ("seed", Value::from(seed)));
        for (path, value) in seed.into_iter().chain(further.iter().cloned()) {
            overrides.extend(Override::new(path, value));
        }
        overrides
    }

    /// Reads and validates the scenario with the elements of `further` replaced too.
    ///
    /// # Errors
    /// [`ScenarioError`] as [`LoadedScenario::from_file`].
    pub fn load(&self, further: &[(&str, Value)]) -> Result<LoadedScenario, ScenarioError> {
        LoadedScenario::from_file(&self.scenario, &self.overrides(further))
    }
}

/// The command line of this process, as reports quote it.
pub fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}

/// Arguments of a program that serves a scenario.
#[derive(Args, Debug)]
pub struct ServeArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,

    #[command(flatten)]
    options: ServeOptions,

    /// Folder for the recording of the run: summary, bearers, flows. Disabled if unset.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
}

/// Serves as `program` until SIGINT, SIGTERM or the end of the duration. `record` starts a recording in the folder
/// of `--out`; `start` starts a component that uses the local client, as in
/// [`serve`](crate::serve).
///
/// # Errors
/// Invalid input, the error of `start`, or a system error.
pub fn serve_scenario<R: Recording<World>, T>(
    program: &'static str,
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
    let options = ServeOptions { program, ..args.options };
    crate::serve(world, recording, options, |client| start(client, &node))?;
    Ok(())
}
