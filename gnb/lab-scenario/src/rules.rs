//! What every check of a scenario is made of: ranges, spans of time, and the error they give.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::error::Violation;

pub(super) type Check = Result<(), Violation>;

/// A day of virtual time.
const MAX_TIME_S: f64 = 86_400.0;
pub(super) const MAX_DELAY_US: u32 = 1_000_000;

/// The bearers of each RNTI.
pub(super) type Bearers = HashMap<u16, Vec<u8>>;

pub(super) fn within<T: PartialOrd + Display>(
    path: impl Display,
    value: T,
    range: RangeInclusive<T>,
) -> Check {
    if range.contains(&value) {
        return Ok(());
    }
    let message = format!("{value} is outside {}..={}", range.start(), range.end());
    Err(Violation::new(path.to_string(), message))
}

pub(super) fn time(path: impl Display, seconds: f64) -> Check {
    within(path, seconds, 0.0..=MAX_TIME_S)
}

pub(super) fn span(path: &str, from: (&str, f64), to: (&str, Option<f64>)) -> Check {
    time(format_args!("{path}.{}", from.0), from.1)?;
    let Some(end) = to.1 else { return Ok(()) };
    time(format_args!("{path}.{}", to.0), end)?;
    if end <= from.1 {
        let message = format!("{end} is not after {} ({})", from.0, from.1);
        return Err(Violation::new(format!("{path}.{}", to.0), message));
    }
    Ok(())
}
