//! `first..last` and `first..last..step`: numbers at equal distances.

use serde_json::Value;

/// Most values of an axis.
pub(crate) const MAX_VALUES: usize = 100_000;
/// Most digits of a number.
const MAX_DIGITS: usize = 15;

/// A decimal number as written: digits, and how many of them follow the point.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    decimals: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (sign, number) = text.strip_prefix('-').map_or((1, text), |number| (-1, number));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_number = !whole.is_empty()
            && whole.len() + fraction.len() <= MAX_DIGITS
            && !number.ends_with('.')
            && (whole.bytes().chain(fraction.bytes())).all(|digit| digit.is_ascii_digit());
        let digits: i128 = is_number.then(|| format!("{whole}{fraction}").parse().ok())??;
        Some(Self { digits: sign * digits, decimals: fraction.len() as u32 })
    }

    /// The digits with as many after the point as asked for.
    fn scaled(self, decimals: u32) -> i128 {
        self.digits * 10i128.pow(decimals - self.decimals)
    }
}

/// The values of a range, the last included if a step ends there; `None` if the text is no range.
///
/// # Errors
/// A message for a range without values, with too many, or with a step that is not above zero.
pub(crate) fn expand(text: &str) -> Result<Option<Vec<Value>>, String> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, "1"),
        [first, last, step] => (first, last, step),
        _ => return Ok(None),
    };
    let Some(first) = Decimal::parse(first) else { return Ok(None) };
    let (Some(last), Some(step)) = (Decimal::parse(last), Decimal::parse(step)) else {
        return Err(format!("'{text}': expected a range such as 4..20..4, with decimal numbers"));
    };
    let decimals = first.decimals.max(last.decimals).max(step.decimals);
    let [first, last, step] = [first, last, step].map(|number| number.scaled(decimals));
    if step <= 0 || last < first {
        let wrong = if step <= 0 { "its step is not above 0" } else { "it ends before it begins" };
        return Err(format!("'{text}': {wrong}; expected a range such as 4..20..4"));
    }
    let count = (last - first) / step + 1;
    if count > MAX_VALUES as i128 {
        return Err(format!("'{text}': {count} values; a range has at most {MAX_VALUES}"));
    }
    Ok(Some((0..count).map(|index| number(first + index * step, decimals)).collect()))
}

/// A number of scaled digits: whole, or the binary fraction nearest to the decimal one.
fn number(digits: i128, decimals: u32) -> Value {
    if decimals == 0 {
        i64::try_from(digits).map_or(Value::Null, Value::from)
    } else {
        format!("{digits}e-{decimals}").parse::<f64>().map_or(Value::Null, Value::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(text: &str) -> Value {
        expand(text).unwrap().map_or(Value::Null, Value::from)
    }

    #[test]
    fn a_range_includes_its_end() {
        assert_eq!(values("4..20..4"), json!([4, 8, 12, 16, 20]));
        assert_eq!(values("4..19..4"), json!([4, 8, 12, 16]));
        assert_eq!(values("1..3"), json!([1, 2, 3]));
        assert_eq!(values("-2..2..2"), json!([-2, 0, 2]));
        assert_eq!(values("5..5"), json!([5]));
    }

    #[test]
    fn decimal_steps_do_not_drift() {
        assert_eq!(values("0.1..0.7..0.1"), json!([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]));
        assert_eq!(values("1..2..0.5"), json!([1.0, 1.5, 2.0]));
    }

    #[test]
    fn paths_and_names_are_no_ranges() {
        for text in ["low_latency", "../trace.csv", "a..b", "4", "1..2..3..4", ".5..1"] {
            assert_eq!(values(text), Value::Null, "{text}");
        }
    }

    #[test]
    fn impossible_ranges_are_told() {
        for (text, said) in [
            ("4..1", "ends before it begins"),
            ("1..4..0", "step is not above 0"),
            ("1..4..-1", "step is not above 0"),
            ("1..x", "decimal numbers"),
            ("1..4..", "decimal numbers"),
            ("0..999999999999999..0.000000001", "decimal numbers|at most"),
            ("1..100001", "100001 values; a range has at most 100000"),
        ] {
            let error = expand(text).unwrap_err();
            assert!(said.split('|').any(|said| error.contains(said)), "{text}: {error}");
        }
    }
}
