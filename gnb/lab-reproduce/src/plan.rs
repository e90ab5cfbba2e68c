//! What a paper's experiments are made of.

use std::path::PathBuf;

use serde_json::Value;

use super::{Curve, FloorOf, Forecasts, Metric, ReproduceError, Trained, XApp};

/// A paper with its experiments.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Short name, as on the command line.
    pub name: &'static str,
    /// Authors, title and where it appeared.
    pub citation: &'static str,
    /// What the paper leaves open and what is assumed here, the same for every row.
    pub assumptions: &'static [&'static str],
    /// Whether a trained forecaster has rows in them.
    pub takes_model: bool,
    /// Its experiments, in the paper's order.
    pub experiments: fn(&Inputs) -> Result<Vec<Experiment>, ReproduceError>,
}

/// What experiments need that does not come with the program.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Folder with recorded radios.
    pub traces: Option<PathBuf>,
    /// A trained forecaster.
    pub trained: Option<Trained>,
}

/// One table or figure of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name, as on the command line.
    pub name: &'static str,
    /// Where the paper reports it.
    pub source: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Seeds per cell unless the caller wants another number.
    pub repeats: u32,
    /// What is taken of each run.
    pub metrics: Vec<Metric>,
    /// Distributions and series taken of each run, for the figures.
    pub curves: Vec<Curve>,
    /// What is run. Cells of one scheme are one row: the mean over them and the seeds.
    pub cells: Vec<Cell>,
    /// Rows that set two schemes in relation.
    pub comparisons: Vec<Comparison>,
    /// What the paper reports: scheme, metric, value.
    pub reported: Vec<(String, String, f64)>,
    /// Plots.
    pub figures: Vec<Figure>,
}

impl Experiment {
    /// An experiment with nothing in it yet.
    pub fn new(name: &'static str, source: &'static str, title: &'static str) -> Self {
        Self {
            name,
            source,
            title,
            repeats: 5,
            metrics: Vec::new(),
            curves: Vec::new(),
            cells: Vec::new(),
            comparisons: Vec::new(),
            reported: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Adds what the paper reports of one metric.
    #[must_use]
    pub fn reports<'a>(
        mut self,
        metric: &str,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Self {
        let values = values.into_iter();
        self.reported.extend(values.map(|(scheme, value)| (scheme.into(), metric.into(), value)));
        self
    }

    /// What the paper says.
    pub fn paper_value(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.reported.iter().find(|(s, m, _)| s == scheme && m == metric).map(|(_, _, v)| *v)
    }
}

/// One scheme over another, cell by cell and seed by seed: the mean of the quotients.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the row.
    pub row: String,
    /// Metric compared.
    pub metric: &'static str,
    /// Scheme above the line.
    pub of: String,
    /// Scheme below it.
    pub over: String,
}

/// One row of an experiment: a scheme under conditions.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Name of the row.
    pub scheme: String,
    /// What is run.
    pub work: Work,
    /// Where it lies in a sweep; none outside sweeps.
    pub at: Option<At>,
}

/// What is run for a cell.
#[derive(Clone, Debug)]
pub enum Work {
    /// A scenario; its seed is that of the repeat.
    Run {
        /// The scenario as a tree of values.
        scenario: Box<Value>,
        /// What its relative paths are relative to.
        directory: PathBuf,
        /// What is observed.
        watch: Watch,
        /// What an xApp does meanwhile.
        xapp: Option<Box<XApp>>,
        /// What a RIC forecasts meanwhile.
        forecasts: Option<Box<Forecasts>>,
        /// Whose floor is wanted in place of what was run.
        floor: Option<FloorOf>,
    },
    /// What the cell needs is not there; the sentence says what.
    Missing(String),
}

/// The part of a run that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// From here, virtual µs.
    pub from_us: u64,
    /// Until here, where the run ends.
    pub to_us: u64,
    /// Whether the bearers' occupancy over time is wanted as well.
    pub occupancy: bool,
}

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// The line it belongs to.
    pub series: String,
    /// Its abscissa.
    pub x: f64,
}

/// A plot of an experiment.
#[derive(Clone, Debug)]
pub enum Figure {
    /// A curve of every cell: a distribution or a series, of the first seed.
    Curves {
        /// Name of the curve.
        curve: &'static str,
        /// Title.
        title: &'static str,
        /// Abscissa with unit.
        x: &'static str,
        /// Ordinate with unit.
        y: &'static str,
        /// Decades on the abscissa.
        log_x: bool,
        /// End of the abscissa.
        x_max: Option<f64>,
    },
    /// A metric of every cell, the paper's value beside it.
    Bars {
        /// Name of the metric.
        metric: &'static str,
        /// Title.
        title: &'static str,
    },
    /// A metric of schemes named `GROUP, MEMBER`: a bar per member, side by side in each group. A
    /// scheme without a group is one of a group without a name.
    Groups {
        /// Name of the metric.
        metric: &'static str,
        /// Title.
        title: &'static str,
        /// The rows by the name that follows the group, `{}` being the member: `{}` for the schemes
        /// themselves, `{} over A` for the comparisons with A.
        rows: &'static str,
        /// Decades on the ordinate.
        log_y: bool,
    },
    /// A metric over the sweep, a line per series.
    Sweep {
        /// Name of the metric.
        metric: &'static str,
        /// Title.
        title: &'static str,
        /// Abscissa with unit.
        x: &'static str,
    },
}
