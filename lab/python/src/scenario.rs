//! Scenarios of sweeps: trees of which elements are replaced, checked, and run with a recording.

use std::path::{Path, PathBuf};

use lab_recording::{CHUNK_US, Contents, Format, Recorder, RecordingError};
use lab_scenario::{LoadedScenario, Override, ScenarioError, folder_of, read_tree};
use lab_world::World;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value;

use super::{ScenarioError as PyScenarioError, from_python, to_python};

/// Elements by path, with the values that replace them.
type Changes<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// The content of a scenario file, not yet checked, with the folder that its relative paths refer to.
#[pyclass(frozen, module = "gnb_lab._native")]
pub(crate) struct Scenario {
    tree: Value,
    file: String,
    folder: PathBuf,
}

fn refused(error: ScenarioError) -> PyErr {
    PyScenarioError::new_err(error.to_string())
}

fn overrides(changes: &Changes<'_>) -> PyResult<Vec<Override>> {
    let change = |(path, value): &(String, Bound<'_, PyAny>)| {
        Override::new(path, from_python(value)?).map_err(PyScenarioError::new_err)
    };
    changes.iter().map(change).collect()
}

impl Scenario {
    /// The tree with elements replaced; an element that cannot be is an error of `flag`.
    fn with(&self, changes: &[Override], flag: &str) -> Result<Value, ScenarioError> {
        let mut tree = self.tree.clone();
        for change in changes {
            change
                .apply(&mut tree)
                .map_err(|message| ScenarioError::new(flag, change.path(), message))?;
        }
        Ok(tree)
    }

    fn of(&self, tree: Value) -> Self {
        Self { tree, file: self.file.clone(), folder: self.folder.clone() }
    }

    fn load(&self, tree: Value) -> Result<LoadedScenario, ScenarioError> {
        LoadedScenario::from_value(tree, &self.file, &self.folder, &[])
    }
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(tree: &Bound<'_, PyAny>, file: String, folder: PathBuf) -> PyResult<Self> {
        Ok(Self { tree: from_python(tree)?, file, folder })
    }

    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let tree = read_tree(&path).map_err(refused)?;
        Ok(Self { tree, file: path.display().to_string(), folder: folder_of(&path).to_owned() })
    }

    #[getter]
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.tree)
    }

    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn replaced(&self, changes: Changes<'_>) -> PyResult<Self> {
        let tree = self.with(&overrides(&changes)?, "--set").map_err(refused)?;
        Ok(self.of(tree))
    }

    fn varied(&self, changes: Changes<'_>) -> PyResult<(Self, u64)> {
        const FLAG: &str = "--over";
        let changes = overrides(&changes)?;
        let tree = self.with(&changes, FLAG).map_err(refused)?;
        match self.load(tree.clone()) {
            Ok(loaded) => Ok((self.of(tree), loaded.scenario.seed)),
            Err(error) if changes.iter().any(|change| change.concerns(&error.path)) => {
                Err(refused(ScenarioError::new(FLAG, error.path, error.message)))
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn record(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        formats: Vec<String>,
        packets: bool,
    ) -> PyResult<Run> {
        let formats: Result<Vec<Format>, String> =
            formats.iter().map(|name| name.parse()).collect();
        let contents = Contents { formats: formats.map_err(PyValueError::new_err)?, packets };
        let loaded = self.load(self.tree.clone()).map_err(refused)?;
        py.detach(|| {
            let mut world =
                World::new(&loaded).map_err(|error| PyScenarioError::new_err(error.to_string()))?;
            let recorder = Recorder::begin(&folder, &contents, &mut world).map_err(unwritten)?;
            let end_us = (loaded.scenario.duration_s * 1e6).round() as u64;
            Ok(Run { world, recorder: Some(recorder), end_us })
        })
    }
}

pub(crate) fn unwritten(error: RecordingError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// A run that is recorded.
#[pyclass(module = "gnb_lab._native")]
pub(crate) struct Run {
    world: World,
    /// `None` once the recording is finished.
    recorder: Option<Recorder>,
    end_us: u64,
}

#[pymethods]
impl Run {
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Self { world, recorder, end_us } = self;
        let Some(mut own) = recorder.take() else { return Ok(false) };
        py.detach(|| {
            world.step_until((world.now_us() + CHUNK_US).min(*end_us), &mut |_| {});
            own.record(world)?;
            if world.now_us() < *end_us {
                *recorder = Some(own);
                return Ok(true);
            }
            own.finish(world).map(|()| false)
        })
        .map_err(unwritten)
    }
}

#[pyfunction]
pub(crate) fn parse_override<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let change: Override = text.parse().map_err(PyScenarioError::new_err)?;
    Ok((change.path().to_owned(), to_python(py, change.value())?))
}
