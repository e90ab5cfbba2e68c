//! Why a configuration cannot be used.

/// A field whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value} is not usable, expected {expected}")]
pub struct ConfigError {
    /// Where, from the flow down, e.g. `app.tcp.mss_bytes`.
    pub field: &'static str,
    /// What stood there.
    pub value: String,
    /// What would do.
    pub expected: &'static str,
}

pub(crate) fn check<V: PartialOrd + std::fmt::Display>(
    field: &'static str,
    value: V,
    range: std::ops::RangeInclusive<V>,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(ConfigError { field, value: value.to_string(), expected })
    }
}
