//! §VI-B: two slices of one UE each, e5G-BDP on both bearers; which RBs go to whom.

use serde_json::{Value, json};

use super::super::super::{Curve, Experiment, Figure, Metric, ReproduceError, ScenarioBuilder};
use super::{E5G_BDP, call, calls, downloads, mobility, sojourn_cdf};

/// The UE observed, and the other one.
const OWN: u16 = 17_921;
const OTHER: u16 = 17_922;

pub(super) fn experiments() -> Result<Vec<Experiment>, ReproduceError> {
    Ok(vec![table_6()?, scalability()?, quantum_limit()?, dynamic()?])
}

/// OAI's own and the paper's, with the quantum limit of §V-E.
fn schedulers() -> [(&'static str, Value); 2] {
    [("EQP", elastic(100)), ("FP", json!("fp"))]
}

fn elastic(quantum_limit_prb: u16) -> Value {
    json!({ "kind": "eqp", "quantum_limit_prb": quantum_limit_prb })
}

/// Two slices: shares in percent, calls in each, a download in both.
fn two_slices(
    scheduler: Value,
    shares: [u8; 2],
    n_calls: [u16; 2],
) -> Result<ScenarioBuilder, ReproduceError> {
    let mut builder = E5G_BDP.builder()?;
    let (ue, download) = (builder.get("/ues/0"), builder.get("/flows/0"));
    let mut ues = Vec::new();
    let mut flows = Vec::new();
    for ((rnti, share), n) in [OWN, OTHER].into_iter().zip(shares).zip(n_calls) {
        let mut ue = ue.clone();
        ue["rnti"] = rnti.into();
        ue["prb_share_percent"] = share.into();
        ues.push(ue);
        let mut download = download.clone();
        download["rnti"] = rnti.into();
        download["name"] = format!("iperf3-{rnti}").into();
        flows.push(download);
        flows.extend((1..=n).map(|number| call(format!("voip-{rnti}-{number}"), rnti)));
    }
    builder = builder.set("ues", ues)?.set("flows", flows)?;
    builder.set("cell.scheduler", scheduler)
}

/// Table 6 with Figs. 17 and 18.
fn table_6() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for (name, scheduler) in schedulers() {
        for share in [25, 50, 75] {
            let builder = two_slices(scheduler.clone(), [share, 100 - share], [1, 1])?;
            cells.push(builder.cell(format!("{share} % {name}")));
        }
    }
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_below("voip_below_1ms", calls().of_ue(OWN), 1.0),
            Metric::goodput("tcp_goodput", downloads().of_ue(OWN)),
            Metric::goodput("both_goodput", downloads()),
            Metric::used_rb("used_rb"),
        ],
        curves: vec![Curve::sojourn_cdf("sojourn", calls().of_ue(OWN))],
        cells,
        figures: vec![
            sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 17)", Some(6.0)),
            Figure::bars("tcp_goodput", "Throughput of iperf3 (Fig. 18)"),
        ],
        ..Experiment::new("table6", "§VI-B1, Table 6", "a slice with 25, 50 and 75 % of the RBs")
    };
    Ok(experiment
        .reports(
            "voip_below_1ms",
            [
                ("25 % EQP", 78.0),
                ("25 % FP", 15.0),
                ("50 % EQP", 64.0),
                ("50 % FP", 14.0),
                ("75 % EQP", 88.0),
                ("75 % FP", 73.0),
            ],
        )
        .reports(
            "tcp_goodput",
            [
                ("25 % EQP", 3.50),
                ("25 % FP", 4.10),
                ("50 % EQP", 7.45),
                ("50 % FP", 7.65),
                ("75 % EQP", 11.65),
                ("75 % FP", 11.75),
            ],
        )
        // "A 15.80 vs. 15.60, 15.45 vs. 15.35 and 16.20 vs. 15.40" for FP and EQP (§VI-B1).
        .reports(
            "both_goodput",
            [
                ("25 % FP", 15.80),
                ("25 % EQP", 15.60),
                ("50 % FP", 15.45),
                ("50 % EQP", 15.35),
                ("75 % FP", 16.20),
                ("75 % EQP", 15.40),
            ],
        ))
}

/// §VI-B2, Fig. 19: calls in the slice with 25 %, a download alone in the other.
fn scalability() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for (name, scheduler) in schedulers() {
        for n in [1, 2, 4, 8] {
            let builder = two_slices(scheduler.clone(), [25, 75], [n, 0])?;
            let calls = if n == 1 { "call" } else { "calls" };
            cells.push(builder.cell_at(format!("{name}, {n} {calls}"), name, f64::from(n)));
        }
    }
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_below("voip_below_2ms", calls(), 2.0),
            Metric::sojourn_below("voip_below_4ms", calls(), 4.0),
            Metric::sojourn_mean("voip_mean", calls()),
            Metric::goodput("tcp_goodput", downloads().of_ue(OWN)),
        ],
        curves: vec![Curve::sojourn_cdf("sojourn", calls())],
        cells,
        figures: vec![
            sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 19)", Some(8.0)),
            Figure::sweep("voip_below_2ms", "Within 2 ms", "calls"),
        ],
        ..Experiment::new("slice-calls", "§VI-B2, Fig. 19", "1, 2, 4 and 8 calls in a 25 % slice")
    };
    Ok(experiment
        .reports(
            "voip_below_2ms",
            [
                ("EQP, 1 call", 98.0),
                ("EQP, 2 calls", 98.0),
                ("EQP, 4 calls", 96.0),
                ("EQP, 8 calls", 94.0),
            ],
        )
        .reports(
            "voip_below_4ms",
            [
                ("FP, 1 call", 96.0),
                ("FP, 2 calls", 95.0),
                ("FP, 4 calls", 95.0),
                ("FP, 8 calls", 88.0),
            ],
        ))
}

/// §VI-B3, Fig. 20; the paper gives no numbers but that of 100 RBs, in Fig. 19.
fn quantum_limit() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for limit in [25, 50, 100, 250, 500] {
        let builder = two_slices(elastic(limit), [25, 75], [8, 0])?;
        cells.push(builder.cell_at(format!("EQP, {limit} RBs"), "EQP", f64::from(limit)));
    }
    cells.push(two_slices(json!("fp"), [25, 75], [8, 0])?.cell("FP"));
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_below("voip_below_2ms", calls(), 2.0),
            Metric::sojourn_mean("voip_mean", calls()),
            Metric::goodput("tcp_goodput", downloads().of_ue(OWN)),
        ],
        curves: vec![Curve::sojourn_cdf("sojourn", calls())],
        cells,
        figures: vec![
            sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 20)", Some(8.0)),
            Figure::sweep("voip_below_2ms", "Within 2 ms", "quantum limit, RBs"),
        ],
        ..Experiment::new(
            "quantum-limit",
            "§VI-B3, Fig. 20",
            "8 calls in a 25 % slice, quantum limits from 25 to 500 RBs",
        )
    };
    Ok(experiment.reports("voip_below_2ms", [("EQP, 100 RBs", 94.0)]))
}

/// §VI-B4, Fig. 22: a pedestrian and a train with half the RBs each.
fn dynamic() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for (name, scheduler) in schedulers() {
        for (own, other) in [("pedestrian", "train"), ("train", "pedestrian")] {
            let builder = two_slices(scheduler.clone(), [50, 50], [1, 1])?
                .set("ues[0].channel", mobility(own))?
                .set("ues[1].channel", mobility(other))?;
            cells.push(builder.cell(format!("{own}, {name}")));
        }
    }
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_below("voip_below_4ms", calls().of_ue(OWN), 4.0),
            Metric::sojourn_mean("voip_mean", calls().of_ue(OWN)),
            Metric::goodput("tcp_goodput", downloads().of_ue(OWN)),
        ],
        curves: vec![Curve::sojourn_cdf("sojourn", calls().of_ue(OWN))],
        cells,
        figures: vec![sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 22)", Some(20.0))],
        ..Experiment::new(
            "slice-dynamic",
            "§VI-B4, Fig. 22",
            "a pedestrian and a train with half the RBs each",
        )
    };
    Ok(experiment.reports(
        "voip_below_4ms",
        [
            ("pedestrian, EQP", 66.0),
            ("train, EQP", 76.0),
            ("pedestrian, FP", 44.0),
            ("train, FP", 77.0),
        ],
    ))
}
