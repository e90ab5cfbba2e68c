//! The command line of `gnb-lab`.
//!
//! Results go to stdout, everything else to stderr. Exit code 0 for success, 2 for bad input (the
//! command line, a scenario, a trace), 1 for what the machine refused.

mod progress;
mod replay_aqm;
mod reproduce;
mod run;
mod serve;
mod table;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use lab_gateway::cli::{Failure, ServeArgs, exit_code};

/// An emulated gNB with UEs and traffic: on virtual time, or behind an E2 gateway.
#[derive(Debug, Parser)]
#[command(name = "gnb-lab", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario on virtual time, as fast as it goes, and write down what happened.
    Run(run::RunArgs),
    /// Pace a scenario to the wall clock behind the E2 gateway.
    Serve(ServeArgs),
    /// Replay the experiments of a paper and print paper beside here.
    Reproduce(reproduce::ReproduceArgs),
    /// Answer AQM conformance vectors: one JSON object a line on stdin, one on stdout.
    ReplayAqm,
    /// Print a JSON schema.
    Schema {
        /// Of what.
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaOf {
    /// Scenario files of `run` and `serve`.
    Scenario,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Serve(args) => serve::serve(args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::ReplayAqm => replay(),
        Command::Schema { of: SchemaOf::Scenario } => {
            print_line(&format!("{:#}", lab_scenario::json_schema()))
        }
    };
    exit_code("gnb-lab", result)
}

/// A failure that is not of the user's making.
fn machine(error: impl std::fmt::Display) -> Failure {
    Failure::Machine(error.to_string())
}

fn replay() -> Result<(), Failure> {
    let stdout = io::BufWriter::new(io::stdout().lock());
    match replay_aqm::run(io::stdin().lock(), stdout) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::Machine(format!("replay-aqm: {error}"))),
    }
}

/// Prints to stdout; a reader that has gone away is no failure.
fn print_line(text: &str) -> Result<(), Failure> {
    use io::Write as _;
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Machine(format!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}
