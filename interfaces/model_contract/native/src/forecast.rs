//! A model's answer to forecasts.

use crate::LengthError;

/// Whether no value is NaN or infinite.
#[must_use]
pub fn all_finite(values: &[f32]) -> bool {
    // Zero times a finite number is zero and times any other NaN, which no sum leaves again: one
    // addition a value in eight lanes, without a branch.
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

/// `answer · span + base`.
///
/// `answer` has rows of `span.len()` values; each row has as many bases as divide it into equal
/// parts, one after another, and each part has the one.
///
/// # Errors
/// [`LengthError`] when they do not divide it so.
pub fn unscaled(answer: &[f32], span: &[f32], base: &[f32]) -> Result<Vec<f32>, LengthError> {
    let rows = answer.len().checked_div(span.len()).unwrap_or(0);
    if rows * span.len() != answer.len() {
        return Err(LengthError { name: "answer", length: answer.len(), rows });
    }
    let mut values = Vec::with_capacity(answer.len());
    if rows == 0 {
        return Ok(values);
    }
    let parts = base.len() / rows;
    if parts == 0 || parts * rows != base.len() || !span.len().is_multiple_of(parts) {
        return Err(LengthError { name: "base", length: base.len(), rows });
    }
    let part = span.len() / parts;
    for (row, bases) in answer.chunks_exact(span.len()).zip(base.chunks_exact(parts)) {
        let spans = span.chunks_exact(part);
        for ((answers, spans), base) in row.chunks_exact(part).zip(spans).zip(bases) {
            values.extend(answers.iter().zip(spans).map(|(answer, span)| answer * span + base));
        }
    }
    Ok(values)
}

/// `plain + offset`, in order within each group of `quantiles` and never below 0.
///
/// `plain` may have one value for several of `offset` that follow one another.
///
/// # Errors
/// [`LengthError`] when lengths differ, or are no multiple of `quantiles`.
pub fn add_and_order(
    plain: &[f32],
    offset: &[f32],
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
    let mut values = Vec::with_capacity(offset.len());
    if part == 1 {
        values.extend(plain.iter().zip(offset).map(|(plain, offset)| plain + offset));
    } else if part > 1 {
        for (offsets, plain) in offset.chunks_exact(part).zip(plain) {
            values.extend(offsets.iter().map(|offset| plain + offset));
        }
    }
    match quantiles {
        0 => {}
        // The usual number, known to the compiler: a third of the time.
        3 => values.as_chunks_mut::<3>().0.iter_mut().for_each(|group| order(group)),
        _ => values.chunks_exact_mut(quantiles).for_each(order),
    }
    Ok(values)
}

/// Insertion sort, without branches on the values, then zero in place of what is below it.
///
/// NaN stays where it is: it is looked for elsewhere, and told.
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
    fn each_part_of_a_row_has_its_base() {
        let answer = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let found = unscaled(&answer, &[1.0, 1.0, 10.0, 10.0], &[100.0, 0.0, 0.0, 1.0]);
        assert_eq!(found, Ok(vec![101.0, 102.0, 30.0, 40.0, 5.0, 6.0, 71.0, 81.0]));
        let error = unscaled(&answer, &[1.0; 4], &[0.0; 3]).unwrap_err();
        assert_eq!(error.to_string(), "base has length 3, for 2 rows");
        assert!(unscaled(&answer, &[1.0; 3], &[0.0; 2]).is_err());
        assert_eq!(unscaled(&[], &[], &[]), Ok(vec![]));
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
    fn one_value_stands_for_what_follows_it() {
        let found = add_and_order(&[10.0, 1.0], &[0.0, -1.0, 1.0, 0.0, 0.5, -3.0], 3);
        assert_eq!(found, Ok(vec![9.0, 10.0, 11.0, 0.0, 1.0, 1.5]));
    }

    proptest! {
        #[test]
        fn what_is_finite_is_found_out(
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
        fn quantiles_grow_and_keep_what_was_said(
            plain in prop::collection::vec(-1e6_f32..1e6, 0..30),
            by in -1e3_f32..1e3,
            quantiles in 1_usize..5,
        ) {
            let length = plain.len() / quantiles * quantiles;
            let (plain, offset) = (&plain[..length], vec![by; length]);
            let out = add_and_order(plain, &offset, quantiles).unwrap();
            for (group, said) in out.chunks(quantiles).zip(plain.chunks(quantiles)) {
                let mut expected: Vec<f32> = said.iter().map(|v| (v + by).max(0.0)).collect();
                expected.sort_by(f32::total_cmp);
                prop_assert_eq!(group, &expected[..]);
            }
        }
    }
}
