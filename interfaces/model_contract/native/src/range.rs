//! Which features are outside the range that a model was trained on.

use crate::{LengthError, check};

/// Moves the running share of samples outside `low` to `high` toward that of `(B, F)` features.
///
/// `low`, `high` and `outside` are `(F,)`; `weight` is that of these samples. NaN is not outside.
///
/// # Errors
/// [`LengthError`] when the slices differ in features.
pub fn note_outside(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_moves_toward_that_of_the_samples() {
        let features = [0.0, 5.0, f32::NAN, -5.0, 2.0, 0.0, 0.5, 0.0];
        let mut outside = [0.0, 1.0];
        note_outside(&features, &[0.0, -1.0], &[1.0, 1.0], 0.5, &mut outside).unwrap();
        assert_eq!(outside, [0.125, 0.75]);
        note_outside(&[], &[0.0, -1.0], &[1.0, 1.0], 0.5, &mut outside).unwrap();
        assert_eq!(outside, [0.125, 0.75]);
    }

    #[test]
    fn lengths_that_differ_are_named() {
        let named = |features: &[f32], low: &[f32], high: &[f32]| {
            note_outside(features, low, high, 0.5, &mut [0.0; 2]).unwrap_err().to_string()
        };
        assert_eq!(named(&[0.0; 3], &[0.0; 2], &[0.0; 2]), "features has length 3, for 2 rows");
        assert_eq!(named(&[0.0; 2], &[0.0; 1], &[0.0; 2]), "low has length 1, for 2 rows");
        assert_eq!(named(&[0.0; 2], &[0.0; 2], &[0.0; 3]), "high has length 3, for 2 rows");
    }
}
