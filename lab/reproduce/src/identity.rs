//! Digests of what a result depends on: the program, the scenario, the files that it reads.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bounded_input::{FileError, read_file};
use lab_scenario::MAX_TRACE_BYTES;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Something that a result depends on cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// This program.
    #[error("{}: {source}", path.display())]
    Program {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that the scenario names.
    #[error("{}: {source}", path.display())]
    Input {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        source: FileError,
    },
}

/// SHA-256 of bytes, in hexadecimal digits.
pub(super) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes.as_ref()).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Digest of the running program: results of another build are never used.
///
/// # Errors
/// [`IdentityError::Program`].
pub(super) fn program() -> Result<String, IdentityError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| IdentityError::Program { path, source }
    };
    let this = std::env::current_exe().map_err(failed(Path::new("path of this program")))?;
    std::fs::read(&this).map(sha256).map_err(failed(&this))
}

/// Digest of a file that a scenario names.
///
/// # Errors
/// [`IdentityError::Input`].
fn input(path: &Path) -> Result<String, IdentityError> {
    read_file(path, MAX_TRACE_BYTES)
        .map(sha256)
        .map_err(|source| IdentityError::Input { path: path.to_owned(), source })
}

/// Digests of the files that a scenario names, by path as it is in the scenario; relative paths refer to
/// `directory`.
///
/// # Errors
/// [`IdentityError::Input`] for the first file that cannot be read.
pub(super) fn inputs(
    scenario: &Value,
    directory: &Path,
) -> Result<BTreeMap<String, String>, IdentityError> {
    let digest = |path: &str| Ok((path.to_owned(), input(&directory.join(path))?));
    input_paths(scenario).into_iter().map(digest).collect()
}

/// The paths of the files that a scenario names: the values of all keys named `path`.
fn input_paths(scenario: &Value) -> Vec<&str> {
    let mut paths = Vec::new();
    collect_paths(scenario, &mut paths);
    paths
}

fn collect_paths<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(path) if key == "path" => found.push(path),
                    _ => collect_paths(inner, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| collect_paths(inner, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_input_file_changes_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = json!({"ues": [{"channel": {"mahimahi": {"path": "trace"}}}]});
        let error = inputs(&scenario, folder.path()).unwrap_err();
        assert!(error.to_string().contains("trace"), "{error}");
        let digest = |text: &str| {
            std::fs::write(folder.path().join("trace"), text).unwrap();
            inputs(&scenario, folder.path()).unwrap()["trace"].clone()
        };
        assert_eq!(digest("1\n"), digest("1\n"));
        assert_ne!(digest("1\n"), digest("2\n"));
    }

    #[test]
    fn inputs_are_exactly_the_files_that_a_scenario_names() {
        let scenario = json!({"name": "a", "ues": [{"channel": {"mahimahi": {"path": "b"}}},
            {"channel": {"ucc": {"path": "c", "column": "d"}}}]});
        assert_eq!(input_paths(&scenario), ["b", "c"]);
    }

    #[test]
    fn digests_are_those_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(""), empty);
        assert_eq!(program().unwrap().len(), 64);
    }
}
