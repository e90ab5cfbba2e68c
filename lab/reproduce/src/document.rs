//! Files of a paper: `paper.yaml` and one for each experiment.

use serde::Deserialize;

use super::figure::Figure;
use super::measure::Measure;
use super::ordered::Ordered;
use super::plan::By;
use super::series::Series;
use super::variant::Variant;

/// Variants by name.
pub(super) type Axis = Ordered<Variant>;

/// `paper.yaml`: what the experiments share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperFile {
    pub(super) citation: String,
    pub(super) assumptions: Vec<String>,
    /// Names of the experiments, in the order of the paper.
    pub(super) experiments: Vec<String>,
    /// Numbers of bearers forecast at a time, for which a trained model's T_m is measured.
    #[serde(default)]
    pub(super) model_bearers: Vec<u32>,
    /// Start of the observation window, virtual s.
    #[serde(default)]
    pub(super) from_s: f64,
    /// Variant of every cell, applied first.
    #[serde(default, rename = "with")]
    pub(super) base: Variant,
    #[serde(default)]
    pub(super) axes: Ordered<Axis>,
    #[serde(default)]
    pub(super) metrics: Ordered<Measure>,
}

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentFile {
    /// Section, table or figure of the paper.
    pub(super) source: String,
    pub(super) title: String,
    /// Default number of seeds.
    #[serde(default = "five")]
    pub(super) repeats: u32,
    /// Start of the observation window, virtual s; the paper's if absent.
    pub(super) from_s: Option<f64>,
    /// Variant of every cell, applied after the paper's.
    #[serde(default, rename = "with")]
    pub(super) base: Variant,
    /// Whether each cell runs over every recorded radio under `--traces`.
    #[serde(default)]
    pub(super) every_recorded_radio: bool,
    #[serde(default)]
    pub(super) axes: Ordered<Axis>,
    pub(super) cells: Vec<Grid>,
    /// A metric without a measure is the paper's of that name.
    pub(super) metrics: Ordered<Option<Measure>>,
    #[serde(default)]
    pub(super) curves: Ordered<Series>,
    /// Values of the paper, by metric and row.
    #[serde(default)]
    pub(super) reported: Ordered<Ordered<f64>>,
    #[serde(default)]
    pub(super) comparisons: Comparisons,
    #[serde(default)]
    pub(super) figures: Vec<Figure>,
}

fn five() -> u32 {
    5
}

/// Cells: the product of axes, the first outermost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grid {
    #[serde(default)]
    pub(super) over: Vec<String>,
    /// Row of a cell, `{axis}` for the name of its variant on an axis; by default these names in the
    /// order of the axes.
    pub(super) row: Option<String>,
    /// Line of a cell in a sweep; by default the names of its variants without `x`.
    pub(super) series: Option<String>,
    /// Variant of each cell, applied before those of the axes.
    #[serde(default, rename = "with")]
    pub(super) base: Variant,
}

/// Rows that compare two rows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Comparisons {
    /// Names with which both rows begin; all sets are made for each.
    pub(super) within: Vec<String>,
    pub(super) sets: Vec<ComparisonSet>,
}

/// Comparisons for each of some names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComparisonSet {
    pub(super) each: Vec<String>,
    pub(super) rows: Vec<ComparisonRow>,
}

/// A comparison; `{}` stands for the name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComparisonRow {
    pub(super) metric: String,
    #[serde(default)]
    pub(super) by: By,
    pub(super) of: String,
    pub(super) over: String,
}
