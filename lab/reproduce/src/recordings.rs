//! Recorded radios under `--traces`.

use std::fs;
use std::path::{Path, PathBuf};

use lab_scenario::{MAX_TRACE_BYTES, read_bounded};
use serde_json::{Value, json};

use super::ReproduceError;
use super::identity::IdentityError;

/// The absolute path of a recording, since a relative one would refer to the folder of a scenario;
/// `Ok(Err)` says which is missing.
///
/// # Errors
/// [`ReproduceError::Io`] if the working directory is unknown.
pub(super) fn recording(
    folder: Option<&Path>,
    name: &str,
    file: &str,
) -> Result<Result<PathBuf, String>, ReproduceError> {
    let Some(folder) = folder else {
        let why = format!("the recording of {name}, {file}; name its folder with --traces");
        return Ok(Err(why));
    };
    let path = folder.join(file);
    if !path.is_file() {
        return Ok(Err(format!("{} is not there", path.display())));
    }
    std::path::absolute(&path).map(Ok).map_err(ReproduceError::io(&path))
}

/// The recorded radios in a folder and its subfolders, each as its name and the channel of a
/// scenario: Mahimahi traces, and CSV with a column CQI as in UCC's 5G data set. Other files are
/// left out.
///
/// # Errors
/// [`ReproduceError`] if a folder or file cannot be read.
pub(super) fn radios(folder: &Path) -> Result<Vec<(String, Value)>, ReproduceError> {
    let mut folders = vec![folder.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(ReproduceError::io(&folder))? {
            let path = entry.map_err(ReproduceError::io(&folder))?.path();
            let list = if path.is_dir() { &mut folders } else { &mut files };
            list.push(path);
        }
    }
    files.sort();
    let mut radios = Vec::new();
    for file in files {
        let bytes = read_bounded(&file, MAX_TRACE_BYTES).map_err(|source| {
            ReproduceError::Identity(IdentityError::Input { path: file.clone(), source })
        })?;
        let path = std::path::absolute(&file).map_err(ReproduceError::io(&file))?;
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        let channel = if first.trim().parse::<u32>().is_ok() {
            json!({ "mahimahi": { "path": path } })
        } else if first.trim().split(',').any(|column| column == "CQI") {
            json!({ "ideal": { "ucc_csv": { "path": path, "column": "cqi" } } })
        } else {
            continue;
        };
        let within = file.strip_prefix(folder).unwrap_or(&file);
        radios.push((within.display().to_string(), channel));
    }
    Ok(radios)
}
