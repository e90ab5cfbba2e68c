//! What a recorded run measured: of the cell, each UE, each DRB and each flow.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bounded_input::read_text;
use lab_recording::{Curves, SUMMARY_FILE};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::SweepError;
use super::distribution::Distribution;

/// Largest file of results.
const MAX_RESULT_BYTES: u64 = 256 << 20;

/// What a measure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All flows of the cell.
    Cell,
    /// A UE, by C-RNTI.
    Ue,
    /// A DRB, by C-RNTI and DRB identity: `17921/1`.
    Drb,
    /// A flow, by its name in the scenario.
    Flow,
}

impl Scope {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Ue => "ue",
            Self::Drb => "drb",
            Self::Flow => "flow",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Scope and name of what a measure is of; the cell has no name.
pub type Subject = (Scope, String);

/// The measures of a subject: name with unit, value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measures {
    pub(crate) subject: Subject,
    /// Goodput, sojourn time in SDAP and RLC, packets dropped and marked first, then what else is known.
    pub(crate) values: Vec<(String, f64)>,
}

/// A recorded run.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRun {
    pub(crate) seed: u64,
    pub(crate) duration_s: f64,
    pub(crate) measures: Vec<Measures>,
    /// Sojourn times of each subject; those of a UE and of the cell are those of their worst DRB.
    pub(crate) sojourn: BTreeMap<Subject, Distribution>,
    pub(crate) curves: Curves,
}

/// The part of `summary.json` that is used here.
#[derive(Deserialize)]
struct SummaryFile {
    seed: u64,
    duration_s: f64,
    cell: CellPart,
    bearers: Vec<BearerPart>,
    flows: Vec<FlowPart>,
}

#[derive(Deserialize)]
struct CellPart {
    used_rb_pct: f64,
}

#[derive(Deserialize)]
struct BearerPart {
    rnti: u16,
    drb: u8,
    tc_dropped_packets: u64,
    tc_marked_packets: u64,
    rlc_dropped_packets: u64,
    f1_lost_packets: u64,
    rlc_hol_ms: DelayPart,
    #[serde(default)]
    queued_bytes: Option<QueuedPart>,
}

#[derive(Deserialize)]
struct QueuedPart {
    mean: f64,
    peak: f64,
}

#[derive(Deserialize)]
struct FlowPart {
    name: String,
    rnti: u16,
    drb: u8,
    goodput_bytes: u64,
    goodput_mbps: f64,
    lost_packets: u64,
    ce_packets: u64,
    #[serde(default)]
    tc_dropped_packets: Option<u64>,
    #[serde(default)]
    rlc_dropped_packets: Option<u64>,
    #[serde(default)]
    deadline: Option<DeadlinePart>,
    one_way_delay_ms: DelayPart,
    rtt_ms: Option<DelayPart>,
    app: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct DeadlinePart {
    in_time_pct: f64,
}

#[derive(Deserialize)]
struct DelayPart {
    count: u64,
    p50: f64,
    p95: f64,
    p99: f64,
}

/// Counts of a UE, DRB or the cell.
#[derive(Clone, Copy, Default)]
struct Counts {
    goodput_bytes: u64,
    dropped_packets: u64,
    marked_packets: u64,
}

impl RecordedRun {
    /// Reads the folder of a run.
    ///
    /// # Errors
    /// [`SweepError::Results`] if a file is missing or not that of a run.
    pub(crate) fn read(folder: &Path) -> Result<Self, SweepError> {
        let summary: SummaryFile = read_json(&folder.join(SUMMARY_FILE), "summary of a run")?;
        let curves: Curves = read_json(&folder.join(Curves::FILE), "curves of a run")?;
        let mut sojourn: BTreeMap<Subject, Distribution> = BTreeMap::new();
        for curve in &curves.sojourn {
            let flow = (Scope::Flow, curve.flow.clone());
            for subject in [bearer(curve.rnti, curve.drb), flow] {
                sojourn.entry(subject).or_default().add(&curve.steps_us_packets);
            }
        }
        add_worst_bearers(&mut sojourn);
        let measures = measures(&summary, &sojourn);
        let SummaryFile { seed, duration_s, .. } = summary;
        Ok(Self { seed, duration_s, measures, sojourn, curves })
    }
}

/// A JSON file of results.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, SweepError> {
    let text = read_text(path, MAX_RESULT_BYTES).map_err(SweepError::unreadable(path))?;
    serde_json::from_str(&text)
        .map_err(|error| SweepError::results(path, format!("not the {what}: {error}")))
}

/// Adds for the cell and each UE the sojourn times of that of its DRBs whose 95th percentile is highest.
/// A percentile over several bearers would hide it.
fn add_worst_bearers(sojourn: &mut BTreeMap<Subject, Distribution>) {
    let mut worst: BTreeMap<Subject, (u64, Distribution)> = BTreeMap::new();
    for ((scope, name), own) in sojourn.iter() {
        let Some((rnti, _)) = name.split_once('/').filter(|_| *scope == Scope::Drb) else {
            continue;
        };
        let p95_us = own.quantile_us(0.95);
        for subject in [cell(), (Scope::Ue, rnti.to_owned())] {
            match worst.get(&subject) {
                Some((known_us, _)) if *known_us >= p95_us => {}
                _ => drop(worst.insert(subject, (p95_us, own.clone()))),
            }
        }
    }
    sojourn.extend(worst.into_iter().map(|(subject, (_, own))| (subject, own)));
}

fn cell() -> Subject {
    (Scope::Cell, String::new())
}

fn ue(rnti: u16) -> Subject {
    (Scope::Ue, rnti.to_string())
}

fn bearer(rnti: u16, drb: u8) -> Subject {
    (Scope::Drb, format!("{rnti}/{drb}"))
}

fn measures(summary: &SummaryFile, sojourn: &BTreeMap<Subject, Distribution>) -> Vec<Measures> {
    // In the order of the scenario.
    let mut order = vec![cell()];
    let mut counts: BTreeMap<Subject, Counts> = BTreeMap::new();
    for part in &summary.bearers {
        let dropped = part.tc_dropped_packets + part.rlc_dropped_packets + part.f1_lost_packets;
        for subject in [cell(), ue(part.rnti), bearer(part.rnti, part.drb)] {
            if !counts.contains_key(&subject) && subject.0 != Scope::Cell {
                order.push(subject.clone());
            }
            let counts = counts.entry(subject).or_default();
            counts.dropped_packets += dropped;
            counts.marked_packets += part.tc_marked_packets;
        }
    }
    // All UEs, then all DRBs.
    order.sort_by_key(|(scope, _)| *scope);
    for flow in &summary.flows {
        for subject in [cell(), ue(flow.rnti), bearer(flow.rnti, flow.drb)] {
            counts.entry(subject).or_default().goodput_bytes += flow.goodput_bytes;
        }
    }
    let mut all: Vec<Measures> = order
        .into_iter()
        .map(|subject| {
            let Counts { goodput_bytes, dropped_packets, marked_packets } =
                counts.get(&subject).copied().unwrap_or_default();
            let goodput_mbps = goodput_bytes as f64 * 8.0 / 1e6 / summary.duration_s.max(1e-6);
            let mut values = common(goodput_mbps, sojourn.get(&subject));
            values.push(("dropped_packets", dropped_packets as f64));
            values.push(("marked_packets", marked_packets as f64));
            further(&subject, summary, &mut values);
            named(subject, values)
        })
        .collect();
    all.extend(summary.flows.iter().map(|flow| flow_measures(flow, sojourn)));
    all
}

/// Goodput and sojourn times.
fn common(goodput_mbps: f64, sojourn: Option<&Distribution>) -> Vec<(&'static str, f64)> {
    let mut values = vec![("goodput_mbps", goodput_mbps)];
    if let Some(sojourn) = sojourn.filter(|sojourn| sojourn.packets() > 0) {
        values.push(("sojourn_mean_ms", sojourn.mean_us() / 1e3));
        for (name, quantile) in
            [("sojourn_p50_ms", 0.5), ("sojourn_p95_ms", 0.95), ("sojourn_p99_ms", 0.99)]
        {
            values.push((name, sojourn.quantile_us(quantile) as f64 / 1e3));
        }
    }
    values
}

/// What is known of the cell or of a DRB alone.
fn further(subject: &Subject, summary: &SummaryFile, values: &mut Vec<(&'static str, f64)>) {
    match subject.0 {
        Scope::Cell => values.push(("used_rb_pct", summary.cell.used_rb_pct)),
        Scope::Drb => {
            let parts = summary.bearers.iter();
            let own = parts.filter(|part| bearer(part.rnti, part.drb) == *subject);
            for part in own {
                values.push(("rlc_hol_p95_ms", part.rlc_hol_ms.p95));
                if let Some(queued) = &part.queued_bytes {
                    values.push(("queued_mean_bytes", queued.mean));
                    values.push(("queued_peak_bytes", queued.peak));
                }
            }
        }
        Scope::Ue | Scope::Flow => {}
    }
}

fn flow_measures(flow: &FlowPart, sojourn: &BTreeMap<Subject, Distribution>) -> Measures {
    let subject = (Scope::Flow, flow.name.clone());
    let mut values = common(flow.goodput_mbps, sojourn.get(&subject));
    values.push(("lost_packets", flow.lost_packets as f64));
    values.push(("marked_packets", flow.ce_packets as f64));
    let known = [
        ("tc_dropped_packets", flow.tc_dropped_packets.map(|packets| packets as f64)),
        ("rlc_dropped_packets", flow.rlc_dropped_packets.map(|packets| packets as f64)),
        ("in_time_pct", flow.deadline.as_ref().map(|deadline| deadline.in_time_pct)),
    ];
    values.extend(known.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let delays = [
        (["one_way_p50_ms", "one_way_p95_ms", "one_way_p99_ms"], Some(&flow.one_way_delay_ms)),
        (["rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms"], flow.rtt_ms.as_ref()),
    ];
    for (names, delay) in delays {
        if let Some(delay) = delay.filter(|delay| delay.count > 0) {
            values.extend(names.into_iter().zip([delay.p50, delay.p95, delay.p99]));
        }
    }
    let mut measures = named(subject, values);
    measures.values.extend(flow.app.iter().map(|(name, value)| (name.clone(), *value)));
    measures
}

fn named(subject: Subject, values: Vec<(&'static str, f64)>) -> Measures {
    let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Measures { subject, values }
}
