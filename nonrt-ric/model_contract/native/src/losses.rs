//! Losses of forecasts, summed over blocks of time.

use std::ops::Range;

use crate::{ArrayError, Axes, check, checks::in_order};

/// Forecasts of N samples to judge.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// K, M and Q.
    pub axes: Axes,
    /// `(Q,)` quantile levels.
    pub levels: &'a [f32],
    /// `(N, K, M)` values; NaN if unknown.
    pub actual: &'a [f32],
    /// `(N, K, M, Q)`, sorted.
    pub forecast: &'a [f32],
    /// `(N,)` number of the block of each sample, not decreasing.
    pub blocks: &'a [isize],
    /// Values closer than this are ties.
    pub same: f32,
}

/// Sums by block, quantity and point; B blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct LossSums {
    /// `(B, K, M)` mean pinball losses of the quantiles.
    pub pinball: Vec<f64>,
    /// `(B, K, M)` errors of the quantile next to the median.
    pub absolute: Vec<f64>,
    /// `(B, K, M, Q)` values below each quantile.
    pub below: Vec<f64>,
    /// `(B, K, M, Q)` values at or below each quantile.
    pub up_to: Vec<f64>,
    /// `(B, K, M)` known values.
    pub count: Vec<f64>,
}

impl Judged<'_> {
    /// The sums over the first `blocks` blocks.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match or a block is out of range.
    pub fn sums(&self, blocks: usize) -> Result<LossSums, ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let (rows, cells) = (self.blocks.len(), quantities.saturating_mul(points));
        check("levels", self.levels.len(), quantiles, quantiles)?;
        check("actual", self.actual.len(), rows.saturating_mul(cells), rows)?;
        let values = self.actual.len().saturating_mul(quantiles);
        check("forecast", self.forecast.len(), values, rows)?;
        crate::Index::Each(self.blocks).check("block", rows, blocks)?;
        in_order("blocks", self.blocks)?;
        let zeros = |each: usize| vec![0.0; blocks * cells * each];
        let mut sums = LossSums {
            pinball: zeros(1),
            absolute: zeros(1),
            below: zeros(quantiles),
            up_to: zeros(quantiles),
            count: zeros(1),
        };
        if self.actual.is_empty() || quantiles == 0 {
            return Ok(sums);
        }
        let mut begin = 0;
        for of_block in self.blocks.chunk_by(|one, other| one == other) {
            let rows = begin..begin + of_block.len();
            begin = rows.end;
            let here = of_block[0] as usize * cells;
            self.add_block(rows, here..here + cells, &mut sums);
        }
        Ok(sums)
    }

    /// Adds the samples of one block to its cells.
    fn add_block(&self, rows: Range<usize>, here: Range<usize>, sums: &mut LossSums) {
        let quantiles = self.axes.quantiles;
        let (cells, each) = (here.len(), here.len() * quantiles);
        let from_median = |q: &usize| (self.levels[*q] - 0.5).abs();
        let middle = (0..quantiles).min_by(|a, b| from_median(a).total_cmp(&from_median(b)));
        let middle = middle.unwrap_or(0);
        let of_quantiles = here.start * quantiles..here.end * quantiles;
        let mut one = Compared::new(self.levels, cells);
        let mut counts = Counts::new(cells, quantiles);
        let (pinball, absolute) =
            (&mut sums.pinball[here.clone()], &mut sums.absolute[here.clone()]);
        for row in rows {
            let forecast = &self.forecast[row * each..][..each];
            one.compare(&self.actual[row * cells..][..cells], forecast);
            one.add_pinball(pinball);
            counts.add(&one, self.same);
            for (sum, off) in absolute.iter_mut().zip(one.off.chunks_exact(quantiles)) {
                *sum += if off[0].is_nan() { 0.0 } else { f64::from(off[middle].abs()) };
            }
        }
        counts.add_to(
            &mut sums.below[of_quantiles.clone()],
            &mut sums.up_to[of_quantiles],
            &mut sums.count[here],
        );
    }
}

/// Forecasts of one sample compared with its values. Loops are over all values without branches, of as many
/// as a vector unit takes.
pub(crate) struct Compared {
    quantiles: usize,
    /// `(cells, Q)` levels, and these less one.
    levels: Vec<f32>,
    below: Vec<f32>,
    /// `(cells, Q)` value less forecast.
    off: Vec<f32>,
    /// `(cells, Q)`.
    losses: Vec<f32>,
}

impl Compared {
    pub(crate) fn new(levels: &[f32], cells: usize) -> Self {
        let (quantiles, values) = (levels.len(), cells * levels.len());
        let of_values = |one: &dyn Fn(f32) -> f32| -> Vec<f32> {
            levels.iter().map(|level| one(*level)).cycle().take(values).collect()
        };
        let (levels, below) = (of_values(&|level| level), of_values(&|level| level - 1.0));
        Self { quantiles, levels, below, off: vec![0.0; values], losses: vec![0.0; values] }
    }

    /// Takes `(cells, Q)` forecasts of `(cells,)` values, NaN if unknown.
    #[inline]
    pub(crate) fn compare(&mut self, actual: &[f32], forecast: &[f32]) {
        if self.quantiles == 3 {
            // The usual number as a constant, and four cells at a time.
            let (offs, rest) = self.off.as_chunks_mut::<12>();
            let (forecasts, rest_of_forecasts) = forecast.as_chunks::<12>();
            let (actuals, rest_of_actuals) = actual.as_chunks::<4>();
            for ((off, forecast), actual) in offs.iter_mut().zip(forecasts).zip(actuals) {
                *off = std::array::from_fn(|at| actual[at / 3] - forecast[at]);
            }
            differences(rest_of_actuals, rest_of_forecasts, 3, rest);
        } else {
            differences(actual, forecast, self.quantiles, &mut self.off);
        }
        let levels = self.levels.iter().zip(&self.below);
        for ((loss, (level, below)), off) in self.losses.iter_mut().zip(levels).zip(&self.off) {
            *loss = (level * off).max(below * off);
        }
    }

    /// Adds the mean losses of the quantiles to `(cells,)` sums; nothing for an unknown value.
    #[inline]
    pub(crate) fn add_pinball(&self, sums: &mut [f64]) {
        if self.quantiles == 3 {
            let by_cell = self.losses.as_chunks::<3>().0.iter().zip(self.off.as_chunks::<3>().0);
            sums.iter_mut()
                .zip(by_cell)
                .for_each(|(sum, (losses, off))| add_mean(sum, losses, off));
        } else {
            let of_cells = self.losses.chunks_exact(self.quantiles);
            let by_cell = of_cells.zip(self.off.chunks_exact(self.quantiles));
            sums.iter_mut()
                .zip(by_cell)
                .for_each(|(sum, (losses, off))| add_mean(sum, losses, off));
        }
    }
}

#[inline(always)]
fn add_mean(sum: &mut f64, losses: &[f32], off: &[f32]) {
    let mean = losses.iter().sum::<f32>() / losses.len() as f32;
    *sum += if off[0].is_nan() { 0.0 } else { f64::from(mean) };
}

fn differences(actual: &[f32], forecast: &[f32], quantiles: usize, out: &mut [f32]) {
    let by_cell = actual.iter().zip(forecast.chunks_exact(quantiles));
    for ((actual, forecast), out) in by_cell.zip(out.chunks_exact_mut(quantiles)) {
        out.iter_mut().zip(forecast).for_each(|(out, forecast)| *out = actual - forecast);
    }
}

/// Numbers of values of a block below quantiles, and of those known.
pub(crate) struct Counts {
    /// `(cells, Q)`.
    below: Vec<u32>,
    up_to: Vec<u32>,
    /// `(cells,)`.
    known: Vec<u32>,
}

impl Counts {
    pub(crate) fn new(cells: usize, quantiles: usize) -> Self {
        let (below, up_to) = (vec![0; cells * quantiles], vec![0; cells * quantiles]);
        Self { below, up_to, known: vec![0; cells] }
    }

    /// Counts a sample; differences up to `same` are ties.
    #[inline]
    pub(crate) fn add(&mut self, one: &Compared, same: f32) {
        // Nothing is true of an unknown value.
        for ((below, up_to), off) in self.below.iter_mut().zip(&mut self.up_to).zip(&one.off) {
            *below += u32::from(*off < -same);
            *up_to += u32::from(*off <= same);
        }
        for (known, off) in self.known.iter_mut().zip(one.off.chunks_exact(one.quantiles)) {
            *known += u32::from(!off[0].is_nan());
        }
    }

    /// Adds the counts to sums of the same axes.
    pub(crate) fn add_to(&self, below: &mut [f64], up_to: &mut [f64], count: &mut [f64]) {
        let add = |sums: &mut [f64], counts: &[u32]| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += f64::from(*count));
        };
        add(below, &self.below);
        add(up_to, &self.up_to);
        add(count, &self.known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_by_block_and_leave_out_what_is_unknown() {
        let axes = Axes { quantities: 1, points: 2, quantiles: 3 };
        let judged = Judged {
            axes,
            levels: &[0.1, 0.5, 0.9],
            actual: &[10.0, f32::NAN, 20.0, 3.0, 0.0, 3.0],
            forecast: &[
                10.2, 12.0, 14.0, 1.0, 2.0, 3.0, //
                10.0, 15.0, 20.0, 1.0, 2.0, 3.4, //
                0.0, 0.0, 5.0, 4.0, 5.0, 6.0,
            ],
            blocks: &[0, 0, 1],
            same: 0.5,
        };
        let sums = judged.sums(2).unwrap();
        assert_eq!(sums.count, [2.0, 1.0, 1.0, 1.0]);
        assert_eq!(sums.absolute, [2.0 + 5.0, 1.0, 0.0, 2.0]);
        // Below no quantile but those above it; a tie is not below, but up to.
        assert_eq!(sums.below, [0., 1., 1., 0., 0., 0., 0., 0., 1., 1., 1., 1.]);
        assert_eq!(sums.up_to, [1., 1., 2., 0., 0., 1., 1., 1., 1., 1., 1., 1.]);
        let first = (0.9 * 0.2 + 0.5 * 2.0 + 0.1 * 4.0) / 3.0 + (0.1 * 10.0 + 0.5 * 5.0) / 3.0;
        assert!((sums.pinball[0] - first).abs() < 1e-6, "{sums:?}");
        let early = Judged { blocks: &[1, 0, 1], ..judged };
        assert_eq!(early.sums(2).unwrap_err().to_string(), "blocks of row 1 is out of order");
        assert_eq!(judged.sums(1).unwrap_err().to_string(), "block of row 2 is 1, of 1");
    }
}
