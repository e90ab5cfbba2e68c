//! The world on virtual time: bloat without control, none with it, and the same bytes each time.

use std::path::{Path, PathBuf};

use gnb_lab::scenario::{LoadedScenario, Override};
use gnb_lab::world::{FlowSummary, Summary, World};

fn scenario(name: &str, overrides: &[&str]) -> LoadedScenario {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    LoadedScenario::from_file(Path::new(&path), &overrides).unwrap()
}

fn run(name: &str, seconds: f64, overrides: &[&str]) -> World {
    let mut world = World::new(&scenario(name, overrides)).unwrap();
    world.step_until((seconds * 1e6) as u64, &mut |_| {});
    world
}

fn flow<'a>(summary: &'a Summary, name: &str) -> &'a FlowSummary {
    summary.flows.iter().find(|flow| flow.name == name).unwrap()
}

#[test]
fn a_greedy_flow_bloats_the_default_bearer_and_fq_codel_cures_it() {
    let before = run("default.yaml", 20.0, &[]).summary();
    let ping = flow(&before, "ping").rtt_ms.unwrap();
    assert!(ping.p95 > 300.0, "uncontrolled ping p95 is {} ms", ping.p95);

    let after = run("default.yaml", 20.0, &["ues[0].drbs[0].pipeline=fq_codel"]).summary();
    let ping = flow(&after, "ping").rtt_ms.unwrap();
    assert!(ping.p95 <= 30.0, "controlled ping p95 is {} ms", ping.p95);
    let (was, is) = (flow(&before, "bulk").goodput_mbps, flow(&after, "bulk").goodput_mbps);
    assert!(is >= 0.95 * was, "goodput fell from {was} to {is} Mbit/s");
}

#[test]
fn print_default() {
    for o in ["transparent", "fq_codel", "bdp_only"] {
        let o = format!("ues[0].drbs[0].pipeline={o}");
        let t = std::time::Instant::now();
        let s = run("default.yaml", 20.0, &[&o]).summary();
        println!("{o} {:?}\n{:#?}", t.elapsed(), s);
    }
}
