//! Scenarios: YAML in, a checked model out.
//!
//! [`LoadedScenario::from_file`] reads, parses and checks; every error names the file, the path in
//! the file and what was expected. [`json_schema`] is the same model as JSON schema.

mod adaptation;
mod channel;
mod check;
mod drx;
mod error;
mod fading;
mod file;
mod flow;
mod flow_file;
mod handover;
mod link;
mod model;
mod overrides;
mod pipeline;
mod rlc;
mod rules;
mod scheduler;
mod yaml;

use std::path::{Path, PathBuf};

use bounded_input::FileError;
use serde_json::Value;
use serde_path_to_error::Segment;

pub use adaptation::{Adaptation, Combining, OuterLoop, SubbandSize};
pub use channel::{
    AtEnd, Channel, CqiSeries, GaussMarkov, Mahimahi, McsSeries, MeasuredCsv, Missing, Mobility,
    MobilityPattern, Quantity, SnrSeries, UccColumn, UccCsv,
};
pub use drx::Drx;
pub use error::{ScenarioError, Violation};
pub use fading::{Deployment, Fading, Interference, Path as LinkPath, Profile, Shadowing};
pub use file::{MAX_SCENARIO_BYTES, MAX_TRACE_BYTES, decompress, read_bounded};
pub use flow::{Flow, FlowKeys, FlowUe};
pub use handover::{Handover, Site};
pub use link::{F1, Harq, Overhead, RecordedUplink, RlcStatusReporting, UeHarq, UplinkAccess};
pub use model::{
    Cell, Drb, McsTable, QosFlowMove, Rat, Reserved, ResourceAllocation, SNssai, Scenario, Split,
    Tdd, Ue,
};
pub use overrides::Override;
pub use pipeline::{PipelineSpec, TRANSPARENT};
pub use rlc::{Rlc, RlcAqm, RlcBode, RlcCodel, RlcMode, RlcPie};
pub use scheduler::{MacScheduler, PfGranularity, SchedulerKind, SliceSpec, UeScheduler};
pub use yaml::parse_yaml;

/// A checked scenario with the directory that relative paths refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedScenario {
    /// The model.
    pub scenario: Scenario,
    /// Name of the file, for errors.
    pub file: String,
    /// Directory of the file.
    pub directory: PathBuf,
}

impl LoadedScenario {
    /// Reads a YAML file and applies overrides to it.
    ///
    /// # Errors
    /// [`ScenarioError`] when the file cannot be read, is larger than [`MAX_SCENARIO_BYTES`], is
    /// not YAML, or does not fit the model.
    pub fn from_file(path: &Path, overrides: &[Override]) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        Self::from_value(read_tree(path)?, &file, folder_of(path), overrides)
    }

    /// Parses YAML text; `file` is its name in errors, relative paths refer to `directory`.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn from_yaml(
        text: &str,
        file: &str,
        directory: &Path,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        Self::from_value(parse_tree(text, file)?, file, directory, overrides)
    }

    /// Checks a scenario that is already a tree of values.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn from_value(
        mut value: Value,
        file: &str,
        directory: &Path,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        if !value.is_object() {
            let message = "expected a mapping with keys such as duration_s, cell and ues";
            return Err(ScenarioError::new(file, "", message));
        }
        for change in overrides {
            change
                .apply(&mut value)
                .map_err(|message| ScenarioError::new("--set", change.path(), message))?;
        }
        let scenario: Scenario = serde_path_to_error::deserialize(&value)
            .map_err(|error| {
                wrong_flow(error.path(), &value)
                    .unwrap_or_else(|| Violation::from_serde(error.path(), error.inner()))
            })
            .and_then(|scenario| check::check(&scenario).map(|()| scenario))
            .map_err(|violation| ScenarioError::new(file, violation.path, violation.message))?;
        Ok(Self { scenario, file: file.to_owned(), directory: directory.to_owned() })
    }

    /// Adds real hosts at every UE if the scenario has no flow of kind `host`.
    pub fn with_hosts(mut self) -> Self {
        let flows = &mut self.scenario.flows;
        if !flows.iter().any(|flow| matches!(flow.app, traffic::AppConfig::Host(_))) {
            let is_free =
                |name: &String| !flows.iter().any(|flow| flow.names().any(|n| n == *name));
            let names =
                std::iter::successors(Some("host".to_owned()), |name| Some(format!("{name}_")));
            flows.extend(names.take(64).find(is_free).map(|name| Flow::hosts(&name)));
        }
        self
    }
}

/// Reads a scenario file as a tree of values that is not yet checked, for
/// [`LoadedScenario::from_value`].
///
/// # Errors
/// As [`LoadedScenario::from_file`], except for what the model says.
pub fn read_tree(path: &Path) -> Result<Value, ScenarioError> {
    let file = path.display().to_string();
    let bytes = read_bounded(path, MAX_SCENARIO_BYTES)
        .map_err(|error| ScenarioError::new(&file, "", error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        ScenarioError::new(&file, "", FileError::NotText(at).to_string())
    })?;
    parse_tree(&text, &file)
}

/// The directory that the relative paths of a scenario file refer to.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn parse_tree(text: &str, file: &str) -> Result<Value, ScenarioError> {
    if text.len() as u64 > MAX_SCENARIO_BYTES {
        let message = format!("{} bytes; a scenario has at most {MAX_SCENARIO_BYTES}", text.len());
        return Err(ScenarioError::new(file, "", message));
    }
    if text.trim().is_empty() {
        return Err(ScenarioError::new(file, "", "empty; expected a scenario"));
    }
    parse_yaml(text).map_err(|error| ScenarioError::new(file, "", error))
}

/// The error within a flow: a flow reads its own mapping, so serde's path ends at the flow.
fn wrong_flow(path: &serde_path_to_error::Path, scenario: &Value) -> Option<Violation> {
    let segments: Vec<_> = path.iter().collect();
    let [Segment::Map { key }, Segment::Seq { index }] = segments[..] else { return None };
    if key != "flows" {
        return None;
    }
    let wrong = Flow::read(scenario.get(key)?.get(index)?).err()?;
    let dot = if wrong.path.is_empty() { "" } else { "." };
    Some(Violation::new(format!("{path}{dot}{}", wrong.path), wrong.message))
}

/// JSON schema of the scenario file (2020-12).
pub fn json_schema() -> Value {
    let mut value = schemars::schema_for!(Scenario).to_value();
    if let Some(root) = value.as_object_mut() {
        root.insert("title".to_owned(), Value::from("Sojourn scenario"));
    }
    value
}
