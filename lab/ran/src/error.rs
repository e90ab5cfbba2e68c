//! Errors of configurations.

/// An invalid configuration value, with its path and what was expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A value out of its range.
    #[error("{path}: {value}; expected {expected}")]
    Value {
        /// Dotted path of the field, as in a scenario file.
        path: String,
        /// The value given.
        value: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A TDD pattern with an invalid letter.
    #[error("duplexing.tdd.pattern: '{pattern}' has '{letter}' at {}; expected D, M or U", .at + 1)]
    TddLetter {
        /// The pattern as given.
        pattern: String,
        /// The letter.
        letter: char,
        /// Its index, from 0.
        at: usize,
    },
    /// A UE or a bearer that exists already.
    #[error("{what} {id} exists already")]
    Duplicate {
        /// `rnti` or `drb`.
        what: &'static str,
        /// Its number.
        id: u32,
    },
    /// No UE of this RNTI.
    #[error("rnti {rnti:#06x}: no such UE in the cell")]
    NoSuchUe {
        /// The RNTI given.
        rnti: u16,
    },
}

impl ConfigError {
    /// A value out of its range.
    pub fn new(path: impl Into<String>, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::Value { path: path.into(), value: value.to_string(), expected: expected.into() }
    }
}

/// Refuses a value unless `condition` holds.
pub(crate) fn ensure(
    condition: bool,
    path: impl Into<String>,
    value: impl ToString,
    expected: impl Into<String>,
) -> Result<(), ConfigError> {
    if condition { Ok(()) } else { Err(ConfigError::new(path, value, expected)) }
}
