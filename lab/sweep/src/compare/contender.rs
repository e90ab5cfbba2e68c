//! One side of a comparison: a recorded run, or the runs of a combination of values in a sweep.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lab_batch::BySeed;
use lab_recording::SUMMARY_FILE;
use serde_json::Value;

use super::timeline::Timeline;
use crate::SweepError;
use crate::axis::label;
use crate::distribution::Distribution;
use crate::measures::{RecordedRun, Subject};
use crate::state::{RunEntry, SWEEP_FILE, SweepFile, runs_folder};

/// Runs that differ in their seed alone.
#[derive(Debug, Default)]
pub(super) struct Contender {
    /// Name in tables and legends.
    pub(super) label: String,
    /// Values of the axes, of a sweep.
    pub(super) axes: Vec<(String, Value)>,
    /// Subjects in the order of the scenario, each with its measures in order.
    pub(super) subjects: Vec<(Subject, Vec<String>)>,
    values: BTreeMap<(Subject, String), BySeed>,
    /// Distribution of the sojourn over all runs together.
    pub(super) sojourn: BTreeMap<Subject, Distribution>,
    /// Mean over the runs, Mbit/s of all flows.
    pub(super) goodput_mbps: Timeline,
    /// Mean over the runs, MB in RLC and pipelines.
    pub(super) queued_mb: Timeline,
    /// Mean over the runs, ms.
    pub(super) hol_ms: Timeline,
}

impl Contender {
    fn read(
        label: String,
        axes: Vec<(String, Value)>,
        folders: &[PathBuf],
    ) -> Result<Self, SweepError> {
        let mut contender = Self { label, axes, ..Self::default() };
        for folder in folders {
            contender.add(RecordedRun::read(folder)?);
        }
        Ok(contender)
    }

    /// Values of a measure by seed.
    pub(super) fn values(&self, subject: &Subject, measure: &str) -> Option<&BySeed> {
        self.values.get(&(subject.clone(), measure.to_owned()))
    }

    fn add(&mut self, run: RecordedRun) {
        for measures in run.measures {
            let subject = measures.subject;
            let known = self.subjects.iter().position(|(known, _)| *known == subject);
            let at = known.unwrap_or_else(|| {
                self.subjects.push((subject.clone(), Vec::new()));
                self.subjects.len() - 1
            });
            for (name, value) in measures.values {
                let names = &mut self.subjects[at].1;
                if !names.contains(&name) {
                    names.push(name.clone());
                }
                self.values.entry((subject.clone(), name)).or_default().insert(run.seed, value);
            }
        }
        for (subject, sojourn) in &run.sojourn {
            self.sojourn.entry(subject.clone()).or_default().merge(sojourn);
        }
        let mut goodput = Timeline::default();
        for flow in &run.curves.goodput {
            let bits = |bytes: &u64| *bytes as f64 * 8.0 / flow.bin_us as f64;
            goodput.add(flow.bin_us, flow.bytes.iter().map(bits).collect());
        }
        self.goodput_mbps.add_run(goodput.sums(), run.duration_s);
        let queues = &run.curves.queues;
        let queued = queues.rlc_bytes.iter().zip(&queues.tc_bytes);
        let queued = queued.map(|(rlc, tc)| (rlc + tc) as f64 / 1e6).collect();
        self.queued_mb.add_run((queues.bin_us, queued), run.duration_s);
        let hol = queues.hol_us.iter().map(|us| *us as f64 / 1e3).collect();
        self.hol_ms.add_run((queues.bin_us, hol), run.duration_s);
    }
}

/// Reads folders of runs and sweeps.
///
/// # Errors
/// [`SweepError::Results`] for a folder that is neither, or that is damaged.
pub(super) fn read(folders: &[PathBuf]) -> Result<(Vec<Contender>, Vec<String>), SweepError> {
    let (mut contenders, mut warnings) = (Vec::new(), Vec::new());
    for folder in folders {
        let name = folder.display().to_string();
        if folder.join(SWEEP_FILE).is_file() {
            let prefix = (folders.len() > 1).then_some(name.as_str());
            read_sweep(folder, prefix, &mut contenders, &mut warnings)?;
        } else if folder.join(SUMMARY_FILE).is_file() {
            contenders.push(Contender::read(name, Vec::new(), std::slice::from_ref(folder))?);
        } else {
            let message = format!(
                "has neither {SUMMARY_FILE} nor {SWEEP_FILE}; expected the folder of a run or a sweep"
            );
            return Err(SweepError::results(folder, message));
        }
    }
    Ok((contenders, warnings))
}

/// A contender per combination of values, in the order of the sweep.
fn read_sweep(
    folder: &Path,
    prefix: Option<&str>,
    contenders: &mut Vec<Contender>,
    warnings: &mut Vec<String>,
) -> Result<(), SweepError> {
    let sweep = SweepFile::read(folder)?;
    for runs in sweep.runs.chunk_by(|a, b| a.values == b.values) {
        let Some(first) = runs.first() else { continue };
        let axes: Vec<(String, Value)> =
            sweep.axes.iter().cloned().zip(first.values.iter().cloned()).collect();
        let name = contender_label(folder, prefix, &axes);
        let all = runs.iter().map(|run: &RunEntry| runs_folder(folder).join(&run.folder));
        let there: Vec<PathBuf> = all.filter(|run| run.join(SUMMARY_FILE).is_file()).collect();
        if there.len() < runs.len() {
            let missing = runs.len() - there.len();
            warnings
                .push(format!("{name}: {missing} of {} runs failed or are missing", runs.len()));
        }
        if !there.is_empty() {
            contenders.push(Contender::read(name, axes, &there)?);
        }
    }
    Ok(())
}

/// The values of the axes, each by the last key of its path if that is unique.
fn contender_label(folder: &Path, prefix: Option<&str>, axes: &[(String, Value)]) -> String {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let short = |path: &String| {
        let key = last(path);
        let is_unique = axes.iter().filter(|(other, _)| last(other) == key).count() == 1;
        if is_unique { key } else { path.clone() }
    };
    let values: Vec<String> =
        axes.iter().map(|(path, value)| format!("{}={}", short(path), label(value))).collect();
    match (prefix, values.is_empty()) {
        (_, true) => folder.display().to_string(),
        (Some(prefix), false) => format!("{prefix}: {}", values.join(", ")),
        (None, false) => values.join(", "),
    }
}
