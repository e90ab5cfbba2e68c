//! The forecast of the best simple forecaster, without those of the others.

use super::{FIRST_WINDOW, RIDGE, Simple};
use crate::naive::Pasts;
use crate::score::MAX_QUANTILES;
use crate::windows::{Origin, WINDOWS};

/// Quantiles of the windows that are known at a point: points of one span share them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windowed {
    known: [bool; WINDOWS],
    values: [[f32; MAX_QUANTILES]; WINDOWS],
}

impl Windowed {
    pub(crate) const NONE: Self =
        Self { known: [false; WINDOWS], values: [[0.0; MAX_QUANTILES]; WINDOWS] };
}

impl Simple {
    /// Writes the calibrated forecast of the forecaster that is chosen at an origin, unless it is the ridge;
    /// whether it did. `windowed` are the windows of the point before.
    pub(crate) fn best_but_ridge(
        &self,
        of: Origin,
        pasts: &Pasts,
        ewma: f32,
        levels: &[f32],
        windowed: &mut Windowed,
        out: &mut [f32],
    ) -> bool {
        let quantiles = levels.len();
        if !self.windows.are_those_before(of.quantity, of.point) {
            windowed.known = [false; WINDOWS];
        }
        let best = self.best(self.axes.cell(of.slot, of.quantity, of.point));
        if best == RIDGE {
            return false;
        }
        if let Some(window) = best.checked_sub(FIRST_WINDOW).filter(|window| *window < WINDOWS) {
            let values = &mut windowed.values[window][..quantiles];
            if !windowed.known[window] {
                self.windows.quantiles(window, of, pasts, levels, values);
                windowed.known[window] = true;
            }
            out.copy_from_slice(values);
            return true;
        }
        self.shifted_one(best, of, pasts, ewma, out);
        true
    }
}
