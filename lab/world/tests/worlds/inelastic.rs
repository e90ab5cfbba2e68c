//! Inelastic flows beside downloads at the default pipeline.

use std::path::Path;

use lab_scenario::{LoadedScenario, Override};
use lab_world::{Summary, World};

use crate::common::flow;

/// A flow beside eight downloads of one server, a film and a ping.
const CELL: &str = "
duration_s: 30
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 17921
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1, pipeline: low_latency }]
flows:
  - { name: game, kind: cloud_game }
  - { name: bulk, kind: tcp, start_s: 2, count: 8, start_jitter_ms: 1000 }
  - { name: film, kind: video }
  - { name: ping, kind: ping, interval_ms: 53 }
";
/// No flow goes first.
const NONE: &str = "ues[0].drbs[0].pipeline={template: low_latency, inelastic: null}";

fn run(overrides: &[&str]) -> Summary {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let loaded =
        LoadedScenario::from_yaml(CELL, "inelastic.yaml", Path::new(""), &overrides).unwrap();
    let mut world = World::new(&loaded).unwrap();
    world.step_until(30_000_000, &mut |_| {});
    world.summary()
}

fn in_time_pct(summary: &Summary) -> f64 {
    flow(summary, "game").deadline.unwrap().in_time_pct
}

fn ping_p95_ms(summary: &Summary) -> f64 {
    flow(summary, "ping").rtt_ms.unwrap().p95
}

fn mbps(summary: &Summary, name: &str) -> f64 {
    summary.flows.iter().filter(|it| it.name.starts_with(name)).map(|it| it.goodput_mbps).sum()
}

#[test]
fn a_cloud_game_among_eight_downloads_is_in_time_and_a_ping_does_not_wait_for_it() {
    let without = run(&[NONE]);
    assert!(in_time_pct(&without) < 40.0, "{}", in_time_pct(&without));
    for dscp in [0, 40] {
        let with = run(&[&format!("flows[0].dscp={dscp}")]);
        assert!(in_time_pct(&with) >= 99.5, "{dscp}: {}", in_time_pct(&with));
        let (ping, before) = (ping_p95_ms(&with), ping_p95_ms(&without));
        assert!(ping <= before + 2.0, "{ping}, {before} without");
        // What the game takes is its rate, and no more is lost.
        let all = ["game", "bulk", "film"].map(|name| mbps(&with, name)).iter().sum::<f64>();
        let before = ["game", "bulk", "film"].map(|name| mbps(&without, name)).iter().sum::<f64>();
        assert!(all >= 0.97 * before, "{all}, {before} without");
    }
}

#[test]
fn a_download_that_is_marked_as_inelastic_is_a_download() {
    let honest = run(&["flows[0]={name: liar, kind: tcp, start_s: 2}"]);
    for liar in
        ["kind: tcp", "kind: tcp, congestion_control: bbr", "kind: udp_cbr, rate_kbps: 40000"]
    {
        let lying = run(&[&format!("flows[0]={{name: liar, {liar}, start_s: 2, dscp: 46}}")]);
        // UDP without control also fills the gaps that others leave.
        let most = if liar.starts_with("kind: udp") { 1.5 } else { 1.2 };
        let (gained, fair) = (mbps(&lying, "liar"), mbps(&honest, "liar"));
        assert!(gained <= most * fair, "{liar}: {gained} Mbit/s, {fair} without the mark");
        let (film, before) = (mbps(&lying, "film"), mbps(&honest, "film"));
        assert!(film >= 0.95 * before, "{liar}: film {film} Mbit/s, {before} without the mark");
        let (ping, before) = (ping_p95_ms(&lying), ping_p95_ms(&honest));
        assert!(ping <= before + 2.0, "{liar}: ping {ping} ms, {before} without the mark");
    }
}

#[test]
fn a_film_keeps_what_it_had_beside_a_game() {
    let film = |overrides: &[&str]| mbps(&run(overrides), "film");
    let (with, without) = (film(&[]), film(&[NONE]));
    assert!(with >= 0.9 * without, "{with} Mbit/s, {without} without");
}
