//! `gnb-lab serve`.

use lab_gateway::Recording;
use lab_gateway::cli::{Failure, ServeArgs, command_line, serve_recorded};
use lab_recording::Recorder;
use lab_world::World;

use super::machine;

/// Serves until told to stop.
pub(super) fn serve(args: ServeArgs) -> Result<(), Failure> {
    let record = |folder: &std::path::Path, world: &mut World| {
        Recorder::begin(folder, &command_line(), world, false).map(Tables).map_err(machine)
    };
    serve_recorded(args, record, |_, _| Ok(()))
}

/// The recording of `gnb-lab run`, of a world that is served.
struct Tables(Recorder);

impl Recording for Tables {
    fn note(&mut self, world: &mut World) -> Result<(), Failure> {
        self.0.note(world).map_err(machine)
    }

    fn finish(self, world: &mut World) -> Result<(), Failure> {
        self.0.finish(world).map_err(machine)
    }
}
