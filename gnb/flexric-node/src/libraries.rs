//! The service models that the agent loads.
//!
//! The agent offers every service model of the folder it is given and calls functions for each, but
//! this node serves four. They are gathered from an installed FlexRIC or from its build tree, where
//! each has a folder of its own, by links in a folder that holds nothing else.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// What this node serves.
pub const SERVICE_MODELS: [&str; 4] = ["mac", "rlc", "tc", "kpm"];

/// FlexRIC keeps the path in so many bytes, with its end.
const PATH_BYTES: usize = 128;
/// How deep service models lie below a build tree.
const DEPTH: usize = 5;

/// Why there are no service models.
#[derive(Debug, thiserror::Error)]
pub enum LibrariesError {
    /// One is missing.
    #[error(
        "--libraries {}: there is no lib{model}_sm.so; expected FlexRIC's service models, as in \
         /usr/local/lib/flexric/ or its build tree",
        folder.display()
    )]
    Missing {
        /// Where it was looked for.
        folder: PathBuf,
        /// Which.
        model: &'static str,
    },
    /// A path that FlexRIC cannot hold.
    #[error("{path:?} is too long; FlexRIC holds {} bytes of it", PATH_BYTES - 1)]
    TooLong {
        /// The path.
        path: String,
    },
    /// One of another build than this node was compiled for: its structures may differ.
    #[error(
        "{}: is of another build of FlexRIC (build ID {}) than this node was compiled for ({}); \
         `make flexric-node` with its FLEXRIC_SRC and FLEXRIC_BUILD",
        path.display(), shown(found), shown(expected)
    )]
    Foreign {
        /// The service model.
        path: PathBuf,
        /// GNU build ID that it has; empty for none.
        found: String,
        /// The one that was there when this node was compiled.
        expected: String,
    },
    /// The links cannot be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Links what this node serves from below `from` into the folder `into`, and gives its name as
/// FlexRIC wants it: with a slash at its end.
///
/// `is_ours` refuses one that this node was not compiled for, by its GNU build ID.
///
/// # Errors
/// When a service model is missing or refused, or a path cannot be had or held.
pub fn gather(
    from: &Path,
    into: &Path,
    is_ours: impl Fn(&'static str, &Path) -> Result<(), LibrariesError>,
) -> Result<String, LibrariesError> {
    for model in SERVICE_MODELS {
        let name = format!("lib{model}_sm.so");
        let found = find(from, &name, DEPTH)
            .ok_or_else(|| LibrariesError::Missing { folder: from.to_owned(), model })?;
        let io = |source| LibrariesError::Io { path: found.clone(), source };
        let target = fs::canonicalize(&found).map_err(io)?;
        is_ours(model, &target)?;
        let link = into.join(name);
        symlink(target, &link).map_err(|source| LibrariesError::Io { path: link, source })?;
    }
    let path = format!("{}/", into.display());
    if path.len() >= PATH_BYTES {
        return Err(LibrariesError::TooLong { path });
    }
    Ok(path)
}

/// Whether a service model is of the build of FlexRIC that this node was compiled for: FlexRIC checks
/// no sizes, and ends at the first report of another's structures.
///
/// # Errors
/// When it is of another, or cannot be read.
#[cfg(feature = "flexric")]
pub fn as_compiled(model: &'static str, path: &Path) -> Result<(), LibrariesError> {
    let expected = match model {
        "mac" => env!("FLEXRIC_MAC_SM"),
        "rlc" => env!("FLEXRIC_RLC_SM"),
        "tc" => env!("FLEXRIC_TC_SM"),
        _ => env!("FLEXRIC_KPM_SM"),
    };
    let found = crate::build_id::build_id(path)
        .map_err(|source| LibrariesError::Io { path: path.to_owned(), source })?;
    if found == expected {
        return Ok(());
    }
    Err(LibrariesError::Foreign { path: path.to_owned(), found, expected: expected.to_owned() })
}

fn shown(build_id: &str) -> &str {
    match build_id.get(..12) {
        Some(start) => start,
        None if build_id.is_empty() => "none",
        None => build_id,
    }
}

/// The file of this name nearest to `folder`. What cannot be looked into holds nothing.
fn find(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    let here = folder.join(name);
    if here.is_file() {
        return Some(here);
    }
    if depth == 0 {
        return None;
    }
    let mut below: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    below.iter().find_map(|folder| find(folder, name, depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_tree(models: &[&str]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().expect("a folder");
        for model in models {
            let folder = tree.path().join(format!("src/sm/{model}_sm"));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(format!("lib{model}_sm.so")), model).expect("a file");
        }
        tree
    }

    fn any(_model: &'static str, _path: &Path) -> Result<(), LibrariesError> {
        Ok(())
    }

    #[test]
    fn one_of_another_build_is_refused_and_nothing_is_linked() {
        let tree = build_tree(&["mac", "rlc", "tc", "kpm"]);
        let into = tempfile::tempdir().expect("a folder");
        let error = gather(tree.path(), into.path(), |model, path| {
            assert_eq!(model, "mac");
            let (found, expected) = ("45ab23aa77e446c94fb8".to_owned(), String::new());
            Err(LibrariesError::Foreign { path: path.to_owned(), found, expected })
        })
        .expect_err("refused")
        .to_string();
        assert!(
            error.contains("libmac_sm.so: is of another build of FlexRIC (build ID 45ab23aa77e4)")
                && error.contains("(none)"),
            "{error}"
        );
        assert_eq!(fs::read_dir(into.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn what_is_served_is_gathered_and_nothing_else() {
        let tree = build_tree(&["mac", "rlc", "tc", "kpm", "pdcp", "rc"]);
        let into = tempfile::tempdir().expect("a folder");
        let path = gather(tree.path(), into.path(), any).expect("all are there");
        assert!(path.ends_with('/'));
        let mut names: Vec<String> = fs::read_dir(&path)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["libkpm_sm.so", "libmac_sm.so", "librlc_sm.so", "libtc_sm.so"]);
        assert_eq!(fs::read_to_string(into.path().join("libtc_sm.so")).expect("a link"), "tc");
    }

    #[test]
    fn what_is_missing_is_named() {
        let tree = build_tree(&["mac", "rlc", "kpm"]);
        let into = tempfile::tempdir().expect("a folder");
        let error = gather(tree.path(), into.path(), any).expect_err("no TC").to_string();
        assert!(
            error.contains("libtc_sm.so") && error.contains("/usr/local/lib/flexric/"),
            "{error}"
        );
    }

    #[test]
    fn a_path_that_flexric_cannot_hold_is_refused() {
        let tree = build_tree(&["mac", "rlc", "tc", "kpm"]);
        let parent = tempfile::tempdir().expect("a folder");
        let into = parent.path().join("x".repeat(PATH_BYTES));
        fs::create_dir(&into).expect("a folder");
        let error = gather(tree.path(), &into, any).expect_err("too long").to_string();
        assert!(error.contains("127 bytes"), "{error}");
    }
}
