//! The service models that the agent loads.
//!
//! The agent offers every service model of its folder and calls functions for each, but this node
//! serves four, and E2SM-TC v1 where it is in the folder: a near-RT RIC without it aborts. They are linked into a folder of their own, from an installed FlexRIC or from its
//! build tree, where each has a separate folder.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// The service models that this node serves.
pub const SERVICE_MODELS: [&str; 4] = ["mac", "rlc", "tc", "kpm"];

/// E2SM-TC v1 as a service model of FlexRIC, which may be among them: `gateway/flexric/service-model`.
pub const TC_V1: &str = "sojourn_tc";

/// FlexRIC's buffer for the path, with the final NUL.
const PATH_BYTES: usize = 128;
/// Depth of the folders of service models in a build tree.
const DEPTH: usize = 5;

/// Why the service models cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibrariesError {
    /// A service model is missing.
    #[error(
        "--libraries {}: there is no lib{model}_sm.so; expected FlexRIC's service models, as in \
         /usr/local/lib/flexric/ or its build tree",
        folder.display()
    )]
    Missing {
        /// The folder searched.
        folder: PathBuf,
        /// Its file name.
        model: &'static str,
    },
    /// A path is too long for FlexRIC.
    #[error("{path:?} is too long; FlexRIC holds {} bytes of it", PATH_BYTES - 1)]
    TooLong {
        /// The path.
        path: String,
    },
    /// A service model of another build of FlexRIC: its structures may differ.
    #[error(
        "{}: is of another build of FlexRIC (build ID {}) than this node was compiled for ({}); \
         `make flexric-node` with its FLEXRIC_SRC and FLEXRIC_BUILD",
        path.display(), shown(found), shown(expected)
    )]
    Foreign {
        /// The service model.
        path: PathBuf,
        /// Its GNU build ID; empty if it has none.
        found: String,
        /// The GNU build ID that this node was compiled for.
        expected: String,
    },
    /// The links cannot be created.
    #[error("{}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Links the service models found below `from` into the folder `into`; returns its name with the
/// final slash that FlexRIC requires.
///
/// `is_ours` refuses, by GNU build ID, a service model that this node was not compiled for.
///
/// # Errors
/// When a service model is missing or refused, or a path is unusable or too long.
pub fn gather(
    from: &Path,
    into: &Path,
    is_ours: impl Fn(&'static str, &Path) -> Result<(), LibrariesError>,
) -> Result<String, LibrariesError> {
    for model in SERVICE_MODELS.into_iter().chain([TC_V1]) {
        let name = format!("lib{model}_sm.so");
        let found = match find(from, &name, DEPTH) {
            Some(found) => found,
            None if model == TC_V1 => continue,
            None => return Err(LibrariesError::Missing { folder: from.to_owned(), model }),
        };
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

/// Checks that a service model is of the FlexRIC build that this node was compiled for: FlexRIC
/// checks no sizes and aborts at the first report with other structures.
///
/// # Errors
/// When it is of another build, or cannot be read.
#[cfg(feature = "flexric")]
pub fn as_compiled(model: &'static str, path: &Path) -> Result<(), LibrariesError> {
    let expected = match model {
        "mac" => env!("FLEXRIC_MAC_SM"),
        "rlc" => env!("FLEXRIC_RLC_SM"),
        "tc" => env!("FLEXRIC_TC_SM"),
        TC_V1 => return made_for(path, env!("FLEXRIC_TC_SM")),
        _ => env!("FLEXRIC_KPM_SM"),
    };
    let found = crate::build_id::build_id(path)
        .map_err(|source| LibrariesError::Io { path: path.to_owned(), source })?;
    if found == expected {
        return Ok(());
    }
    Err(LibrariesError::Foreign { path: path.to_owned(), found, expected: expected.to_owned() })
}

/// Checks the mark of E2SM-TC v1's service model: the build ID of FlexRIC's own TC service model.
#[cfg(feature = "flexric")]
fn made_for(path: &Path, expected: &str) -> Result<(), LibrariesError> {
    let io = |source| LibrariesError::Io { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(io)?;
    let found = mark(&bytes).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    Err(LibrariesError::Foreign { path: path.to_owned(), found, expected: expected.to_owned() })
}

/// What follows `SOJOURN_TC_MADE_FOR=` in a service model, up to a NUL.
#[cfg(any(feature = "flexric", test))]
fn mark(bytes: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"SOJOURN_TC_MADE_FOR=";
    let at = bytes.windows(MARK.len()).position(|window| window == MARK)?;
    let value = bytes[at + MARK.len()..].split(|byte| *byte == 0).next()?;
    String::from_utf8(value.to_vec()).ok()
}

fn shown(build_id: &str) -> &str {
    match build_id.get(..12) {
        Some(start) => start,
        None if build_id.is_empty() => "none",
        None => build_id,
    }
}

/// The file of this name nearest to `folder`. Unreadable folders are skipped.
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
    fn tc_v1_is_gathered_where_it_is() {
        let tree = build_tree(&["mac", "rlc", "tc", "kpm", "sojourn_tc"]);
        let into = tempfile::tempdir().expect("a folder");
        gather(tree.path(), into.path(), any).expect("all are there");
        let link = into.path().join("libsojourn_tc_sm.so");
        assert_eq!(fs::read_to_string(link).expect("a link"), "sojourn_tc");
    }

    #[test]
    fn the_mark_of_a_service_model_is_found() {
        assert_eq!(mark(b"\x7fELF..SOJOURN_TC_MADE_FOR=45ab\0rest").as_deref(), Some("45ab"));
        assert_eq!(mark(b"\x7fELF"), None);
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
