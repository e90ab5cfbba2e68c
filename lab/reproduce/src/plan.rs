//! What is run and compared: experiments and cells.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::figure::Figure;
use super::floor::FloorOf;
use super::forecasts::{Forecasts, Trained};
use super::measure::Measure;
use super::ordered::Ordered;
use super::series::Series;
use super::watch::Watch;
use super::xapp::XApp;

/// External inputs of experiments.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Folder with recorded traces.
    pub traces: Option<PathBuf>,
    /// A trained forecaster.
    pub trained: Option<Trained>,
}

/// One table or figure of a paper.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// Name on the command line.
    pub name: String,
    /// Section, table or figure of the paper.
    pub source: String,
    /// What it shows.
    pub title: String,
    /// Default number of seeds per cell.
    pub repeats: u32,
    /// Metrics of each run.
    pub metrics: Ordered<Measure>,
    /// Distributions and series of each run, for the figures.
    pub curves: Ordered<Series>,
    /// Runs. Cells of one scheme are one row: the mean over them and the seeds.
    pub cells: Vec<Cell>,
    /// Rows that compare two schemes.
    pub comparisons: Vec<Comparison>,
    /// Values of the paper, by metric and scheme.
    pub reported: Ordered<Ordered<f64>>,
    /// Plots.
    pub figures: Vec<Figure>,
}

impl Experiment {
    /// The paper's value.
    pub fn paper_value(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.reported.get(metric)?.get(scheme).copied()
    }
}

/// One scheme compared with another, cell by cell and seed by seed: the mean of the quotients or
/// differences.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the row.
    pub row: String,
    /// Metric compared.
    pub metric: String,
    /// How.
    pub by: By,
    /// Scheme in the numerator, or the minuend.
    pub of: String,
    /// Scheme in the denominator, or the subtrahend.
    pub over: String,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Their quotient; there is none over 0.
    #[default]
    Quotient,
    /// Their difference.
    Difference,
}

impl By {
    /// The word between the names of the rows compared.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Quotient => "over",
            Self::Difference => "less",
        }
    }
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
    /// The scenario that it runs.
    pub(super) fn scenario(&self) -> Option<&Value> {
        match &self.work {
            Work::Run { scenario, .. } => Some(scenario),
            Work::Missing(_) => None,
        }
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
