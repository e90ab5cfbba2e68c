//! Runs of committed scenarios, also for the tests of other crates.

// Each test binary uses a part of it; clippy.toml exempts test functions only.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use lab_scenario::{LoadedScenario, Override};
use lab_world::{FlowSummary, Summary, World};

/// The committed scenarios.
pub(crate) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

/// A committed scenario with elements replaced.
pub(crate) fn scenario(name: &str, overrides: &[&str]) -> LoadedScenario {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    LoadedScenario::from_file(&scenarios().join(name), &overrides).unwrap()
}

/// Its world after `seconds`.
pub(crate) fn run(name: &str, seconds: f64, overrides: &[&str]) -> World {
    let mut world = World::new(&scenario(name, overrides)).unwrap();
    world.step_until((seconds * 1e6) as u64, &mut |_| {});
    world
}

/// A flow of a summary.
pub(crate) fn flow<'a>(summary: &'a Summary, name: &str) -> &'a FlowSummary {
    summary.flows.iter().find(|flow| flow.name == name).unwrap()
}
