//! Forecasts in units, from a model's output.

use crate::{ArrayError, Axes, Index, check};

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

impl ModelOutput<'_> {
    /// That of one row.
    #[inline]
    pub(crate) fn row(&self, row: usize, axes: Axes) -> Self {
        let Axes { quantities, points, quantiles } = axes;
        let cells = quantities * points;
        Self {
            values: &self.values[row * cells * quantiles..][..cells * quantiles],
            scale: &self.scale[row * cells..][..cells],
            span: self.span,
            base: &self.base[row * quantities..][..quantities],
        }
    }
}

/// Output of a model for N samples of one bearer, among those of others.
#[derive(Debug, Clone, Copy)]
pub struct Steps<'a> {
    /// K, M and Q.
    pub axes: Axes,
    /// `(N, B, K, M, Q)` of B bearers.
    pub values: &'a [f32],
    /// `(N, B, K, M)`; empty if all are 1.
    pub scale: &'a [f32],
    /// B.
    pub bearers: usize,
    /// Which of them.
    pub bearer: usize,
    /// `(K,)`.
    pub span: &'a [f32],
    /// `(N, K)`.
    pub base: &'a [f32],
}

impl Steps<'_> {
    /// Writes `(N, K, M, Q)` forecasts `values · scale · span + base`.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match or there is no such bearer.
    pub fn in_units(&self, out: &mut [f32]) -> Result<(), ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let each = points.saturating_mul(quantiles);
        let cells = quantities.saturating_mul(points);
        let rows = self.base.len().checked_div(quantities).unwrap_or(0);
        let of_bearers = rows.saturating_mul(self.bearers);
        Index::From(self.bearer).check("bearer", 1, self.bearers)?;
        check("span", self.span.len(), quantities, quantities)?;
        check("base", self.base.len(), rows.saturating_mul(quantities), rows)?;
        let values = of_bearers.saturating_mul(quantities).saturating_mul(each);
        check("values", self.values.len(), values, rows)?;
        check("out", out.len(), rows.saturating_mul(quantities).saturating_mul(each), rows)?;
        if !self.scale.is_empty() {
            check("scale", self.scale.len(), of_bearers.saturating_mul(cells), rows)?;
        }
        if each == 0 {
            return Ok(());
        }
        for (at, out) in out.chunks_exact_mut(each).enumerate() {
            let (row, quantity) = (at / quantities, at % quantities);
            let here = (row * self.bearers + self.bearer) * quantities + quantity;
            let values = &self.values[here * each..][..each];
            let (span, base) = (self.span[quantity], self.base[at]);
            if self.scale.is_empty() {
                out.iter_mut().zip(values).for_each(|(out, value)| *out = value * span + base);
                continue;
            }
            let scale = &self.scale[here * points..][..points];
            if quantiles == 3 {
                // The usual number as a constant, as in `order_groups`.
                let groups = out.as_chunks_mut::<3>().0.iter_mut().zip(values.as_chunks::<3>().0);
                for ((out, values), scale) in groups.zip(scale) {
                    *out = values.map(|value| value * scale * span + base);
                }
            } else {
                let groups = out.chunks_exact_mut(quantiles).zip(values.chunks_exact(quantiles));
                for ((out, values), scale) in groups.zip(scale) {
                    let all = out.iter_mut().zip(values);
                    all.for_each(|(out, value)| *out = value * scale * span + base);
                }
            }
        }
        Ok(())
    }
}

#[inline]
pub(crate) fn order_groups(values: &mut [f32], quantiles: usize) {
    match quantiles {
        0 => {}
        // The usual number as a constant, four groups at a time.
        3 => {
            let (fours, rest) = values.as_chunks_mut::<12>();
            fours.iter_mut().for_each(order_threes);
            rest.as_chunks_mut::<3>().0.iter_mut().for_each(|group| order(group));
        }
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
        3 => {
            let (fours, rest) = values.as_chunks_mut::<12>();
            fours.iter_mut().for_each(sort_threes);
            rest.as_chunks_mut::<3>().0.iter_mut().for_each(|group| sort(group));
        }
        _ => values.chunks_exact_mut(quantiles).for_each(sort),
    }
}

/// Sorts four groups of three quantiles, then clips them at 0.
#[inline]
pub(crate) fn order_threes(all: &mut [f32; 12]) {
    sort_threes(all);
    *all = all.map(|value| if value < 0.0 { 0.0 } else { value });
}

/// Sorts four groups of three quantiles.
#[inline]
pub(crate) fn sort_threes(all: &mut [f32; 12]) {
    let crossed: [bool; 8] = std::array::from_fn(|at| {
        let low = at / 2 * 3 + at % 2;
        all[low + 1] < all[low]
    });
    if crossed.iter().fold(false, |any, one| any | one) {
        sort_crossed(all);
    }
}

/// Apart from the rest, which is then straight: quantiles seldom cross.
#[cold]
#[inline(never)]
fn sort_crossed(all: &mut [f32; 12]) {
    all.as_chunks_mut::<3>().0.iter_mut().for_each(|group| sort(group));
}

/// Insertion sort without branches on the values.
///
/// NaN stays in place; [`all_finite`] detects it.
#[inline]
pub(crate) fn sort(group: &mut [f32]) {
    if let Ok(three) = <&mut [f32; 3]>::try_from(&mut *group) {
        // The usual number as a constant: without loops.
        sort_any(three);
    } else {
        sort_any(group);
    }
}

#[inline(always)]
fn sort_any(group: &mut [f32]) {
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
