//! Runs all that is missing of a sweep.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use lab_batch::{IdentityError, Progress, Workers, identity};
use lab_recording::{CHUNK_US, Contents, Recorder};
use lab_scenario::LoadedScenario;
use lab_world::World;
use serde_json::Value;

use super::SweepError;
use super::measures::RecordedRun;
use super::plan::{Plan, PlannedRun};
use super::state::{self, SWEEP_FILE, SweepFile, runs_folder};
use super::table::{self, Outcome};

/// Where and how a sweep is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the results.
    pub out: PathBuf,
    /// What is written of each run.
    pub contents: Contents,
    /// Concurrent runs; the number of cores if `None`.
    pub jobs: Option<NonZeroUsize>,
    /// Whether finished runs in the folder are discarded first.
    pub restart: bool,
}

/// A finished sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// All runs.
    pub runs: usize,
    /// Of these, found finished.
    pub resumed: usize,
    /// Folder and error of each failed run.
    pub failed: Vec<(PathBuf, String)>,
}

/// A run with its digest, or the reason why its input files cannot be read.
struct Task<'a> {
    run: &'a PlannedRun,
    folder: PathBuf,
    digest: Result<String, String>,
    is_finished: bool,
}

/// Runs what the folder lacks of a plan and writes the table of all runs. `stop` interrupts it;
/// `progress` is called after each run. Results do not depend on the number of jobs, nor on
/// interrupts.
///
/// A run that fails is in the table with its error and does not stop the others.
///
/// # Errors
/// [`SweepError::Changed`] if the folder has runs of something else, [`SweepError::Interrupted`], or an
/// error of files.
pub fn run(
    plan: &Plan,
    options: &Options,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Done, SweepError> {
    let Options { out, contents, jobs, restart } = options;
    let file = SweepFile::of(plan, contents)?;
    let runs = runs_folder(out);
    if out.join(SWEEP_FILE).exists() {
        if *restart && runs.exists() {
            fs::remove_dir_all(&runs).map_err(SweepError::io(&runs))?;
        } else if !*restart {
            file.check_against(out)?;
        }
    }
    fs::create_dir_all(&runs).map_err(SweepError::io(&runs))?;
    let tasks = tasks(plan, &file, &runs)?;
    file.write(out)?;
    let workers = Workers { jobs: *jobs, stop, progress };
    let results =
        workers.run(&tasks, |_, task| Ok::<_, SweepError>(outcome(plan, task, contents, stop)))?;
    let finished = results.iter().flatten().count();
    if finished < tasks.len() {
        let total = tasks.len();
        return Err(SweepError::Interrupted { finished, total, kept: out.clone() });
    }
    let outcomes: Vec<Outcome> = results.into_iter().flatten().collect();
    table::write(out, plan, &outcomes)?;
    let failed = tasks.iter().zip(&outcomes).filter_map(|(task, outcome)| {
        Some((task.folder.clone(), outcome.measures.as_ref().err()?.clone()))
    });
    Ok(Done {
        runs: outcomes.len(),
        resumed: outcomes.iter().filter(|outcome| outcome.is_resumed).count(),
        failed: failed.collect(),
    })
}

/// The runs of a plan, and which of them are finished.
fn tasks<'a>(plan: &'a Plan, file: &SweepFile, runs: &Path) -> Result<Vec<Task<'a>>, SweepError> {
    let mut known = HashMap::new();
    let task = |run: &'a PlannedRun| {
        let tree = plan.tree(run)?;
        let folder = runs.join(&run.name);
        let digest = inputs(&tree, plan.directory(), &mut known)
            .map(|inputs| file.digest(&tree, &inputs))
            .map_err(|error| error.to_string());
        let is_finished = match &digest {
            Ok(digest) => state::is_finished(&folder, digest)?,
            Err(_) => false,
        };
        Ok(Task { run, folder, digest, is_finished })
    };
    plan.runs.iter().map(task).collect()
}

/// Digests of the files that a scenario reads; each file is read once for all runs.
fn inputs(
    tree: &Value,
    directory: &Path,
    known: &mut HashMap<String, String>,
) -> Result<BTreeMap<String, String>, IdentityError> {
    let mut inputs = BTreeMap::new();
    for path in identity::input_paths(tree) {
        let digest = match known.get(path) {
            Some(digest) => digest.clone(),
            None => identity::input(&directory.join(path))?,
        };
        known.insert(path.to_owned(), digest.clone());
        inputs.insert(path.to_owned(), digest);
    }
    Ok(inputs)
}

/// Resumes or makes a run; `None` if stopped.
fn outcome(
    plan: &Plan,
    task: &Task<'_>,
    contents: &Contents,
    stop: &AtomicBool,
) -> Option<Outcome> {
    let read = || match RecordedRun::read(&task.folder) {
        Ok(run) => Ok(run.measures),
        Err(error) => Err(error.to_string()),
    };
    if task.is_finished
        && let Ok(measures) = read()
    {
        return Some(Outcome { measures: Ok(measures), is_resumed: true });
    }
    let measures = match make(plan, task, contents, stop) {
        Ok(false) => return None,
        Ok(true) => read(),
        Err(error) => Err(error),
    };
    Some(Outcome { measures, is_resumed: false })
}

/// Makes a run in a folder beside its own, which is renamed at the end: a folder is a whole run or not
/// there. Returns whether it was made, not stopped.
fn make(
    plan: &Plan,
    task: &Task<'_>,
    contents: &Contents,
    stop: &AtomicBool,
) -> Result<bool, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let digest = task.digest.as_ref().map_err(Clone::clone)?;
    let loaded = plan.load(task.run).map_err(|error| text(&error))?;
    let part = task.folder.with_file_name(format!("{}.part", task.run.name));
    let removed = |folder: &Path| match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    };
    removed(&part)?;
    let made = record(&loaded, &part, contents, stop);
    if !matches!(made, Ok(true)) {
        removed(&part)?;
        return made;
    }
    state::finish(&part, digest).map_err(|error| text(&error))?;
    removed(&task.folder)?;
    fs::rename(&part, &task.folder)
        .map_err(|error| format!("{}: {error}", task.folder.display()))?;
    Ok(true)
}

/// Runs a scenario to its end and records it in a folder. Returns whether it reached the end.
fn record(
    loaded: &LoadedScenario,
    folder: &Path,
    contents: &Contents,
    stop: &AtomicBool,
) -> Result<bool, String> {
    let mut world = World::new(loaded).map_err(|error| error.to_string())?;
    let end_us = (loaded.scenario.duration_s * 1e6).round() as u64;
    let recorded = Recorder::begin(folder, contents, &mut world).and_then(|mut recorder| {
        while world.now_us() < end_us {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            world.step_until((world.now_us() + CHUNK_US).min(end_us), &mut |_| {});
            recorder.record(&mut world)?;
        }
        recorder.finish(&mut world).map(|()| true)
    });
    recorded.map_err(|error| error.to_string())
}
