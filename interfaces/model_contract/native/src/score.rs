//! Forecast scores: pinball losses and the choice between model and persistence, coverage, drift.

use crate::{ArrayError, Index, LengthError, Outcomes, check};

/// Averaging of losses, and the hysteresis of setting a bearer's model aside.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Weight of the newest loss.
    pub weight: f64,
    /// The model is set aside when its skill falls below this.
    pub lose_below: f64,
    /// The model is restored when its skill rises above this.
    pub regain_above: f64,
    /// Least number of outcomes between two changes.
    pub least_outcomes: i64,
}

/// Mean losses: `[model, persistence]`.
#[derive(Debug)]
pub struct Losses<'a> {
    /// `(Q,)` quantile levels.
    pub levels: &'a [f32],
    /// M.
    pub points: usize,
    /// `(S,)` per slot, of the first quantity.
    pub bearer: &'a mut [[f32; 2]],
    /// `(S,)` outcomes since the last change.
    pub outcomes: &'a mut [i64],
    /// `(S,)` whether the slot's model is set aside.
    pub set_aside: &'a mut [bool],
    /// `(K, M)` per quantity and point, over all slots.
    pub point: &'a mut [[f64; 2]],
}

/// Result of [`Losses::learn`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreUpdate {
    /// Rows included.
    pub rows: usize,
    /// Mean losses of the first quantity, `[model, persistence]`; 0 if no outcome is known.
    pub loss: [f64; 2],
    /// Slots whose model was set aside.
    pub set_aside: usize,
    /// Slots whose model was restored.
    pub restored: usize,
}

impl Losses<'_> {
    /// Compares `(N, K, Q)` forecasts for points with outcomes.
    ///
    /// Quantities differ in unit; the first one, on which consumers act, decides.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn learn(
        &mut self,
        rule: &Rule,
        slots: Index<'_>,
        points: Index<'_>,
        outcomes: &Outcomes<'_>,
        model: &[f32],
        persistence: &[f32],
    ) -> Result<ScoreUpdate, ArrayError> {
        let quantities = self.check(outcomes, model, persistence)?;
        slots.check("slots", outcomes.rows, self.bearer.len())?;
        points.check("point", outcomes.rows, self.points)?;
        let quantiles = self.levels.len();
        let mut update =
            ScoreUpdate { rows: outcomes.counting().count(), ..ScoreUpdate::default() };
        let mut sums = vec![PointSum::default(); self.points];
        for quantity in 0..quantities {
            for row in outcomes.counting() {
                let at = row * quantities + quantity;
                let actual = outcomes.actual[at];
                if actual.is_nan() {
                    continue;
                }
                let of = |forecast: &[f32]| {
                    pinball_loss(actual, &forecast[at * quantiles..][..quantiles], self.levels)
                };
                let losses = [of(model), of(persistence)];
                let sum = &mut sums[points.at(row)];
                sum.known += 1;
                for (sum, loss) in sum.losses.iter_mut().zip(losses) {
                    *sum += f64::from(loss);
                }
                if quantity == 0 {
                    self.decide(rule, slots.at(row), losses, &mut update);
                }
            }
            if quantity == 0 {
                update.loss = mean_of(&sums);
            }
            let running = &mut self.point[quantity * self.points..][..self.points];
            for (running, sum) in running.iter_mut().zip(&mut sums) {
                let sum = std::mem::take(sum);
                if sum.known > 0 {
                    for (running, loss) in running.iter_mut().zip(sum.losses) {
                        *running += rule.weight * (loss / f64::from(sum.known) - *running);
                    }
                }
            }
        }
        Ok(update)
    }

    #[inline]
    fn decide(&mut self, rule: &Rule, slot: usize, losses: [f32; 2], update: &mut ScoreUpdate) {
        let running = &mut self.bearer[slot];
        for (running, loss) in running.iter_mut().zip(losses) {
            *running += rule.weight as f32 * (loss - *running);
        }
        let [model, persistence] = *running;
        let (outcomes, set_aside) = (&mut self.outcomes[slot], &mut self.set_aside[slot]);
        *outcomes += 1;
        if *outcomes < rule.least_outcomes {
            return;
        }
        let worse = model > (1.0 - rule.lose_below) as f32 * persistence;
        let better = model < (1.0 - rule.regain_above) as f32 * persistence;
        if if *set_aside { better } else { worse } {
            update.set_aside += usize::from(!*set_aside);
            update.restored += usize::from(*set_aside);
            *set_aside = !*set_aside;
            *outcomes = 0;
        }
    }

    /// K.
    fn check(
        &self,
        outcomes: &Outcomes<'_>,
        model: &[f32],
        persistence: &[f32],
    ) -> Result<usize, LengthError> {
        let (slots, rows) = (self.bearer.len(), outcomes.rows);
        check("outcomes", self.outcomes.len(), slots, slots)?;
        check("set_aside", self.set_aside.len(), slots, slots)?;
        let quantities = quantities("point_loss", self.point.len(), self.points)?;
        outcomes.check(quantities)?;
        if self.levels.is_empty() {
            return Err(LengthError { name: "levels", length: 0, rows });
        }
        let values = outcomes.actual.len().saturating_mul(self.levels.len());
        check("model", model.len(), values, rows)?;
        check("persistence", persistence.len(), values, rows)?;
        Ok(quantities)
    }
}

/// Losses of the known outcomes at a point.
#[derive(Debug, Clone, Copy, Default)]
struct PointSum {
    losses: [f64; 2],
    known: u32,
}

/// Mean losses over all points; 0 without outcomes.
fn mean_of(sums: &[PointSum]) -> [f64; 2] {
    let known = sums.iter().map(|sum| sum.known).sum::<u32>().max(1);
    [0, 1].map(|of| sums.iter().map(|sum| sum.losses[of]).sum::<f64>() / f64::from(known))
}

/// Mean over the quantiles of `max(τ·d, (τ − 1)·d)`, `d = actual − forecast`.
#[inline]
fn pinball_loss(actual: f32, forecast: &[f32], levels: &[f32]) -> f32 {
    let losses = forecast.iter().zip(levels).map(|(forecast, level)| {
        let difference = actual - forecast;
        (level * difference).max((level - 1.0) * difference)
    });
    losses.sum::<f32>() / levels.len() as f32
}

/// Number of outcomes within the outermost quantiles served.
#[derive(Debug)]
pub struct Coverage<'a> {
    /// M.
    pub points: usize,
    /// `(K, M)` outcomes.
    pub checked: &'a mut [i64],
    /// `(K, M)` outcomes within.
    pub covered: &'a mut [i64],
}

impl Coverage<'_> {
    /// Counts outcomes at points.
    ///
    /// `persistence` and `model` are `(N, K, Q)`; `served` marks the rows whose model was served. Both
    /// are empty if the model was never served.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn learn(
        &mut self,
        points: Index<'_>,
        outcomes: &Outcomes<'_>,
        persistence: &[f32],
        model: &[f32],
        served: &[bool],
    ) -> Result<(), ArrayError> {
        let rows = outcomes.rows;
        let quantities = quantities("checked", self.checked.len(), self.points)?;
        check("covered", self.covered.len(), self.checked.len(), rows)?;
        outcomes.check(quantities)?;
        points.check("point", rows, self.points)?;
        let forecasts = outcomes.actual.len();
        let quantiles = persistence.len().checked_div(forecasts).unwrap_or(0);
        if forecasts > 0 && (quantiles == 0 || quantiles * forecasts != persistence.len()) {
            let length = persistence.len();
            return Err(LengthError { name: "persistence", length, rows }.into());
        }
        if !served.is_empty() {
            check("served", served.len(), rows, rows)?;
            check("model", model.len(), persistence.len(), rows)?;
        }
        for row in outcomes.counting() {
            let forecast =
                if served.get(row).copied().unwrap_or(false) { model } else { persistence };
            for quantity in 0..quantities {
                let at = row * quantities + quantity;
                let actual = outcomes.actual[at];
                let forecast = &forecast[at * quantiles..][..quantiles];
                let within = actual >= forecast[0] && actual <= forecast[quantiles - 1];
                let cell = quantity * self.points + points.at(row);
                self.checked[cell] += i64::from(!actual.is_nan());
                self.covered[cell] += i64::from(within);
            }
        }
        Ok(())
    }
}

/// Updates `outside`, the running share of samples outside `[low, high]`, by `(B, F)` features.
///
/// `low`, `high` and `outside` are `(F,)`; `weight` is that of the new samples. NaN is not outside.
///
/// # Errors
/// [`LengthError`] when the slices differ in features.
pub fn update_outside_ratio(
    features: &[f32],
    low: &[f32],
    high: &[f32],
    weight: f64,
    outside: &mut [f64],
) -> Result<(), LengthError> {
    let columns = outside.len();
    check("low", low.len(), columns, columns)?;
    check("high", high.len(), columns, columns)?;
    let rows = features.len().checked_div(columns).unwrap_or(0);
    check("features", features.len(), rows * columns, columns)?;
    if rows == 0 {
        return Ok(());
    }
    for (column, outside) in outside.iter_mut().enumerate() {
        let (low, high) = (low[column], high[column]);
        let values = features[column..].iter().step_by(columns);
        let found = values.filter(|value| **value < low || **value > high).count();
        *outside += weight * (found as f64 / rows as f64 - *outside);
    }
    Ok(())
}

/// K, from the length of a slice of K times `points` values.
fn quantities(name: &'static str, length: usize, points: usize) -> Result<usize, LengthError> {
    let quantities = length.checked_div(points).unwrap_or(0);
    check(name, length, quantities * points, points)?;
    Ok(quantities)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [f32; 3] = [0.1, 0.5, 0.9];
    const RULE: Rule = Rule { weight: 0.5, lose_below: -0.1, regain_above: 0.0, least_outcomes: 2 };

    #[derive(Default)]
    struct State {
        bearer: [[f32; 2]; 2],
        outcomes: [i64; 2],
        set_aside: [bool; 2],
        point: [[f64; 2]; 3],
    }

    impl State {
        /// One quantity, three points.
        fn losses(&mut self) -> Losses<'_> {
            Losses {
                levels: &LEVELS,
                points: 3,
                bearer: &mut self.bearer,
                outcomes: &mut self.outcomes,
                set_aside: &mut self.set_aside,
                point: &mut self.point,
            }
        }

        /// Slot 1 at point 2.
        fn learn(&mut self, actual: f32, model: f32, persistence: f32) -> ScoreUpdate {
            let outcomes = Outcomes { rows: 1, actual: &[actual], counts: &[] };
            let (slots, model, persistence) = (Index::From(1), [model; 3], [persistence; 3]);
            let point = Index::One(2);
            self.losses().learn(&RULE, slots, point, &outcomes, &model, &persistence).unwrap()
        }
    }

    #[test]
    fn a_worse_model_is_set_aside_and_later_restored() {
        let mut state = State::default();
        let first = state.learn(10.0, 4.0, 8.0);
        // Mean of 0.1, 0.5 and 0.9 times the excess over the forecast.
        assert!((first.loss[0] - 3.0).abs() < 1e-6 && (first.loss[1] - 1.0).abs() < 1e-6);
        assert_eq!((first.rows, first.set_aside, first.restored), (1, 0, 0));
        assert_eq!(state.outcomes, [0, 1]);
        assert!((state.point[2][0] - 1.5).abs() < 1e-6);
        assert_eq!(state.point[..2], [[0.0; 2]; 2]);
        assert_eq!(state.learn(10.0, 4.0, 8.0).set_aside, 1);
        assert_eq!((state.set_aside, state.outcomes), ([false, true], [0, 0]));
        for outcome in 0..4 {
            let restored = state.learn(10.0, 10.0, 8.0).restored;
            assert_eq!(restored, usize::from(outcome == 1), "{outcome}");
        }
        assert_eq!(state.set_aside, [false, false]);
    }

    #[test]
    fn unknown_outcomes_are_not_scored() {
        let mut state = State::default();
        assert_eq!(
            state.learn(f32::NAN, 4.0, 8.0),
            ScoreUpdate { rows: 1, ..ScoreUpdate::default() }
        );
        let uncounted = Outcomes { rows: 1, actual: &[1.0], counts: &[false] };
        let forecast = [0.0; 3];
        let (slots, point) = (Index::From(0), Index::One(0));
        let found = state.losses().learn(&RULE, slots, point, &uncounted, &forecast, &forecast);
        assert_eq!(found, Ok(ScoreUpdate::default()));
        assert_eq!((state.bearer, state.outcomes), ([[0.0; 2]; 2], [0; 2]));
    }

    #[test]
    fn outcomes_at_several_points_are_averaged_by_point() {
        let mut state = State::default();
        let outcomes = Outcomes { rows: 3, actual: &[10.0, 20.0, 30.0], counts: &[] };
        let (slots, points) = (Index::Each(&[1, 1, 1]), Index::Each(&[0, 2, 0]));
        let zero = [0.0; 9];
        let found = state.losses().learn(&RULE, slots, points, &outcomes, &zero, &zero).unwrap();
        assert!((found.loss[0] - 10.0).abs() < 1e-6);
        // The loss of 0 is half the value; half of the mean at each point is kept.
        assert_eq!(state.point.map(|[model, _]| model.round()), [5.0, 0.0, 5.0]);
        assert_eq!(state.outcomes, [0, 3]);
    }

    #[test]
    fn outcomes_within_the_served_interval_are_covered() {
        let (mut checked, mut covered) = ([0; 4], [0; 4]);
        let mut coverage = Coverage { points: 2, checked: &mut checked, covered: &mut covered };
        // Two bearers of two quantities; the second is served the model.
        let persistence = [0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0];
        let model = persistence.map(|value| value + 10.0);
        let outcomes = Outcomes { rows: 2, actual: &[2.0, f32::NAN, 10.0, 2.0], counts: &[] };
        let served = [false, true];
        coverage.learn(Index::One(1), &outcomes, &persistence, &model, &served).unwrap();
        coverage.learn(Index::One(1), &outcomes, &persistence, &[], &[]).unwrap();
        coverage.learn(Index::Each(&[0, 1]), &outcomes, &persistence, &[], &[]).unwrap();
        assert_eq!(checked, [1, 5, 0, 3]);
        assert_eq!(covered, [1, 3, 0, 2]);
    }

    #[test]
    fn mismatched_slices_are_named() {
        let mut state = State::default();
        let forecast = [0.0; 3];
        let one = Outcomes { rows: 1, actual: &[1.0], counts: &[] };
        let mut refused = |slot, point, outcomes, model: &[f32], persistence: &[f32]| {
            let slots = Index::From(slot);
            let point = Index::One(point);
            let learned = state.losses().learn(&RULE, slots, point, &outcomes, model, persistence);
            learned.unwrap_err().to_string()
        };
        assert_eq!(refused(2, 0, one, &forecast, &forecast), "slots of row 0 is 2, of 2");
        assert_eq!(refused(0, 3, one, &forecast, &forecast), "point of row 0 is 3, of 3");
        assert_eq!(refused(0, 0, one, &forecast[1..], &forecast), "model has length 2, for 1 rows");
        assert_eq!(refused(0, 0, one, &forecast, &[]), "persistence has length 0, for 1 rows");
        let actual = Outcomes { actual: &[], ..one };
        assert_eq!(refused(0, 0, actual, &forecast, &forecast), "actual has length 0, for 1 rows");
        let (mut checked, mut covered) = ([0; 1], [0; 1]);
        let mut coverage = Coverage { points: 1, checked: &mut checked, covered: &mut covered };
        let mut refused = |point, persistence: &[f32], model: &[f32], served: &[bool]| {
            let point = Index::One(point);
            coverage.learn(point, &one, persistence, model, served).unwrap_err().to_string()
        };
        assert_eq!(refused(-1, &forecast, &[], &[]), "point of row 0 is -1, of 1");
        assert_eq!(refused(0, &[], &[], &[]), "persistence has length 0, for 1 rows");
        assert_eq!(refused(0, &forecast, &[], &[true]), "model has length 0, for 1 rows");
        assert_eq!(refused(0, &forecast, &forecast, &[true; 2]), "served has length 2, for 1 rows");
        let mut coverage = Coverage { points: 1, checked: &mut [0; 1], covered: &mut [0; 2] };
        assert!(coverage.learn(Index::One(0), &one, &forecast, &[], &[]).is_err());
    }

    #[test]
    fn the_share_outside_the_range_follows_the_samples() {
        let features = [0.0, 5.0, f32::NAN, -5.0, 2.0, 0.0, 0.5, 0.0];
        let mut outside = [0.0, 1.0];
        update_outside_ratio(&features, &[0.0, -1.0], &[1.0, 1.0], 0.5, &mut outside).unwrap();
        assert_eq!(outside, [0.125, 0.75]);
        update_outside_ratio(&[], &[0.0, -1.0], &[1.0, 1.0], 0.5, &mut outside).unwrap();
        assert_eq!(outside, [0.125, 0.75]);
    }

    #[test]
    fn mismatched_lengths_of_ranges_are_named() {
        let named = |features: &[f32], low: &[f32], high: &[f32]| {
            update_outside_ratio(features, low, high, 0.5, &mut [0.0; 2]).unwrap_err().to_string()
        };
        assert_eq!(named(&[0.0; 3], &[0.0; 2], &[0.0; 2]), "features has length 3, for 2 rows");
        assert_eq!(named(&[0.0; 2], &[0.0; 1], &[0.0; 2]), "low has length 1, for 2 rows");
        assert_eq!(named(&[0.0; 2], &[0.0; 2], &[0.0; 3]), "high has length 3, for 2 rows");
    }
}
