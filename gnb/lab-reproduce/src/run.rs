//! All cells of the experiments wanted, on all cores.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::cache::{Cache, Found, Identity, Measured};
use super::floor;
use super::observe::{Beside, observe};
use super::rows::Table;
use super::{Cell, Experiment, Inputs, Paper, ReproduceError, Work};
use lab_scenario::LoadedScenario;

const WITHOUT_MODEL: &str = "without --model DIR the rows of the trained model are left out";

/// How to reproduce.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// One experiment alone.
    pub experiment: Option<String>,
    /// Seeds per cell, in place of the experiment's own number.
    pub repeats: Option<u32>,
    /// Runs at a time; as many as there are cores when absent.
    pub jobs: Option<NonZeroUsize>,
    /// First seed; repeats take the ones after it.
    pub seed: u64,
    /// When runs end, virtual µs; at the end of their scenarios when absent.
    pub duration_us: Option<u64>,
    /// Folder for the results of finished runs, which a later call goes on from.
    pub cache: Option<PathBuf>,
    /// What does not come with the program.
    pub inputs: Inputs,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs finished, those found finished included.
    pub finished: usize,
    /// Runs wanted.
    pub total: usize,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: Paper,
    /// First seed.
    pub seed: u64,
    /// A table per experiment.
    pub tables: Vec<Table>,
    /// Runs whose results were found finished.
    pub resumed: usize,
    /// What else there is to say, in sentences.
    pub notes: Vec<String>,
}

/// One run: experiment, cell and repeat.
#[derive(Clone, Copy)]
struct Task<'a> {
    experiment: &'a Experiment,
    cell: &'a Cell,
    seed: u64,
}

/// Runs the experiments of a paper. `stop` ends it early; `progress` hears of each finished run.
///
/// The result depends on paper, options and seed alone, not on the number of jobs.
///
/// # Errors
/// [`ReproduceError`].
pub fn reproduce(
    paper: &Paper,
    options: &Options,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Reproduction, ReproduceError> {
    let mut experiments = chosen(paper, options)?;
    if let Some(duration_us) = options.duration_us {
        shorten(&mut experiments, duration_us)?;
    }
    let cache = options.cache.clone().map(Cache::open).transpose()?;
    let repeats = |experiment: &Experiment| options.repeats.unwrap_or(experiment.repeats).max(1);
    let tasks: Vec<Task<'_>> = experiments
        .iter()
        .flat_map(|experiment| {
            experiment.cells.iter().flat_map(move |cell| {
                let seeds = 0..u64::from(repeats(experiment));
                seeds.map(move |repeat| Task {
                    experiment,
                    cell,
                    seed: options.seed.wrapping_add(repeat),
                })
            })
        })
        .collect();
    let pool = Pool {
        tasks: &tasks,
        cache: cache.as_ref(),
        stop,
        progress,
        next: AtomicUsize::new(0),
        finished: AtomicUsize::new(0),
        resumed: AtomicUsize::new(0),
        results: Mutex::new(vec![Place::Open; tasks.len()]),
        notes: Mutex::new(Vec::new()),
        failed: Mutex::new(None),
    };
    let jobs = options.jobs.or_else(|| std::thread::available_parallelism().ok());
    std::thread::scope(|scope| {
        for _ in 0..jobs.map_or(1, NonZeroUsize::get).min(tasks.len()) {
            scope.spawn(|| pool.work());
        }
    });
    if let Some((_, error)) = unlocked(pool.failed) {
        return Err(error);
    }
    let results = unlocked(pool.results);
    let finished = results.iter().filter(|place| !matches!(place, Place::Open)).count();
    if finished < tasks.len() {
        let (total, kept) = (tasks.len(), options.cache.clone());
        return Err(ReproduceError::Interrupted { finished, total, kept });
    }
    let mut results = results.into_iter().map(|place| match place {
        Place::Done(measured) => Some(measured),
        Place::Open | Place::Missing => None,
    });
    let tables = experiments
        .iter()
        .map(|experiment| {
            let cells = experiment.cells.iter();
            let runs = cells
                .map(|_| results.by_ref().take(repeats(experiment) as usize).flatten().collect());
            Table::of(experiment, repeats(experiment), runs.collect())
        })
        .collect();
    let mut notes = unlocked(pool.notes);
    notes.sort();
    if paper.takes_model && options.inputs.trained.is_none() {
        notes.push((tasks.len(), WITHOUT_MODEL.to_owned()));
    }
    Ok(Reproduction {
        paper: *paper,
        seed: options.seed,
        tables,
        resumed: pool.resumed.into_inner(),
        notes: notes.into_iter().map(|(_, note)| note).collect(),
    })
}

fn chosen(paper: &Paper, options: &Options) -> Result<Vec<Experiment>, ReproduceError> {
    let mut experiments = (paper.experiments)(&options.inputs)?;
    let Some(name) = options.experiment.as_deref() else { return Ok(experiments) };
    let known: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
    let known = known.join(", ");
    experiments.retain(|experiment| experiment.name == name);
    if experiments.is_empty() {
        let name = name.to_owned();
        return Err(ReproduceError::UnknownExperiment { paper: paper.name, name, known });
    }
    Ok(experiments)
}

/// Ends every run at `to_us`, unless it ends before.
fn shorten(experiments: &mut [Experiment], to_us: u64) -> Result<(), ReproduceError> {
    for experiment in experiments {
        for cell in &mut experiment.cells {
            let Work::Run { watch, .. } = &mut cell.work else { continue };
            if to_us <= watch.from_us {
                return Err(ReproduceError::TooShort {
                    experiment: experiment.name,
                    scheme: cell.scheme.clone(),
                    to_s: to_us as f64 / 1e6,
                    from_s: watch.from_us as f64 / 1e6,
                });
            }
            watch.to_us = watch.to_us.min(to_us);
        }
    }
    Ok(())
}

/// What is known of a task.
#[derive(Clone)]
enum Place {
    Open,
    /// Its cell cannot be run.
    Missing,
    Done(Measured),
}

/// What workers share.
struct Pool<'a> {
    tasks: &'a [Task<'a>],
    cache: Option<&'a Cache>,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
    next: AtomicUsize,
    finished: AtomicUsize,
    resumed: AtomicUsize,
    /// A place per task.
    results: Mutex<Vec<Place>>,
    notes: Mutex<Vec<(usize, String)>>,
    /// The failure of the first task in order that failed.
    failed: Mutex<Option<(usize, ReproduceError)>>,
}

impl Pool<'_> {
    fn work(&self) {
        while !self.stop.load(Ordering::Relaxed) && locked(&self.failed).is_none() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(number) else { return };
            match self.run(number, task) {
                Ok(Outcome::Stopped) => return,
                Ok(Outcome::Done(measured)) => {
                    locked(&self.results)[number] = measured.map_or(Place::Missing, Place::Done);
                    let finished = self.finished.fetch_add(1, Ordering::Relaxed) + 1;
                    (self.progress)(Progress { finished, total: self.tasks.len() });
                }
                Err(error) => {
                    let mut failed = locked(&self.failed);
                    if failed.as_ref().is_none_or(|(first, _)| number < *first) {
                        *failed = Some((number, error));
                    }
                }
            }
        }
    }

    fn run(&self, number: usize, task: &Task<'_>) -> Result<Outcome, ReproduceError> {
        let Task { experiment, cell, seed } = *task;
        let (scenario, directory, watch, xapp, forecasts, floor) = match &cell.work {
            Work::Run { scenario, directory, watch, xapp, forecasts, floor } => {
                (scenario, directory, *watch, xapp.as_deref(), forecasts.as_deref(), *floor)
            }
            Work::Missing(_) => return Ok(Outcome::Done(None)),
        };
        let scenario = with_seed(scenario, seed);
        let key = self
            .cache
            .map(|cache| {
                let scheme = &cell.scheme;
                let scenario = &scenario;
                let run = Identity { scheme, seed, scenario, watch, xapp, forecasts, floor };
                cache.key(experiment, run, directory).map(|key| (cache, key))
            })
            .transpose()?;
        if let Some((cache, key)) = &key {
            match cache.find(key) {
                Found::Result(measured) => {
                    self.resumed.fetch_add(1, Ordering::Relaxed);
                    return Ok(Outcome::Done(Some(measured)));
                }
                Found::Nothing => {}
                Found::Corrupt(why) => {
                    locked(&self.notes).push((number, format!("{why}; it was run again")));
                }
            }
        }
        let refused = |source| ReproduceError::Scenario {
            experiment: experiment.name.to_owned(),
            scheme: cell.scheme.clone(),
            source,
        };
        let loaded = load(&scenario, directory, &cell.scheme).map_err(refused)?;
        let beside = Beside { xapp, forecasts };
        let Some(mut run) = observe(&loaded, watch, beside, self.stop).map_err(refused)? else {
            return Ok(Outcome::Stopped);
        };
        if let Some(floor) = floor {
            floor::lower(&mut run, floor, &loaded).map_err(refused)?;
        }
        let measured = Measured::of(experiment, &run);
        if let Some((cache, key)) = &key {
            cache.keep(key, &measured)?;
        }
        Ok(Outcome::Done(Some(measured)))
    }
}

enum Outcome {
    Done(Option<Measured>),
    Stopped,
}

pub(super) fn with_seed(scenario: &Value, seed: u64) -> Value {
    let mut scenario = scenario.clone();
    if let Some(map) = scenario.as_object_mut() {
        map.insert("seed".to_owned(), seed.into());
    }
    scenario
}

fn load(
    scenario: &Value,
    directory: &Path,
    scheme: &str,
) -> Result<LoadedScenario, lab_scenario::ScenarioError> {
    LoadedScenario::from_value(scenario.clone(), &format!("scenario of {scheme}"), directory, &[])
}

/// A worker that panicked leaves results that are whole.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unlocked<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
