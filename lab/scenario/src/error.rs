//! Errors of a scenario.

use std::fmt;

use e2sm_tc::json::in_words;

/// An invalid scenario: place, value found and value expected.
///
/// Displays as one line, `FILE: PATH: MESSAGE`, e.g.
/// `scenario.yaml: cell.tdd.pattern: 'DDXU' has 'X' at 3; expected D, M or U`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file or other origin.
    pub file: String,
    /// Path of the element within the file, e.g. `flows[1].kind`; empty for the whole file.
    pub path: String,
    /// Value found and value expected.
    pub message: String,
}

impl ScenarioError {
    /// An error at `path` of `file`.
    pub fn new(file: &str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), path: path.into(), message: message.into() }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "{}: {}", self.file, self.message)
        } else {
            write!(f, "{}: {}: {}", self.file, self.path, self.message)
        }
    }
}

impl std::error::Error for ScenarioError {}

/// An element that is out of its range or contradicts others, without the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the element within the file.
    pub path: String,
    /// Value found and value expected.
    pub message: String,
}

impl Violation {
    /// An error of serde, in the wording of the other messages.
    pub(crate) fn from_serde(path: &serde_path_to_error::Path, error: &impl fmt::Display) -> Self {
        let path = path.to_string();
        let message = in_words(&error.to_string())
            .replace("unknown variant", "unknown value")
            .replace("unknown field", "unknown key")
            .replace("missing field", "missing key")
            .replace(", expected", "; expected")
            .replace('`', "'");
        Self { path: if path == "." { String::new() } else { path }, message }
    }

    /// A violation at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
