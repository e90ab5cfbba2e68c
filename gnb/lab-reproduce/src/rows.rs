//! From runs to rows: means over the seeds beside the paper's values.

use serde::Serialize;

use super::cache::Measured;
use super::{By, Experiment, Work};

/// One value of an experiment: the paper's and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the experiment.
    pub experiment: String,
    /// Scheme.
    pub scheme: String,
    /// Metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The paper's value, if it reports one.
    pub paper: Option<f64>,
    /// Our mean over the seeds; `None` if nothing was run or measured.
    pub here: Option<f64>,
    /// Seeds with a value.
    pub repeats: u32,
    /// Least over the seeds.
    pub min: Option<f64>,
    /// Greatest over the seeds.
    pub max: Option<f64>,
}

impl Row {
    /// Our value over the paper's; `None` if either is missing or the paper's is zero.
    pub fn ratio(&self) -> Option<f64> {
        self.here
            .zip(self.paper)
            .filter(|(_, paper)| *paper != 0.0)
            .map(|(here, paper)| here / paper)
    }

    /// Paper, here, ratio and range as text; a dash for a missing value.
    pub(super) fn values(&self) -> [String; 4] {
        let ratio = self.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
        let range = match (self.min, self.max) {
            (Some(min), Some(max)) if self.repeats > 1 => {
                format!("{} … {}", number(Some(min)), number(Some(max)))
            }
            _ => String::new(),
        };
        [number(self.paper), number(self.here), ratio, range]
    }
}

/// A value as text; a dash for a missing one.
fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), lab_recording::number)
}

/// An experiment with its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// The experiment.
    pub experiment: Experiment,
    /// Seeds per cell.
    pub repeats: u32,
    /// Rows by metric, then by cell in the experiment's order.
    pub rows: Vec<Row>,
    /// Run of the first seed by cell.
    pub(super) first: Vec<Option<Measured>>,
    /// Cells not run, with the reason.
    pub missing: Vec<String>,
}

impl Table {
    /// `runs` has the runs of each cell.
    pub(super) fn of(experiment: &Experiment, repeats: u32, runs: Vec<Vec<Measured>>) -> Self {
        let mut rows = Vec::new();
        // Of all conditions, or of one.
        let values = |scheme: &str, metric: &str, condition: Option<&str>| -> Vec<Option<f64>> {
            let cells = experiment.cells.iter().zip(&runs);
            cells
                .filter(|(cell, _)| cell.scheme == scheme)
                .filter(|(cell, _)| condition.is_none() || cell.condition.as_deref() == condition)
                .flat_map(|(_, runs)| runs)
                .map(|run| run.metrics.get(metric).copied().flatten())
                .collect()
        };
        let mut schemes: Vec<&str> = Vec::new();
        let mut conditions: Vec<Option<&str>> = vec![None];
        for cell in &experiment.cells {
            if !schemes.contains(&cell.scheme.as_str()) {
                schemes.push(&cell.scheme);
            }
            if !conditions.contains(&cell.condition.as_deref()) {
                conditions.push(cell.condition.as_deref());
            }
        }
        let named = |name: &str, condition: Option<&str>| match condition {
            None => name.to_owned(),
            Some(condition) => format!("{name}, {condition}"),
        };
        for metric in &experiment.metrics {
            for (scheme, condition) in pairs(&schemes, &conditions) {
                let known = values(scheme, metric.name, *condition);
                let known: Vec<f64> = known.into_iter().flatten().collect();
                let name = named(scheme, *condition);
                rows.push(row(experiment, &name, metric.name, metric.unit, &known));
            }
        }
        for (comparison, condition) in pairs(&experiment.comparisons, &conditions) {
            let of = values(&comparison.of, comparison.metric, *condition);
            let over = values(&comparison.over, comparison.metric, *condition);
            let compared = |(of, over): (Option<f64>, Option<f64>)| match comparison.by {
                By::Quotient => Some(of? / over.filter(|over| *over != 0.0)?),
                By::Difference => Some(of? - over?),
            };
            let unit = match comparison.by {
                By::Quotient => "×",
                By::Difference => {
                    let metrics = &mut experiment.metrics.iter();
                    metrics.find(|m| m.name == comparison.metric).map_or("", |metric| metric.unit)
                }
            };
            let compared: Vec<f64> = of.into_iter().zip(over).filter_map(compared).collect();
            let name = named(&comparison.row, *condition);
            rows.push(row(experiment, &name, comparison.metric, unit, &compared));
        }
        let missing = experiment.cells.iter().filter_map(|cell| match &cell.work {
            Work::Missing(why) => Some(format!("{}: {why}", cell.scheme)),
            Work::Run { .. } => None,
        });
        Self {
            missing: missing.collect(),
            experiment: experiment.clone(),
            repeats,
            rows,
            first: runs.into_iter().map(|runs| runs.into_iter().next()).collect(),
        }
    }

    /// Our value.
    pub fn here(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.scheme == scheme && row.metric == metric)?.here
    }
}

fn pairs<'a, A, B>(a: &'a [A], b: &'a [B]) -> impl Iterator<Item = (&'a A, &'a B)> {
    a.iter().flat_map(|a| b.iter().map(move |b| (a, b)))
}

fn row(experiment: &Experiment, scheme: &str, metric: &str, unit: &str, values: &[f64]) -> Row {
    let some = |value: f64| (!values.is_empty()).then_some(value);
    Row {
        experiment: experiment.name.to_owned(),
        scheme: scheme.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        paper: experiment.paper_value(scheme, metric),
        here: some(values.iter().sum::<f64>() / values.len() as f64),
        repeats: values.len() as u32,
        min: some(values.iter().copied().fold(f64::INFINITY, f64::min)),
        max: some(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    }
}
