//! Runs all cells of the selected experiments on all cores.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::ReproduceError;
use super::cache::{Cache, Identity, Lookup, Measured};
use super::floor;
use super::observe::{RicInputs, observe};
use super::papers::Paper;
use super::plan::{Cell, Experiment, Inputs, Work};
use super::rows::Table;
use super::seed::with_seed;
use super::workers::{Progress, Workers};
use lab_scenario::LoadedScenario;

const WITHOUT_MODEL: &str = "without --model DIR the rows of the trained model are left out";

/// Options of a reproduction.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of a single experiment.
    pub experiment: Option<String>,
    /// Seeds per cell; the experiment's default if `None`.
    pub repeats: Option<u32>,
    /// Concurrent runs; the number of cores if `None`.
    pub jobs: Option<NonZeroUsize>,
    /// First seed; repeats take the ones after it.
    pub seed: u64,
    /// End of runs, virtual µs; the end of their scenarios if `None`.
    pub duration_us: Option<u64>,
    /// Folder of results of finished runs, from which a later call resumes.
    pub cache: Option<PathBuf>,
    /// External inputs.
    pub inputs: Inputs,
}

/// Result of a reproduction.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: Paper,
    /// First seed.
    pub seed: u64,
    /// A table per experiment.
    pub tables: Vec<Table>,
    /// Runs resumed from the cache.
    pub resumed: usize,
    /// Warnings: damaged cache files, rows left out.
    pub warnings: Vec<String>,
}

/// One run: experiment, cell and repeat.
#[derive(Clone, Copy)]
struct Task<'a> {
    experiment: &'a Experiment,
    cell: &'a Cell,
    seed: u64,
}

/// Runs the experiments of a paper. `stop` interrupts it; `progress` is called after each run.
///
/// The result does not depend on the number of jobs.
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
    let runner = Runner {
        cache: cache.as_ref(),
        stop,
        resumed: AtomicUsize::new(0),
        warnings: Mutex::new(Vec::new()),
    };
    let workers = Workers { jobs: options.jobs, stop, progress };
    let results = workers.run(&tasks, |number, task| runner.run(number, task))?;
    let finished = results.iter().flatten().count();
    if finished < tasks.len() {
        let (total, kept) = (tasks.len(), options.cache.clone());
        return Err(ReproduceError::Interrupted { finished, total, kept });
    }
    let mut results = results.into_iter().map(Option::flatten);
    let tables = experiments
        .iter()
        .map(|experiment| {
            let cells = experiment.cells.iter();
            let runs = cells
                .map(|_| results.by_ref().take(repeats(experiment) as usize).flatten().collect());
            Table::of(experiment, repeats(experiment), runs.collect())
        })
        .collect();
    let mut warnings = runner.warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
    warnings.sort();
    if !paper.model_bearers.is_empty() && options.inputs.trained.is_none() {
        warnings.push((tasks.len(), WITHOUT_MODEL.to_owned()));
    }
    Ok(Reproduction {
        paper: paper.clone(),
        seed: options.seed,
        tables,
        resumed: runner.resumed.into_inner(),
        warnings: warnings.into_iter().map(|(_, warning)| warning).collect(),
    })
}

fn chosen(paper: &Paper, options: &Options) -> Result<Vec<Experiment>, ReproduceError> {
    let mut experiments = paper.experiments(&options.inputs)?;
    let Some(name) = options.experiment.as_deref() else { return Ok(experiments) };
    let known: Vec<&str> = experiments.iter().map(|experiment| experiment.name.as_str()).collect();
    let known = known.join(", ");
    experiments.retain(|experiment| experiment.name == name);
    if experiments.is_empty() {
        let name = name.to_owned();
        return Err(ReproduceError::UnknownExperiment { paper: paper.name.clone(), name, known });
    }
    Ok(experiments)
}

/// Ends every run at `to_us` or earlier.
fn shorten(experiments: &mut [Experiment], to_us: u64) -> Result<(), ReproduceError> {
    for experiment in experiments {
        for cell in &mut experiment.cells {
            let Work::Run { watch, .. } = &mut cell.work else { continue };
            if to_us <= watch.from_us {
                return Err(ReproduceError::TooShort {
                    experiment: experiment.name.clone(),
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

/// What all runs share.
struct Runner<'a> {
    cache: Option<&'a Cache>,
    stop: &'a AtomicBool,
    resumed: AtomicUsize,
    warnings: Mutex<Vec<(usize, String)>>,
}

impl Runner<'_> {
    /// Runs or resumes a task: `None` if stopped, `Some(None)` if its cell cannot be run.
    fn run(
        &self,
        number: usize,
        task: &Task<'_>,
    ) -> Result<Option<Option<Measured>>, ReproduceError> {
        let Task { experiment, cell, seed } = *task;
        let (scenario, watch, xapp, forecasts, floor) = match &cell.work {
            Work::Run { scenario, watch, xapp, forecasts, floor } => {
                (scenario, *watch, xapp.as_deref(), forecasts.as_deref(), floor.as_ref())
            }
            Work::Missing(_) => return Ok(Some(None)),
        };
        let scenario = with_seed(scenario, seed);
        // Paths of traces are absolute.
        let directory = Path::new("");
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
            match cache.lookup(key) {
                Lookup::Hit(measured) => {
                    self.resumed.fetch_add(1, Ordering::Relaxed);
                    return Ok(Some(Some(measured)));
                }
                Lookup::Miss => {}
                Lookup::Corrupt(why) => {
                    let warning = format!("{why}; it was run again");
                    let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
                    warnings.push((number, warning));
                }
            }
        }
        let refused = |source| ReproduceError::Scenario {
            experiment: experiment.name.clone(),
            scheme: cell.scheme.clone(),
            source,
        };
        let loaded = load(&scenario, directory, &cell.scheme).map_err(refused)?;
        let ric_inputs = RicInputs { xapp, forecasts };
        let Some(mut run) = observe(&loaded, watch, ric_inputs, self.stop).map_err(refused)? else {
            return Ok(None);
        };
        if let Some(floor) = floor {
            floor::apply(&mut run, floor, &loaded).map_err(refused)?;
        }
        let measured = Measured::of(experiment, &run);
        if let Some((cache, key)) = &key {
            cache.store(key, &measured)?;
        }
        Ok(Some(Some(measured)))
    }
}

fn load(
    scenario: &Value,
    directory: &Path,
    scheme: &str,
) -> Result<LoadedScenario, lab_scenario::ScenarioError> {
    LoadedScenario::from_value(scenario.clone(), &format!("scenario of {scheme}"), directory, &[])
}
