//! Offsets and weights from outcomes.

use std::cmp::Ordering;

use super::{Checked, MODEL, Mix};
use crate::score::pinball_loss;
use crate::weights::EXPERTS;
use crate::{ArrayError, Axes, Index, Outcomes, check};

/// Most quantiles of a model (`manifest.json`): those of an outcome's forecasts need no allocation.
pub(super) const MAX_QUANTILES: usize = 32;

impl Mix {
    /// Updates offsets and weights by outcomes at points.
    ///
    /// Returns `(N, K)` losses of the experts before the update; NaN where the outcome is unknown or no
    /// value was known at the origin, or of an expert without a forecast. `tick` is that of the outcomes.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn learn(
        &mut self,
        slots: Index<'_>,
        points: Index<'_>,
        outcomes: &Outcomes<'_>,
        tick: i64,
        checked: &Checked<'_>,
    ) -> Result<Vec<[f32; EXPERTS]>, ArrayError> {
        let Axes { quantities, points: of_points, quantiles } = self.axes;
        let rows = outcomes.rows;
        slots.check("slots", rows, self.slots())?;
        points.check("point", rows, of_points)?;
        outcomes.check(quantities)?;
        let values = rows.saturating_mul(quantities);
        if !checked.model.is_empty() {
            check("model", checked.model.len(), values.saturating_mul(quantiles), rows)?;
            check("warm", checked.warm.len(), rows, rows)?;
        }
        let mut losses = vec![[f32::NAN; EXPERTS]; values];
        for row in outcomes.counting() {
            let (slot, point) = (slots.at(row), points.at(row));
            let warm = !checked.model.is_empty() && checked.warm[row];
            for quantity in 0..quantities {
                let at = row * quantities + quantity;
                let actual = outcomes.actual[at];
                let mut past = self.pasts.of_mut(slot, quantity);
                let origin = past.read().origin(tick.wrapping_sub(self.ahead[point]));
                if actual.is_nan() || !origin.is_known() {
                    continue;
                }
                past.choose_season();
                let model = if warm { &checked.model[at * quantiles..][..quantiles] } else { &[] };
                let series = slot * quantities + quantity;
                losses[at] = if quantiles == 3 {
                    // The usual number as a constant: a third of the instructions.
                    self.learn_one::<3>(series, point, actual, tick, model)
                } else {
                    self.learn_one::<MAX_QUANTILES>(series, point, actual, tick, model)
                };
                let (pooled, cell) =
                    (quantity * of_points + point, self.axes.cell(slot, quantity, point));
                for (expert, (pool, of)) in self.pools.iter_mut().zip(&self.experts).enumerate() {
                    if expert != MODEL || warm {
                        pool.follow(pooled, of, cell, quantiles);
                    }
                }
            }
        }
        for row in outcomes.counting() {
            for series in slots.at(row) * quantities..(slots.at(row) + 1) * quantities {
                if checked.model.is_empty() && self.naive_stale[series] {
                    self.refresh_naive(series);
                } else if !checked.model.is_empty() && self.stale[series] {
                    self.refresh(series);
                }
            }
        }
        Ok(losses)
    }

    /// `model` is empty without a forecast of it; N is the number of quantiles or the largest.
    fn learn_one<const N: usize>(
        &mut self,
        series: usize,
        point: usize,
        actual: f32,
        tick: i64,
        model: &[f32],
    ) -> [f32; EXPERTS] {
        let quantiles = if N == MAX_QUANTILES { self.axes.quantiles } else { N };
        let levels = &self.levels[..quantiles];
        let cell = series * self.axes.points + point;
        let plain = self.naive_points(series, point, tick.wrapping_sub(self.ahead[point]));
        let (mut own, mut losses) = ([[0.0; N]; EXPERTS], [f32::NAN; EXPERTS]);
        let first = usize::from(model.is_empty());
        for expert in first..EXPERTS {
            let of = if expert == MODEL { model } else { &[] };
            let own = &mut own[expert][..quantiles];
            self.alone(expert, cell, of, plain[expert], own);
            losses[expert] = pinball_loss(actual, own, levels);
        }
        let weights =
            if model.is_empty() { self.naive_weights_at(cell) } else { self.weights_at(cell) };
        let mut mean = [0.0; N];
        for (weight, own) in weights.iter().zip(&own).skip(first) {
            mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += weight * own);
        }
        let linear = linear_regrets(actual, &mean, &own, levels);
        let whole: f32 =
            weights.iter().zip(losses).skip(first).map(|(weight, loss)| weight * loss).sum();
        // Both are at least the loss of the mix less that of the expert, because pinball loss is
        // convex, and so is their mean. The first compares with all mixes of the experts, so that
        // experts that err differently share the weight; the second with each alone, so that one that
        // is much better than the others gets it all at once.
        let mut regrets = [None; EXPERTS];
        for expert in first..EXPERTS {
            regrets[expert] = Some(0.5 * (linear[expert] + whole - losses[expert]));
        }
        for (expert, tracker) in self.experts.iter_mut().enumerate().skip(first) {
            let one = [plain[expert]];
            let plain = if expert == MODEL { model } else { &one };
            tracker.at(cell, quantiles).learn(levels, actual, plain);
        }
        self.points[cell].learn(&mut self.common[series], self.rate, &regrets);
        (self.stale[series], self.naive_stale[series]) = (true, true);
        losses
    }
}

/// Regrets of the pinball loss linearised at the mix.
#[inline]
fn linear_regrets<const N: usize>(
    actual: f32,
    mean: &[f32; N],
    own: &[[f32; N]; EXPERTS],
    levels: &[f32],
) -> [f32; EXPERTS] {
    let mut regrets = [0.0; EXPERTS];
    for (q, level) in levels.iter().enumerate() {
        let slope = match actual.partial_cmp(&mean[q]) {
            Some(Ordering::Greater) => -level,
            Some(Ordering::Less) => 1.0 - level,
            _ => continue,
        };
        for (regret, own) in regrets.iter_mut().zip(own) {
            *regret += slope * (mean[q] - own[q]);
        }
    }
    regrets.map(|regret| regret / levels.len() as f32)
}
