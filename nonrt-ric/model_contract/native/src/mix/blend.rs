//! What serving takes: weights and mixed offsets of all points of a series.

use std::ops::Range;

use super::{MODEL, Mix, Tracker, WINDOW};
use crate::Axes;
use crate::simple::Simple;
use crate::weights::{EXPERTS, Weights, present, product, that_count};

/// Which experts count at any point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uses {
    pub(super) seasonal: bool,
    pub(super) ridge: bool,
    pub(super) window: bool,
    /// Any but the model.
    pub(super) naive: bool,
}

impl Uses {
    fn add(&mut self, weights: &Weights) {
        let [_, persistence, seasonal, ridge, window] = weights.map(|weight| weight > 0.0);
        self.seasonal |= seasonal;
        self.ridge |= ridge;
        self.window |= window;
        self.naive |= persistence || seasonal || ridge || window;
    }
}

impl Mix {
    /// Weights of the experts at a cell, with the model or without.
    pub(super) fn weights_at(&self, cell: usize, with_model: bool) -> Weights {
        let series = cell / self.axes.points;
        let mut are = [true; EXPERTS];
        (are[MODEL], are[WINDOW]) = (with_model, self.simple.has_window(series));
        let common = present(&self.common[series], &are);
        that_count(&product(&common, &self.points[cell].factors))
    }

    /// What a forecast with the model takes.
    pub(super) fn refresh(&mut self, series: usize) {
        let mut uses = Uses::default();
        for cell in self.cells(series) {
            let weights = self.weights_at(cell, true);
            uses.add(&weights);
            set(&mut self.weights, self.axes.points, cell, &weights);
        }
        let cells = self.cells(series);
        mix_offsets(&self.experts, cells.clone(), self.axes, &self.weights, &mut self.mixed);
        if uses.window {
            add_windows(&self.simple, cells, self.axes, &self.weights, &mut self.mixed);
        }
        self.uses[series][0] = uses;
        self.stale[series] = false;
    }

    /// What a forecast without the model takes.
    pub(super) fn refresh_naive(&mut self, series: usize) {
        let mut uses = Uses::default();
        for cell in self.cells(series) {
            let weights = self.weights_at(cell, false);
            uses.add(&weights);
            set(&mut self.naive_weights, self.axes.points, cell, &weights);
        }
        let cells = self.cells(series);
        let weights = &self.naive_weights;
        mix_offsets(&self.experts, cells.clone(), self.axes, weights, &mut self.naive_mixed);
        if uses.window {
            add_windows(&self.simple, cells, self.axes, weights, &mut self.naive_mixed);
        }
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

/// Adds weighted quantiles of the window at the cells of a series; as a value it then counts as 0.
fn add_windows(
    simple: &Simple,
    cells: Range<usize>,
    axes: Axes,
    weights: &[f32],
    mixed: &mut [f32],
) {
    let Axes { points, quantiles, .. } = axes;
    let weights = &weights[cells.start * EXPERTS + WINDOW * points..][..points];
    let mixed = &mut mixed[cells.start * quantiles..cells.end * quantiles];
    let (slot, quantity) = axes.series_of(cells.start);
    for (point, (mixed, weight)) in mixed.chunks_exact_mut(quantiles).zip(weights).enumerate() {
        let window = simple.newest_window(slot, quantity, point, quantiles);
        mixed.iter_mut().zip(window).for_each(|(mixed, value)| *mixed += weight * value);
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
