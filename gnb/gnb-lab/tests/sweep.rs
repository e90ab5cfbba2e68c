//! `gnb-lab sweep` and `gnb-lab compare` as processes.

// clippy.toml allows these in test functions; functions that tests share are tests as well.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn gnb_lab(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gnb-lab")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn default() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml")
}

#[test]
fn a_sweep_is_resumed_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (scenario, out) = (default().to_str().unwrap().to_owned(), path("sweep"));
    let sweep = |seeds: &str| {
        gnb_lab(&[
            "sweep",
            &scenario,
            "--over",
            "ues[*].drbs[*].pipeline=transparent,sojourn",
            "--seeds",
            seeds,
            "--duration",
            "1",
            "--jobs",
            "2",
            "--out",
            &out,
        ])
    };
    let (code, stdout, stderr) = sweep("1");
    assert_eq!((code, stderr.as_str()), (0, ""), "no terminal, no progress");
    assert_eq!(stdout, format!("2 runs; written to {out}\n"));
    let (_, stdout, _) = sweep("2");
    assert_eq!(stdout, format!("4 runs, 2 of them finished before; written to {out}\n"));

    let (json, html) = (path("compare.json"), path("compare.html"));
    let (code, stdout, stderr) = gnb_lab(&["compare", &out, "--json", &json, "--html", &html]);
    assert_eq!(code, 0, "{stderr}");
    for said in ["flow bulk", "pipeline=sojourn", "difference", "mean of up to 2 seeds"] {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert!(rows.iter().any(|row| row["measure"] == "sojourn_p95_ms" && row["seeds"] == 2));
    assert!(std::fs::read_to_string(html).unwrap().contains("<svg"));
}

#[test]
fn bad_axes_are_one_line_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (scenario, folder) = (default(), out.to_str().unwrap().to_owned());
    let scenario = scenario.to_str().unwrap();
    for (over, said) in [
        ("cell.msc=4", "--over: cell.msc: unknown key 'msc'; expected one of"),
        ("cell.n_prb=1..275", "275 values and 50 seeds are 13750 runs; at most 10000"),
        ("cell.n_prb=999", "--over: cell.n_prb: 999 is outside 1..=275"),
    ] {
        let (code, stdout, stderr) =
            gnb_lab(&["sweep", scenario, "--over", over, "--seeds", "50", "--out", &folder]);
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (2, "", 1), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
        assert!(!out.exists(), "nothing is written for a bad axis");
    }
    let (code, _, stderr) = gnb_lab(&["compare", &folder]);
    assert_eq!(code, 2);
    assert!(stderr.contains("expected the folder of a run or a sweep"), "{stderr}");
}

#[test]
fn failed_runs_make_the_exit_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    let over = "ues[0].channel={fixed_mcs: 9},{mahimahi: {path: no-such-trace}}";
    let scenario = default();
    let arguments = ["sweep", scenario.to_str().unwrap(), "--over", over, "--duration", "0.5"];
    let (code, stdout, stderr) = gnb_lab(&[&arguments[..], &["--out", &out]].concat());
    assert_eq!(code, 1, "{stderr}");
    assert!(stdout.starts_with("2 runs; written to "), "{stdout}");
    assert!(stderr.contains("1 of 2 runs failed") && stderr.contains("no-such-trace"), "{stderr}");
}
