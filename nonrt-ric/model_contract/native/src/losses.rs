//! Losses of forecasts, summed over blocks of time.

use crate::score::pinball_loss;
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
        let from_median = |q: &usize| (self.levels[*q] - 0.5).abs();
        let middle = (0..quantiles).min_by(|a, b| from_median(a).total_cmp(&from_median(b)));
        let Some(middle) = middle else { return Ok(sums) };
        let each = (cells * quantiles).max(1);
        let samples = self.actual.chunks_exact(cells.max(1)).zip(self.forecast.chunks_exact(each));
        for (block, (actual, forecast)) in self.blocks.iter().zip(samples) {
            let first = *block as usize * cells;
            let by_cell = actual.iter().zip(forecast.chunks_exact(quantiles)).enumerate();
            for (cell, (actual, forecast)) in by_cell.filter(|(_, (actual, _))| !actual.is_nan()) {
                let at = first + cell;
                sums.pinball[at] += f64::from(pinball_loss(*actual, forecast, self.levels));
                sums.absolute[at] += f64::from((actual - forecast[middle]).abs());
                sums.count[at] += 1.0;
                let quantile = at * quantiles;
                let below = &mut sums.below[quantile..][..quantiles];
                let up_to = &mut sums.up_to[quantile..][..quantiles];
                for ((below, up_to), forecast) in below.iter_mut().zip(up_to).zip(forecast) {
                    let off = actual - forecast;
                    *below += f64::from(u8::from(off < -self.same));
                    *up_to += f64::from(u8::from(off <= self.same));
                }
            }
        }
        Ok(sums)
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
