//! A sweep can be interrupted, resumed and extended; its runs can be compared.

// clippy.toml allows these in test functions; functions that tests share need them as well.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use lab_recording::{Contents, Format};
use lab_scenario::Override;
use lab_sweep::{Comparison, Done, Options, Plan, Request, Scope, SweepError, compare, run};
use serde_json::Value;

const PIPELINES: &str = "ues[*].drbs[*].pipeline=fq_codel,low_latency";

struct Sweep {
    folder: tempfile::TempDir,
    scenario: PathBuf,
    overrides: Vec<Override>,
}

impl Sweep {
    fn new() -> Self {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml");
        let overrides = vec!["duration_s=1.2".parse().unwrap()];
        Self { folder: tempfile::tempdir().unwrap(), scenario, overrides }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn plan(&self, axes: &[&str], seeds: u32) -> Result<Plan, SweepError> {
        Plan::new(&Request {
            scenario: self.scenario.clone(),
            overrides: self.overrides.clone(),
            axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(),
            seeds,
            max_runs: 100,
        })
    }

    fn options(&self, jobs: usize) -> Options {
        Options {
            out: self.out(),
            contents: Contents { formats: vec![Format::Csv], packets: false },
            jobs: NonZeroUsize::new(jobs),
            restart: false,
        }
    }

    fn run(&self, axes: &[&str], seeds: u32) -> Result<Done, SweepError> {
        run(&self.plan(axes, seeds)?, &self.options(4), &AtomicBool::new(false), &|_| {})
    }

    fn rows(&self) -> Vec<Value> {
        serde_json::from_str(&fs::read_to_string(self.out().join("runs.json")).unwrap()).unwrap()
    }
}

/// All files below a folder, by path.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path.strip_prefix(folder).unwrap().to_owned(), bytes));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn an_interrupted_sweep_resumes_to_the_same_bytes() {
    let (whole, parts) = (Sweep::new(), Sweep::new());
    let axes = [PIPELINES, "cell.n_prb=51,106"];
    assert_eq!(whole.run(&axes, 2).unwrap(), Done { runs: 8, resumed: 0, failed: Vec::new() });

    let stop = AtomicBool::new(false);
    let progress = |at: lab_batch::Progress| {
        if at.finished == 3 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let plan = parts.plan(&axes, 2).unwrap();
    let error = run(&plan, &parts.options(1), &stop, &progress).unwrap_err();
    assert!(error.to_string().starts_with("interrupted with 3 of 8 runs finished"), "{error}");
    assert_eq!(parts.run(&axes, 2).unwrap(), Done { runs: 8, resumed: 3, failed: Vec::new() });
    let [a, b] = [&whole, &parts].map(|sweep| files(&sweep.out()));
    assert_eq!(a.len(), b.len());
    for ((path, a), (_, b)) in a.iter().zip(&b) {
        assert!(a == b, "{} differs", path.display());
    }
}

#[test]
fn more_seeds_and_values_run_what_is_missing() {
    let sweep = Sweep::new();
    sweep.run(&["cell.n_prb=51"], 1).unwrap();
    let done = sweep.run(&["cell.n_prb=51,106"], 2).unwrap();
    assert_eq!((done.runs, done.resumed), (4, 1));
    let cells: Vec<Value> = sweep.rows().into_iter().filter(|row| row["scope"] == "cell").collect();
    let points: Vec<(i64, i64)> = cells
        .iter()
        .map(|row| (row["cell.n_prb"].as_i64().unwrap(), row["seed"].as_i64().unwrap()))
        .collect();
    assert_eq!(points, [(51, 1), (51, 2), (106, 1), (106, 2)]);
    assert!(cells.iter().all(|row| row["goodput_mbps"].as_f64().unwrap() > 1.0));
    let csv = fs::read_to_string(sweep.out().join("runs.csv")).unwrap();
    assert!(csv.starts_with("cell.n_prb,seed,run,error,scope,name,goodput_mbps,"), "{csv}");
    assert_eq!(csv.lines().count(), sweep.rows().len() + 1);
    assert!(sweep.out().join("runs.parquet").is_file());
}

#[test]
fn a_changed_scenario_is_named_and_not_mixed() {
    let mut sweep = Sweep::new();
    sweep.run(&["cell.n_prb=51"], 1).unwrap();
    sweep.overrides.push("split.core_delay_us=9000".parse().unwrap());
    let error = sweep.run(&["cell.n_prb=51"], 1).unwrap_err();
    assert!(error.is_input());
    let error = error.to_string();
    assert!(error.contains("split.core_delay_us: 2000 there, 9000 now"), "{error}");
    assert!(error.contains("--restart"), "{error}");
    let error = sweep.run(&["cell.layers=1"], 1).unwrap_err().to_string();
    assert!(error.contains("other axes (cell.n_prb)"), "{error}");
    let restart = Options { restart: true, ..sweep.options(4) };
    let plan = sweep.plan(&["cell.n_prb=51"], 1).unwrap();
    let done = run(&plan, &restart, &AtomicBool::new(false), &|_| {}).unwrap();
    assert_eq!((done.runs, done.resumed), (1, 0));
}

#[test]
fn a_failing_run_is_recorded_and_a_damaged_one_made_again() {
    let sweep = Sweep::new();
    let trace = sweep.folder.path().join("trace");
    fs::write(&trace, "1\n2\n3\n").unwrap();
    let axis = format!(
        "ues[0].channel={{mahimahi: {{path: {}}}}},{{mahimahi: {{path: /no/such/trace}}}}",
        trace.display()
    );
    let done = sweep.run(&[&axis], 1).unwrap();
    assert_eq!((done.runs, done.failed.len()), (2, 1));
    let rows = sweep.rows();
    let failed = rows.last().unwrap();
    assert!(failed["error"].as_str().unwrap().contains("/no/such/trace"), "{failed}");
    assert_eq!((&failed["scope"], &failed["goodput_mbps"]), (&Value::Null, &Value::Null));
    assert!(rows[0]["error"].is_null());

    let damaged = sweep.out().join("runs").join(rows[0]["run"].as_str().unwrap());
    fs::write(damaged.join("summary.json"), "{").unwrap();
    let done = sweep.run(&[&axis], 1).unwrap();
    assert_eq!((done.resumed, done.failed.len()), (0, 1));
    assert_eq!(sweep.rows(), rows);

    let comparison = Comparison::read(&[sweep.out()]).unwrap();
    assert_eq!(comparison.warnings.len(), 1, "{:?}", comparison.warnings);
    fs::write(&trace, "1\n2\n3\n4\n").unwrap();
    let error = sweep.run(&[&axis], 1).unwrap_err().to_string();
    assert!(error.contains("run.json: the files that its scenario reads have changed"), "{error}");
}

#[test]
fn a_comparison_has_intervals_over_seeds_and_differences_to_the_first() {
    let sweep = Sweep::new();
    sweep.run(&["ues[*].drbs[*].pipeline=transparent,low_latency"], 3).unwrap();
    let comparison = Comparison::read(&[sweep.out()]).unwrap();
    let row = |contender, scope, name: &str, measure: &str| {
        let subject = (scope, name.to_owned());
        let mut rows = comparison.rows().iter();
        rows.find(|row| {
            row.contender == contender && row.subject == subject && row.measure == measure
        })
        .unwrap()
    };
    assert_eq!(
        [comparison.label(0), comparison.label(1)],
        ["pipeline=transparent", "pipeline=low_latency"]
    );
    let first = row(0, Scope::Flow, "ping", "rtt_p95_ms");
    assert_eq!((first.estimate.n, first.difference), (3, None));
    assert!(first.estimate.half_width.is_some());
    let second = row(1, Scope::Flow, "ping", "rtt_p95_ms");
    let difference = second.difference.unwrap();
    assert!((difference.mean - (second.estimate.mean - first.estimate.mean)).abs() < 1e-9);
    assert!(difference.mean < 0.0, "the pipeline shortens the queue: {difference:?}");
    for (scope, name) in [(Scope::Cell, ""), (Scope::Ue, "17921"), (Scope::Drb, "17921/1")] {
        let p95 = row(0, scope, name, "sojourn_p95_ms").estimate.mean;
        assert_eq!(
            p95,
            row(0, Scope::Cell, "", "sojourn_p95_ms").estimate.mean,
            "one bearer: {name}"
        );
    }

    // The cell and a UE have the sojourn times of their worst bearer, whichever flow is in it.
    assert!(row(0, Scope::Flow, "voip", "in_time_pct").estimate.mean <= 100.0);
    assert!(row(0, Scope::Drb, "17921/1", "queued_peak_bytes").estimate.mean > 0.0);

    let text = compare::text(&comparison);
    for said in
        ["cell", "flow ping", "drb 17921/1", "difference", " ± ", "in time %", "RPM", "loaded RPM"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let rows: Vec<Value> = serde_json::from_str(&compare::json(&comparison)).unwrap();
    assert_eq!(rows.len(), comparison.rows().len());
    assert_eq!(rows[0]["axes"]["ues[*].drbs[*].pipeline"], "transparent");
    assert_eq!((&rows[0]["seeds"], &rows[0]["difference"]), (&3.into(), &Value::Null));
    let page = compare::page(&comparison);
    assert_eq!(page.matches("<svg").count(), 4 + 3, "cell and three flows, three over time");
    assert!(!page.contains("<script") && !page.contains("http-equiv"));
}

#[test]
fn the_cell_and_a_ue_have_the_delay_of_their_worst_bearer() {
    let mut sweep = Sweep::new();
    sweep.scenario = sweep.folder.path().join("two.yaml");
    let text = "
name: two
duration_s: 1
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues: [{ rnti: 1, channel: { fixed_mcs: 10 }, drbs: [{ id: 1, priority: 1 }, { id: 2, priority: 2 }] }]
flows:
  - { name: many, kind: udp_cbr, rate_kbps: 20000, packet_bytes: 200, drb: 1 }
  - { name: starved, kind: udp_cbr, rate_kbps: 60000, drb: 2 }
";
    fs::write(&sweep.scenario, text).unwrap();
    sweep.run(&["cell.n_prb=106"], 1).unwrap();
    let rows = sweep.rows();
    let p95 = |scope: &str, name: &str| {
        let row = rows.iter().find(|row| row["scope"] == scope && row["name"] == name);
        row.unwrap()["sojourn_p95_ms"].as_f64().unwrap()
    };
    assert!(p95("drb", "1/1") < 10.0 && p95("drb", "1/2") > 100.0);
    assert_eq!(p95("ue", "1"), p95("drb", "1/2"));
    assert_eq!(p95("cell", ""), p95("drb", "1/2"));
}

#[test]
fn the_measures_of_a_run_are_those_of_its_summary() {
    let sweep = Sweep::new();
    sweep.run(&["cell.n_prb=106"], 1).unwrap();
    let rows = sweep.rows();
    let folder = sweep.out().join("runs").join(rows[0]["run"].as_str().unwrap());
    let text = fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let drb = rows.iter().find(|row| row["scope"] == "drb").unwrap();
    let bearer = &summary["bearers"][0]["sojourn_ms"];
    for (measure, key) in [("sojourn_mean_ms", "mean"), ("sojourn_p95_ms", "p95")] {
        let [own, theirs] = [&drb[measure], &bearer[key]].map(|value| value.as_f64().unwrap());
        assert!((own - theirs).abs() <= 0.002 * theirs, "{measure}: {own}, {theirs}");
    }
    let bulk = rows.iter().find(|row| row["name"] == "bulk").unwrap();
    assert_eq!(bulk["goodput_mbps"], summary["flows"][0]["goodput_mbps"]);

    let alone = Comparison::read(std::slice::from_ref(&folder)).unwrap();
    assert!(alone.rows().iter().all(|row| row.estimate.half_width.is_none()));
    let error = Comparison::read(&[sweep.out().join("runs")]).unwrap_err();
    assert!(error.to_string().contains("has neither summary.json nor sweep.json"), "{error}");
}
