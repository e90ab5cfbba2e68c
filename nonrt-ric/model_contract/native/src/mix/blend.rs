//! What serving takes: weights and mixed offsets of all points of a series.

use super::{MODEL, Mix, WINDOW};
use crate::Axes;
use crate::weights::{EXPERTS, LANES, Weights, of_points, that_count};

/// Which experts count at any point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uses {
    pub(super) persistence: bool,
    pub(super) seasonal: bool,
    pub(super) ridge: bool,
    pub(super) window: bool,
    /// Any but the model.
    pub(super) naive: bool,
}

impl Uses {
    /// Takes the largest weight of each expert at any point.
    fn of(most: &Weights) -> Self {
        let [_, persistence, seasonal, ridge, window] = most.map(|weight| weight > 0.0);
        Self {
            persistence,
            seasonal,
            ridge,
            window,
            naive: persistence || seasonal || ridge || window,
        }
    }
}

impl Mix {
    /// Weights of the experts at a cell, with the model or without.
    pub(super) fn weights_at(&self, cell: usize, with_model: bool) -> Weights {
        let series = cell / self.axes.points;
        let are = self.present(series, with_model);
        that_count(&self.common[series], &are, &self.points[cell].factors)
    }

    fn present(&self, series: usize, with_model: bool) -> [bool; EXPERTS] {
        let mut are = [true; EXPERTS];
        (are[MODEL], are[WINDOW]) = (with_model, self.simple.has_window(series));
        are
    }

    /// What a forecast with the model takes.
    pub(super) fn refresh(&mut self, series: usize) {
        self.uses[series][0] = self.blend(series, true);
        self.stale[series] = false;
    }

    /// What a forecast without the model takes.
    pub(super) fn refresh_naive(&mut self, series: usize) {
        self.uses[series][1] = self.blend(series, false);
        self.naive_stale[series] = false;
    }

    /// Sets weights and mixed offsets of a series.
    fn blend(&mut self, series: usize, with_model: bool) -> Uses {
        let Axes { points, quantiles, .. } = self.axes;
        let are = self.present(series, with_model);
        let (weights, mixed) = if with_model {
            (&mut self.weights, &mut self.mixed)
        } else {
            (&mut self.naive_weights, &mut self.naive_mixed)
        };
        let (first, common) = (series * points, &self.common[series]);
        let weights = &mut weights[first * EXPERTS..][..points * EXPERTS];
        let mut most = [[0.0_f32; LANES]; EXPERTS];
        for (number, of) in self.points[first..][..points].chunks(LANES).enumerate() {
            // Points that are missing in the last group have weights that nobody reads.
            let factors = std::array::from_fn(|expert| {
                std::array::from_fn(|lane| of[lane.min(of.len() - 1)].factors[expert])
            });
            let found = of_points(common, &are, &factors);
            let outs = weights.chunks_exact_mut(points).zip(&found).zip(&mut most);
            for ((weights, found), most) in outs {
                let weights = &mut weights[number * LANES..][..of.len()];
                weights.copy_from_slice(&found[..of.len()]);
                for (most, of) in most.iter_mut().zip(found) {
                    *most = if *of > *most { *of } else { *most };
                }
            }
        }
        let greatest = |most: [f32; LANES]| most.into_iter().fold(0.0, f32::max);
        let most = most.map(greatest);
        let uses = Uses::of(&most);
        self.simple.use_window(series, uses.window, &self.pasts, &self.levels);
        let mixed = &mut mixed[first * quantiles..][..points * quantiles];
        mixed.fill(0.0);
        for (expert, tracker) in self.experts.iter().enumerate().filter(|(at, _)| most[*at] > 0.0) {
            let weights = &weights[expert * points..][..points];
            if expert == WINDOW {
                // Its quantiles; as a value it then counts as 0.
                let window = self.simple.newest_window(series);
                add_products(mixed, window, weights.iter().copied(), quantiles);
            } else {
                let (theta, size) = tracker.offsets(first..first + points, quantiles);
                let factors = size.iter().zip(weights).map(|(size, weight)| size * weight);
                add_products(mixed, theta, factors, quantiles);
            }
        }
        uses
    }
}

/// Adds the quantiles of M points, each times the factor of its point.
#[inline]
fn add_products(
    out: &mut [f32],
    values: &[f32],
    factors: impl Iterator<Item = f32>,
    quantiles: usize,
) {
    if quantiles == 3 {
        // The usual number as a constant, and four points at a time.
        let mut factors = factors;
        let (outs, last_outs) = out.as_chunks_mut::<12>();
        let (values, last_values) = values.as_chunks::<12>();
        for (outs, values) in outs.iter_mut().zip(values) {
            let factors: [f32; 4] = std::array::from_fn(|_| factors.next().unwrap_or(0.0));
            *outs = std::array::from_fn(|at| outs[at] + factors[at / 3] * values[at]);
        }
        if !last_outs.is_empty() {
            add_each(last_outs, last_values, factors, quantiles);
        }
    } else {
        add_each(out, values, factors, quantiles);
    }
}

fn add_each(out: &mut [f32], values: &[f32], factors: impl Iterator<Item = f32>, quantiles: usize) {
    let groups = out.chunks_exact_mut(quantiles).zip(values.chunks_exact(quantiles));
    for ((out, values), factor) in groups.zip(factors) {
        out.iter_mut().zip(values).for_each(|(out, value)| *out += factor * value);
    }
}
