//! Conditions and ranges that checks of a scenario use, and the error they give.

use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;

use super::error::Violation;

pub(super) type Check = Result<(), Violation>;

/// A day of virtual time.
pub(super) const MAX_TIME_S: f64 = 86_400.0;
pub(super) const MAX_DELAY_US: u32 = 1_000_000;

/// The bearers of each RNTI.
pub(super) type Bearers = HashMap<u16, Vec<u8>>;

/// An error at `path` unless the condition holds.
pub(super) fn ensure(condition: bool, path: impl Display, message: impl Display) -> Check {
    if condition { Ok(()) } else { Err(Violation::new(path.to_string(), message.to_string())) }
}

pub(super) fn within<T: PartialOrd + Debug + Display>(
    path: impl Display,
    value: T,
    range: RangeInclusive<T>,
) -> Check {
    let (low, high) = (range.start(), range.end());
    ensure(
        range.contains(&value),
        path,
        format_args!("{} is outside {low}..={high}", shown(&value)),
    )
}

/// A number as a person would write it: no three hundred digits.
fn shown<T: Debug + Display>(value: &T) -> String {
    let text = value.to_string();
    if text.len() > 24 { format!("{value:?}") } else { text }
}

/// Checks as [`within`] does a value that may be unset.
pub(super) fn within_if_set<T: PartialOrd + Debug + Display>(
    path: impl Display,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Check {
    value.map_or(Ok(()), |value| within(path, value, range))
}

pub(super) fn time(path: impl Display, seconds: f64) -> Check {
    within(path, seconds, 0.0..=MAX_TIME_S)
}

pub(super) fn span(path: &str, from: (&str, f64), to: (&str, Option<f64>)) -> Check {
    time(format_args!("{path}.{}", from.0), from.1)?;
    let Some(end) = to.1 else { return Ok(()) };
    time(format_args!("{path}.{}", to.0), end)?;
    let message = format_args!("{end} is not after {} ({})", from.0, from.1);
    ensure(end > from.1, format_args!("{path}.{}", to.0), message)
}
