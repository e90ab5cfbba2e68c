//! Plots of an experiment.

use serde::Deserialize;

/// A plot of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Figure {
    /// A curve of every cell: a distribution or a series, of the first seed.
    Curves {
        /// Name of the curve.
        curve: String,
        /// Title.
        title: String,
        /// Abscissa with unit.
        x: String,
        /// Ordinate with unit.
        y: String,
        /// Logarithmic abscissa.
        #[serde(default)]
        log_x: bool,
        /// End of the abscissa.
        x_max: Option<f64>,
    },
    /// A metric of every cell, the paper's value beside it.
    Bars {
        /// Name of the metric.
        metric: String,
        /// Title.
        title: String,
    },
    /// A metric of schemes named `GROUP, MEMBER`: a bar per member, side by side in each group.
    /// Schemes without a group form an unnamed one.
    Groups {
        /// Name of the metric.
        metric: String,
        /// Title.
        title: String,
        /// Pattern of row names after the group, with `{}` for the member: `{}` for the schemes
        /// themselves, `{} over A` for the comparisons with A.
        rows: String,
        /// Logarithmic ordinate.
        #[serde(default)]
        log_y: bool,
    },
    /// A metric over the sweep, a line per series.
    Sweep {
        /// Name of the metric.
        metric: String,
        /// Title.
        title: String,
        /// Abscissa with unit.
        x: String,
    },
}

impl Figure {
    /// Whether it draws a curve of each cell instead of a metric.
    pub(super) fn draws_curves(&self) -> bool {
        matches!(self, Self::Curves { .. })
    }

    /// The metric or curve that it draws.
    pub(super) fn drawn(&self) -> &str {
        match self {
            Self::Curves { curve, .. } => curve,
            Self::Bars { metric, .. }
            | Self::Groups { metric, .. }
            | Self::Sweep { metric, .. } => metric,
        }
    }
}
