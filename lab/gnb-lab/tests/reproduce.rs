//! `gnb-lab reproduce` as a process: choices, rows, plots and report.

// clippy.toml allows these in test functions; functions that tests share are tests as well.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

fn gnb_lab(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gnb-lab")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_command_line_names_the_choices() {
    let (code, stdout, _) = gnb_lab(&["reproduce", "--list"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("irazabal2021") && stdout.contains("Table 2"), "{stdout}");
    for (arguments, said) in [
        (&["reproduce", "x"][..], "no paper 'x'; there are "),
        (&["reproduce", "irazabal2021", "--experiment", "x"], "it has static"),
        (&["reproduce", "all", "--experiment", "static"], "--experiment belongs to one paper"),
    ] {
        let (code, _, stderr) = gnb_lab(arguments);
        assert_eq!((code, stderr.lines().count()), (2, 1), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}

#[test]
fn the_command_line_writes_rows_plots_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let rows = folder.path().join("rows.json");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (code, stdout, stderr) = gnb_lab(&[
        "reproduce",
        "irazabal2021",
        "--experiment",
        "static",
        "--repeats",
        "1",
        "--out",
        &path(&out),
        "--json",
        &path(&rows),
    ]);
    assert_eq!(code, 0, "{stderr}");
    for said in ["paper", "here", "ratio", "seed 1", "e5G-BDP", "--repeats 1"] {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    let paper = out.join("irazabal2021");
    assert_eq!(fs::read(&rows).unwrap(), fs::read(paper.join("rows.json")).unwrap());
    let page = fs::read_to_string(paper.join("report.html")).unwrap();
    assert!(page.matches("<svg").count() >= 3 && page.contains("200 µs"));
    assert!(fs::read_to_string(paper.join("static-1.svg")).unwrap().starts_with("<svg"));
}
