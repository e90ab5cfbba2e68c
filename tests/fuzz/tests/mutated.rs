//! Mutations of the committed inputs pass their targets.

use std::path::Path;

use sojourn_fuzz::{ALL, inputs};

// One test, in a process of its own: memory is counted over the whole process.
#[test]
fn no_mutated_input_is_a_finding() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let findings = inputs::mutated_findings(ALL, Path::new(env!("CARGO_MANIFEST_DIR")), out);
    assert!(findings.is_empty(), "{findings:#?}");
}
