//! Forecasts in units, from a model's output.

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
    /// One per row, quantity and point.
    pub scale: &'a [f32],
    /// One per quantity.
    pub span: &'a [f32],
    /// One per row and quantity.
    pub base: &'a [f32],
}

#[inline]
pub(crate) fn order_groups(values: &mut [f32], quantiles: usize) {
    match quantiles {
        0 => {}
        // The usual number as a constant: a third of the time.
        3 => values.as_chunks_mut::<3>().0.iter_mut().for_each(|group| order(group)),
        _ => values.chunks_exact_mut(quantiles).for_each(order),
    }
}

/// [`sort`], then clipping at 0.
#[inline]
pub(crate) fn order(group: &mut [f32]) {
    sort(group);
    for value in group {
        *value = if *value < 0.0 { 0.0 } else { *value };
    }
}

/// Sorts each group of `quantiles` values, in which NaN stays in place; what is left over stays as it is.
#[inline]
pub fn sort_groups(values: &mut [f32], quantiles: usize) {
    match quantiles {
        0 => {}
        // As in `order_groups`.
        3 => values.as_chunks_mut::<3>().0.iter_mut().for_each(|group| sort(group)),
        _ => values.chunks_exact_mut(quantiles).for_each(sort),
    }
}

/// Insertion sort without branches on the values.
///
/// NaN stays in place; [`all_finite`] detects it.
#[inline]
pub(crate) fn sort(group: &mut [f32]) {
    for end in 1..group.len() {
        for at in (0..end).rev() {
            let (low, high) = (group[at], group[at + 1]);
            group[at] = if high < low { high } else { low };
            group[at + 1] = if high < low { low } else { high };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        fn quantiles_are_sorted_and_not_negative(
            plain in prop::collection::vec(-1e6_f32..1e6, 0..30),
            by in -1e3_f32..1e3,
            quantiles in 1_usize..5,
        ) {
            let mut out: Vec<f32> = plain[..plain.len() / quantiles * quantiles].to_vec();
            out.iter_mut().for_each(|value| *value += by);
            order_groups(&mut out, quantiles);
            for (group, values) in out.chunks(quantiles).zip(plain.chunks(quantiles)) {
                let mut expected: Vec<f32> = values.iter().map(|v| (v + by).max(0.0)).collect();
                expected.sort_by(f32::total_cmp);
                prop_assert_eq!(group, &expected[..]);
            }
        }
    }
}
