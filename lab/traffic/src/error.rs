//! Errors of a configuration.

use std::borrow::Cow;

/// A key whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value}; expected {expected}")]
pub struct ConfigError {
    /// Path of the key within the flow of a scenario, e.g. `mss_bytes` or `video.chunk_us`.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// Values that are accepted.
    pub expected: Cow<'static, str>,
}

impl ConfigError {
    pub(crate) fn new(
        field: &'static str,
        value: impl ToString,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field, value: value.to_string(), expected: expected.into() }
    }
}

pub(crate) fn check<V: PartialOrd + std::fmt::Display>(
    field: &'static str,
    value: V,
    range: std::ops::RangeInclusive<V>,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if range.contains(&value) { Ok(()) } else { Err(ConfigError::new(field, value, expected)) }
}
