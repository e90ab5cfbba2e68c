//! `gnb-lab sweep`: a scenario over axes of values and seeds. `gnb-lab sweep-run`: a run of it elsewhere.

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use bounded_input::drain;
use clap::Args;
use lab_gateway::cli::{Failure, ScenarioArgs};
use lab_sweep::{Axis, DEFAULT_MAX_RUNS, Options, Order, Plan, Request, SweepError};
use serde_json::Value;

use super::contents::ContentsArgs;
use super::progress::RunsLine;
use super::{machine, positive_s, print_line, stop_on_signal};

/// Failed runs that are named.
const MAX_NAMED: usize = 3;
/// Largest order of a run.
const MAX_ORDER_BYTES: u64 = 16 << 20;

/// Arguments of `gnb-lab sweep`.
#[derive(Args, Debug)]
pub(super) struct SweepArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,

    /// Virtual time of each run, instead of the scenario's.
    #[arg(long, value_name = "SECONDS", value_parser = positive_s, allow_negative_numbers = true,
          help_heading = "Scenario")]
    duration: Option<f64>,

    // Not a documentation comment: rustdoc takes [*] for a link.
    #[arg(
        long = "over",
        value_name = "PATH=VALUES",
        help_heading = "Sweep",
        help = "Vary an element that --set takes: values separated by commas, numbers also as FIRST..LAST or \
                FIRST..LAST..STEP, e.g. 'ues[*].channel.fixed_mcs=4..20..4'. Several axes are multiplied"
    )]
    axes: Vec<Axis>,

    /// Seeds per combination of values, from the scenario's seed or --seed on.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sweep",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,

    /// Refuse sweeps of more runs.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_RUNS, help_heading = "Sweep")]
    max_runs: u64,

    /// Number of runs in parallel. Default: number of cores.
    #[arg(long, value_name = "N", help_heading = "Sweep")]
    jobs: Option<NonZeroUsize>,

    /// Folder for sweep.json, runs.parquet, runs.csv, runs.json and a folder per run in runs. An
    /// interrupted or extended sweep resumes from it.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: PathBuf,

    #[command(flatten)]
    contents: ContentsArgs,

    /// Discard the runs in the folder and run all again.
    #[arg(long, help_heading = "Output")]
    restart: bool,

    /// Run nothing: prepare the folder and print the runs that it lacks, a JSON object a line, for
    /// sweep-run on other machines.
    #[arg(long, help_heading = "Output")]
    missing: bool,
}

/// Arguments of `gnb-lab sweep-run`.
#[derive(Args, Debug)]
pub(super) struct SweepRunArgs {
    /// Folder with the files that the scenario reads, by the names in the line.
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,

    /// Folder of the run; made as a whole or not at all.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Bad input or a system error.
pub(super) fn failure(error: SweepError) -> Failure {
    if error.is_input() { Failure::Input(error.to_string()) } else { machine(error) }
}

/// Runs what is missing and writes the table of all runs. Fails if a run failed.
pub(super) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let duration = args.duration.map(|seconds| ("duration_s", Value::from(seconds)));
    let plan = Plan::new(&Request {
        scenario: args.scenario.path().to_owned(),
        overrides: args.scenario.overrides(duration.as_slice()),
        axes: args.axes.clone(),
        seeds: args.seeds,
        max_runs: args.max_runs,
    })
    .map_err(failure)?;
    let options = Options {
        out: args.out.clone(),
        contents: args.contents.contents(),
        jobs: args.jobs,
        restart: args.restart,
    };
    if args.missing {
        let missing = lab_sweep::missing(&plan, &options).map_err(failure)?;
        return print_orders(&missing.orders);
    }
    let stop = stop_on_signal()?;
    let line = RunsLine::new("sweep");
    let result = lab_sweep::run(&plan, &options, &stop, &|at| line.show(at));
    line.clear();
    let done = result.map_err(failure)?;
    let again = match done.resumed {
        0 => String::new(),
        resumed => format!(", {resumed} of them finished before"),
    };
    print_line(&format!("{} runs{again}; written to {}", done.runs, args.out.display()))?;
    if done.failed.is_empty() {
        return Ok(());
    }
    let named = done.failed.iter().take(MAX_NAMED);
    let named: Vec<String> =
        named.map(|(folder, error)| format!("\n  {}: {error}", folder.display())).collect();
    Err(machine(format!(
        "{} of {} runs failed; their errors are in {}{}",
        done.failed.len(),
        done.runs,
        args.out.join("runs.csv").display(),
        named.concat(),
    )))
}

fn print_orders(orders: &[Order]) -> Result<(), Failure> {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let print = |order: &Order| -> io::Result<()> {
        serde_json::to_writer(&mut stdout, order)?;
        stdout.write_all(b"\n")
    };
    match orders.iter().try_for_each(print).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(machine(format!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Makes the run of the line on stdin.
pub(super) fn sweep_run(args: &SweepRunArgs) -> Result<(), Failure> {
    let stop = stop_on_signal()?;
    let line = drain(io::stdin().lock(), MAX_ORDER_BYTES)
        .map_err(|error| Failure::Input(format!("stdin: {error}")))?;
    let line = String::from_utf8_lossy(&line);
    let made = Order::parse(&line).and_then(|order| order.make(&args.inputs, &args.out, &stop));
    match made.map_err(failure)? {
        true => print_line(&format!("1 run; written to {}", args.out.display())),
        false => Err(machine("interrupted; nothing is written")),
    }
}
