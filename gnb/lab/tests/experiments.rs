//! Committed scenarios run, and published orders hold.

// The leniency of clippy.toml towards tests does not reach their helpers.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::scenarios;
use gnb_lab::experiments::irazabal2021::{Row, SCHEMES, mean};
use gnb_lab::scenario::LoadedScenario;
use gnb_lab::world::World;

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
        world.step_until(1_500_000, &mut |_| {});
        let delivered: u64 = world.flow_samples().iter().map(|flow| flow.goodput_bytes).sum();
        assert!(delivered > 100_000, "{}: {delivered} bytes", file.display());
    }
}

type Column = (&'static str, fn(&Row) -> f64);

/// irazabal2021 Table 2: the order of the schemes in each column.
#[test]
fn the_schemes_of_irazabal2021_stand_in_the_papers_order() {
    let folder = scenarios().join("irazabal2021");
    let here: Vec<(&str, Row, Row)> = SCHEMES
        .iter()
        .map(|scheme| (scheme.name, scheme.paper, mean(scheme, &folder, 5).unwrap()))
        .collect();
    let columns: [Column; 3] = [
        ("< 1 ms", |row| row.below_1ms_pct),
        ("Mbit/s", |row| row.goodput_mbps),
        ("used RBs", |row| row.used_rb_pct),
    ];
    for (column, value) in columns {
        let mut rows = here.clone();
        rows.sort_by(|a, b| value(&a.1).total_cmp(&value(&b.1)));
        for pair in rows.windows(2) {
            let (low, high) = (value(&pair[0].2), value(&pair[1].2));
            let names = (pair[0].0, pair[1].0);
            assert!(low < high, "{column}: {} {low} is not below {} {high}", names.0, names.1);
        }
    }
}
