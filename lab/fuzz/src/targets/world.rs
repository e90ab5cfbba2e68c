//! A gNB of a scenario with other values: each line of the input is PATH=VALUE, as of `--set`, for the
//! default scenario. Such a scenario is refused, or its gNB runs.

use std::path::Path;
use std::sync::LazyLock;

use lab_scenario::{LoadedScenario, Override};
use lab_world::World;
use serde_json::Value;

/// Overrides that are tried together.
const MOST: usize = 8;
/// Larger gNBs are slow.
const MOST_UES: usize = 32;
/// Virtual time that the gNB runs.
const DURATION_US: u64 = 20_000;

static DEFAULT: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../scenarios/default.yaml");
    serde_saphyr::from_str(text).expect("YAML")
});

pub(crate) fn check(input: &[u8]) {
    let scenario = &*DEFAULT;
    let Ok(text) = str::from_utf8(input) else { return };
    let overrides: Vec<Override> =
        text.lines().take(MOST).filter_map(|line| line.parse().ok()).collect();
    for change in &overrides {
        assert!(change.concerns(change.path()), "{text}");
    }
    // Traces are read from a folder that does not exist.
    let folder = Path::new("/nonexistent");
    let loaded = LoadedScenario::from_value(scenario.clone(), "fuzz.yaml", folder, &overrides);
    let Ok(loaded) = loaded else { return };
    let ues: usize = loaded.scenario.ues.iter().map(|ue| usize::from(ue.count)).sum();
    if ues > MOST_UES {
        return;
    }
    let Ok(mut world) = World::new(&loaded) else { return };
    world.step_until(DURATION_US, &mut |_| {});
    let _ = world.summary();
}
