//! What serving takes: weights and mixed offsets of all points of a series.

use std::ops::Range;

use super::{Mix, Tracker};
use crate::Axes;
use crate::weights::{EXPERTS, Weights, naive, product, that_count};

/// Which experts count at any point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uses {
    pub(super) seasonal: bool,
    pub(super) ridge: bool,
    /// Any but the model.
    pub(super) naive: bool,
}

impl Uses {
    fn add(&mut self, weights: &Weights) {
        let [_, persistence, seasonal, ridge] = weights.map(|weight| weight > 0.0);
        self.seasonal |= seasonal;
        self.ridge |= ridge;
        self.naive |= persistence || seasonal || ridge;
    }
}

impl Mix {
    /// Weights of the experts at a cell.
    pub(super) fn weights_at(&self, cell: usize) -> Weights {
        let common = &self.common[cell / self.axes.points];
        that_count(&product(common, &self.points[cell].factors))
    }

    /// The same without the model.
    pub(super) fn naive_weights_at(&self, cell: usize) -> Weights {
        let common = naive(&self.common[cell / self.axes.points]);
        that_count(&product(&common, &self.points[cell].factors))
    }

    /// What a forecast with the model takes.
    pub(super) fn refresh(&mut self, series: usize) {
        let mut uses = Uses::default();
        for cell in self.cells(series) {
            let weights = self.weights_at(cell);
            uses.add(&weights);
            set(&mut self.weights, self.axes.points, cell, &weights);
        }
        let cells = self.cells(series);
        mix_offsets(&self.experts, cells, self.axes, &self.weights, &mut self.mixed);
        self.uses[series][0] = uses;
        self.stale[series] = false;
    }

    /// What a forecast without the model takes.
    pub(super) fn refresh_naive(&mut self, series: usize) {
        let mut uses = Uses::default();
        for cell in self.cells(series) {
            let weights = self.naive_weights_at(cell);
            uses.add(&weights);
            set(&mut self.naive_weights, self.axes.points, cell, &weights);
        }
        let cells = self.cells(series);
        mix_offsets(&self.experts, cells, self.axes, &self.naive_weights, &mut self.naive_mixed);
        self.uses[series][1] = uses;
        self.naive_stale[series] = false;
    }

    fn cells(&self, series: usize) -> Range<usize> {
        series * self.axes.points..(series + 1) * self.axes.points
    }
}

/// Sets the weights of a cell; those of the experts lie M apart.
fn set(all: &mut [f32], points: usize, cell: usize, weights: &Weights) {
    let first = cell / points * points * EXPERTS + cell % points;
    for (expert, weight) in weights.iter().enumerate() {
        all[first + expert * points] = *weight;
    }
}

/// Weighted sums of the experts' offsets at the cells of a series.
fn mix_offsets(
    experts: &[Tracker; EXPERTS],
    cells: Range<usize>,
    axes: Axes,
    weights: &[f32],
    mixed: &mut [f32],
) {
    let Axes { points, quantiles, .. } = axes;
    let mixed = &mut mixed[cells.start * quantiles..cells.end * quantiles];
    mixed.fill(0.0);
    for (number, expert) in experts.iter().enumerate() {
        let weights = &weights[cells.start * EXPERTS + number * points..][..points];
        if weights.iter().any(|weight| *weight > 0.0) {
            expert.add_offsets(cells.clone(), quantiles, weights, mixed);
        }
    }
}
