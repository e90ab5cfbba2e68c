//! `gnb-lab serve`.

use lab_gateway::cli::{Failure, ServeArgs, command_line, serve_scenario};
use lab_gateway::{Recording, RecordingError};
use lab_recording::Recorder;
use lab_world::World;

use super::machine;

/// Serves until SIGINT, SIGTERM or the end of the duration.
pub(super) fn serve(args: ServeArgs) -> Result<(), Failure> {
    let record = |folder: &std::path::Path, world: &mut World| {
        Recorder::begin(folder, &command_line(), world, false).map(Tables).map_err(machine)
    };
    serve_scenario(args, record, |_, _| Ok(()))
}

/// The recording of `gnb-lab run`.
struct Tables(Recorder);

impl Recording<World> for Tables {
    fn write(&mut self, world: &mut World) -> Result<(), RecordingError> {
        Ok(self.0.note(world)?)
    }

    fn finish(self: Box<Self>, world: &mut World) -> Result<(), RecordingError> {
        Ok(self.0.finish(world)?)
    }
}
