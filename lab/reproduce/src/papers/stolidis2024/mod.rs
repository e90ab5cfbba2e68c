//! stolidis2024: disaggregated CU and DU, with DRQL's RLC state 10 ms away, queried or forecast.

mod measures;
mod recorded;
mod schemes;

use serde_json::json;

use super::super::{
    By, Cell, Comparison, Curve, Experiment, Figure, Flows, Inputs, Metric, Paper, ReproduceError,
    ScenarioBuilder, Trained,
};
use measures::{by_second, linear_fit, median, rtts};
use schemes::{Named, Schemes};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "stolidis2024",
    citation: "A. Stolidis, K. Choumas, T. Korakis: Active Queue Management in Disaggregated 5G and \
               Beyond Cellular Networks using Machine Learning. IEEE, 2024.",
    assumptions: &[
        "The cell: NR, FDD, 10 MHz (15 kHz, 52 PRB), MCS 28 of the 64QAM table, nothing lost on the \
         air. The paper names no carrier; a TTI of 1 ms is what its T_r = T_w = 1 ms and \"every TTI\" \
         (§III-B) go together with.",
        "Servers are 0.5 ms away. Traffic begins 2 s into a run, when a RIC has N = 1000 samples, and \
         lasts for 60 s, all of which count; the paper says neither.",
        "Original: an RLC buffer without end (\"We adjust the RLC queue limit to mitigate the \
         drop-tail approach\", §IV-D).",
        "SDAP queues of UDP and ICMP are without practical limit; the paper gives none.",
        "Asking the DU: a question for each packet at the head of SDAP, T_c down and T_c up (§III-B), \
         its answer the state after the DU's last TTI; where it says no, the next question at once.",
        "DRQL's limit at the DU, which is forecast: §II's rule, \"full\" meaning that no further MTU \
         had fitted. In the third set, where nobody asks for it, the RLC keeps it itself and drops what \
         comes beyond (\"minimal packet drops within a single TTI\", §IV-C).",
        "Forecasts: the CU adds what it has sent since the last point to the occupancy forecast; the \
         paper says how it interpolates (§III-C), not how it counts its own packets. Until the first \
         forecast nothing is held back.",
        "Perfect: limit, occupancy and drain of the monolithic DRQL run of the same seed, at the times \
         of the paper (T_m 400 ms, M 400). 400 ms late: the last 400 samples at the RIC stand for the \
         400 to come. Persistence: the newest sample at the RIC, each ms.",
        "Trained model: rlc-forecaster's engine on virtual time, reading the E2 indications (RLC each \
         ms, MAC and pipeline status each 20 ms), its median, after the T_m measured. Its points are \
         where it was trained to have them; before the first and after the last the nearest holds.",
        "True future: what the radio will carry in each step, and the next step's as limit. Marginal: \
         the radio's mean, and as limit the least that loses 2 % at 10 ms and 5 % at 40 ms if windows of \
         2·T_c and a TTI were independent. Both are of recorded radios only.",
        "Told: the DU's delivery status each TTI, queues and scheduler of the template drql_forecast \
         (FQ-CoDel), CoDel's interval longer by the round trip over F1 and its target in proportion \
         (RFC 8289 §4.3, §4.4). What is forecast to such a CU is the drain; it knows the rest itself.",
    ],
    takes_model: true,
    experiments,
};

const START_S: f64 = 2.0;
/// "T_c ≈ 10 ms" (§IV-D).
const T_C_US: u32 = 10_000;
const SWEEP_MS: [u32; 6] = [0, 2, 5, 10, 20, 40];
const BULK: &str = "bulk";

/// The four UEs of [`several_ues`].
const UES: u32 = 4;
/// Numbers of bearers forecast at a time, for which a model's T_m is measured.
pub const BEARERS: [u32; 2] = [1, UES];

fn experiments(inputs: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
    let trained = inputs.trained.as_ref();
    Ok(vec![
        sets(trained)?,
        sweep(trained, false)?,
        sweep(trained, true)?,
        several_ues(trained)?,
        moving(trained)?,
        recorded::experiment(inputs)?,
    ])
}

fn experiment(name: &'static str, source: &'static str, title: &'static str) -> Experiment {
    Experiment {
        repeats: 3,
        metrics: vec![
            // "the median of these two lines" (§IV-E): of the seconds.
            Metric::new("throughput", "Mbit/s", |run| {
                median(by_second(run).into_iter().map(|(_, mbps)| mbps).collect())
            }),
            Metric::rtt_mean("ping_rtt", Flows::kind("ping")),
            Metric::rtt_quantile("ping_rtt_p95", Flows::kind("ping"), 0.95),
            Metric::new("ping_lost", "%", |run| {
                let pings = run.summary.flows.iter().filter(|flow| flow.kind == "ping");
                let (sent, back) = pings.fold((0, 0), |(sent, back), flow| {
                    (sent + flow.sent_packets, back + flow.received_packets)
                });
                (sent > 0).then(|| sent.saturating_sub(back) as f64 * 100.0 / sent as f64)
            }),
            Metric::used_rb("used_rb"),
            by_model(),
        ],
        ..Experiment::new(name, source, title)
    }
}

/// Share of the forecasts that are the model's; the rest is from its fallback, persistence.
fn by_model() -> Metric {
    Metric::new("by_model", "%", |run| {
        let counts = run.forecasts?;
        (counts.forecasts > 0).then(|| counts.by_model as f64 * 100.0 / counts.forecasts as f64)
    })
}

const ORIGINAL: [&str; 2] = ["original, monolithic", "original, disaggregated"];
const MONOLITHIC: &str = "DRQL, monolithic";
const QUERYING: &str = "DRQL, disaggregated, asking the DU";

/// §IV-D, Figs. 6 and 7, and a CU with RLC status besides forecasts.
fn sets(trained: Option<&Trained>) -> Result<Experiment, ReproduceError> {
    let disaggregated = Schemes::of_paper(trained);
    let monolithic = disaggregated.monolithic();
    let mut cells = vec![
        monolithic.original()?.cell(ORIGINAL[0]),
        disaggregated.original()?.cell(ORIGINAL[1]),
        monolithic.drql("each_slot")?.cell(MONOLITHIC),
        disaggregated.drql("on_request")?.cell(QUERYING),
    ];
    let mut forecast_names = Vec::new();
    for (name, scheme) in disaggregated.forecast_alone()? {
        let name = format!("DRQL with forecast, {name}");
        cells.push(scheme.cell(&name));
        forecast_names.push(name);
    }
    cells.push(disaggregated.with_status()?.cell("status each TTI"));
    for (name, scheme) in disaggregated.with_status_and_drain()? {
        cells.push(scheme.cell(format!("status and drain forecast, {name}")));
    }
    let base = experiment(
        "sets",
        "§IV-D, Figs. 6 and 7",
        "three sets of experiments, CU and DU together and 10 ms apart",
    );
    let mut metrics = base.metrics.clone();
    metrics.push(Metric::new("rlc_dropped", "%", |run| {
        let bearer = run.summary.bearers.first()?;
        let all = bearer.rlc_dropped_packets + bearer.drained_packets;
        (all > 0).then(|| bearer.rlc_dropped_packets as f64 * 100.0 / all as f64)
    }));
    metrics.push(Metric::new("rtt_growth", "ms/s", |run| Some(linear_fit(&rtts(run))?.0)));
    metrics.push(Metric::new("rtt_linearity", "R²", |run| Some(linear_fit(&rtts(run))?.1)));
    let of_forecast = |value: f64| forecast_names.iter().map(move |name| (name.as_str(), value));
    let disaggregated_names = cells.iter().skip(4).map(|cell| cell.scheme.clone());
    Ok(Experiment {
        comparisons: disaggregated_names.map(over_monolithic).collect(),
        cells,
        metrics,
        curves: vec![Curve::new("throughput", by_second), Curve::new("rtt", rtts)],
        figures: vec![
            Figure::curves("throughput", "Downlink throughput (Fig. 6)", "s", "Mbit/s"),
            Figure::curves("rtt", "RTT (Fig. 7, there over a logarithmic scale)", "s", "ms"),
            Figure::bars("throughput", "Throughput (Fig. 6)"),
            Figure::bars("ping_rtt", "Mean RTT (Fig. 7)"),
        ],
        ..base
    }
    .reports("throughput", ORIGINAL.map(|name| (name, 41.2)))
    .reports("throughput", [(MONOLITHIC, 46.0), (QUERYING, 1.0)])
    .reports("throughput", of_forecast(37.0))
    .reports("ping_rtt", [(MONOLITHIC, 84.0), (QUERYING, 30.0)])
    .reports("ping_rtt", of_forecast(114.0))
    // "This imbalance results in a linear increase in RTT over time" (§IV-E2).
    .reports("rtt_linearity", ORIGINAL.map(|name| (name, 1.0))))
}

/// Throughput of a scheme over that of monolithic DRQL.
fn over_monolithic(scheme: String) -> Comparison {
    Comparison {
        row: format!("{scheme} over {MONOLITHIC}"),
        metric: "throughput",
        by: By::Quotient,
        of: scheme,
        over: MONOLITHIC.to_owned(),
    }
}

/// Not in the paper: T_c from 0 to 40 ms.
fn sweep(trained: Option<&Trained>, tcp: bool) -> Result<Experiment, ReproduceError> {
    let mut cells: Vec<Cell> = Vec::new();
    for t_c_ms in SWEEP_MS {
        let t_c_us = t_c_ms * 1_000;
        let change = if tcp { with_tcp } else { Ok };
        let schemes = Schemes { t_c_us, change, ..Schemes::of_paper(trained) };
        for (series, scheme) in schemes.all()? {
            let name = format!("{series}, T_c {t_c_ms} ms");
            cells.push(scheme.cell_at(name, series, f64::from(t_c_ms)));
        }
    }
    let (name, title) = if tcp {
        ("sweep-tcp", "a Cubic download in place of UDP, T_c from 0 to 40 ms")
    } else {
        ("sweep", "T_c from 0 to 40 ms")
    };
    Ok(Experiment {
        repeats: 1,
        cells,
        figures: vec![
            Figure::sweep("throughput", "Throughput", "T_c, ms"),
            Figure::sweep("ping_rtt", "Mean RTT", "T_c, ms"),
        ],
        ..experiment(name, "not in the paper", title)
    })
}

fn with_tcp(builder: ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError> {
    let bulk =
        json!({ "name": BULK, "kind": "tcp", "congestion_control": "cubic", "start_s": START_S });
    builder.set("flows[0]", bulk)
}

fn with_several_ues(mut builder: ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError> {
    for further in 1..UES {
        let mut ue = builder.get("/ues/0");
        ue["rnti"] = (17_921 + further).into();
        builder = builder.push("/ues", ue)?;
    }
    let rate = builder.get("/flows/0/rate_kbps").as_u64().unwrap_or_default() / u64::from(UES);
    builder
        .set("flows[0].rate_kbps", rate)?
        .set("flows[0].rnti", "each")?
        .set("flows[1].rnti", "each")
}

/// Not in the paper: the same load to several UEs; "evaluated under real-life scenarios using traffic
/// generated by multiple users" is the paper's future work (§V).
fn several_ues(trained: Option<&Trained>) -> Result<Experiment, ReproduceError> {
    let schemes = Schemes { bearers: UES, change: with_several_ues, ..Schemes::of_paper(trained) };
    Ok(Experiment {
        cells: with_monolithic(schemes)?,
        figures: vec![
            Figure::bars("throughput", "Throughput of all UEs"),
            Figure::bars("ping_rtt", "Mean RTT"),
        ],
        ..experiment("several-ues", "not in the paper", "four UEs with a quarter of the load each")
    })
}

/// Not in the paper: a variable channel.
fn moving(trained: Option<&Trained>) -> Result<Experiment, ReproduceError> {
    let pedestrian = json!({ "mobility": { "pattern": "pedestrian" } });
    let schemes = Schemes { channel: Some(&pedestrian), ..Schemes::of_paper(trained) };
    Ok(Experiment {
        cells: with_monolithic(schemes)?,
        figures: vec![
            Figure::bars("throughput", "Throughput"),
            Figure::bars("ping_rtt", "Mean RTT"),
        ],
        ..experiment("moving", "not in the paper", "a pedestrian's channel, T_c 10 ms")
    })
}

fn with_monolithic(schemes: Schemes<'_>) -> Result<Vec<Cell>, ReproduceError> {
    let monolithic = schemes.monolithic().drql("each_slot")?.cell(MONOLITHIC);
    let others = schemes.all()?.into_iter().map(|(name, scheme): Named| scheme.cell(name));
    Ok([monolithic].into_iter().chain(others).collect())
}
