//! Every committed input passes its target: what fuzzing starts from, and what once was a finding.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use sojourn_fuzz::{ALL, Target, check};

fn inputs(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{}: {} inputs", folder.display(), files.len());
    files
}

// One test: memory is counted over the whole process.
#[test]
fn no_input_is_a_finding() {
    let mut findings = Vec::new();
    for target in ALL {
        for file in inputs(target) {
            let input = fs::read(&file).unwrap();
            assert!(input.len() <= target.max_bytes, "{}", file.display());
            if catch_unwind(|| check(target, &input)).is_err() {
                findings.push(file);
            }
        }
    }
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn every_target_has_its_program_and_every_folder_its_target() {
    for folder in ["fuzzers", "corpus"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut found: Vec<String> =
            fs::read_dir(&folder).unwrap().map(|entry| stem(entry.unwrap().path())).collect();
        let mut names: Vec<&str> = ALL.iter().map(|target| target.name).collect();
        found.sort();
        names.sort_unstable();
        assert_eq!(found, names, "{}", folder.display());
    }
}
