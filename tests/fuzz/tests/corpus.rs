//! Every committed input passes its target: what fuzzing starts from, and what once was a finding.

use std::path::Path;

use sojourn_fuzz::{ALL, inputs};

// One test: memory is counted over the whole process.
#[test]
fn no_input_is_a_finding() {
    let findings = inputs::committed_findings(ALL, Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn every_target_has_its_program_and_every_folder_its_target() {
    inputs::assert_complete(ALL, Path::new(env!("CARGO_MANIFEST_DIR")));
}
