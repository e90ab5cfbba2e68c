//! Losses of forecasts, summed over blocks of time.

use std::ops::Range;

use crate::score::pinball_of;
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
        let (pinball, absolute) =
            (&mut sums.pinball[here.clone()], &mut sums.absolute[here.clone()]);
        // Loops over all values without branches, of as many as a vector unit takes.
        let levels: Vec<f32> = self.levels.iter().copied().cycle().take(each).collect();
        let mut counts = [0; 3].map(|_: u32| vec![0_u32; each]);
        let [below, up_to, known] = &mut counts;
        let (mut off, mut losses) = (vec![0.0_f32; each], vec![0.0_f32; each]);
        for row in rows {
            let actual = &self.actual[row * cells..][..cells];
            let forecast = &self.forecast[row * each..][..each];
            let by_cell = actual.iter().zip(forecast.chunks_exact(quantiles));
            for ((actual, forecast), off) in by_cell.zip(off.chunks_exact_mut(quantiles)) {
                off.iter_mut().zip(forecast).for_each(|(off, forecast)| *off = actual - forecast);
            }
            // Nothing is true of an unknown value.
            for ((below, up_to), off) in below.iter_mut().zip(up_to.iter_mut()).zip(&off) {
                *below += u32::from(*off < -self.same);
                *up_to += u32::from(*off <= self.same);
            }
            for ((loss, level), off) in losses.iter_mut().zip(&levels).zip(&off) {
                *loss = pinball_of(*level, *off);
            }
            let by_cell = losses.chunks_exact(quantiles).zip(off.chunks_exact(quantiles));
            let sums = pinball.iter_mut().zip(absolute.iter_mut()).zip(known.iter_mut());
            for ((losses, off), ((pinball, absolute), known)) in by_cell.zip(sums) {
                let is_known = !off[0].is_nan();
                let add = |value: f32| if is_known { f64::from(value) } else { 0.0 };
                *pinball += add(losses.iter().sum::<f32>() / quantiles as f32);
                *absolute += add(off[middle].abs());
                *known += u32::from(is_known);
            }
        }
        let add = |sums: &mut [f64], counts: &[u32]| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += f64::from(*count));
        };
        add(&mut sums.below[of_quantiles.clone()], below);
        add(&mut sums.up_to[of_quantiles], up_to);
        add(&mut sums.count[here], known);
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
