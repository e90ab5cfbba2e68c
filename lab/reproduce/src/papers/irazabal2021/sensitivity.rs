//! Not in the paper: sensitivity of its figures to our assumptions.

use super::super::super::{Experiment, Figure, Metric, ReproduceError};
use super::{BBR, CODEL, DRQL, E5G_BDP, calls, downloads};

pub(super) fn experiments() -> Result<Vec<Experiment>, ReproduceError> {
    Ok(vec![arrival_phase()?, round_trip()?])
}

/// Spread of a call's packets within a TTI.
fn arrival_phase() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for scheme in [E5G_BDP, DRQL] {
        for spread_us in [100_u32, 250, 500, 750, 1000] {
            let builder = scheme.builder()?.set("split.core_jitter_us", spread_us)?;
            let name = format!("{}, {spread_us} µs", scheme.name);
            cells.push(builder.cell_at(name, scheme.name, f64::from(spread_us)));
        }
    }
    Ok(Experiment {
        metrics: vec![
            Metric::sojourn_below("voip_below_1ms", calls(), 1.0),
            Metric::sojourn_mean("voip_mean", calls()),
        ],
        cells,
        figures: vec![Figure::sweep(
            "voip_below_1ms",
            "VoIP packets below 1 ms",
            "spread of their arrival after a TTI, µs",
        )],
        ..Experiment::new(
            "phase",
            "not in the paper",
            "calls that arrive within 0.1 to 1 ms of a TTI",
        )
    })
}

/// One-way delay to the download's server.
fn round_trip() -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    for scheme in [CODEL, BBR] {
        for delay_ms in [1_u32, 10, 20, 30, 50, 100] {
            let builder = scheme.builder()?.set("flows[0].core_delay_us", delay_ms * 1000)?;
            let name = format!("{}, {delay_ms} ms", scheme.name);
            cells.push(builder.cell_at(name, scheme.name, f64::from(delay_ms)));
        }
    }
    Ok(Experiment {
        metrics: vec![
            Metric::used_rb("used_rb"),
            Metric::goodput("tcp_goodput", downloads()),
            Metric::sojourn_below("voip_below_1ms", calls(), 1.0),
            Metric::sojourn_below("voip_below_50ms", calls(), 50.0),
        ],
        cells,
        figures: vec![
            Figure::sweep(
                "used_rb",
                "Used resource blocks",
                "one-way delay to the download's server, ms",
            ),
            Figure::sweep(
                "voip_below_50ms",
                "VoIP packets below 50 ms",
                "one-way delay to the download's server, ms",
            ),
        ],
        ..Experiment::new(
            "round-trip",
            "not in the paper",
            "CoDel and BBR with the download's server 1 to 100 ms away",
        )
    })
}
