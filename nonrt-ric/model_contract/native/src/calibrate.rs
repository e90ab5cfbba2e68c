//! Quantile tracking over many samples of a bearer: what a back-test asks of it, in one call.

use crate::checks::{Checks, Group, in_order};
use crate::forecast::order_groups;
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
        let each = self.each();
        check("out", out.len(), of.wanted.len().saturating_mul(each), of.wanted.len())?;
        self.calibrate_each(slot, of, |number, forecast| {
            out[number * each..][..each].copy_from_slice(forecast);
        })
    }

    /// Calibrates as [`Self::calibrate`], with a call for each wanted sample: its number and `(K, M, Q)` forecasts.
    pub(crate) fn calibrate_each(
        &mut self,
        slot: usize,
        of: &Stretch<'_>,
        mut wanted: impl FnMut(usize, &[f32]),
    ) -> Result<(), ArrayError> {
        let width = self.check_stretch(slot, of)?;
        let Axes { quantities, points, quantiles } = self.axes;
        let (cells, each) = (quantities * points, self.each());
        let mut groups = of.checks.groups();
        let mut number = of.wanted.partition_point(|wanted| *wanted < of.begin as isize);
        let (mut checked, mut out) = (Vec::new(), vec![0.0; each]);
        for row in of.begin..of.rows {
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
            if of.wanted.get(number) == Some(&(row as isize)) {
                let plain = &of.plain[row * cells * width..][..cells * width];
                add(plain, &self.offset[slot * each..][..each], quantiles, &mut out);
                wanted(number, &out);
                number += 1;
            }
        }
        Ok(())
    }

    fn each(&self) -> usize {
        let Axes { quantities, points, quantiles } = self.axes;
        quantities.saturating_mul(points).saturating_mul(quantiles)
    }

    /// The number of values of each cell of `plain`.
    fn check_stretch(&self, slot: usize, of: &Stretch<'_>) -> Result<usize, ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let cells = quantities.saturating_mul(points);
        Index::From(slot).check("slot", 1, self.check()?)?;
        let single = of.plain.len() == of.rows.saturating_mul(cells);
        let width = if single { 1 } else { quantiles };
        let values = of.rows.saturating_mul(cells).saturating_mul(width);
        check("plain", of.plain.len(), values, of.rows)?;
        Index::Each(of.wanted).check("wanted", of.wanted.len(), of.rows)?;
        in_order("wanted", of.wanted)?;
        of.checks.check(quantities, points, of.rows)?;
        Ok(width)
    }
}

/// Writes `(cells, Q)` forecasts plus offsets, sorted and clipped at 0; `plain` are `(cells, Q)` or `(cells,)`.
fn add(plain: &[f32], offsets: &[f32], quantiles: usize, out: &mut [f32]) {
    if plain.len() == offsets.len() {
        let both = plain.iter().zip(offsets);
        out.iter_mut().zip(both).for_each(|(out, (plain, offset))| *out = plain + offset);
    } else if quantiles == 3 {
        // The usual number as a constant, as in `order_groups`.
        let groups = out.as_chunks_mut::<3>().0.iter_mut().zip(offsets.as_chunks::<3>().0);
        for ((out, offsets), plain) in groups.zip(plain) {
            *out = offsets.map(|offset| plain + offset);
        }
    } else {
        let groups = out.chunks_exact_mut(quantiles).zip(offsets.chunks_exact(quantiles));
        for ((out, offsets), plain) in groups.zip(plain) {
            out.iter_mut().zip(offsets).for_each(|(out, offset)| *out = plain + offset);
        }
    }
    order_groups(out, quantiles);
}
