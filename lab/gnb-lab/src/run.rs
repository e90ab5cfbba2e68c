//! `gnb-lab run` and `gnb-lab serve`: one scenario, recorded.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::Args;
use serde_json::Value;

use lab_gateway::cli::{Failure, ScenarioArgs, ServeArgs, serve_scenario};
use lab_gateway::{Recording, RecordingError};
use lab_recording::{CHUNK_US, Contents, Format, Recorder};
use lab_world::World;

use super::{machine, positive_s, print_line, stop_on_signal, table};

/// Arguments of `gnb-lab run`.
#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,

    /// Virtual time to run, instead of the scenario's.
    #[arg(long, value_name = "SECONDS", value_parser = positive_s, allow_negative_numbers = true,
          help_heading = "Scenario")]
    duration: Option<f64>,

    /// Folder for summary.json, curves.json, report.html and the tables bearers and flows.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: PathBuf,

    #[command(flatten)]
    contents: ContentsArgs,
}

/// Formats of tables, and which there are.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct ContentsArgs {
    /// Formats of the tables, separated by commas: parquet, csv, json, and flent for a data file that
    /// flent plots.
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', default_value = "parquet")]
    format: Vec<Format>,

    /// Also write the table packets: a row per downlink packet.
    #[arg(long)]
    packets: bool,
}

impl ContentsArgs {
    /// Each format once, in a fixed order.
    fn contents(&self) -> Contents {
        let mut formats = self.format.clone();
        formats.sort_unstable();
        formats.dedup();
        Contents { formats, packets: self.packets }
    }
}

/// Runs to the end or to SIGINT and writes the recording. The summary is printed even if the
/// recording failed.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let duration = args.duration.map(|seconds| ("duration_s", Value::from(seconds)));
    let loaded = args.scenario.load(duration.as_slice())?;
    let mut world = World::new(&loaded)?;
    let end_us = (loaded.scenario.duration_s * 1e6).round() as u64;
    let stop = stop_on_signal()?;

    let mut recorder =
        Recorder::begin(&args.out, &args.contents.contents(), &mut world).map_err(machine)?;
    let mut progress = Progress::new(end_us);
    let mut recorded = Ok(());
    while world.now_us() < end_us && !stop.load(Ordering::Relaxed) {
        world.step_until((world.now_us() + CHUNK_US).min(end_us), &mut |_| {});
        if recorded.is_ok() {
            recorded = recorder.record(&mut world);
        }
        progress.show(world.now_us());
    }
    progress.clear();
    let recorded = recorded.and_then(|()| recorder.finish(&mut world));
    print_line(&table::of(&world.summary()))?;
    recorded.map_err(machine)?;
    print_line(&format!("written to {}", args.out.display()))
}

/// Progress on stderr, if that is a terminal.
struct Progress {
    shown: bool,
    end_us: u64,
    begun: Instant,
    percent: Option<u64>,
}

impl Progress {
    fn new(end_us: u64) -> Self {
        let shown = std::io::stderr().is_terminal();
        Self { shown, end_us: end_us.max(1), begun: Instant::now(), percent: None }
    }

    fn show(&mut self, now_us: u64) {
        let percent = now_us * 100 / self.end_us;
        if !self.shown || self.percent == Some(percent) {
            return;
        }
        self.percent = Some(percent);
        let took_s = self.begun.elapsed().as_secs_f64().max(1e-9);
        let now_s = now_us as f64 / 1e6;
        eprint!("\r{percent:3} %  {now_s:.1} s of virtual time, {:.0} s/s  ", now_s / took_s);
        let _ = std::io::stderr().flush();
    }

    fn clear(&self) {
        if self.percent.is_some() {
            eprint!("\r{:60}\r", "");
        }
    }
}

/// Serves until SIGINT, SIGTERM or the end of the duration.
pub(super) fn serve(args: ServeArgs) -> Result<(), Failure> {
    let record = |folder: &Path, world: &mut World| {
        Recorder::begin(folder, &Contents::default(), world).map(Tables).map_err(machine)
    };
    serve_scenario("gnb-lab", args, record, |_, _| Ok(()))
}

/// The recording of `gnb-lab run`, written by the gateway.
struct Tables(Recorder);

impl Recording<World> for Tables {
    fn write(&mut self, world: &mut World) -> Result<(), RecordingError> {
        Ok(self.0.record(world)?)
    }

    fn finish(self: Box<Self>, world: &mut World) -> Result<(), RecordingError> {
        Ok(self.0.finish(world)?)
    }
}
