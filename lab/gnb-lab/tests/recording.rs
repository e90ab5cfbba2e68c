//! `gnb-lab run` and what it leaves behind.

// clippy.toml allows these in test functions; functions that tests share are tests as well.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;

/// The committed scenarios.
fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("gnb-lab-{name}-{}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gnb_lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gnb-lab")).args(arguments).output().unwrap()
}

fn run(scenario: &Path, out: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["run", scenario.to_str().unwrap(), "--out", out.to_str().unwrap()];
    arguments.extend(more);
    gnb_lab(&arguments)
}

fn table(path: &Path) -> SerializedFileReader<std::fs::File> {
    SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap()
}

#[test]
fn a_run_leaves_summary_tables_and_report() {
    let out = Folder::new("run");
    let scenario = scenarios().join("default.yaml");
    let more = ["--duration", "2.5", "--seed", "9", "--packets", "--set", "cell.n_prb=51"];
    let output = run(&scenario, &out.0, &more);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "no terminal, no progress: {output:?}");
    let shown = String::from_utf8(output.stdout).unwrap();
    for word in ["bulk", "ping", "voip", "transparent", "used RBs"] {
        assert!(shown.contains(word), "{shown}");
    }

    let text = std::fs::read_to_string(out.0.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&summary["seed"], &summary["duration_s"]), (&9.into(), &2.5.into()));
    assert_eq!(summary["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(summary["flows"][1]["name"], "ping");
    assert!(summary["flows"][1]["rtt_ms"]["p95"].as_f64().unwrap() > 5.0);

    let bearers = table(&out.0.join("bearers.parquet"));
    assert_eq!(bearers.metadata().file_metadata().num_rows(), 2501);
    let last = bearers.get_row_iter(None).unwrap().last().unwrap().unwrap();
    assert_eq!((last.get_long(0).unwrap(), last.get_long(1).unwrap()), (2_500_000, 17921));
    assert_eq!(last.get_long(11).unwrap(), summary["bearers"][0]["drained_bytes"]);

    let packets = table(&out.0.join("packets.parquet"));
    let rows = packets.metadata().file_metadata().num_rows();
    assert_eq!(rows, summary["bearers"][0]["drained_packets"]);
    for row in packets.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let times: Vec<i64> = (4..9).map(|column| row.get_long(column).unwrap()).collect();
        assert!(times.is_sorted(), "sent, SDAP, RLC, MAC, UE: {times:?}");
    }

    let flows = table(&out.0.join("flows.parquet"));
    let row = flows.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(row.get_string(0).unwrap(), "bulk");

    let page = std::fs::read_to_string(out.0.join("report.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    assert!(!page.contains("RPM"), "no test of responsiveness runs");
    assert!(!page.contains("http-equiv") && !page.contains("<script"), "nothing is fetched");
}

#[test]
fn a_report_has_the_scores_of_a_test_of_responsiveness_beside_the_delays() {
    let scenario = scenarios().join("responsiveness.yaml");
    let out = Folder::new("rpm");
    let test = "flows[0].responsiveness={interval_ms: 500}";
    let output = run(&scenario, &out.0, &["--duration", "3", "--set", test]);
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(out.0.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let app = &summary["flows"][0]["app"];
    let [rpm, foreign, loaded] = ["rpm", "foreign_rpm", "loaded_rpm"]
        .map(|name| format!("<td>{:.0}</td>", app[name].as_f64().unwrap()));
    let page = std::fs::read_to_string(out.0.join("report.html")).unwrap();
    assert!(page.contains("<th>RPM</th><th>foreign</th><th>loaded</th>"));
    assert!(page.contains(&format!("{rpm}{foreign}{loaded}</tr>")), "{page}");
    assert!(page.contains("rpm self probe"), "a line of the plot of delays");
}

/// All files of a folder by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn the_same_seed_writes_the_same_bytes_wherever_they_are_written() {
    let scenario = scenarios().join("irazabal2021/e5g_bdp.yaml");
    let [first, second, third] = ["same-a", "same-b", "other"].map(Folder::new);
    let folders = [first.0.clone(), second.0.join("in/another"), third.0.clone()];
    for (folder, seed) in folders.iter().zip(["3", "3", "4"]) {
        let more = ["--duration", "7", "--seed", seed, "--packets", "--format"];
        let output = run(&scenario, folder, &[&more[..], &["parquet,csv,json,flent"]].concat());
        assert!(output.status.success(), "{output:?}");
    }
    let [a, b, other] = folders.map(|folder| files(&folder));
    let names: Vec<&str> = a.keys().map(String::as_str).collect();
    let tables = ["bearers", "flows", "packets"];
    let mut expected: Vec<String> = tables
        .iter()
        .flat_map(|table| ["csv", "json", "parquet"].map(|format| format!("{table}.{format}")))
        .chain(["curves.json", "flows.flent.gz", "report.html", "summary.json"].map(String::from))
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{name} differs between two runs of one seed");
        assert!(*bytes != other[name], "{name} does not depend on the seed");
    }
}

#[test]
fn tables_have_the_same_rows_in_every_format() {
    let out = Folder::new("formats");
    let more = ["--duration", "1", "--format", "json,csv,parquet"];
    let output = run(&scenarios().join("default.yaml"), &out.0, &more);
    assert!(output.status.success(), "{output:?}");
    let text = |name: &str| std::fs::read_to_string(out.0.join(name)).unwrap();
    for name in ["bearers", "flows"] {
        let rows: Vec<Value> = serde_json::from_str(&text(&format!("{name}.json"))).unwrap();
        let parquet = table(&out.0.join(format!("{name}.parquet")));
        assert_eq!(rows.len() as i64, parquet.metadata().file_metadata().num_rows(), "{name}");
        assert_eq!(rows.len() + 1, text(&format!("{name}.csv")).lines().count(), "{name}");
    }
    let rows: Vec<Value> = serde_json::from_str(&text("bearers.json")).unwrap();
    let last = table(&out.0.join("bearers.parquet"));
    let last = last.get_row_iter(None).unwrap().last().unwrap().unwrap();
    assert_eq!(rows.last().unwrap()["drained_bytes"], last.get_long(11).unwrap());
    assert!(rows[0]["pacer_limit_bytes"].is_null());

    let output = run(&scenarios().join("default.yaml"), &out.0, &["--format", "xlsx"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("no such format; expected one of parquet, csv, json, flent"), "{error}");
}

#[test]
fn bad_input_is_one_line_and_exit_code_2() {
    let out = Folder::new("bad");
    let default = scenarios().join("default.yaml");
    let missing = Path::new("no-such.yaml");
    let table: [(&Path, &[&str], &str); 4] = [
        (missing, &[], "no-such.yaml: cannot be opened"),
        (&default, &["--set", "flows[0].kind=tpc"], "flows[0].kind: unknown value 'tpc'"),
        (&default, &["--set", "flows[9].kind=tcp"], "--set: flows[9].kind: [9] is not there"),
        (&default, &["--duration", "-1"], "expected 0.001 to 1000000 s"),
    ];
    for (scenario, more, expected) in table {
        let output = run(scenario, &out.0, more);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(output.stdout.is_empty());
        assert!(!out.0.exists(), "nothing is written for a bad scenario");
    }
}

#[test]
fn a_run_whose_recording_cannot_be_written_prints_its_summary_and_fails() {
    let out = Folder::new("unwritable");
    let blocked = out.0.join("flows.parquet");
    std::fs::create_dir_all(&blocked).unwrap();
    let output = run(&scenarios().join("default.yaml"), &out.0, &["--duration", "1"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with(&format!("gnb-lab: {}: ", blocked.display())), "{error}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("used RBs"));
}

#[test]
fn every_command_has_an_example_and_a_log_level_in_its_help() {
    let help = |arguments: &[&str]| {
        let output = gnb_lab(&[arguments, &["--help"]].concat());
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for expected in ["Example:\n  ", "Logging:", "--log-level", "RUST_LOG"] {
            assert!(text.contains(expected), "{arguments:?}: {expected:?} is not in {text}");
        }
        text
    };
    let top = help(&[]);
    let (_, commands) = top.split_once("Commands:\n").unwrap();
    let commands: Vec<&str> =
        commands.lines().map_while(|line| line.split_whitespace().next()).collect();
    let expected = [
        "run",
        "sweep",
        "sweep-run",
        "compare",
        "serve",
        "live",
        "link",
        "reproduce",
        "replay-aqm",
        "schema",
        "help",
    ];
    assert_eq!(commands, expected);
    // Those of another program have their help there.
    let others = ["sweep", "sweep-run", "compare", "help"];
    for command in commands.into_iter().filter(|command| !others.contains(command)) {
        help(&[command]);
    }
}

#[test]
fn the_schema_is_printed_and_accepts_the_committed_scenarios_keys() {
    let output = gnb_lab(&["schema", "scenario"]);
    assert!(output.status.success());
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["title"], "Sojourn scenario");
}

#[test]
fn replay_answers_on_stdout() {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_gnb-lab"))
        .arg("replay-aqm")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"not json\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["error"].is_string(), "{answer}");
}

#[test]
fn what_a_terminal_obeys_is_escaped_in_errors_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("s.yaml"), folder.path().join("out"));
    let run = |scenario: &str| {
        std::fs::write(&file, scenario).unwrap();
        let output = run(&file, &out, &["--duration", "0.1"]);
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
        (output.status.code(), stdout, stderr)
    };
    let (code, _, stderr) = run("\"\\e[31m\\u202eX\": 1\n");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("\\x1b[31m\\u202eX: unknown key"), "{stderr}");
    assert!(!stderr.contains(['\u{1b}', '\u{202e}']), "{stderr}");
    let text = std::fs::read_to_string(scenarios().join("default.yaml")).unwrap();
    let (code, stdout, stderr) = run(&text.replace("name: bulk", "name: \"bu\\e[2Jlk\""));
    assert_eq!((code, stdout.contains('\u{1b}')), (Some(0), false), "{stderr}{stdout}");
    assert!(stdout.contains("bu\\x1b[2Jlk"), "{stdout}");
}
