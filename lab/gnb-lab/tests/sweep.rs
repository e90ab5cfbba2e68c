//! `gnb-lab sweep` and `gnb-lab compare` as processes.

// clippy.toml allows these in test functions; functions that tests share are tests as well.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

fn gnb_lab(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gnb-lab")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Runs the program with text on stdin.
fn gnb_lab_with(arguments: &[&str], stdin: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gnb-lab"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
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
            "ues[*].drbs[*].pipeline=transparent,low_latency",
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
    for said in ["flow bulk", "pipeline=low_latency", "difference", "mean of up to 2 seeds"] {
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
fn what_a_terminal_obeys_is_escaped_in_errors_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("s.yaml"), folder.path().join("out"));
    let run = |scenario: &str| {
        std::fs::write(&file, scenario).unwrap();
        let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
        gnb_lab(&["run", file, "--duration", "0.1", "--out", out])
    };
    let (code, _, stderr) = run("\"\\e[31m\\u202eX\": 1\n");
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("\\x1b[31m\\u202eX: unknown key"), "{stderr}");
    assert!(!stderr.contains(['\u{1b}', '\u{202e}']), "{stderr}");
    let text = std::fs::read_to_string(default()).unwrap();
    let (code, stdout, stderr) = run(&text.replace("name: bulk", "name: \"bu\\e[2Jlk\""));
    assert_eq!((code, stdout.contains('\u{1b}')), (0, false), "{stderr}{stdout}");
    assert!(stdout.contains("bu\\x1b[2Jlk"), "{stdout}");
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

#[test]
fn a_run_made_elsewhere_is_one_that_the_sweep_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (scenario, out) = (default().to_str().unwrap().to_owned(), path("sweep"));
    let trace = path("link.trace");
    std::fs::write(&trace, "1\n3\n5\n").unwrap();
    let set = format!("ues[0].channel={{mahimahi: {{path: {trace}}}}}");
    let arguments =
        ["sweep", &scenario, "--set", &set, "--seeds", "2", "--duration", "0.5", "--out", &out];
    let (code, orders, stderr) = gnb_lab(&[&arguments[..], &["--missing"]].concat());
    assert_eq!((code, stderr.as_str(), orders.lines().count()), (0, "", 2));

    let order = orders.lines().next().unwrap();
    let parsed: Value = serde_json::from_str(order).unwrap();
    let (input, made) = (&parsed["inputs"][0], parsed["folder"].as_str().unwrap());
    let inputs = folder.path().join("inputs");
    std::fs::create_dir(&inputs).unwrap();
    let there = inputs.join(input["name"].as_str().unwrap());
    std::fs::copy(input["source"].as_str().unwrap(), &there).unwrap();
    let make = |order: &str| {
        let inputs = inputs.to_str().unwrap();
        gnb_lab_with(&["sweep-run", "--inputs", inputs, "--out", made], order)
    };
    let (code, stdout, stderr) = make(order);
    assert_eq!((code, stdout, stderr.as_str()), (0, format!("1 run; written to {made}\n"), ""));
    let (code, stdout, _) = gnb_lab(&arguments);
    assert_eq!(code, 0);
    assert_eq!(stdout, format!("2 runs, 1 of them finished before; written to {out}\n"));

    let mut other = parsed.clone();
    other["program"] = "0".repeat(64).into();
    let (code, _, stderr) = make(&other.to_string());
    assert_eq!(code, 1);
    assert!(stderr.contains("this gnb-lab is another build than that of the sweep"), "{stderr}");
    std::fs::write(&there, "1\n").unwrap();
    let (code, _, stderr) = make(order);
    assert_eq!(code, 1);
    assert!(stderr.contains("not that of its scenario and input files"), "{stderr}");
    let (code, _, stderr) = make("{}");
    assert_eq!(code, 1);
    assert!(stderr.contains("order of a run: missing field"), "{stderr}");
}
