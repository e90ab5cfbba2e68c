//! §VI-A: calls beside a download on the same bearer.

use super::super::super::{Curve, Experiment, Figure, Metric, ReproduceError};
use super::{SCHEMES, SOJOURN, Scheme, call, calls, downloads, floors, mobility, sojourn_cdf};

/// The paper's columns.
const COLUMNS: [&str; 6] = ["Vanilla", "CoDel", "BBR", "e5G-BDP", "DynRLC", "DRQL"];
/// Calls in parallel (§V-F).
const CALLS: [u16; 4] = [1, 2, 4, 8];

pub(super) fn experiments() -> Result<Vec<Experiment>, ReproduceError> {
    let train = Moving {
        name: "train",
        source: "§VI-A3, Tables 3 to 5",
        title: "MCS of a train, one call beside a download",
        mean_ms: [2366.08, 24.27, 84.06, 1.93, 2.67, 4.42],
        p95_ms: [5325.93, 52.93, 186.94, 3.93, 5.56, 8.94],
        used_rb_pct: [100.0, 85.0, 98.1, 99.1, 75.6, 100.0],
        goodput_mbps: Some([6.20, 5.20, 6.20, 5.98, 4.30, 6.0]),
    };
    let pedestrian = Moving {
        name: "pedestrian",
        source: "§VI-A3, Tables 3 to 5",
        title: "MCS of a pedestrian, one call beside a download",
        mean_ms: [2841.73, 31.58, 85.60, 2.19, 2.92, 5.59],
        p95_ms: [5261.16, 138.94, 218.93, 3.90, 5.57, 8.77],
        used_rb_pct: [100.0, 93.0, 97.6, 99.3, 80.9, 100.0],
        goodput_mbps: None,
    };
    Ok(vec![static_mcs()?, scalability()?, moving(&train)?, moving(&pedestrian)?])
}

/// A row of one of the paper's tables.
fn row(values: [f64; 6]) -> impl Iterator<Item = (&'static str, f64)> {
    COLUMNS.into_iter().zip(values)
}

fn occupancy(title: &'static str) -> Figure {
    Figure::curves("occupancy", title, "s", "bytes")
}

/// Table 2 with Figs. 7 to 10.
fn static_mcs() -> Result<Experiment, ReproduceError> {
    let cell = |scheme: Scheme| Ok(scheme.builder()?.with_occupancy().cell(scheme.name));
    let mut cells: Vec<_> = SCHEMES.into_iter().map(cell).collect::<Result<_, _>>()?;
    cells.extend(floors(&SOJOURN.builder()?.with_occupancy()));
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_below("voip_below_1ms", calls(), 1.0),
            Metric::goodput("tcp_goodput", downloads()),
            Metric::used_rb("used_rb"),
            Metric::sojourn_below("voip_below_50ms", calls(), 50.0),
            Metric::rtt_quantile("voip_rtt_min", calls(), 0.0),
        ],
        curves: vec![
            Curve::sojourn_cdf("sojourn", calls()),
            Curve::rtt_cdf("rtt", calls()),
            Curve::occupancy("occupancy"),
        ],
        cells,
        figures: vec![
            sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 9)", Some(5.0)),
            occupancy("RLC buffer (Fig. 7)"),
            Figure::curves("rtt", "Round trip of the VoIP flow (Fig. 8)", "ms", "share of packets")
                .log_x(),
            Figure::bars("tcp_goodput", "Throughput of iperf3 (Fig. 10)"),
        ],
        ..Experiment::new("static", "§VI-A1, Table 2", "static MCS 28, one call beside a download")
    };
    Ok(experiment
        .reports("voip_below_1ms", row([0.0, 9.0, 4.0, 95.0, 30.0, 50.0]))
        .reports("tcp_goodput", row([16.58, 12.95, 16.05, 16.20, 14.35, 16.30]))
        .reports("used_rb", row([100.0, 79.08, 96.9, 98.1, 89.88, 98.7]))
        // "Only 12%, 76% and 91% of the total packets at Vanilla, BBR and CoDel" (§VI-A1).
        .reports("voip_below_50ms", [("Vanilla", 12.0), ("BBR", 76.0), ("CoDel", 91.0)])
        // "A minimum of 20 ms RTT delay exists" (§VI-A1, Fig. 8).
        .reports("voip_rtt_min", ["e5G-BDP", "DynRLC", "DRQL"].map(|scheme| (scheme, 20.0))))
}

/// §VI-A2, Fig. 11; the paper gives no numbers.
fn scalability() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for scheme in SCHEMES {
        for n in CALLS {
            let mut builder = scheme.builder()?;
            for extra in 2..=n {
                builder = builder.push("/flows", call(format!("voip-{extra}"), 17_921))?;
            }
            let name = format!("{}, {n} {}", scheme.name, if n == 1 { "call" } else { "calls" });
            cells.push(builder.cell_at(name, scheme.name, f64::from(n)));
        }
    }
    Ok(Experiment {
        metrics: vec![
            Metric::sojourn_mean("voip_mean", calls()),
            Metric::sojourn_quantile("voip_p95", calls(), 0.95),
            Metric::sojourn_below("voip_below_1ms", calls(), 1.0),
            Metric::goodput("tcp_goodput", downloads()),
            Metric::used_rb("used_rb"),
        ],
        curves: vec![Curve::sojourn_cdf("sojourn", calls())],
        cells,
        figures: vec![
            sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 11)", Some(5.0)),
            Figure::sweep("voip_below_1ms", "Below 1 ms", "calls"),
            Figure::sweep("used_rb", "Used resource blocks", "calls"),
        ],
        ..Experiment::new("scalability", "§VI-A2, Fig. 11", "1, 2, 4 and 8 calls beside a download")
    })
}

/// Values of Tables 3 to 5 and Fig. 15 for a mobility pattern.
struct Moving {
    name: &'static str,
    source: &'static str,
    title: &'static str,
    mean_ms: [f64; 6],
    p95_ms: [f64; 6],
    used_rb_pct: [f64; 6],
    goodput_mbps: Option<[f64; 6]>,
}

/// §VI-A3.
fn moving(pattern: &Moving) -> Result<Experiment, ReproduceError> {
    let cell = |scheme: Scheme| {
        let builder = scheme.builder()?.set("ues[0].channel", mobility(pattern.name))?;
        Ok(builder.with_occupancy().cell(scheme.name))
    };
    let mut cells: Vec<_> = SCHEMES.into_iter().map(cell).collect::<Result<_, _>>()?;
    let own = SOJOURN.builder()?.set("ues[0].channel", mobility(pattern.name))?;
    cells.extend(floors(&own.with_occupancy()));
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_mean("voip_mean", calls()),
            Metric::sojourn_quantile("voip_p95", calls(), 0.95),
            Metric::used_rb("used_rb"),
            Metric::goodput("tcp_goodput", downloads()),
        ],
        curves: vec![Curve::sojourn_cdf("sojourn", calls()), Curve::occupancy("occupancy")],
        cells,
        figures: vec![
            sojourn_cdf("SDAP and RLC sojourn of VoIP packets (Fig. 14)", Some(20.0)),
            occupancy("RLC buffer (Fig. 13)"),
            Figure::bars("tcp_goodput", "Throughput of iperf3 (Fig. 15)"),
        ],
        ..Experiment::new(pattern.name, pattern.source, pattern.title)
    };
    let experiment = experiment
        .reports("voip_mean", row(pattern.mean_ms))
        .reports("voip_p95", row(pattern.p95_ms))
        .reports("used_rb", row(pattern.used_rb_pct));
    Ok(match pattern.goodput_mbps {
        Some(goodput_mbps) => experiment.reports("tcp_goodput", row(goodput_mbps)),
        None => experiment,
    })
}
