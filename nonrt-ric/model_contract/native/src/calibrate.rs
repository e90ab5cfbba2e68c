//! Quantile tracking over many samples of a bearer: what a back-test asks of it, in one call.

use crate::checks::{Checks, Group, in_order};
use crate::forecast::order;
use crate::{ArrayError, Axes, Index, Offsets, Outcomes, check};

/// Consecutive samples of one bearer, and their forecasts.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'a> {
    /// `(T, K, M, Q)` forecasts without offsets, or `(T, K, M)` for one value at all quantiles.
    pub plain: &'a [f32],
    /// T.
    pub rows: usize,
    /// The first sample that is not yet calibrated.
    pub begin: usize,
    /// `(N,)` samples whose forecasts are wanted, none twice; increasing.
    pub wanted: &'a [isize],
    /// Outcomes that become known at the samples.
    pub checks: Checks<'a>,
}

impl Offsets<'_> {
    /// Calibrates forecasts of a slot in order of time, each by what became known until its sample.
    ///
    /// Writes `(N, K, M, Q)` forecasts, sorted and clipped at 0; those of samples before `begin` stay as they
    /// are.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match or an index is out of range; the state is then unchanged.
    pub fn calibrate(
        &mut self,
        slot: usize,
        of: &Stretch<'_>,
        out: &mut [f32],
    ) -> Result<(), ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let cells = quantities.saturating_mul(points);
        let each = cells.saturating_mul(quantiles);
        Index::From(slot).check("slot", 1, self.check()?)?;
        let single = of.plain.len() == of.rows.saturating_mul(cells);
        let width = if single { 1 } else { quantiles };
        let values = of.rows.saturating_mul(cells).saturating_mul(width);
        check("plain", of.plain.len(), values, of.rows)?;
        Index::Each(of.wanted).check("wanted", of.wanted.len(), of.rows)?;
        in_order("wanted", of.wanted)?;
        check("out", out.len(), of.wanted.len().saturating_mul(each), of.wanted.len())?;
        of.checks.check(quantities, points, of.rows)?;
        let (mut groups, mut wanted) = (of.checks.groups(), of.wanted.iter().peekable());
        let mut outs = out.chunks_exact_mut(each);
        let mut checked = Vec::new();
        for row in 0..of.rows {
            while let Some(Group { first, end }) = groups.next_at(row) {
                checked.clear();
                for outcome in first..end {
                    let origin = of.checks.origins[outcome] as usize;
                    let point = of.checks.points[outcome] as usize;
                    for quantity in 0..quantities {
                        let cell = (origin * quantities + quantity) * points + point;
                        checked.extend_from_slice(&of.plain[cell * width..][..width]);
                    }
                }
                let actual = &of.checks.actual[first * quantities..end * quantities];
                let outcomes = Outcomes { rows: end - first, actual, counts: &[] };
                let at = Index::Each(&of.checks.points[first..end]);
                self.learn(Index::One(slot as isize), at, &outcomes, &checked)?;
            }
            let out = match wanted.next_if(|wanted| **wanted == row as isize) {
                Some(_) => outs.next(),
                None => None,
            };
            let Some(out) = out.filter(|_| row >= of.begin) else { continue };
            let plain = &of.plain[row * cells * width..][..cells * width];
            let offsets = &self.offset[slot * each..][..each];
            let by_cell = plain.chunks_exact(width).zip(offsets.chunks_exact(quantiles));
            for (out, (plain, offsets)) in out.chunks_exact_mut(quantiles).zip(by_cell) {
                for (q, (out, offset)) in out.iter_mut().zip(offsets).enumerate() {
                    *out = plain[if single { 0 } else { q }] + offset;
                }
                order(out);
            }
        }
        Ok(())
    }
}
