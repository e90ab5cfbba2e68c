//! §V-D: senders and pipelines on an improving channel (Table III, Figs. 13 to 15).

use e2sm_tc::v1::{Pacer, Pipeline};

use super::super::super::{
    Cell, Curve, Experiment, Figure, Flows, Metric, Observed, ReproduceError, ScenarioBuilder,
};
use super::{DYNAMIC_MCS, FLOOR, OWN, PACER, PIPELINE, own, pings, pipelines};

/// The paper's columns.
const COLUMNS: [&str; 4] = ["Cubic", "BBRv2", "Prague", "FQ-CoDel"];

pub(super) fn experiment() -> Result<Experiment, ReproduceError> {
    let [cubic, bbr, prague, fq_codel] = COLUMNS;
    let experiment = Experiment {
        metrics: vec![
            Metric::goodput("tcp_goodput", downloads()),
            Metric::used_rb("used_rb"),
            Metric::rtt_mean("ping_mean", pings()),
            Metric::rtt_quantile("ping_max", pings(), 1.0),
            // Table III over Fig. 15a: what the channel would have carried with all its RBs.
            Metric::new("rate_of_all_rb", "Mbit/s", rate_of_all_rb),
        ],
        curves: vec![Curve::occupancy("occupancy"), Curve::rtt_cdf("rtt", pings())],
        cells: vec![
            cell(cubic, "cubic", None)?,
            cell(bbr, "bbr3", None)?,
            cell(prague, "prague", Some(pipelines::one_codel(true, PACER)))?,
            cell(fq_codel, "cubic", Some(pipelines::fq_codel(PACER)))?,
            cell("Prague, mended", "prague", Some(pipelines::one_codel(true, Pacer::Bdp5g)))?,
            cell("FQ-CoDel, mended", "cubic", Some(pipelines::fq_codel(Pacer::Bdp5g)))?,
            cell(OWN, "cubic", Some(own()))?,
            builder("cubic", Some(own()))?.floor_of(FLOOR).cell("Floor"),
        ],
        figures: vec![
            Figure::curves("occupancy", "RLC buffer (Figs. 13 and 14)", "s", "bytes"),
            Figure::curves("rtt", "Round trip of the ping (Fig. 15b)", "ms", "share of pings")
                .log_x(),
            Figure::bars("used_rb", "Used resource blocks (Fig. 15a)"),
        ],
        ..Experiment::new("dynamic_mcs", "§V-D, Table III, Fig. 15", "MCS 6 to 18 within 60 s")
    };
    Ok(experiment
        .reports("tcp_goodput", COLUMNS.into_iter().zip([42.30, 44.60, 39.58, 41.72]))
        .reports("used_rb", COLUMNS.into_iter().zip([86.0, 83.0, 78.0, 82.0]))
        .reports("ping_mean", COLUMNS.into_iter().zip([210.0, 30.0, 20.0, 21.0]))
        .reports("ping_max", [(cubic, 500.0)])
        .reports("rate_of_all_rb", COLUMNS.into_iter().zip([49.19, 53.73, 50.74, 50.88])))
}

fn downloads() -> Flows {
    Flows::kind("tcp")
}

fn cell(
    scheme: &str,
    congestion_control: &str,
    pipeline: Option<Pipeline>,
) -> Result<Cell, ReproduceError> {
    Ok(builder(congestion_control, pipeline)?.cell(scheme))
}

fn builder(
    congestion_control: &str,
    pipeline: Option<Pipeline>,
) -> Result<ScenarioBuilder, ReproduceError> {
    let mut builder = DYNAMIC_MCS.builder()?.with_occupancy();
    builder = builder.set("flows[0].congestion_control", congestion_control)?;
    if let Some(pipeline) = pipeline {
        builder = builder.set_as(PIPELINE, &pipeline)?;
    }
    Ok(builder)
}

fn rate_of_all_rb(run: &Observed) -> Option<f64> {
    let mbps = downloads().of(run).map(|flow| flow.goodput_bps).sum::<f64>() / 1e6;
    (run.used_prb > 0).then(|| mbps * run.available_prb as f64 / run.used_prb as f64)
}
