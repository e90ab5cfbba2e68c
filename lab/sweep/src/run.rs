//! Runs all that is missing of a sweep.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab_batch::{IdentityError, Progress, Workers, identity};
use lab_recording::Contents;
use serde_json::Value;

use super::SweepError;
use super::make::make;
use super::measures::RecordedRun;
use super::order::Order;
use super::plan::{Plan, PlannedRun};
use super::state::{self, Identity, SWEEP_FILE, SweepFile, runs_folder};
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
    /// Runs found finished.
    pub resumed: usize,
    /// Folder and error of each failed run.
    pub failed: Vec<(PathBuf, String)>,
}

/// A run with what it depends on.
struct Task<'a> {
    run: &'a PlannedRun,
    folder: PathBuf,
    /// Digests of its input files by path, or why one cannot be read.
    inputs: Result<BTreeMap<String, String>, String>,
    digest: String,
    is_finished: bool,
}

/// What another scheduler has to make of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// All runs.
    pub runs: usize,
    /// Those that are not finished.
    pub orders: Vec<Order>,
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
    let Options { out, contents, jobs, .. } = options;
    let (_, tasks) = prepare(plan, options)?;
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

/// Prepares the folder as [`run`] does; returns the runs that it lacks, for others to make. Then [`run`]
/// writes the tables. A run with an input file that cannot be read is left to it.
///
/// # Errors
/// As [`run`].
pub fn missing(plan: &Plan, options: &Options) -> Result<Missing, SweepError> {
    let (file, tasks) = prepare(plan, options)?;
    let mut orders = Vec::new();
    for Task { run, folder, inputs, .. } in tasks.iter().filter(|task| !task.is_finished) {
        if let Ok(inputs) = inputs {
            let (folder, tree) = (folder.clone(), plan.tree(run)?);
            let directory = plan.directory();
            orders.push(Order::new(folder, tree, inputs, directory, &plan.file, &file.identity));
        }
    }
    Ok(Missing { runs: tasks.len(), orders })
}

/// Makes or checks the folder of a sweep.
fn prepare<'a>(
    plan: &'a Plan,
    options: &Options,
) -> Result<(SweepFile, Vec<Task<'a>>), SweepError> {
    let Options { out, contents, restart, .. } = options;
    let file = SweepFile::of(plan, contents)?;
    let runs = runs_folder(out);
    if out.join(SWEEP_FILE).exists() {
        if *restart && runs.exists() {
            fs::remove_dir_all(&runs).map_err(SweepError::io(&runs))?;
        } else if !*restart {
            file.check_against(out)?;
        }
    }
    lab_recording::make_folder(&runs).map_err(SweepError::io(&runs))?;
    let tasks = tasks(plan, &file.identity, &runs)?;
    file.write(out)?;
    Ok((file, tasks))
}

/// The runs of a plan, and which of them are finished.
fn tasks<'a>(
    plan: &'a Plan,
    identity: &Identity,
    runs: &Path,
) -> Result<Vec<Task<'a>>, SweepError> {
    let mut known = HashMap::new();
    let task = |run: &'a PlannedRun| {
        let tree = plan.tree(run)?;
        let folder = runs.join(&run.name);
        let inputs = inputs(&tree, plan.directory(), &mut known).map_err(|error| error.to_string());
        let digest = match &inputs {
            Ok(inputs) => identity.digest(&tree, inputs),
            Err(_) => String::new(),
        };
        let is_finished = inputs.is_ok() && state::is_finished(&folder, &digest)?;
        Ok(Task { run, folder, inputs, digest, is_finished })
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
    let measures = match made(plan, task, contents, stop) {
        Ok(false) => return None,
        Ok(true) => read(),
        Err(error) => Err(error),
    };
    Some(Outcome { measures, is_resumed: false })
}

/// Makes a run. Returns whether it was made, not stopped.
fn made(
    plan: &Plan,
    task: &Task<'_>,
    contents: &Contents,
    stop: &AtomicBool,
) -> Result<bool, String> {
    task.inputs.as_ref().map_err(Clone::clone)?;
    let loaded = plan.load(task.run).map_err(|error| error.to_string())?;
    make(&loaded, &task.digest, &task.folder, contents, stop).map_err(|error| error.to_string())
}
