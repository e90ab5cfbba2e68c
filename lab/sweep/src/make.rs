//! A run made in its folder, which is a whole run or not there.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lab_recording::{CHUNK_US, Contents, Recorder};
use lab_scenario::LoadedScenario;
use lab_world::World;

use super::SweepError;
use super::state;

/// Runs a scenario to its end and records it in `folder` with its digest. It is made in a folder beside,
/// which is renamed at the end. Returns whether it was made, not stopped.
///
/// # Errors
/// [`SweepError::Run`] if the scenario cannot be built, or an error of files.
pub(crate) fn make(
    loaded: &LoadedScenario,
    digest: &str,
    folder: &Path,
    contents: &Contents,
    stop: &AtomicBool,
) -> Result<bool, SweepError> {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = folder.with_file_name(name);
    remove(&part)?;
    let made = record(loaded, &part, contents, stop);
    if !matches!(made, Ok(true)) {
        remove(&part)?;
        return made;
    }
    state::finish(&part, digest)?;
    remove(folder)?;
    fs::rename(&part, folder).map_err(SweepError::io(folder))?;
    Ok(true)
}

fn remove(folder: &Path) -> Result<(), SweepError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SweepError::io(folder)(error))
        }
        _ => Ok(()),
    }
}

/// Runs a scenario to its end and records it in a folder. Returns whether it reached the end.
fn record(
    loaded: &LoadedScenario,
    folder: &Path,
    contents: &Contents,
    stop: &AtomicBool,
) -> Result<bool, SweepError> {
    let mut world =
        World::new(loaded).map_err(|error| SweepError::Run { message: error.to_string() })?;
    let end_us = (loaded.scenario.duration_s * 1e6).round() as u64;
    let mut recorder = Recorder::begin(folder, contents, &mut world)?;
    while world.now_us() < end_us {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        world.step_until((world.now_us() + CHUNK_US).min(end_us), &mut |_| {});
        recorder.record(&mut world)?;
    }
    recorder.finish(&mut world)?;
    Ok(true)
}
