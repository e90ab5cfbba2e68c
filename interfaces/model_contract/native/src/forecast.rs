//! From a model's output to forecasts in units.

use crate::{LengthError, check};

/// Whether no value is NaN or infinite.
#[must_use]
pub fn all_finite(values: &[f32]) -> bool {
    // Zero times a finite number is zero, else NaN, and a sum with NaN stays NaN: one addition per
    // value in eight lanes, without branches.
    let mut lanes = [0.0_f32; 8];
    let chunks = values.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().map(|value| value * 0.0).sum();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * 0.0;
        }
    }
    lanes.iter().sum::<f32>() + rest == 0.0
}

/// Output of a model for one sample of each bearer; its forecasts are `values · scale · span + base`.
///
/// Axes of `values`: bearers (rows), quantities, points, quantiles.
#[derive(Debug, Clone, Copy)]
pub struct ModelOutput<'a> {
    /// The graph's forecast.
    pub values: &'a [f32],
    /// One per row and quantity.
    pub scale: &'a [f32],
    /// One per quantity.
    pub span: &'a [f32],
    /// One per row and quantity.
    pub base: &'a [f32],
}

/// Forecasts in units.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecasts {
    /// Without offsets.
    pub plain: Vec<f32>,
    /// With offsets; quantiles sorted and clipped at 0.
    pub served: Vec<f32>,
    /// Whether no value of `plain` is NaN or infinite.
    pub finite: bool,
}

impl ModelOutput<'_> {
    /// Forecasts of all rows with an `offset` per value.
    ///
    /// # Errors
    /// [`LengthError`] when lengths do not match.
    pub fn forecasts(&self, offset: &[f32], quantiles: usize) -> Result<Forecasts, LengthError> {
        let quantities = self.span.len();
        let rows = self.base.len().checked_div(quantities).unwrap_or(0);
        check("base", self.base.len(), rows * quantities, rows)?;
        check("scale", self.scale.len(), rows * quantities, rows)?;
        let each = self.values.len().checked_div(rows * quantities).unwrap_or(0);
        check("values", self.values.len(), rows * quantities * each, rows)?;
        check("offset", offset.len(), self.values.len(), rows)?;
        if each.checked_rem(quantiles).unwrap_or(each) != 0 {
            return Err(LengthError { name: "values", length: self.values.len(), rows });
        }
        let mut plain = Vec::with_capacity(self.values.len());
        let mut served = Vec::with_capacity(self.values.len());
        let mut finite = true;
        if each > 0 {
            // Row by row, so that the values just written are still in the cache.
            let width = quantities * each;
            let factors =
                self.scale.chunks_exact(quantities).zip(self.base.chunks_exact(quantities));
            let outputs = self.values.chunks_exact(width).zip(offset.chunks_exact(width));
            for ((values, offset), (scale, base)) in outputs.zip(factors) {
                let begin = plain.len();
                let units = scale.iter().zip(self.span).zip(base);
                for (values, ((scale, span), base)) in values.chunks_exact(each).zip(units) {
                    let factor = scale * span;
                    plain.extend(values.iter().map(|value| value * factor + base));
                }
                let row = &plain[begin..];
                finite &= all_finite(row);
                served.extend(row.iter().zip(offset).map(|(plain, offset)| plain + offset));
                order_groups(&mut served[begin..], quantiles);
            }
        }
        Ok(Forecasts { plain, served, finite })
    }
}

/// `plain + offset`, sorted within each group of `quantiles` and clipped at 0.
///
/// A value of `plain` may apply to several consecutive values of `offset`.
///
/// # Errors
/// [`LengthError`] when lengths differ or are not multiples of `quantiles`.
pub fn add_and_order(
    plain: &[f32],
    offset: &[f32],
    quantiles: usize,
) -> Result<Vec<f32>, LengthError> {
    add_and_order_owned(plain, offset.to_vec(), quantiles)
}

/// [`add_and_order`] in the array of the offsets.
pub(crate) fn add_and_order_owned(
    plain: &[f32],
    mut offset: Vec<f32>,
    quantiles: usize,
) -> Result<Vec<f32>, LengthError> {
    let rows = offset.len().checked_div(quantiles).unwrap_or(0);
    if rows * quantiles != offset.len() {
        return Err(LengthError { name: "offset", length: offset.len(), rows });
    }
    let part = offset.len().checked_div(plain.len()).unwrap_or(0);
    if part * plain.len() != offset.len() || (part == 0 && !plain.is_empty()) {
        return Err(LengthError { name: "plain", length: plain.len(), rows });
    }
    if part > 0 {
        for (offsets, plain) in offset.chunks_exact_mut(part).zip(plain) {
            for offset in offsets {
                *offset += plain;
            }
        }
    }
    order_groups(&mut offset, quantiles);
    Ok(offset)
}

#[inline]
fn order_groups(values: &mut [f32], quantiles: usize) {
    match quantiles {
        0 => {}
        // The usual number as a constant: a third of the time.
        3 => values.as_chunks_mut::<3>().0.iter_mut().for_each(|group| order(group)),
        _ => values.chunks_exact_mut(quantiles).for_each(order),
    }
}

/// Insertion sort without branches on the values, then clipping at 0.
///
/// NaN stays in place; [`all_finite`] detects it.
#[inline]
fn order(group: &mut [f32]) {
    for end in 1..group.len() {
        for at in (0..end).rev() {
            let (low, high) = (group[at], group[at + 1]);
            group[at] = if high < low { high } else { low };
            group[at + 1] = if high < low { low } else { high };
        }
    }
    for value in group {
        *value = if *value < 0.0 { 0.0 } else { *value };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_quantity_of_a_row_has_its_own_units() {
        let output = ModelOutput {
            values: &[3.0, 1.0, 2.0, 3.0, 4.0, 5.0, -9.0, 7.0],
            scale: &[1.0, 2.0, 1.0, 0.5],
            span: &[1.0, 10.0],
            base: &[100.0, 0.0, 0.0, 1.0],
        };
        let offset = [0.0, 0.0, 1.0, -25.0, 0.0, -5.5, 0.0, 0.0];
        let found = output.forecasts(&offset, 2).unwrap();
        assert_eq!(found.plain, [103.0, 101.0, 40.0, 60.0, 4.0, 5.0, -44.0, 36.0]);
        assert_eq!(found.served, [101.0, 103.0, 35.0, 41.0, 0.0, 4.0, 0.0, 36.0]);
        assert!(found.finite);
        let named = |output: ModelOutput<'_>, offset: &[f32], quantiles| {
            output.forecasts(offset, quantiles).unwrap_err().to_string()
        };
        let short = [0.0; 3];
        let wrong = [
            (ModelOutput { values: &short, ..output }, "values has length 3, for 2 rows"),
            (ModelOutput { scale: &short, ..output }, "scale has length 3, for 2 rows"),
            (ModelOutput { base: &short, ..output }, "base has length 3, for 1 rows"),
        ];
        for (output, message) in wrong {
            assert_eq!(named(output, &offset, 2), message);
        }
        assert_eq!(named(output, &short, 2), "offset has length 3, for 2 rows");
        assert_eq!(named(output, &offset, 3), "values has length 8, for 2 rows");
        let empty = ModelOutput { values: &[], scale: &[], span: &[], base: &[] };
        assert_eq!(empty.forecasts(&[], 3).unwrap().plain, []);
    }

    #[test]
    fn lengths_that_differ_are_named() {
        let error = add_and_order(&[0.0; 6], &[0.0; 3], 3).unwrap_err();
        assert_eq!(error.to_string(), "plain has length 6, for 1 rows");
        assert!(add_and_order(&[0.0; 6], &[0.0; 6], 4).is_err());
        assert!(add_and_order(&[0.0; 4], &[0.0; 6], 3).is_err());
        assert!(add_and_order(&[], &[0.0; 6], 3).is_err());
        assert!(add_and_order(&[0.0; 6], &[0.0; 6], 0).is_err());
        assert_eq!(add_and_order(&[], &[], 3), Ok(vec![]));
        assert_eq!(add_and_order(&[], &[], 0), Ok(vec![]));
    }

    #[test]
    fn one_plain_value_applies_to_all_quantiles() {
        let found = add_and_order(&[10.0, 1.0], &[0.0, -1.0, 1.0, 0.0, 0.5, -3.0], 3);
        assert_eq!(found, Ok(vec![9.0, 10.0, 11.0, 0.0, 1.0, 1.5]));
    }

    proptest! {
        #[test]
        fn non_finite_values_are_detected(
            mut values in prop::collection::vec(any::<f32>(), 0..40),
            spoiled in any::<prop::sample::Index>(),
            with in prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
        ) {
            prop_assert_eq!(all_finite(&values), values.iter().all(|v| v.is_finite()));
            if !values.is_empty() {
                let at = spoiled.index(values.len());
                values[at] = with;
                prop_assert!(!all_finite(&values));
            }
        }

        #[test]
        fn one_pass_equals_the_separate_steps(
            values in prop::collection::vec(-1e3_f32..1e3, 0..60),
            scale in prop::collection::vec(0.0_f32..10.0, 10),
            span in prop::collection::vec(1.0_f32..1e4, 2),
            base in prop::collection::vec(0.0_f32..1e6, 10),
            by in -1e3_f32..1e3,
            quantiles in 1_usize..5,
            spoiled in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let each = values.len() / (10 * quantiles) * quantiles;
            let mut values = values[..10 * each].to_vec();
            if let Some(spoiled) = spoiled.filter(|_| each > 0) {
                values[spoiled.index(10 * each)] = f32::NAN;
            }
            let output = ModelOutput { values: &values, scale: &scale, span: &span, base: &base };
            let offset = vec![by; values.len()];
            let found = output.forecasts(&offset, quantiles).unwrap();
            let expected = (0..values.len()).map(|at| {
                let cell = at / each;
                values[at] * (scale[cell] * span[cell % 2]) + base[cell]
            });
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&found.plain), bits(&expected.collect::<Vec<_>>()));
            prop_assert_eq!(found.finite, all_finite(&found.plain));
            if found.finite {
                let served = add_and_order(&found.plain, &offset, quantiles).unwrap();
                prop_assert_eq!(found.served, served);
            }
        }

        #[test]
        fn quantiles_are_sorted_and_not_negative(
            plain in prop::collection::vec(-1e6_f32..1e6, 0..30),
            by in -1e3_f32..1e3,
            quantiles in 1_usize..5,
        ) {
            let length = plain.len() / quantiles * quantiles;
            let (plain, offset) = (&plain[..length], vec![by; length]);
            let out = add_and_order(plain, &offset, quantiles).unwrap();
            for (group, values) in out.chunks(quantiles).zip(plain.chunks(quantiles)) {
                let mut expected: Vec<f32> = values.iter().map(|v| (v + by).max(0.0)).collect();
                expected.sort_by(f32::total_cmp);
                prop_assert_eq!(group, &expected[..]);
            }
        }
    }
}
