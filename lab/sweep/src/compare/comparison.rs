//! Sides of a comparison and their measures.

use std::path::PathBuf;

use super::contender::{Contender, read};
use crate::SweepError;
use crate::measures::Subject;
use lab_batch::Estimate;

/// One measure of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number of its side, in order of the folders.
    pub contender: usize,
    /// What was measured: a flow, a bearer, or the run.
    pub subject: Subject,
    /// Name with unit.
    pub measure: String,
    /// Mean over the seeds.
    pub estimate: Estimate,
    /// Difference to the first side, if that has the measure; `None` for the first itself.
    pub difference: Option<Estimate>,
}

/// Recorded runs side by side.
#[derive(Debug)]
pub struct Comparison {
    pub(super) contenders: Vec<Contender>,
    pub(super) rows: Vec<Row>,
    /// Combinations of which runs are missing.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Reads folders of runs and sweeps. In a sweep, runs that differ in their seed alone are one side.
    ///
    /// # Errors
    /// [`SweepError::Results`] for a folder that is neither of a run nor of a sweep, or has damaged or no
    /// results.
    pub fn read(folders: &[PathBuf]) -> Result<Self, SweepError> {
        let (contenders, warnings) = read(folders)?;
        if contenders.is_empty() {
            let folder = folders.first().cloned().unwrap_or_default();
            return Err(SweepError::results(&folder, "has no finished run"));
        }
        let rows = rows(&contenders);
        Ok(Self { contenders, rows, warnings })
    }

    /// All measures: by subject, by measure, by side.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Name of a side.
    pub fn label(&self, contender: usize) -> &str {
        self.contenders.get(contender).map_or("", |contender| &contender.label)
    }

    /// Rows of each subject, together.
    pub(super) fn by_subject(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.subject == b.subject)
    }
}

fn rows(contenders: &[Contender]) -> Vec<Row> {
    // Subjects and measures of all sides, in order of first occurrence.
    let mut order: Vec<(Subject, Vec<String>)> = Vec::new();
    for (subject, measures) in contenders.iter().flat_map(|contender| &contender.subjects) {
        let Some((_, known)) = order.iter_mut().find(|(known, _)| known == subject) else {
            order.push((subject.clone(), measures.clone()));
            continue;
        };
        for measure in measures {
            if !known.contains(measure) {
                known.push(measure.clone());
            }
        }
    }
    order.sort_by_key(|((scope, _), _)| *scope);
    let mut rows = Vec::new();
    for (subject, measures) in order {
        for measure in measures {
            let reference = contenders.first().and_then(|first| first.values(&subject, &measure));
            for (contender, side) in contenders.iter().enumerate() {
                let Some(values) = side.values(&subject, &measure) else { continue };
                let Some(estimate) = Estimate::of(values.values().copied()) else { continue };
                let difference = reference
                    .filter(|_| contender > 0)
                    .and_then(|reference| Estimate::difference(values, reference));
                rows.push(Row {
                    contender,
                    subject: subject.clone(),
                    measure: measure.clone(),
                    estimate,
                    difference,
                });
            }
        }
    }
    rows
}
