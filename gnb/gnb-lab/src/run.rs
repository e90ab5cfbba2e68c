//! `gnb-lab run`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use serde_json::Value;

use lab_gateway::cli::{Failure, ScenarioArgs, command_line};
use lab_recording::Recorder;
use lab_world::World;

use super::progress::Progress;
use super::{machine, print_line, table};

/// Virtual time between two looks at Ctrl-C; also the length of a row group.
const CHUNK_US: u64 = 1_000_000;

/// Arguments of `gnb-lab run`.
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,

    /// Folder for summary.json, bearers.parquet, flows.parquet and report.html.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Virtual seconds to run, in place of the scenario's.
    #[arg(long, value_name = "S")]
    duration: Option<f64>,

    /// Write packets.parquet as well: a row per downlink packet.
    #[arg(long)]
    packets: bool,
}

/// Runs to the end, or to Ctrl-C, and writes what there is.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let duration = args.duration.map(|seconds| ("duration_s", Value::from(seconds)));
    let loaded = args.scenario.load(duration.as_slice())?;
    let mut world = World::new(&loaded)?;
    let end_us = (loaded.scenario.duration_s * 1e6).round() as u64;

    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Machine(format!("signal handler: {error}")))?;

    let mut recorder =
        Recorder::begin(&args.out, &command_line(), &mut world, args.packets).map_err(machine)?;
    let mut progress = Progress::new(end_us);
    while world.now_us() < end_us && !stop.load(Ordering::Relaxed) {
        world.step_until((world.now_us() + CHUNK_US).min(end_us), &mut |_| {});
        recorder.note(&mut world).map_err(machine)?;
        progress.at(world.now_us());
    }
    progress.end();
    recorder.finish(&mut world).map_err(machine)?;
    print_line(&table::of(&world.summary()))?;
    print_line(&format!("written to {}", args.out.display()))
}
