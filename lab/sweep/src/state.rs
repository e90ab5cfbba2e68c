//! `sweep.json`: what the runs of a folder are of, by which a later call finds out what has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lab_batch::{identity, write_atomically};
use lab_recording::Contents;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::SweepError;
use super::measures::read_json;
use super::plan::{Plan, PlannedRun};

/// Name of the file.
pub(crate) const SWEEP_FILE: &str = "sweep.json";
/// Name of the file in the folder of a finished run.
const RUN_FILE: &str = "run.json";
/// Most changed elements that are named.
const MAX_NAMED: usize = 5;

/// What the runs of a sweep depend on beside their scenarios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Digest of the program.
    pub(crate) program: String,
    /// Formats of the tables, and whether there are packets.
    pub(crate) formats: Vec<String>,
    pub(crate) packets: bool,
}

impl Identity {
    /// The identity of this program.
    ///
    /// # Errors
    /// [`SweepError::Identity`] if it cannot be read.
    fn of(contents: &Contents) -> Result<Self, SweepError> {
        Ok(Self {
            program: identity::program()?,
            formats: contents.formats.iter().map(ToString::to_string).collect(),
            packets: contents.packets,
        })
    }

    /// Digest of everything that a run depends on: also its scenario, and the digests of the files that
    /// this names.
    pub(crate) fn digest(&self, tree: &Value, inputs: &BTreeMap<String, String>) -> String {
        let whole = json!({
            "program": self.program,
            "formats": self.formats,
            "packets": self.packets,
            "scenario": tree,
            "inputs": inputs,
        });
        identity::sha256(whole.to_string())
    }
}

/// What a folder of runs is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepFile {
    #[serde(flatten)]
    pub(crate) identity: Identity,
    /// The scenario without the values of the axes.
    scenario: Value,
    /// Paths of the axes.
    pub(crate) axes: Vec<String>,
    /// The runs of the last call.
    pub(crate) runs: Vec<RunEntry>,
}

/// A run of the last call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunEntry {
    /// Name of its folder.
    pub(crate) folder: String,
    /// Value of each axis.
    pub(crate) values: Vec<Value>,
    pub(crate) seed: u64,
}

/// What the folder of a finished run has beside what every run writes.
#[derive(Deserialize)]
struct RunFile {
    digest: String,
}

impl SweepFile {
    /// What a plan makes.
    ///
    /// # Errors
    /// [`SweepError::Identity`] if this program cannot be read.
    pub(crate) fn of(plan: &Plan, contents: &Contents) -> Result<Self, SweepError> {
        let entry = |run: &PlannedRun| RunEntry {
            folder: run.name.clone(),
            values: run.values.clone(),
            seed: run.seed,
        };
        Ok(Self {
            identity: Identity::of(contents)?,
            scenario: plan.base.clone(),
            axes: plan.axes.iter().map(|axis| axis.path().to_owned()).collect(),
            runs: plan.runs.iter().map(entry).collect(),
        })
    }

    /// Reads the file of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, SweepError> {
        read_json(&folder.join(SWEEP_FILE), "description of a sweep")
    }

    /// Writes the file.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), SweepError> {
        let path = folder.join(SWEEP_FILE);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| SweepError::results(&path, error))?;
        write_atomically(&path, &format!("{text}\n")).map_err(SweepError::io(&path))
    }

    /// Refuses a folder whose runs are of something else than `self`.
    pub(crate) fn check_against(&self, folder: &Path) -> Result<(), SweepError> {
        let old = Self::read(folder)?;
        let mut changed = Vec::new();
        let [there, now] = [&old.identity, &self.identity];
        if there.program != now.program {
            changed.push("another build of gnb-lab".to_owned());
        }
        if (&there.formats, there.packets) != (&now.formats, now.packets) {
            changed.push("other --format or --packets".to_owned());
        }
        if old.axes != self.axes {
            changed.push(format!("other axes ({})", old.axes.join(", ")));
        }
        let mut elements = Vec::new();
        differences(&old.scenario, &self.scenario, "", &mut elements);
        if !elements.is_empty() {
            let more = elements.len().saturating_sub(MAX_NAMED);
            elements.truncate(MAX_NAMED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            changed.push(format!("another scenario ({}{more})", elements.join("; ")));
        }
        if changed.is_empty() {
            return Ok(());
        }
        let what = format!("its runs are of {}", changed.join(", "));
        Err(SweepError::Changed { path: folder.join(SWEEP_FILE), what })
    }
}

/// Whether a folder has the finished run of this digest.
///
/// # Errors
/// [`SweepError::Changed`] if it has a run of another one: a file that the scenario reads has changed.
pub(crate) fn is_finished(folder: &Path, digest: &str) -> Result<bool, SweepError> {
    let path = folder.join(RUN_FILE);
    if !path.exists() {
        return Ok(false);
    }
    match read_json::<RunFile>(&path, "description of a run") {
        Ok(old) if old.digest == digest => Ok(true),
        Ok(_) => {
            let what = "the files that its scenario reads have changed since".to_owned();
            Err(SweepError::Changed { path, what })
        }
        // A damaged run is made again.
        Err(_) => Ok(false),
    }
}

/// Marks a folder as a finished run.
pub(crate) fn finish(folder: &Path, digest: &str) -> Result<(), SweepError> {
    let path = folder.join(RUN_FILE);
    let text = format!("{}\n", json!({ "digest": digest }));
    write_atomically(&path, &text).map_err(SweepError::io(&path))
}

/// Folder of all runs.
pub(crate) fn runs_folder(folder: &Path) -> PathBuf {
    folder.join("runs")
}

/// Elements that differ, with both values.
fn differences(old: &Value, new: &Value, path: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => {
            let absent = Value::Null;
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let dot = if path.is_empty() { "" } else { "." };
                let [a, b] = [a, b].map(|map| map.get(key).unwrap_or(&absent));
                differences(a, b, &format!("{path}{dot}{key}"), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{path}[{index}]"), found);
            }
        }
        (a, b) if a != b => found.push(format!("{path}: {} there, {} now", short(a), short(b))),
        _ => {}
    }
}

/// A value, or what it is if it has parts.
fn short(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(list) => format!("a list of {}", list.len()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_elements_are_named_with_both_values() {
        let old = json!({"cell": {"n_prb": 51, "scs_khz": 30}, "ues": [{"rnti": 1}], "flows": [1]});
        let new = json!({"cell": {"n_prb": 106}, "ues": [{"rnti": 2}], "flows": [1, 2]});
        let mut found = Vec::new();
        differences(&old, &new, "", &mut found);
        let expected = [
            "cell.n_prb: 51 there, 106 now",
            "cell.scs_khz: 30 there, nothing now",
            "flows: a list of 1 there, a list of 2 now",
            "ues[0].rnti: 1 there, 2 now",
        ];
        assert_eq!(found, expected);
    }
}
