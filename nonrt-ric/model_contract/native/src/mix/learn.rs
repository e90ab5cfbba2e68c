//! Offsets and weights from outcomes.

use std::cmp::Ordering;

use super::{Checked, MODEL, Mix, RIDGE, WINDOW};
use crate::forecast::order;
use crate::score::{MAX_QUANTILES, pinball_loss};
use crate::simple::{Known, SIMPLE, Simple};
use crate::weights::{EXPERTS, that_count};
use crate::windows::Origin;
use crate::{ArrayError, Axes, Index, Outcomes, check};

/// Most outcomes of one call by which the best simple forecaster and the mix's window are judged: quantiles
/// of windows take longer than the rest, and a part of the outcomes tells as much. Rows take turns.
const JUDGED_ROWS: usize = 24;

/// Losses at an outcome, before anything was learned from it; NaN where one is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// Those of the experts, each alone with its offsets.
    pub experts: [f32; EXPERTS],
    /// That of their mix.
    pub mix: f32,
    /// Those of the simple forecasters.
    pub simple: [f32; SIMPLE],
    /// That of the simple forecaster which was the best before.
    pub best_simple: f32,
}

impl Losses {
    /// Number of losses.
    pub const COUNT: usize = EXPERTS + SIMPLE + 2;

    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        experts: [f32::NAN; EXPERTS],
        mix: f32::NAN,
        simple: [f32::NAN; SIMPLE],
        best_simple: f32::NAN,
    };

    /// All in the order of the fields.
    pub fn all(&self) -> impl Iterator<Item = f32> + use<> {
        let Self { experts, mix, simple, best_simple } = *self;
        experts.into_iter().chain([mix]).chain(simple).chain([best_simple])
    }

    /// The inverse of [`Self::all`].
    #[must_use]
    pub fn of(all: &[f32; Self::COUNT]) -> Self {
        Self {
            experts: std::array::from_fn(|at| all[at]),
            mix: all[EXPERTS],
            simple: std::array::from_fn(|at| all[EXPERTS + 1 + at]),
            best_simple: all[Self::COUNT - 1],
        }
    }
}

impl Mix {
    /// Updates offsets and weights by outcomes at points.
    ///
    /// Returns `(N, K)` losses before the update; NaN where the outcome is unknown or no value was known
    /// at the origin, of an expert without a forecast, and of the simple forecasters but for 24 rows
    /// of a call, which take turns. `tick` is that of the outcomes.
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
    ) -> Result<Vec<Losses>, ArrayError> {
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
        let mut losses = vec![Losses::UNKNOWN; values];
        let judged_from = if rows > JUDGED_ROWS { self.judged_from % rows } else { 0 };
        if rows > JUDGED_ROWS {
            self.judged_from = judged_from + JUDGED_ROWS;
        }
        let mut simple = vec![0.0; SIMPLE * quantiles];
        for row in outcomes.counting() {
            let (slot, point) = (slots.at(row), points.at(row));
            let warm = !checked.model.is_empty() && checked.warm[row];
            let is_judged = (row + rows - judged_from) % rows < JUDGED_ROWS;
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
                let mut window: &[f32] = &[];
                if is_judged {
                    let of = self.origin(slot, quantity, point, tick);
                    self.simple.windows(of, &self.pasts, &self.levels, &mut simple);
                    let one = Simple::mixed_window(&simple, quantiles);
                    let is_known = one.iter().all(|value| !value.is_nan());
                    if is_known && self.simple.has_window(series) {
                        window = one;
                    }
                }
                losses[at] = if quantiles == 3 {
                    // The usual number as a constant: a third of the instructions.
                    self.learn_one::<3>(series, point, actual, tick, [model, window])
                } else {
                    self.learn_one::<MAX_QUANTILES>(series, point, actual, tick, [model, window])
                };
                let at_cell = (slot, quantity, point);
                let own = if is_judged { &mut simple[..] } else { &mut [] };
                self.judge(at_cell, tick, actual, &mut losses[at], own);
                let (pooled, cell) =
                    (quantity * of_points + point, self.axes.cell(slot, quantity, point));
                for (expert, (pool, of)) in self.pools.iter_mut().zip(&self.experts).enumerate() {
                    if expert != MODEL || warm {
                        pool.follow(pooled, of, cell, quantiles);
                    }
                }
            }
        }
        let mut renewed = None;
        for row in outcomes.counting() {
            let is_judged = (row + rows - judged_from) % rows < JUDGED_ROWS;
            // All points of a queue limit are of one slot.
            let renews = is_judged && renewed.replace(slots.at(row)) != Some(slots.at(row));
            for series in slots.at(row) * quantities..(slots.at(row) + 1) * quantities {
                let is_used = self.uses[series].iter().any(|uses| uses.window);
                if renews && (is_used || !self.simple.has_window(series)) {
                    self.simple.renew_window(series, &self.pasts, &self.levels);
                }
                if checked.model.is_empty() && self.naive_stale[series] {
                    self.refresh_naive(series);
                } else if !checked.model.is_empty() && self.stale[series] {
                    self.refresh(series);
                }
            }
        }
        Ok(losses)
    }

    fn origin(&self, slot: usize, quantity: usize, point: usize, tick: i64) -> Origin {
        Origin { slot, quantity, point, tick: tick.wrapping_sub(self.ahead[point]) }
    }

    /// Sets the losses of the simple forecasters if they are judged, with `own` their `(SIMPLE, Q)`
    /// forecasts, of which those of the windows are known; they learn from the outcome.
    fn judge(
        &mut self,
        (slot, quantity, point): (usize, usize, usize),
        tick: i64,
        actual: f32,
        losses: &mut Losses,
        own: &mut [f32],
    ) {
        let of = self.origin(slot, quantity, point, tick);
        let known = Known {
            ewma: self.ridges.average(slot, quantity, of.tick),
            ridge_loss: losses.experts[RIDGE],
        };
        if !own.is_empty() {
            (losses.simple, losses.best_simple) =
                self.simple.judge(of, &self.pasts, known, actual, &self.levels, own);
        }
        self.simple.learn(of, &self.pasts, known.ewma, actual, &self.levels);
    }

    /// Model and window are empty without a forecast of them; N is the number of quantiles or the
    /// largest.
    fn learn_one<const N: usize>(
        &mut self,
        series: usize,
        point: usize,
        actual: f32,
        tick: i64,
        [model, window]: [&[f32]; 2],
    ) -> Losses {
        let quantiles = if N == MAX_QUANTILES { self.axes.quantiles } else { N };
        let levels = &self.levels[..quantiles];
        let cell = series * self.axes.points + point;
        let plain = self.naive_points(series, point, tick.wrapping_sub(self.ahead[point]));
        let (mut own, mut losses) = ([[0.0; N]; EXPERTS], [f32::NAN; EXPERTS]);
        let mut are = [true; EXPERTS];
        (are[MODEL], are[WINDOW]) = (!model.is_empty(), !window.is_empty());
        for expert in (0..EXPERTS).filter(|expert| are[*expert]) {
            let of = match expert {
                MODEL => model,
                WINDOW => window,
                _ => &[],
            };
            let own = &mut own[expert][..quantiles];
            self.alone(expert, cell, of, plain[expert], own);
            losses[expert] = pinball_loss(actual, own, levels);
        }
        let weights = that_count(&self.common[series], &are, &self.points[cell].factors);
        let mut mean = [0.0; N];
        for (weight, own) in weights.iter().zip(&own) {
            mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += weight * own);
        }
        let linear = linear_regrets(actual, &mean, &own, levels);
        let present = || (0..EXPERTS).filter(|expert| are[*expert]);
        let whole: f32 = present().map(|expert| weights[expert] * losses[expert]).sum();
        // Both are at least the loss of the mix less that of the expert, because pinball loss is
        // convex, and so is their mean. The first compares with all mixes of the experts, so that
        // experts that err differently share the weight; the second with each alone, so that one that
        // is much better than the others gets it all at once.
        let mut regrets = [None; EXPERTS];
        for expert in present() {
            regrets[expert] = Some(0.5 * (linear[expert] + whole - losses[expert]));
        }
        for expert in present().filter(|expert| *expert != WINDOW) {
            let one = [plain[expert]];
            let plain = if expert == MODEL { model } else { &one };
            self.experts[expert].at(cell, quantiles).learn(levels, actual, plain);
        }
        self.points[cell].learn(&mut self.common[series], self.rate, &regrets);
        (self.stale[series], self.naive_stale[series]) = (true, true);
        let mean = &mut mean[..quantiles];
        order(mean);
        let mix = pinball_loss(actual, mean, levels);
        Losses { experts: losses, mix, ..Losses::UNKNOWN }
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
