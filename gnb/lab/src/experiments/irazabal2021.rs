//! irazabal2021 Table 2: static MCS, one VoIP call beside one Cubic download (§V, §VI-A1).

use std::path::Path;

use crate::scenario::{LoadedScenario, Override, ScenarioError};
use crate::world::World;

/// When the call begins, and with it what is measured (§V-F).
const CALL_BEGINS_US: u64 = 5_000_000;
/// When it ends.
const CALL_ENDS_US: u64 = 65_000_000;

/// One row of the table, by the paper or by a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// VoIP packets that spent less than 1 ms in SDAP and RLC, percent.
    pub below_1ms_pct: f64,
    /// Payload of the download, Mbit/s.
    pub goodput_mbps: f64,
    /// Resource blocks that carried data, percent.
    pub used_rb_pct: f64,
}

/// A scheme of the table.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Its name in the paper.
    pub name: &'static str,
    /// Its scenario, in `scenarios/irazabal2021`.
    pub file: &'static str,
    /// What the paper reports.
    pub paper: Row,
}

/// The schemes run here, in the paper's order.
pub const SCHEMES: [Scheme; 4] = [
    Scheme {
        name: "Vanilla",
        file: "vanilla.yaml",
        paper: Row { below_1ms_pct: 0.0, goodput_mbps: 16.58, used_rb_pct: 100.0 },
    },
    Scheme {
        name: "CoDel",
        file: "codel.yaml",
        paper: Row { below_1ms_pct: 9.0, goodput_mbps: 12.95, used_rb_pct: 79.08 },
    },
    Scheme {
        name: "e5G-BDP",
        file: "e5g_bdp.yaml",
        paper: Row { below_1ms_pct: 95.0, goodput_mbps: 16.20, used_rb_pct: 98.1 },
    },
    Scheme {
        name: "DRQL",
        file: "drql.yaml",
        paper: Row { below_1ms_pct: 50.0, goodput_mbps: 16.30, used_rb_pct: 98.7 },
    },
];

/// Runs a scheme with a seed; `scenarios` is the folder of its file.
///
/// # Errors
/// [`ScenarioError`] when the scenario cannot be read or run.
pub fn run(scheme: &Scheme, scenarios: &Path, seed: u64) -> Result<Row, ScenarioError> {
    let seed = Override::new("seed", seed.into()).into_iter().collect::<Vec<_>>();
    let loaded = LoadedScenario::from_file(&scenarios.join(scheme.file), &seed)?;
    let mut world = World::new(&loaded)?;
    world.step_until(CALL_BEGINS_US, &mut |_| {});
    let before = world.cell_sample();
    world.step_until(CALL_ENDS_US, &mut |_| {});
    let after = world.cell_sample();
    let used = (after.used_prb - before.used_prb) as f64;
    let available = (after.available_prb - before.available_prb) as f64;
    let summary = world.summary();
    let call = summary.flows.iter().find(|flow| flow.kind == "voip");
    let goodput_bps: f64 = world
        .flows()
        .filter(|(_, kind, _)| *kind == "tcp")
        .map(|(_, _, flow)| flow.ue.arrivals().goodput().mean_bps(CALL_BEGINS_US, CALL_ENDS_US))
        .sum();
    Ok(Row {
        below_1ms_pct: call.map_or(0.0, |call| call.queued_below_1ms_pct),
        goodput_mbps: goodput_bps / 1e6,
        used_rb_pct: 100.0 * used / available,
    })
}

/// The mean over `seeds` runs; the paper repeats each five times.
///
/// # Errors
/// As [`run`].
pub fn mean(scheme: &Scheme, scenarios: &Path, seeds: u64) -> Result<Row, ScenarioError> {
    let mut sum = Row { below_1ms_pct: 0.0, goodput_mbps: 0.0, used_rb_pct: 0.0 };
    for seed in 1..=seeds {
        let row = run(scheme, scenarios, seed)?;
        sum.below_1ms_pct += row.below_1ms_pct;
        sum.goodput_mbps += row.goodput_mbps;
        sum.used_rb_pct += row.used_rb_pct;
    }
    let n = seeds.max(1) as f64;
    Ok(Row {
        below_1ms_pct: sum.below_1ms_pct / n,
        goodput_mbps: sum.goodput_mbps / n,
        used_rb_pct: sum.used_rb_pct / n,
    })
}
