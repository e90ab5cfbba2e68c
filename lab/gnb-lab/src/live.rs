//! `gnb-lab live` and `gnb-lab link`: the lab between real network stacks.

use std::path::Path;
use std::process::ExitCode;

use lab_gateway::cli::{Failure, escaped, exit_code};
use lab_gateway::{Recording, RecordingError};
use lab_live::{LiveNode, LiveOptions, LiveSummary};
use lab_recording::{Contents, Recorder};
use lab_scenario::{LoadedScenario, ScenarioError};

use super::{machine, table};

/// Runs until the command ends; its exit code.
pub(super) fn live(
    loaded: Result<LoadedScenario, ScenarioError>,
    options: &LiveOptions,
) -> ExitCode {
    let record = |folder: &Path, node: &mut LiveNode| {
        Recorder::begin(folder, &Contents::default(), node.world_mut())
            .map(LiveTables)
            .map_err(machine)
    };
    // Standard output is the command's.
    let print = |summary: &LiveSummary| {
        eprintln!("{}\n{}", escaped(&table::of(&summary.world)), summary.live);
    };
    let run = |loaded| lab_live::run(&loaded, options, record, print);
    match loaded.map_err(Failure::from).and_then(run) {
        Ok(code) => code,
        Err(failure) => exit_code("gnb-lab", Err::<(), Failure>(failure)),
    }
}

/// The recording of `gnb-lab run`, of the world between hosts.
struct LiveTables(Recorder);

impl Recording<LiveNode> for LiveTables {
    fn write(&mut self, node: &mut LiveNode) -> Result<(), RecordingError> {
        Ok(self.0.record(node.world_mut())?)
    }

    fn finish(self: Box<Self>, node: &mut LiveNode) -> Result<(), RecordingError> {
        Ok(self.0.finish(node.world_mut())?)
    }
}
