//! The runs of axes and seeds, all checked before the first begins.

use std::path::{Path, PathBuf};

use lab_batch::identity;
use lab_scenario::{LoadedScenario, Override, ScenarioError, folder_of, read_tree};
use serde_json::{Map, Value};

use super::SweepError;
use super::axis::{Axis, label};

/// Runs of a sweep unless more are allowed.
pub const DEFAULT_MAX_RUNS: u64 = 10_000;
/// Longest readable part of a folder's name, bytes.
const MAX_NAME_BYTES: usize = 120;

/// What a sweep runs.
#[derive(Clone, Debug)]
pub struct Request {
    /// Scenario file.
    pub scenario: PathBuf,
    /// Elements replaced in all runs.
    pub overrides: Vec<Override>,
    /// Elements that vary.
    pub axes: Vec<Axis>,
    /// Seeds per combination of values, from the scenario's seed on.
    pub seeds: u32,
    /// Most runs.
    pub max_runs: u64,
}

/// A run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedRun {
    /// Value of each axis.
    pub(crate) values: Vec<Value>,
    /// The same as numbers of the values of each axis.
    chosen: Vec<usize>,
    pub(crate) seed: u64,
    /// Name of its folder.
    pub(crate) name: String,
}

/// The runs of a sweep in order: the last axis varies fastest, then the seed.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) axes: Vec<Axis>,
    pub(crate) base: Value,
    pub(crate) file: String,
    directory: PathBuf,
    pub(crate) runs: Vec<PlannedRun>,
}

impl Plan {
    /// Reads the scenario and checks every combination of values.
    ///
    /// # Errors
    /// [`SweepError::Axes`] for axes that contradict each other or make too many runs,
    /// [`SweepError::Scenario`] for a scenario or a value that the model refuses.
    pub fn new(request: &Request) -> Result<Self, SweepError> {
        let Request { scenario, overrides, axes, seeds, max_runs } = request;
        check(axes, *seeds, *max_runs)?;
        let mut base = read_tree(scenario)?;
        for change in overrides {
            change
                .apply(&mut base)
                .map_err(|message| ScenarioError::new("--set", change.path(), message))?;
        }
        let file = scenario.display().to_string();
        let directory = folder_of(scenario).to_owned();
        let mut plan = Self { axes: axes.clone(), base, file, directory, runs: Vec::new() };
        for chosen in product(axes) {
            let settings = settings(axes, &chosen);
            let first_seed = plan.check(&settings)?;
            let values: Vec<Value> =
                settings.iter().map(|setting| setting.value().clone()).collect();
            for seed in (0..u64::from(*seeds)).map(|repeat| first_seed.wrapping_add(repeat)) {
                let name = folder_name(axes, &values, seed);
                let (values, chosen) = (values.clone(), chosen.clone());
                plan.runs.push(PlannedRun { values, chosen, seed, name });
            }
        }
        Ok(plan)
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Checks the scenario of a combination; returns its seed.
    fn check(&self, settings: &[Override]) -> Result<u64, ScenarioError> {
        let tree = with(&self.base, settings)?;
        match LoadedScenario::from_value(tree, &self.file, &self.directory, &[]) {
            Ok(loaded) => Ok(loaded.scenario.seed),
            Err(error) if settings.iter().any(|setting| setting.concerns(&error.path)) => {
                Err(ScenarioError::new("--over", error.path, error.message))
            }
            Err(error) => Err(error),
        }
    }

    /// The scenario of a run as a tree.
    pub(crate) fn tree(&self, run: &PlannedRun) -> Result<Value, ScenarioError> {
        let mut tree = with(&self.base, &settings(&self.axes, &run.chosen))?;
        if let Some(map) = tree.as_object_mut() {
            map.insert("seed".to_owned(), run.seed.into());
        }
        Ok(tree)
    }

    /// The scenario of a run.
    pub(crate) fn load(&self, run: &PlannedRun) -> Result<LoadedScenario, ScenarioError> {
        LoadedScenario::from_value(self.tree(run)?, &self.file, &self.directory, &[])
    }

    /// Directory that relative paths of the scenario refer to.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Refuses axes of one element, axes around each other, the seed as an axis, and too many runs.
fn check(axes: &[Axis], seeds: u32, max_runs: u64) -> Result<(), SweepError> {
    for (index, axis) in axes.iter().enumerate() {
        let path = axis.path();
        if path == "seed" {
            let message = "seed: use --seeds N, and --seed S for the first".to_owned();
            return Err(SweepError::Axes(message));
        }
        if axes[..index].iter().any(|other| other.path() == path) {
            return Err(SweepError::Axes(format!("{path}: is given twice")));
        }
    }
    let sizes = axes.iter().map(|axis| axis.values().len() as u128);
    let runs = sizes.fold(u128::from(seeds), u128::saturating_mul);
    if runs > u128::from(max_runs) {
        let values: Vec<String> = axes.iter().map(|axis| axis.values().len().to_string()).collect();
        return Err(SweepError::Axes(format!(
            "{} values and {seeds} seeds are {runs} runs; at most {max_runs} (--max-runs)",
            values.join(" × "),
        )));
    }
    Ok(())
}

/// All combinations of one setting per axis, as their numbers; the last axis fastest.
fn product(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |combinations, axis| {
        let extended = |combination: Vec<usize>| {
            (0..axis.values().len()).map(move |number| {
                let mut next = combination.clone();
                next.push(number);
                next
            })
        };
        combinations.into_iter().flat_map(extended).collect()
    })
}

/// The settings of a combination.
fn settings(axes: &[Axis], chosen: &[usize]) -> Vec<Override> {
    axes.iter().zip(chosen).filter_map(|(axis, number)| axis.setting(*number)).collect()
}

fn with(base: &Value, settings: &[Override]) -> Result<Value, ScenarioError> {
    let mut tree = base.clone();
    for setting in settings {
        setting
            .apply(&mut tree)
            .map_err(|message| ScenarioError::new("--over", setting.path(), message))?;
    }
    Ok(tree)
}

/// Name of a run's folder: readable, the same in every call, different for different runs.
fn folder_name(axes: &[Axis], values: &[Value], seed: u64) -> String {
    let mut name = String::new();
    for (axis, value) in axes.iter().zip(values) {
        let key = axis.path().rsplit('.').next().unwrap_or_default();
        name.push_str(&format!("{key}={},", label(value)));
    }
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' | '=' | ',' => character,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME_BYTES).collect();
    let settings: Map<String, Value> =
        axes.iter().zip(values).map(|(axis, v)| (axis.path().to_owned(), v.clone())).collect();
    let digest = identity::sha256(Value::from(settings).to_string());
    format!("{name}seed={seed}-{}", &digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(axes: &[&str], seeds: u32) -> Request {
        Request {
            scenario: Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml"),
            overrides: Vec::new(),
            axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(),
            seeds,
            max_runs: 100,
        }
    }

    fn refused(axes: &[&str], seeds: u32) -> String {
        Plan::new(&request(axes, seeds)).unwrap_err().to_string()
    }

    #[test]
    fn runs_are_the_product_of_axes_and_seeds() {
        let axes = ["cell.n_prb=51,106", "ues[*].drbs[*].pipeline=fq_codel,low_latency"];
        let plan = Plan::new(&request(&axes, 2)).unwrap();
        assert_eq!(plan.len(), 8);
        let names: std::collections::HashSet<_> = plan.runs.iter().map(|run| &run.name).collect();
        assert_eq!(names.len(), 8);
        assert!(plan.runs[2].name.starts_with("n_prb=51,pipeline=low_latency,seed=1-"));
        let tree = plan.tree(&plan.runs[3]).unwrap();
        assert_eq!((&tree["cell"]["n_prb"], &tree["seed"]), (&51.into(), &2.into()));
        assert_eq!(tree["ues"][0]["drbs"][0]["pipeline"], "low_latency");
        assert_eq!(Plan::new(&request(&[], 3)).unwrap().len(), 3, "seeds alone");
    }

    #[test]
    fn what_an_axis_says_is_told_as_of_the_axis() {
        let unknown = refused(&["cell.msc=4,8"], 1);
        assert!(
            unknown.starts_with("--over: cell.msc: unknown key 'msc'; expected one of"),
            "{unknown}"
        );
        let range = refused(&["ues[*].channel.fixed_mcs=4,99"], 1);
        assert!(range.starts_with("--over: ues[0].channel.fixed_mcs: 99 is outside"), "{range}");
        let missing = refused(&["ues[7].rnti=1"], 1);
        assert_eq!(missing, "--over: ues[7].rnti: [7] is not there; the list has 1");
    }

    #[test]
    fn impossible_products_are_refused_before_the_first_run() {
        let many = refused(&["cell.n_prb=20..50", "ues[0].channel.fixed_mcs=1..9"], 2);
        assert_eq!(
            many,
            "--over: 31 × 9 values and 2 seeds are 558 runs; at most 100 (--max-runs)"
        );
        assert_eq!(refused(&["a=1", "a=2"], 1), "--over: a: is given twice");
        assert!(refused(&["seed=1,2"], 1).contains("use --seeds"));
    }
}
