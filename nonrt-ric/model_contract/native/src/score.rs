//! Forecast scores: pinball loss, coverage, drift.

use crate::{ArrayError, Index, LengthError, Outcomes, check};

/// Most quantiles of a model (`manifest.json`): those of an outcome's forecasts need no allocation.
pub(crate) const MAX_QUANTILES: usize = 32;

/// Mean over the quantiles of `max(τ·d, (τ − 1)·d)`, `d = actual − forecast`.
#[inline]
pub(crate) fn pinball_loss(actual: f32, forecast: &[f32], levels: &[f32]) -> f32 {
    let losses = forecast.iter().zip(levels);
    let losses = losses.map(|(forecast, level)| pinball_of(*level, actual - forecast));
    losses.sum::<f32>() / levels.len() as f32
}

/// The loss at one level, of the difference to its forecast.
#[inline]
pub(crate) fn pinball_of(level: f32, difference: f32) -> f32 {
    (level * difference).max((level - 1.0) * difference)
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
    /// Counts outcomes at points; `served` are `(N, K, Q)` forecasts.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn learn(
        &mut self,
        points: Index<'_>,
        outcomes: &Outcomes<'_>,
        served: &[f32],
    ) -> Result<(), ArrayError> {
        let rows = outcomes.rows;
        let quantities = quantities("checked", self.checked.len(), self.points)?;
        check("covered", self.covered.len(), self.checked.len(), rows)?;
        outcomes.check(quantities)?;
        points.check("point", rows, self.points)?;
        let forecasts = outcomes.actual.len();
        let quantiles = served.len().checked_div(forecasts).unwrap_or(0);
        if forecasts > 0 && (quantiles == 0 || quantiles * forecasts != served.len()) {
            return Err(LengthError { name: "served", length: served.len(), rows }.into());
        }
        for row in outcomes.counting() {
            for quantity in 0..quantities {
                let at = row * quantities + quantity;
                let actual = outcomes.actual[at];
                let served = &served[at * quantiles..][..quantiles];
                let within = actual >= served[0] && actual <= served[quantiles - 1];
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

    #[test]
    fn outcomes_within_the_served_interval_are_covered() {
        let (mut checked, mut covered) = ([0; 4], [0; 4]);
        let mut coverage = Coverage { points: 2, checked: &mut checked, covered: &mut covered };
        // Two bearers of two quantities.
        let served = [0.0, 2.0, 0.0, 2.0, 10.0, 12.0, 10.0, 12.0];
        let outcomes = Outcomes { rows: 2, actual: &[2.0, f32::NAN, 10.0, 2.0], counts: &[] };
        coverage.learn(Index::One(1), &outcomes, &served).unwrap();
        coverage.learn(Index::Each(&[0, 1]), &outcomes, &served).unwrap();
        assert_eq!(checked, [1, 3, 0, 2]);
        assert_eq!(covered, [1, 3, 0, 0]);
    }

    #[test]
    fn mismatched_slices_are_named() {
        let one = Outcomes { rows: 1, actual: &[1.0], counts: &[] };
        let (mut checked, mut covered) = ([0; 1], [0; 1]);
        let mut coverage = Coverage { points: 1, checked: &mut checked, covered: &mut covered };
        let mut refused = |point, served: &[f32]| {
            coverage.learn(Index::One(point), &one, served).unwrap_err().to_string()
        };
        assert_eq!(refused(-1, &[0.0; 3]), "point of row 0 is -1, of 1");
        assert_eq!(refused(0, &[]), "served has length 0, for 1 rows");
        let mut coverage = Coverage { points: 1, checked: &mut [0; 1], covered: &mut [0; 2] };
        assert!(coverage.learn(Index::One(0), &one, &[0.0; 3]).is_err());
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
