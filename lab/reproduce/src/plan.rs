//! Papers, experiments, cells and figures.

use std::path::PathBuf;

use serde_json::Value;

use super::{Curve, FloorOf, Forecasts, Metric, ReproduceError, Trained, Watch, XApp};

/// A paper with its experiments.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// Authors, title and venue.
    pub citation: &'static str,
    /// Assumptions where the paper is not explicit, the same for every row.
    pub assumptions: &'static [&'static str],
    /// Whether experiments have rows for a trained forecaster.
    pub takes_model: bool,
    /// Its experiments, in the paper's order.
    pub experiments: fn(&Inputs) -> Result<Vec<Experiment>, ReproduceError>,
}

/// External inputs of experiments.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Folder with recorded traces.
    pub traces: Option<PathBuf>,
    /// A trained forecaster.
    pub trained: Option<Trained>,
}

/// One table or figure of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Section, table or figure of the paper.
    pub source: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Default number of seeds per cell.
    pub repeats: u32,
    /// Metrics of each run.
    pub metrics: Vec<Metric>,
    /// Distributions and series of each run, for the figures.
    pub curves: Vec<Curve>,
    /// Runs. Cells of one scheme are one row: the mean over them and the seeds.
    pub cells: Vec<Cell>,
    /// Rows that compare two schemes.
    pub comparisons: Vec<Comparison>,
    /// Values of the paper: scheme, metric, value.
    pub reported: Vec<(String, String, f64)>,
    /// Plots.
    pub figures: Vec<Figure>,
}

impl Experiment {
    /// An empty experiment.
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

    /// Adds the paper's values of one metric.
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

    /// The paper's value.
    pub fn paper_value(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.reported.iter().find(|(s, m, _)| s == scheme && m == metric).map(|(_, _, v)| *v)
    }
}

/// One scheme compared with another, cell by cell and seed by seed: the mean of the quotients or
/// differences.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the row.
    pub row: String,
    /// Metric compared.
    pub metric: &'static str,
    /// How.
    pub by: By,
    /// Scheme in the numerator, or the minuend.
    pub of: String,
    /// Scheme in the denominator, or the subtrahend.
    pub over: String,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Their quotient; there is none over 0.
    Quotient,
    /// Their difference.
    Difference,
}

/// One row of an experiment: a scheme under conditions.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Name of the row.
    pub scheme: String,
    /// Its run.
    pub work: Work,
    /// Its point in a sweep.
    pub at: Option<At>,
    /// Its condition among the cells of the same scheme. Schemes and comparisons also have a row per
    /// condition, named `SCHEME, CONDITION`.
    pub condition: Option<String>,
}

impl Cell {
    /// A cell that cannot be run, for this reason.
    pub fn missing(scheme: impl Into<String>, why: String) -> Self {
        Self { scheme: scheme.into(), work: Work::Missing(why), at: None, condition: None }
    }

    /// The cell under a condition.
    #[must_use]
    pub fn under(self, condition: impl Into<String>) -> Self {
        Self { condition: Some(condition.into()), ..self }
    }
}

/// Run of a cell.
#[derive(Clone, Debug)]
pub enum Work {
    /// A scenario; its seed is that of the repeat.
    Run {
        /// The scenario as JSON.
        scenario: Box<Value>,
        /// Observation window.
        watch: Watch,
        /// xApp.
        xapp: Option<Box<XApp>>,
        /// Forecasts of a RIC.
        forecasts: Option<Box<Forecasts>>,
        /// Flows whose delay floor replaces their measured delays.
        floor: Option<FloorOf>,
    },
    /// An input is missing, described by the text.
    Missing(String),
}

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// Line of the plot.
    pub series: String,
    /// Abscissa.
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
        /// Logarithmic abscissa.
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
    /// A metric of schemes named `GROUP, MEMBER`: a bar per member, side by side in each group.
    /// Schemes without a group form an unnamed one.
    Groups {
        /// Name of the metric.
        metric: &'static str,
        /// Title.
        title: &'static str,
        /// Pattern of row names after the group, with `{}` for the member: `{}` for the schemes
        /// themselves, `{} over A` for the comparisons with A.
        rows: &'static str,
        /// Logarithmic ordinate.
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

impl Figure {
    /// A curve of every cell on linear axes.
    pub fn curves(
        curve: &'static str,
        title: &'static str,
        x: &'static str,
        y: &'static str,
    ) -> Self {
        Self::Curves { curve, title, x, y, log_x: false, x_max: None }
    }

    /// A metric of every cell beside the paper's value.
    pub fn bars(metric: &'static str, title: &'static str) -> Self {
        Self::Bars { metric, title }
    }

    /// A metric by group and member on a linear ordinate.
    pub fn groups(metric: &'static str, title: &'static str, rows: &'static str) -> Self {
        Self::Groups { metric, title, rows, log_y: false }
    }

    /// A metric over the sweep.
    pub fn sweep(metric: &'static str, title: &'static str, x: &'static str) -> Self {
        Self::Sweep { metric, title, x }
    }

    /// Makes the abscissa of curves logarithmic.
    #[must_use]
    pub fn log_x(mut self) -> Self {
        if let Self::Curves { log_x, .. } = &mut self {
            *log_x = true;
        }
        self
    }

    /// Makes the ordinate of groups logarithmic.
    #[must_use]
    pub fn log_y(mut self) -> Self {
        if let Self::Groups { log_y, .. } = &mut self {
            *log_y = true;
        }
        self
    }
}
