//! kumar2018: a download and a ping on one LTE bearer of 16 Mbit/s with RLC-AM; flow queues in PDCP
//! and a limit on the SDUs in the RLC.

use serde_json::{Value, json};

use super::super::{
    Cell, Curve, Experiment, Figure, Flows, Inputs, Metric, Paper, ReproduceError, ScenarioBuilder,
};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "kumar2018",
    citation: "R. Kumar, A. Francini, S. Panwar, S. Sharma: Dynamic Control of RLC Buffer Size for \
               Latency Minimization in Mobile RAN. IEEE WCNC 2018.",
    assumptions: &[
        "The cell is OAI's of 5 MHz at MCS 28, which gives the 16 Mbit/s of §II.",
        "Servers are 0.5 ms away and the gNB decodes uplink within 1 ms, so that the round trip of \
         a ping without load is in the 15 ms range (§II); scheduling requests go each 10 ms.",
        "Nothing is lost on the air; the paper's UEs are stationary, and it says nothing of errors.",
        "\"Large\" RLC buffer: 1000 SDUs. The delay it adds is in proportion to it.",
        "PDCP: 256 flow queues by hash (the paper cites stochastic fairness queueing), deficit round \
         robin, 1000 packets together, tail drop.",
        "α is 0.05, as irazabal2021 has it; QLT lies between 1 and 256 SDUs. The paper gives neither.",
        "DLT begins with γ plus a scheduling request period (\"at least as large as γ + SRP\", §IV).",
        "Pings are 97 ms apart, in no step with scheduling requests, and counted after 15 s: QLT comes down from its maximum by a \
         twentieth each 200 ms.",
    ],
    takes_model: false,
    experiments,
};

/// Virtual time for Cubic and QLT to settle.
const SETTLED_S: f64 = 15.0;
/// The scheduling request period, ms.
const SR_PERIOD_MS: u32 = 10;
const PACER: &str = "ues[0].drbs[0].pipeline.pacer.dyn_rlc";

fn experiments(_: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
    Ok(vec![buffer()?, delay_metric()?, blocks()?, beta_gamma()?, second_ue()?])
}

fn builder(file: &'static str, yaml: &str) -> Result<ScenarioBuilder, ReproduceError> {
    Ok(ScenarioBuilder::from_yaml(file, yaml)?.observed_from_s(SETTLED_S))
}

fn rlc_only() -> Result<ScenarioBuilder, ReproduceError> {
    builder("rlc_only.yaml", include_str!("../../../scenarios/kumar2018/rlc_only.yaml"))
}

fn dyn_rlc(pacer: &[(&str, Value)]) -> Result<ScenarioBuilder, ReproduceError> {
    let yaml = include_str!("../../../scenarios/kumar2018/dyn_rlc.yaml");
    pacer.iter().try_fold(builder("dyn_rlc.yaml", yaml)?, |builder, (key, value)| {
        builder.set(&format!("{PACER}.{key}"), value.clone())
    })
}

/// DLT from the gaps of status PDUs, for t-StatusProhibit γ.
fn by_status_gaps(beta_milli: u32, gamma_ms: u32) -> Result<ScenarioBuilder, ReproduceError> {
    dyn_rlc(&[
        ("status_gap_beta_milli", json!(beta_milli)),
        ("target_us", json!((gamma_ms + SR_PERIOD_MS) * beta_milli)),
    ])?
    .set("ues[0].drbs[0].rlc.t_status_prohibit_us", gamma_ms * 1000)
}

fn experiment(name: &'static str, source: &'static str, title: &'static str) -> Experiment {
    Experiment {
        repeats: 3,
        metrics: vec![
            Metric::goodput("tcp_goodput", Flows::kind("tcp").of_ue(17_921)),
            Metric::rtt_mean("ping_rtt", Flows::kind("ping")),
            Metric::rtt_quantile("ping_rtt_min", Flows::kind("ping"), 0.0),
            Metric::rtt_quantile("ping_rtt_p95", Flows::kind("ping"), 0.95),
            // "The time of removal of the SDU from the buffer" less that of its arrival (§III).
            Metric::new("sdu_delay", "ms", |run| {
                let first = run.removals.first()?;
                (first.sdus > 0).then(|| first.delay_us as f64 / first.sdus as f64 / 1e3)
            }),
        ],
        ..Experiment::new(name, source, title)
    }
}

/// Fig. 2: fixed sizes of the RLC buffer.
fn buffer() -> Result<Experiment, ReproduceError> {
    let mut cells = vec![rlc_only()?.cell("large, no PDCP queues")];
    for sdus in [16_u16, 32, 48, 64, 96, 128, 256] {
        let fixed = dyn_rlc(&[
            ("min_sdus", sdus.into()),
            ("max_sdus", sdus.into()),
            ("status_gap_beta_milli", Value::Null),
        ])?;
        cells.push(fixed.cell_at(format!("{sdus} SDUs"), "PDCP queues", f64::from(sdus)));
    }
    let mut idle = rlc_only()?;
    let ping = idle.get("/flows/1");
    idle = idle.set("flows", json!([ping]))?;
    cells.push(idle.cell("no download"));
    Ok(Experiment {
        cells,
        figures: vec![
            Figure::sweep("tcp_goodput", "TCP throughput (Fig. 2)", "SDUs"),
            Figure::sweep("ping_rtt", "PING RTT (Fig. 2)", "SDUs"),
        ],
        ..experiment("buffer", "§II, Fig. 2", "fixed sizes of the RLC buffer")
    }
    .reports("tcp_goodput", [("large, no PDCP queues", 16.0)])
    // "The minimum PING RTT achievable is in the 15 ms range"; the large buffer "adds 540 ms".
    .reports("ping_rtt", [("large, no PDCP queues", 555.0)])
    .reports("ping_rtt_min", [("no download", 15.0)]))
}

/// Fig. 3: what the delay is measured by, and the threshold.
fn delay_metric() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for (name, key) in [
        ("average", "interval_average"),
        ("minimum", "interval_minimum"),
        ("maximum", "interval_maximum"),
        ("EWMA", "ewma"),
    ] {
        for dlt_ms in [30_u32, 35, 40, 45, 50, 55, 60] {
            let fixed = dyn_rlc(&[
                ("metric", key.into()),
                ("target_us", (dlt_ms * 1000).into()),
                ("status_gap_beta_milli", Value::Null),
            ])?;
            cells.push(fixed.cell_at(format!("{name}, {dlt_ms} ms"), name, f64::from(dlt_ms)));
        }
    }
    Ok(Experiment {
        cells,
        curves: vec![Curve::rtt_cdf("rtt", Flows::kind("ping"))],
        figures: vec![
            Figure::sweep("tcp_goodput", "TCP throughput (Fig. 3a)", "DLT, ms"),
            Figure::sweep("ping_rtt", "PING RTT (Fig. 3b)", "DLT, ms"),
        ],
        ..experiment("metric", "§III, Fig. 3", "four delay metrics, thresholds from 30 to 60 ms")
    }
    // "The smallest DLT value that yields full throughput (16 Mb/s)"; 40 ms for the interval
    // average (§IV).
    .reports("tcp_goodput", [("average, 40 ms", 16.0)]))
}

/// Fig. 5: SDUs leave the buffer in blocks, one per status PDU.
fn blocks() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for gamma_ms in [10, 25] {
        // DLT fixed, so that the pattern is of RLC-AM alone.
        let builder =
            dyn_rlc(&[("target_us", json!(40_000)), ("status_gap_beta_milli", Value::Null)])?
                .set("ues[0].drbs[0].rlc.t_status_prohibit_us", gamma_ms * 1000)?;
        cells.push(builder.cell(format!("γ {gamma_ms} ms, DLT 40 ms")));
    }
    let mut experiment =
        experiment("blocks", "§IV, Fig. 5", "SDUs leave the RLC-AM buffer in blocks");
    experiment.metrics.extend([
        Metric::new("block_sdus", "SDUs", |run| {
            let first = run.removals.first()?;
            (first.blocks > 0).then(|| first.sdus as f64 / first.blocks as f64)
        }),
        Metric::new("block_gap", "ms", |run| {
            let first = run.removals.first()?;
            let window_ms = (run.watch.to_us - run.watch.from_us) as f64 / 1e3;
            (first.blocks > 0).then(|| window_ms / first.blocks as f64)
        }),
    ]);
    Ok(Experiment { cells, ..experiment }
        .reports("block_sdus", [("γ 25 ms, DLT 40 ms", 40.0)])
        .reports("block_gap", [("γ 25 ms, DLT 40 ms", 30.0)]))
}

/// Fig. 6.
fn beta_gamma() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for gamma_ms in [0, 5, 10, 15, 20, 25] {
        for beta_milli in [1000, 1250, 1500, 1750, 2000, 2250, 2500] {
            let beta = f64::from(beta_milli) / 1000.0;
            let series = format!("γ {gamma_ms} ms");
            let name = format!("{series}, β {beta}");
            cells.push(by_status_gaps(beta_milli, gamma_ms)?.cell_at(name, series, beta));
        }
    }
    Ok(Experiment {
        cells,
        figures: vec![
            Figure::sweep("tcp_goodput", "TCP throughput (Fig. 6)", "β"),
            Figure::sweep("ping_rtt", "PING RTT (Fig. 6)", "β"),
        ],
        ..experiment(
            "beta-gamma",
            "§IV, Fig. 6",
            "β from 1 to 2.5 and t-StatusProhibit from 0 to 25 ms",
        )
    }
    .reports("tcp_goodput", [("γ 10 ms, β 1.75", 15.4), ("γ 25 ms, β 1.25", 15.5)])
    .reports("ping_rtt", [("γ 10 ms, β 1.75", 31.0), ("γ 25 ms, β 1.25", 46.0)]))
}

/// Fig. 7: another UE takes UDP.
fn second_ue() -> Result<Experiment, ReproduceError> {
    let mut cells: Vec<Cell> = Vec::new();
    for (gamma_ms, beta_milli) in [(10, 1750), (25, 1250)] {
        for mbps in (0..=12_u32).step_by(2) {
            let mut builder = by_status_gaps(beta_milli, gamma_ms)?;
            let mut other = rlc_only()?.get("/ues/0");
            other["rnti"] = 17_922.into();
            builder = builder.push("/ues", other)?;
            for flow in 0..2 {
                builder = builder.set(&format!("flows[{flow}].rnti"), 17_921)?;
            }
            if mbps > 0 {
                let udp = json!({
                    "name": "udp", "kind": "udp_cbr", "rnti": 17_922, "rate_kbps": mbps * 1000,
                });
                builder = builder.push("/flows", udp)?;
            }
            let series = format!("γ {gamma_ms} ms");
            let name = format!("{series}, {mbps} Mbit/s");
            cells.push(builder.cell_at(name, series, f64::from(mbps)));
        }
    }
    let mut experiment =
        experiment("second-ue", "§V, Fig. 7", "a second UE with 0 to 12 Mbit/s of UDP");
    experiment.metrics.push(Metric::goodput("udp_goodput", Flows::kind("udp_cbr")));
    // Fig. 7a plots the total as well.
    experiment.metrics.push(Metric::new("total_goodput", "Mbit/s", |run| {
        let data = run.flows.iter().filter(|flow| flow.kind != "ping");
        Some(data.map(|flow| flow.goodput_bps).sum::<f64>() / 1e6)
    }));
    Ok(Experiment {
        cells,
        figures: vec![
            Figure::sweep(
                "tcp_goodput",
                "TCP throughput (Fig. 7a)",
                "UDP of the second UE, Mbit/s",
            ),
            Figure::sweep("ping_rtt", "PING RTT (Fig. 7b)", "UDP of the second UE, Mbit/s"),
        ],
        ..experiment
    })
}
