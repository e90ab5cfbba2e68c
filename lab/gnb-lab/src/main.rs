//! The command line of `gnb-lab`.
//!
//! Results go to stdout, logs and errors to stderr. Exit code 0 for success, 2 for bad input (command
//! line, scenario, trace), 1 for a system error.

#[cfg(feature = "live")]
mod live;
#[cfg(feature = "papers")]
mod progress;
#[cfg(feature = "papers")]
mod reproduce;
mod run;
mod sweeps;
mod table;

#[cfg(not(all(feature = "live", feature = "papers")))]
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand, ValueEnum};
use lab_gateway::cli::{Failure, LogArgs, ServeArgs, escaped, exit_code};

/// An emulated gNB with UEs and traffic, on virtual time or behind an E2 gateway.
#[derive(Debug, Parser)]
#[command(
    name = "gnb-lab",
    version,
    about,
    args_override_self = true,
    after_help = "Example:\n  gnb-lab run lab/scenarios/default.yaml --out out/default"
)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario on virtual time and record it.
    #[command(after_help = "Example:\n  \
        gnb-lab run lab/scenarios/default.yaml --out out/default --duration 5 --set cell.n_prb=51")]
    Run(run::RunArgs),
    /// Run a scenario over values of its elements and over seeds, on all cores.
    #[command(disable_help_flag = true)]
    Sweep(sweeps::SweepsArgs),
    /// Make one run of a sweep, given on stdin as a line of sweep --missing: for schedulers of clusters.
    #[command(disable_help_flag = true)]
    SweepRun(sweeps::SweepsArgs),
    /// Compare recorded runs: tables with confidence intervals, distributions, plots over time.
    #[command(disable_help_flag = true)]
    Compare(sweeps::SweepsArgs),
    /// Run a scenario on the wall clock behind the E2 gateway.
    #[command(after_help = "Example:\n  \
        gnb-lab serve lab/scenarios/default.yaml --metrics-listen 127.0.0.1:9464")]
    Serve(Box<ServeArgs>),
    /// Run a scenario on the wall clock between real network stacks: kernels, applications.
    #[cfg(feature = "live")]
    #[command(after_help = "Example:\n  \
        gnb-lab live lab/scenarios/default.yaml --server 'iperf3 -s' -- sh -c 'iperf3 -R -c $SOJOURN_SERVER'")]
    Live(Box<lab_live::LiveArgs>),
    /// Run two recorded links between real network stacks, as Mahimahi's mm-link does.
    #[cfg(feature = "live")]
    #[command(after_help = "Example:\n  \
        gnb-lab link UP.trace DOWN.trace --delay 20 --server 'iperf3 -s' -- sh -c 'iperf3 -R -c $SOJOURN_SERVER'")]
    Link(Box<lab_live::LinkArgs>),
    /// Repeat the experiments of a paper and print its results beside those measured here.
    #[cfg(feature = "papers")]
    #[command(after_help = "Example:\n  \
        gnb-lab reproduce irazabal2021 --experiment static --repeats 1 --out out/reproduce")]
    Reproduce(reproduce::ReproduceArgs),
    /// Run AQM conformance vectors: a JSON object per line on stdin, its result on stdout.
    #[cfg(feature = "papers")]
    #[command(after_help = "Example:\n  \
        echo '{\"id\": 1, \"queue\": {\"kind\": \"fifo\"}, \"events\": \
        [{\"t_us\": 9, \"deq\": 1}]}' | gnb-lab replay-aqm")]
    ReplayAqm,
    /// Print a JSON schema.
    #[command(after_help = "Example:\n  gnb-lab schema scenario")]
    Schema {
        /// What the schema describes.
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
    /// A command of another build.
    #[cfg(not(all(feature = "live", feature = "papers")))]
    #[command(external_subcommand)]
    Absent(Vec<OsString>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaOf {
    /// Scenario files.
    Scenario,
}

/// A duration of a run, s.
fn positive_s(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if (1e-3..=1e6).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("expected 0.001 to 1000000 s".to_owned())
    }
}

fn main() -> ExitCode {
    let Cli { log, command } = Cli::parse();
    log.start();
    let result = match command {
        Command::Run(args) => run::run(&args),
        Command::Sweep(_) | Command::SweepRun(_) | Command::Compare(_) => Err(sweeps::replace()),
        Command::Serve(args) => run::serve(*args),
        #[cfg(feature = "live")]
        Command::Live(args) => return live::live(args.load(), &args.options),
        #[cfg(feature = "live")]
        Command::Link(args) => return live::live(args.load(), &args.options),
        #[cfg(feature = "papers")]
        Command::Reproduce(args) => reproduce::reproduce(&args),
        #[cfg(feature = "papers")]
        Command::ReplayAqm => replay(),
        Command::Schema { of: SchemaOf::Scenario } => {
            print_line(&format!("{:#}", lab_scenario::json_schema()))
        }
        #[cfg(not(all(feature = "live", feature = "papers")))]
        Command::Absent(words) => Err(absent(&words)),
    };
    exit_code("gnb-lab", result)
}

/// Why a command of the whole program is not here.
#[cfg(not(all(feature = "live", feature = "papers")))]
fn absent(words: &[OsString]) -> Failure {
    let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    Failure::Input(format!(
        "no command {name:?}; this gnb-lab was built for `make demo`, without live, link, reproduce \
         and replay-aqm; `make setup` builds all commands"
    ))
}

/// A system error.
fn machine(error: impl std::fmt::Display) -> Failure {
    Failure::Machine(error.to_string())
}

/// A flag that SIGINT and SIGTERM set.
fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .map_err(|error| machine(format!("signal handler: {error}")))?;
    Ok(stop)
}

#[cfg(feature = "papers")]
fn replay() -> Result<(), Failure> {
    let stdout = io::BufWriter::new(io::stdout().lock());
    match replay_aqm::run(io::stdin().lock(), stdout) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(machine(format!("replay-aqm: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints to stdout, escaped; a closed pipe is not an error.
fn print_line(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout().lock(), "{}", escaped(text)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(machine(format!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}
