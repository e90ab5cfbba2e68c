//! The rows of a table: means of the runs over the seeds beside the paper's values.

use serde::Serialize;

use super::cache::Measured;
use super::estimate::Estimate;
use super::plan::{By, Experiment, Work};

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
    /// Half the 95 % confidence interval of `here` over the seeds (Student's t); `None` for one seed.
    pub half_width: Option<f64>,
    /// Whether the paper's value lies within that interval; `None` without interval or paper's value.
    pub within: Option<bool>,
    /// Least over the seeds.
    pub min: Option<f64>,
    /// Greatest over the seeds.
    pub max: Option<f64>,
}

impl Row {
    /// Our value over the paper's; `None` if either is missing or the paper's is zero.
    pub fn ratio(&self) -> Option<f64> {
        self.over_paper(self.here)
    }

    fn over_paper(&self, value: Option<f64>) -> Option<f64> {
        let paper = self.paper.filter(|paper| *paper != 0.0)?;
        Some(value? / paper)
    }

    /// Paper, here, ratio, whether the paper's value is within the interval, and range as text; a dash
    /// for a missing value.
    pub(super) fn values(&self) -> [String; 5] {
        let here = match self.half_width {
            Some(half) => format!("{} ± {}", number(self.here), number(Some(half))),
            None => number(self.here),
        };
        let ratio = match (self.ratio(), self.over_paper(self.half_width)) {
            (Some(ratio), Some(half)) => format!("{ratio:.2} ± {:.2}", half.abs()),
            (Some(ratio), None) => format!("{ratio:.2}"),
            (None, _) => "–".to_owned(),
        };
        let within = match (self.paper, self.within) {
            (Some(_), Some(true)) => "within",
            (Some(_), Some(false)) => "outside",
            (Some(_), None) => "one seed",
            (None, _) => "–",
        };
        let range = match (self.min, self.max) {
            (Some(min), Some(max)) if self.repeats > 1 => {
                format!("{} … {}", number(Some(min)), number(Some(max)))
            }
            _ => String::new(),
        };
        [number(self.paper), here, ratio, within.to_owned(), range]
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
        // By cell and seed, of all conditions or of one.
        let values = |scheme: &str, metric: &str, condition: Option<&str>| -> Vec<BySeed> {
            let cells = experiment.cells.iter().zip(&runs);
            cells
                .filter(|(cell, _)| cell.scheme == scheme)
                .filter(|(cell, _)| condition.is_none() || cell.condition.as_deref() == condition)
                .map(|(_, runs)| {
                    let values = runs.iter().map(|run| run.metrics.get(metric).copied().flatten());
                    values.collect()
                })
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
        for (metric, measure) in experiment.metrics.iter() {
            for (scheme, condition) in pairs(&schemes, &conditions) {
                let known = values(scheme, metric, *condition);
                let name = named(scheme, *condition);
                rows.push(row(experiment, &name, metric, measure.unit(), &known));
            }
        }
        for (comparison, condition) in pairs(&experiment.comparisons, &conditions) {
            let of = values(&comparison.of, &comparison.metric, *condition);
            let over = values(&comparison.over, &comparison.metric, *condition);
            let compared = |(of, over): (Option<f64>, Option<f64>)| match comparison.by {
                By::Quotient => Some(of? / over.filter(|over| *over != 0.0)?),
                By::Difference => Some(of? - over?),
            };
            let unit = match comparison.by {
                By::Quotient => "×",
                By::Difference => {
                    experiment.metrics.get(&comparison.metric).map_or("", |measure| measure.unit())
                }
            };
            let pairs = of.into_iter().zip(over);
            let compared: Vec<BySeed> =
                pairs.map(|(of, over)| of.into_iter().zip(over).map(compared).collect()).collect();
            let name = named(&comparison.row, *condition);
            rows.push(row(experiment, &name, &comparison.metric, unit, &compared));
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

/// Values of one cell, in the order of the seeds.
type BySeed = Vec<Option<f64>>;

/// The mean over all cells and seeds. Its interval is that of the seeds: cells with other conditions do
/// not vary by chance, so that a seed counts by the mean over its cells.
fn row(experiment: &Experiment, scheme: &str, metric: &str, unit: &str, by_cell: &[BySeed]) -> Row {
    let values: Vec<f64> = by_cell.iter().flatten().copied().flatten().collect();
    let some = |value: f64| (!values.is_empty()).then_some(value);
    let seeds = by_cell.iter().map(Vec::len).max().unwrap_or(0);
    let of_seed = (0..seeds).filter_map(|seed| {
        let of_cells = by_cell.iter().filter_map(|cell| cell.get(seed).copied().flatten());
        Estimate::of(of_cells).map(|estimate| estimate.mean)
    });
    let half_width = Estimate::of(of_seed).and_then(|estimate| estimate.half_width);
    let paper = experiment.paper_value(scheme, metric);
    let here = some(values.iter().sum::<f64>() / values.len() as f64);
    Row {
        experiment: experiment.name.clone(),
        scheme: scheme.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        paper,
        here,
        repeats: values.len() as u32,
        half_width,
        within: paper.zip(here).zip(half_width).map(|((paper, here), half)| {
            // Rounding of a mean of equal values is no spread.
            (paper - here).abs() <= half + f64::EPSILON * here.abs()
        }),
        min: some(values.iter().copied().fold(f64::INFINITY, f64::min)),
        max: some(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        let values = [("vanilla".to_owned(), 6.2)].into_iter().collect();
        let reported = [("goodput".to_owned(), values)].into_iter().collect();
        Experiment { name: "train".to_owned(), reported, ..Experiment::default() }
    }

    #[test]
    fn a_difference_smaller_than_the_spread_of_the_seeds_is_no_difference() {
        let spread = [3.9, 4.6, 5.2, 5.8, 6.3].map(Some).to_vec();
        let wide = row(&experiment(), "vanilla", "goodput", "Mbit/s", &[spread]);
        assert_eq!((wide.repeats, wide.within), (5, Some(true)), "{wide:?}");
        let narrow = [5.15, 5.16, 5.16, 5.17, 5.16].map(Some).to_vec();
        let narrow = row(&experiment(), "vanilla", "goodput", "Mbit/s", &[narrow]);
        assert_eq!(narrow.within, Some(false), "{narrow:?}");
        let single = row(&experiment(), "vanilla", "goodput", "Mbit/s", &[vec![Some(5.16)]]);
        assert_eq!((single.within, single.values()[3].as_str()), (None, "one seed"));
    }

    #[test]
    fn conditions_are_no_spread_of_the_seeds() {
        let cells = [vec![Some(1.0), Some(1.2)], vec![Some(9.0), Some(8.8)]];
        let pooled = row(&experiment(), "vanilla", "goodput", "Mbit/s", &cells);
        assert_eq!((pooled.here, pooled.repeats), (Some(5.0), 4));
        assert!(pooled.half_width.is_some_and(|half| half < 1e-9), "{pooled:?}");
    }
}
