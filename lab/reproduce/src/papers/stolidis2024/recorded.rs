//! Not in the paper: a CU 10 and 40 ms from its DU on recorded radios, and what forecasts can be
//! worth there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::super::{
    By, Cell, Comparison, Experiment, Figure, Flows, Inputs, Metric, ReproduceError,
    ScenarioBuilder,
};
use super::schemes::{Change, Scheme, Schemes, Source};
use super::{BULK, MONOLITHIC, by_model, with_tcp};
use lab_batch::IdentityError;
use lab_forecast::FeedQuantity;
use lab_scenario::{MAX_TRACE_BYTES, read_bounded};

/// Length of a run, of which all but the first 2 s count.
const END_S: f64 = 32.0;
/// T_c in ms and the share of the capacity that its target permits to lose, in thousandths.
const SPLITS: [(u32, u32); 2] = [(10, 20), (40, 50)];
/// Bulk traffic and the change of the scenarios by which it is sent.
const TRAFFIC: [(&str, Change); 2] = [("UDP", with_udp_to_end), ("TCP", with_tcp_to_end)];
const LOW_LATENCY: &str = "low_latency, monolithic";

/// A recorded radio: its name and the channel of a scenario.
type Radio = (String, Value);

pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let radios = match &inputs.traces {
        Some(folder) => radios_of(folder)?,
        None => Vec::new(),
    };
    let mut cells = Vec::new();
    let mut comparisons = Vec::new();
    for (traffic, change) in TRAFFIC {
        let named = |scheme: &str| format!("{traffic}, {scheme}");
        for (name, channel) in &radios {
            let trained = inputs.trained.as_ref();
            let base = Schemes { channel: Some(channel), change, ..Schemes::of_paper(trained) };
            let monolithic = base.monolithic();
            cells.push(monolithic.drql("each_slot")?.cell(named(MONOLITHIC)).under(name));
            cells.push(monolithic.low_latency()?.cell(named(LOW_LATENCY)).under(name));
            for (t_c_ms, lost_milli) in SPLITS {
                let schemes = Schemes { t_c_us: t_c_ms * 1_000, ..base };
                for (scheme, made) in disaggregated(schemes, lost_milli)? {
                    cells.push(made.cell(named(&at(t_c_ms, scheme))).under(name));
                }
            }
        }
        let mut all: Vec<String> = cells.iter().map(|cell: &Cell| cell.scheme.clone()).collect();
        all.retain(|scheme| scheme.starts_with(traffic) && scheme.contains("T_c"));
        all.sort();
        all.dedup();
        for of in all {
            for over in [MONOLITHIC, LOW_LATENCY] {
                comparisons.push(compared(&of, By::Quotient, "goodput", &named(over)));
                comparisons.push(compared(&of, By::Difference, "ping_rtt", &named(over)));
            }
        }
    }
    if radios.is_empty() {
        let why = match &inputs.traces {
            Some(folder) => format!("no recorded radio in {}", folder.display()),
            None => "name their folder with --traces".to_owned(),
        };
        cells.push(Cell::missing("recorded radios", why));
    }
    let bulk = || Flows::name(BULK);
    Ok(Experiment {
        repeats: 1,
        metrics: vec![
            Metric::goodput("goodput", bulk()),
            Metric::rtt_mean("ping_rtt", Flows::kind("ping")),
            Metric::rtt_quantile("ping_rtt_p95", Flows::kind("ping"), 0.95),
            Metric::rlc_sojourn_mean("rlc_sojourn", bulk()),
            by_model(),
        ],
        cells,
        comparisons,
        figures: vec![
            Figure::bars("goodput", "Goodput, mean over the radios"),
            Figure::bars("ping_rtt", "RTT of pings, mean over the radios"),
        ],
        ..Experiment::new(
            "recorded",
            "not in the paper",
            "recorded radios, T_c 10 and 40 ms: forecasts, and bounds of any forecast",
        )
    })
}

/// The schemes of a CU with RLC status, by name.
fn disaggregated(
    schemes: Schemes<'_>,
    lost_milli: u32,
) -> Result<Vec<(&'static str, Scheme)>, ReproduceError> {
    let (drain, both) = (FeedQuantity::Drain, FeedQuantity::DrainAndLimit);
    let forecast = |source, quantity| schemes.with_status_and(source, quantity);
    let mut all = vec![
        ("status each TTI", schemes.with_status()?),
        ("persistence", forecast(Source::Persistence, drain)?),
    ];
    if let Some(trained) = schemes.trained {
        all.push(("trained model", forecast(Source::Trained(trained), drain)?));
    }
    all.push(("marginal distribution", forecast(Source::Marginal(lost_milli), both)?));
    all.push(("true drain", forecast(Source::TrueFuture, drain)?));
    all.push(("true future", forecast(Source::TrueFuture, both)?));
    Ok(all)
}

fn at(t_c_ms: u32, scheme: &str) -> String {
    format!("T_c {t_c_ms} ms, {scheme}")
}

fn compared(of: &str, by: By, metric: &'static str, over: &str) -> Comparison {
    let word = match by {
        By::Quotient => "over",
        By::Difference => "less",
    };
    let row = format!("{of} {word} {over}");
    Comparison { row, metric, by, of: of.to_owned(), over: over.to_owned() }
}

fn with_udp_to_end(builder: ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError> {
    builder.set("duration_s", END_S)
}

fn with_tcp_to_end(builder: ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError> {
    with_udp_to_end(with_tcp(builder)?)
}

/// The recorded radios in a folder and its subfolders, by name: Mahimahi traces, and CSV with a column
/// CQI as in UCC's 5G data set. Other files are left out.
fn radios_of(folder: &Path) -> Result<Vec<Radio>, ReproduceError> {
    let mut folders = vec![folder.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(ReproduceError::io(&folder))? {
            let path = entry.map_err(ReproduceError::io(&folder))?.path();
            let list = if path.is_dir() { &mut folders } else { &mut files };
            list.push(path);
        }
    }
    files.sort();
    let mut radios = Vec::new();
    for file in files {
        let bytes = read_bounded(&file, MAX_TRACE_BYTES).map_err(|source| {
            ReproduceError::Identity(IdentityError::Input { path: file.clone(), source })
        })?;
        // Relative to the working directory, not to the scenario's folder.
        let path = std::path::absolute(&file).map_err(ReproduceError::io(&file))?;
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        let channel = if first.trim().parse::<u32>().is_ok() {
            json!({ "mahimahi": { "path": path } })
        } else if first.trim().split(',').any(|column| column == "CQI") {
            json!({ "ucc_csv": { "path": path, "column": "cqi" } })
        } else {
            continue;
        };
        let within = file.strip_prefix(folder).unwrap_or(&file);
        radios.push((within.display().to_string(), channel));
    }
    Ok(radios)
}
