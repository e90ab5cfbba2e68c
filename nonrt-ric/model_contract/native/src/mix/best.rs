//! Forecasts of the best simple forecasters alone.

use super::{Mix, RIDGE};
use crate::simple::Windowed;
use crate::windows::Origin;
use crate::{ArrayError, Axes, Index, check};

impl Mix {
    /// Writes `(K, M, Q)` forecasts of the simple forecasters that are the best by their losses until now,
    /// for a slot from the report added at `tick`: of [`Self::simple_forecasts`] those that it names.
    ///
    /// # Errors
    /// [`ArrayError`] of an unknown slot, or when `out` does not match.
    pub fn best_simple_forecasts(
        &self,
        slot: usize,
        tick: i64,
        out: &mut [f32],
    ) -> Result<(), ArrayError> {
        Index::From(slot).check("slot", 1, self.slots())?;
        let Axes { quantities, points, quantiles } = self.axes;
        check("best simple", out.len(), quantities * points * quantiles, 1)?;
        let mut windowed = Windowed::NONE;
        let mut outs = out.chunks_exact_mut(quantiles);
        for quantity in 0..quantities {
            let ewma = self.ridges.average(slot, quantity, tick);
            for (point, out) in (0..points).zip(&mut outs) {
                let of = Origin { slot, quantity, point, tick };
                let (pasts, levels) = (&self.pasts, &self.levels);
                if !self.simple.best_but_ridge(of, pasts, ewma, levels, &mut windowed, out) {
                    let plain = self.ridges.at_point(slot, quantity, point, tick);
                    self.alone(RIDGE, self.axes.cell(slot, quantity, point), &[], plain, out);
                }
            }
        }
        Ok(())
    }
}
