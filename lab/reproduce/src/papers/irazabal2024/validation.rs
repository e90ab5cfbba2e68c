//! §V-B: four downloads and a ping share a bearer until an xApp deploys a pipeline (Figs. 5 to 7).

use e2sm_tc::v1::Pacer;

use super::super::super::{Curve, Deploys, Experiment, Figure, Metric, ReproduceError};
use super::measure::{goodput_mean, goodput_series, rlc_peak, rlc_sojourn_max, rtt_max, rtt_mean};
use super::{FLOOR, OWN, PACER, VANILLA, deployed, own, pings, pipelines};

/// After a deployment the backlog of the RLC drains first: 10 MB at 40 Mbit/s.
const DRAINED_S: f64 = 5.0;
const RUN_S: f64 = 60.0;
const FLOWS: [&str; 4] = ["flow1", "flow2", "flow3", "flow4"];

pub(super) fn experiments() -> Result<Vec<Experiment>, ReproduceError> {
    Ok(vec![slicing()?, shaper()?, low_latency()?])
}

/// Fig. 6a: from the 5th second on.
fn slicing() -> Result<Experiment, ReproduceError> {
    let deploy_s = 5.0;
    let (one, others) = FLOWS.split_at(1);
    let cell = deployed(&VANILLA, at(deploy_s), pipelines::half_half(PACER))?;
    let experiment = Experiment {
        metrics: sharing(one, others, deploy_s),
        curves: shares(one, others),
        cells: vec![VANILLA.builder()?.cell("Vanilla"), cell.cell("50-50 %")],
        figures: share_figures(),
        ..Experiment::new(
            "slicing",
            "§V-B1, Fig. 6a",
            "flow 1, flows 2 to 4: half each from 5 s on",
        )
    };
    Ok(experiment
        .reports("own_goodput", [("50-50 %", 20.0)])
        .reports("others_goodput", [("50-50 %", 20.0)]))
}

/// Fig. 6b: from the 10th second on.
fn shaper() -> Result<Experiment, ReproduceError> {
    let deploy_s = 10.0;
    let (three, fourth) = FLOWS.split_at(3);
    let cell = deployed(&VANILLA, at(deploy_s), pipelines::shaped(15_000, PACER))?;
    let experiment = Experiment {
        metrics: sharing(three, fourth, deploy_s),
        curves: shares(three, fourth),
        cells: vec![VANILLA.builder()?.cell("Vanilla"), cell.cell("15 Mbit/s")],
        figures: share_figures(),
        ..Experiment::new("shaper", "§V-B1, Fig. 6b", "flows 1 to 3 held to 15 Mbit/s from 10 s on")
    };
    Ok(experiment
        .reports("own_goodput", [("15 Mbit/s", 15.0)])
        .reports("others_goodput", [("15 Mbit/s", 25.0)]))
}

fn at(seconds: f64) -> Deploys {
    Deploys::At((seconds * 1e6) as u64)
}

/// What two groups of flows get once the pipeline is in force.
fn sharing(
    own: &'static [&'static str],
    others: &'static [&'static str],
    deploy_s: f64,
) -> Vec<Metric> {
    let settled_s = deploy_s + DRAINED_S;
    vec![
        goodput_mean("own_goodput", own, settled_s, RUN_S),
        goodput_mean("others_goodput", others, settled_s, RUN_S),
        goodput_mean("all_goodput", &FLOWS, settled_s, RUN_S),
        rtt_mean("ping_mean", pings(), settled_s),
    ]
}

fn shares(own: &'static [&'static str], others: &'static [&'static str]) -> Vec<Curve> {
    vec![goodput_series("own", own), goodput_series("others", others)]
}

fn share_figures() -> Vec<Figure> {
    let figure = |curve, title| Figure::curves(curve, title, "s", "Mbit/s");
    vec![
        figure("own", "The first group of flows (Fig. 6)"),
        figure("others", "The other group (Fig. 6)"),
    ]
}

/// Fig. 7: from the 31st second on.
fn low_latency() -> Result<Experiment, ReproduceError> {
    let deploy_s = 31.0;
    let settled_s = deploy_s + DRAINED_S;
    let codel = |when, pacer| deployed(&VANILLA, when, pipelines::one_codel(false, pacer));
    let ours =
        || Ok::<_, ReproduceError>(deployed(&VANILLA, at(deploy_s), own())?.with_occupancy());
    let at_300ms = Deploys::RlcSojournAbove(300_000);
    let experiment = Experiment {
        metrics: vec![
            rlc_peak("rlc_peak", settled_s),
            rlc_sojourn_max("rlc_sojourn_max", settled_s),
            rtt_max("ping_max", pings(), settled_s),
            rtt_mean("ping_mean", pings(), settled_s),
            goodput_mean("tcp_goodput", &FLOWS, settled_s, RUN_S),
        ],
        curves: vec![Curve::occupancy("occupancy"), goodput_series("goodput", &FLOWS)],
        cells: vec![
            VANILLA.builder()?.with_occupancy().cell("Vanilla"),
            codel(at(deploy_s), PACER)?.with_occupancy().cell("CoDel + 5G-BDP"),
            codel(at_300ms, PACER)?.with_occupancy().cell("CoDel + 5G-BDP at 300 ms"),
            codel(at(deploy_s), Pacer::Bdp5g)?.with_occupancy().cell("CoDel + 5G-BDP, mended"),
            ours()?.cell(OWN),
            ours()?.floor_of(FLOOR).cell("Floor"),
        ],
        figures: vec![Figure::curves("occupancy", "RLC buffer (Fig. 7d)", "s", "bytes")],
        ..Experiment::new("low_latency", "§V-B2, Fig. 7", "CoDel above the RLC from 31 s on")
    };
    // "Beyond 1.5 MBs", "above 300 ms": what the paper's Vanilla at least comes to.
    Ok(experiment.reports("rlc_peak", [("Vanilla", 1.5)]).reports("ping_max", [("Vanilla", 300.0)]))
}
