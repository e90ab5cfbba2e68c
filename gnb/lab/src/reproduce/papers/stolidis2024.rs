//! stolidis2024: CU and DU apart, DRQL's measure of the RLC 10 ms away; asked for, or forecast.

use serde_json::json;

use super::super::{
    Cell, Curve, Experiment, Figure, FlowObserved, Flows, ForecasterKind, Forecasts, Inputs,
    Metric, Observed, Paper, ReproduceError, Sketch,
};
use crate::forecast::Timing;

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
        "Perfect: limit and occupancy of the monolithic DRQL run of the same seed, at the times of \
         the paper (T_m 400 ms, M 400). 400 ms late: the last 400 samples at the RIC stand for the \
         400 to come. Persistence: the newest sample at the RIC, each ms.",
    ],
    experiments,
};

const START_S: f64 = 2.0;
/// "T_c ≈ 10 ms" (§IV-D).
const T_C_US: u32 = 10_000;
const SWEEP_MS: [u32; 6] = [0, 2, 5, 10, 20, 40];
/// Without a newer forecast for this long the CU paces by itself. At the paper's times the newest
/// sample of a forecast in use is up to 810 ms old.
const STALE_US: u32 = 1_000_000;
const BULK: &str = "bulk";

fn experiments(_: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
    Ok(vec![sets()?, sweep(false)?, sweep(true)?, several_ues()?, moving()?])
}

/// A change to every scenario of an experiment, the monolithic one that is forecast included.
type Change<'a> = &'a dyn Fn(Sketch) -> Result<Sketch, ReproduceError>;

fn unchanged(sketch: Sketch) -> Result<Sketch, ReproduceError> {
    Ok(sketch)
}

fn original(t_c_us: u32, change: Change<'_>) -> Result<Sketch, ReproduceError> {
    let yaml = include_str!("../../../scenarios/stolidis2024/original.yaml");
    let sketch = Sketch::of("original.yaml", yaml)?.set("split.f1_delay_us", t_c_us)?;
    Ok(change(sketch)?.observed_from_s(START_S))
}

/// DRQL, with the DU telling the CU `each_slot`, `on_request` or `never`.
fn drql(t_c_us: u32, told: &str, change: Change<'_>) -> Result<Sketch, ReproduceError> {
    let yaml = include_str!("../../../scenarios/stolidis2024/drql.yaml");
    let sketch = Sketch::of("drql.yaml", yaml)?
        .set("split.f1_delay_us", t_c_us)?
        .set("split.f1.rlc_status", told)?;
    Ok(change(sketch)?.observed_from_s(START_S))
}

/// A pacer that lives on forecasts, with what the DU tells of itself.
fn paced_by_forecast(
    t_c_us: u32,
    told: &str,
    change: Change<'_>,
) -> Result<Sketch, ReproduceError> {
    let pacer = json!({ "forecast": { "stale_us": STALE_US } });
    let sketch = drql(t_c_us, told, change)?;
    let mut ues = sketch.get("/ues");
    for ue in ues.as_array_mut().into_iter().flatten() {
        ue["drbs"][0]["pipeline"]["name"] = "forecast".into();
        ue["drbs"][0]["pipeline"]["pacer"] = pacer.clone();
    }
    sketch.set("ues", ues)
}

/// What forecasts.
#[derive(Clone, Copy)]
enum Knows {
    Future,
    LongAgo,
    Now,
}

/// The forecasters with their names.
const FORECASTERS: [(&str, Knows); 3] =
    [("perfect", Knows::Future), ("400 ms late", Knows::LongAgo), ("persistence", Knows::Now)];

fn forecasts(t_c_us: u32, knows: Knows, change: Change<'_>) -> Result<Forecasts, ReproduceError> {
    Ok(match knows {
        Knows::Future => Forecasts {
            forecaster: ForecasterKind::Perfect(Box::new(drql(0, "each_slot", change)?.scenario())),
            timing: Timing::stolidis2024(t_c_us),
        },
        Knows::LongAgo => {
            Forecasts { forecaster: ForecasterKind::Late, timing: Timing::stolidis2024(t_c_us) }
        }
        Knows::Now => {
            Forecasts { forecaster: ForecasterKind::Persistence, timing: Timing::at_once(t_c_us) }
        }
    })
}

/// The third set: "the DU is not involved".
fn forecast(t_c_us: u32, knows: Knows, change: Change<'_>) -> Result<Sketch, ReproduceError> {
    let sketch = paced_by_forecast(t_c_us, "never", change)?;
    let mut ues = sketch.get("/ues");
    for ue in ues.as_array_mut().into_iter().flatten() {
        ue["drbs"][0]["rlc"]["drql_limit"] = true.into();
    }
    let sketch = sketch.set("ues", ues)?;
    Ok(sketch.with_forecasts(forecasts(t_c_us, knows, change)?))
}

/// What T_c does to each way of knowing the RLC; names of series.
fn ways(t_c_us: u32, change: Change<'_>) -> Result<Vec<(String, Sketch)>, ReproduceError> {
    let mut all = vec![
        ("original".to_owned(), original(t_c_us, change)?),
        ("DRQL, asking the DU".to_owned(), drql(t_c_us, "on_request", change)?),
        ("DRQL, told each TTI".to_owned(), drql(t_c_us, "each_slot", change)?),
    ];
    for (name, knows) in FORECASTERS {
        all.push((format!("forecast, {name}"), forecast(t_c_us, knows, change)?));
    }
    let told = paced_by_forecast(t_c_us, "each_slot", change)?;
    all.push(("told each TTI, forecast pacer".to_owned(), told.clone()));
    for (name, knows) in FORECASTERS {
        let both = told.clone().with_forecasts(forecasts(t_c_us, knows, change)?);
        all.push((format!("told each TTI and forecast, {name}"), both));
    }
    Ok(all)
}

/// Throughput of the bulk over time, a point a second; all such flows together.
fn by_second(run: &Observed) -> Vec<(f64, f64)> {
    let mut seconds: Vec<(f64, u32)> = Vec::new();
    for (index, flow) in bulk_of(run).enumerate() {
        for (at_s, mbps) in &flow.goodput_mbps_over_s {
            let second = at_s.max(0.0) as usize;
            if second >= seconds.len() {
                seconds.resize(second + 1, (0.0, 0));
            }
            seconds[second].0 += mbps;
            if index == 0 {
                seconds[second].1 += 1;
            }
        }
    }
    let mean = |(second, (sum, bins)): (usize, &(f64, u32))| {
        (second as f64 + 0.5, sum / f64::from((*bins).max(1)))
    };
    seconds.iter().enumerate().map(mean).collect()
}

fn bulk_of(run: &Observed) -> impl Iterator<Item = &FlowObserved> {
    run.flows.iter().filter(|flow| flow.kind != "ping")
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Round trips of the pings: seconds since the window began, ms.
fn rtts(run: &Observed) -> Vec<(f64, f64)> {
    let of_flows = run.flows.iter().filter(|flow| flow.kind == "ping");
    let mut all: Vec<(f64, f64)> = of_flows
        .flat_map(|flow| &flow.rtt_us)
        .map(|(at_us, rtt_us)| {
            let ended_us = at_us.saturating_sub(run.watch.from_us);
            (ended_us as f64 / 1e6, *rtt_us as f64 / 1e3)
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// Least squares line through points: slope, and the share of the variance it explains; none for
/// fewer than three points or no spread.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < 3 {
        return None;
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    (xx > 0.0 && yy > 0.0).then(|| (xy / xx, xy * xy / (xx * yy)))
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
        ],
        ..Experiment::new(name, source, title)
    }
}

const ORIGINAL: [&str; 2] = ["original, monolithic", "original, disaggregated"];
const MONOLITHIC: &str = "DRQL, monolithic";
const ASKING: &str = "DRQL, disaggregated, asking the DU";

/// §IV-D, Figs. 6 and 7.
fn sets() -> Result<Experiment, ReproduceError> {
    let same: Change<'_> = &unchanged;
    let mut cells = vec![
        original(0, same)?.cell(ORIGINAL[0]),
        original(T_C_US, same)?.cell(ORIGINAL[1]),
        drql(0, "each_slot", same)?.cell(MONOLITHIC),
        drql(T_C_US, "on_request", same)?.cell(ASKING),
    ];
    let mut forecast_names = Vec::new();
    for (name, knows) in FORECASTERS {
        let name = format!("DRQL with forecast, {name}");
        cells.push(forecast(T_C_US, knows, same)?.cell(&name));
        forecast_names.push(name);
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
    metrics.push(Metric::new("rtt_growth", "ms/s", |run| Some(line(&rtts(run))?.0)));
    metrics.push(Metric::new("rtt_linearity", "R²", |run| Some(line(&rtts(run))?.1)));
    let of_forecast = |value: f64| forecast_names.iter().map(move |name| (name.as_str(), value));
    Ok(Experiment {
        cells,
        metrics,
        curves: vec![Curve::new("throughput", by_second), Curve::new("rtt", rtts)],
        figures: vec![
            Figure::Curves {
                curve: "throughput",
                title: "Downlink throughput (Fig. 6)",
                x: "s",
                y: "Mbit/s",
                log_x: false,
                x_max: None,
            },
            Figure::Curves {
                curve: "rtt",
                title: "RTT (Fig. 7, there over a logarithmic scale)",
                x: "s",
                y: "ms",
                log_x: false,
                x_max: None,
            },
            Figure::Bars { metric: "throughput", title: "Throughput (Fig. 6)" },
            Figure::Bars { metric: "ping_rtt", title: "Mean RTT (Fig. 7)" },
        ],
        ..base
    }
    .reports("throughput", ORIGINAL.map(|name| (name, 41.2)))
    .reports("throughput", [(MONOLITHIC, 46.0), (ASKING, 1.0)])
    .reports("throughput", of_forecast(37.0))
    .reports("ping_rtt", [(MONOLITHIC, 84.0), (ASKING, 30.0)])
    .reports("ping_rtt", of_forecast(114.0))
    // "This imbalance results in a linear increase in RTT over time" (§IV-E2).
    .reports("rtt_linearity", ORIGINAL.map(|name| (name, 1.0))))
}

/// Of our own: T_c from 0 to 40 ms.
fn sweep(tcp: bool) -> Result<Experiment, ReproduceError> {
    let change: Change<'_> = if tcp { &with_tcp } else { &unchanged };
    let mut cells: Vec<Cell> = Vec::new();
    for t_c_ms in SWEEP_MS {
        for (series, sketch) in ways(t_c_ms * 1_000, change)? {
            let name = format!("{series}, T_c {t_c_ms} ms");
            cells.push(sketch.cell_at(name, series, f64::from(t_c_ms)));
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
            Figure::Sweep { metric: "throughput", title: "Throughput", x: "T_c, ms" },
            Figure::Sweep { metric: "ping_rtt", title: "Mean RTT", x: "T_c, ms" },
        ],
        ..experiment(name, "not in the paper", title)
    })
}

fn with_tcp(sketch: Sketch) -> Result<Sketch, ReproduceError> {
    let bulk =
        json!({ "name": BULK, "kind": "tcp", "congestion_control": "cubic", "start_s": START_S });
    sketch.set("flows[0]", bulk)
}

/// The four UEs of [`several_ues`].
const UES: u64 = 4;

fn with_several_ues(mut sketch: Sketch) -> Result<Sketch, ReproduceError> {
    for further in 1..UES {
        let mut ue = sketch.get("/ues/0");
        ue["rnti"] = (17_921 + further).into();
        sketch = sketch.push("/ues", ue)?;
    }
    let rate = sketch.get("/flows/0/rate_kbps").as_u64().unwrap_or_default() / UES;
    sketch
        .set("flows[0].rate_kbps", rate)?
        .set("flows[0].rnti", "each")?
        .set("flows[1].rnti", "each")
}

/// Of our own: the same load to several UEs; "evaluated under real-life scenarios using traffic
/// generated by multiple users" is the paper's future work (§V).
fn several_ues() -> Result<Experiment, ReproduceError> {
    let cells = ways(T_C_US, &with_several_ues)?;
    Ok(Experiment {
        cells: cells.into_iter().map(|(name, sketch)| sketch.cell(name)).collect(),
        figures: vec![
            Figure::Bars { metric: "throughput", title: "Throughput of all UEs" },
            Figure::Bars { metric: "ping_rtt", title: "Mean RTT" },
        ],
        ..experiment("several-ues", "not in the paper", "four UEs with a quarter of the load each")
    })
}

fn with_pedestrian(sketch: Sketch) -> Result<Sketch, ReproduceError> {
    sketch.set("ues[0].channel", json!({ "mobility": { "pattern": "pedestrian" } }))
}

/// Of our own: a channel that changes.
fn moving() -> Result<Experiment, ReproduceError> {
    let mut cells = ways(T_C_US, &with_pedestrian)?;
    cells.insert(0, (MONOLITHIC.to_owned(), drql(0, "each_slot", &with_pedestrian)?));
    Ok(Experiment {
        cells: cells.into_iter().map(|(name, sketch)| sketch.cell(name)).collect(),
        figures: vec![
            Figure::Bars { metric: "throughput", title: "Throughput" },
            Figure::Bars { metric: "ping_rtt", title: "Mean RTT" },
        ],
        ..experiment("moving", "not in the paper", "a pedestrian's channel, T_c 10 ms")
    })
}
