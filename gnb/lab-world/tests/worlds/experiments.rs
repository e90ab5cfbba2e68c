//! Committed scenarios run.

use std::path::Path;

use crate::common::scenarios;
use lab_scenario::LoadedScenario;
use lab_world::World;

fn yaml_files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn every_committed_scenario_runs_and_delivers() {
    let mut files = Vec::new();
    yaml_files(&scenarios(), &mut files);
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let loaded = LoadedScenario::from_file(&file, &[]).unwrap();
        let mut world = World::new(&loaded).unwrap();
        // A second and a half into the first bulk flow, where there is one.
        let is_bulk = |kind: &str| ["tcp", "udp_cbr"].contains(&kind);
        let bulk = loaded.scenario.flows.iter().filter(|flow| is_bulk(flow.app.kind()));
        let begins_s = bulk.map(|flow| flow.keys.start_s).reduce(f64::min).unwrap_or(0.0);
        world.step_until(((begins_s + 1.5) * 1e6) as u64, &mut |_| {});
        let delivered: u64 = world.flow_samples().iter().map(|flow| flow.goodput_bytes).sum();
        assert!(delivered > 100_000, "{}: {delivered} bytes", file.display());
    }
}
