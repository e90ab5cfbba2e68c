//! `gnb-lab sweep`, `sweep-run` and `compare` hand over to another program.

// clippy.toml allows these in test functions; functions that tests share are tests as well.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn gnb_lab(arguments: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gnb-lab")).args(arguments).env("PATH", path).output().unwrap()
}

#[test]
fn arguments_and_exit_status_are_those_of_the_other_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("gnb-lab-sweeps");
    std::fs::write(&program, "#!/bin/sh\necho \"$*\"\nexit 2\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for arguments in [
        &["sweep", "--help"][..],
        &["sweep", "s.yaml", "--over", "a=-1", "--log-level", "x", "-h"],
        &["--log-level", "error", "compare", "out"],
        &["sweep-run", "--out", "--", "a"],
    ] {
        let done = gnb_lab(arguments, folder.path());
        assert_eq!(String::from_utf8(done.stdout).unwrap(), arguments.join(" ") + "\n");
        assert_eq!(done.status.code(), Some(2));
    }
}

#[test]
fn without_the_other_program_one_line_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let done = gnb_lab(&["compare", "out"], folder.path());
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("gnb-lab[sweeps]"), "{said}");
    let help = String::from_utf8(gnb_lab(&["--help"], folder.path()).stdout).unwrap();
    for command in ["sweep", "sweep-run", "compare"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
}
