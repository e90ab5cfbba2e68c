//! Files of the papers and their scenarios, embedded in the program.

use lab_scenario::parse_yaml;
use serde::de::DeserializeOwned;

use super::ReproduceError;

/// Names and texts of all files of papers and of their scenarios.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Names of the papers.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(path, _)| {
        path.strip_prefix("papers/").and_then(|rest| rest.strip_suffix("/paper.yaml"))
    })
}

/// The text of a scenario of a paper.
///
/// # Errors
/// A message with the known scenarios.
pub(super) fn scenario(paper: &str, file: &str) -> Result<&'static str, String> {
    let folder = format!("scenarios/{paper}/");
    let path = format!("{folder}{file}");
    let own = || FILES.iter().filter(|(known, _)| known.starts_with(&folder));
    own().find(|(known, _)| *known == path).map(|(_, text)| *text).ok_or_else(|| {
        let known: Vec<&str> = own().map(|(known, _)| &known[folder.len()..]).collect();
        format!("no scenario '{file}'; there are {}", known.join(", "))
    })
}

/// The document in a file of a paper.
///
/// # Errors
/// [`ReproduceError::Paper`] with the place of what is wrong in it.
pub(super) fn document<T: DeserializeOwned>(path: &str) -> Result<T, ReproduceError> {
    let missing = || ReproduceError::paper(path, "", "no such file");
    let (_, text) = FILES.iter().find(|(known, _)| *known == path).ok_or_else(missing)?;
    parse_yaml(text).map_err(|error| ReproduceError::paper(path, "", error))
}

/// Number of files in a folder.
#[cfg(test)]
pub(super) fn files_in(folder: &str) -> usize {
    FILES.iter().filter(|(path, _)| path.starts_with(folder)).count()
}
