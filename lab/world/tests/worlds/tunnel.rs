//! Flows in a tunnel: one outer 5-tuple, its overhead, its MTU, and its header fields.

use std::path::Path;

use lab_scenario::{LoadedScenario, Override};
use lab_world::{PacketSample, Summary, World};

use crate::common::flow;

/// A download, a ping and a call.
const CELL: &str = "
duration_s: 20
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 17921
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1, pipeline: fq_codel }]
flows:
  - { name: bulk, kind: tcp }
  - { name: ping, kind: ping }
  - { name: voip, kind: voip, dscp: 46 }
";
/// All of them in one tunnel.
const INSIDE: [&str; 3] = ["flows[0].tunnel=vpn", "flows[1].tunnel=vpn", "flows[2].tunnel=vpn"];

fn world(overrides: &[&[&str]]) -> World {
    let overrides: Vec<Override> =
        overrides.concat().iter().map(|text| text.parse().unwrap()).collect();
    let loaded = LoadedScenario::from_yaml(CELL, "tunnel.yaml", Path::new(""), &overrides).unwrap();
    World::new(&loaded).unwrap()
}

fn run(overrides: &[&[&str]]) -> (Summary, Vec<PacketSample>) {
    let mut world = world(overrides);
    world.record_packets(true);
    world.step_until(20_000_000, &mut |_| {});
    let packets = world.take_packets();
    (world.summary(), packets)
}

fn ping_p95_ms(summary: &Summary) -> f64 {
    flow(summary, "ping").rtt_ms.unwrap().p95
}

#[test]
fn a_ping_waits_in_the_queue_of_a_download_in_the_same_tunnel() {
    // A queue of 300 ms for each 5-tuple.
    let pipeline = "ues[0].drbs[0].pipeline={template: low_latency, target_us: 300000, \
                    max_target_us: 300000, interval_us: 300000}";
    let outside = run(&[&[pipeline]]).0;
    let inside = run(&[&[pipeline], &INSIDE]).0;
    let apart = run(&[&[pipeline], &INSIDE, &["flows[1].tunnel=other"]]).0;
    let [outside_ms, inside_ms, apart_ms] = [&outside, &inside, &apart].map(ping_p95_ms);
    assert!(inside_ms > 200.0, "{inside_ms}");
    for (way, ms) in [("outside", outside_ms), ("in a tunnel of its own", apart_ms)] {
        assert!(ms < 30.0, "{way}: {ms}");
    }
    let mos = |summary| flow(summary, "voip").app.get("mos").unwrap();
    assert!(mos(&inside) < mos(&outside) - 0.2, "{} {}", mos(&inside), mos(&outside));
    let pipeline = "ues[0].drbs[0].pipeline=low_latency";
    let short = run(&[&[pipeline], &INSIDE]).0;
    assert!(ping_p95_ms(&short) < 60.0, "{}", ping_p95_ms(&short));
    assert!(mos(&short) > 4.2, "{}", mos(&short));
}

#[test]
fn the_download_loses_what_the_headers_of_the_tunnel_take() {
    for (kind, mtu, full) in
        [("wireguard", 1420, 1480), ("ipsec", 1438, 1500), ("quic", 1442, 1500)]
    {
        let tunnels = format!("tunnels={{vpn: {{kind: {kind}}}}}");
        let (inside, packets) = run(&[&INSIDE, &[&tunnels]]);
        let (outside, _) = run(&[]);
        let longest = packets.iter().filter(|it| it.flow == 0).map(|it| it.len_bytes).max();
        assert_eq!(longest, Some(full), "{kind}");
        let payload = f64::from(mtu - 52);
        let share = payload / f64::from(full) / (1448.0 / 1500.0);
        let goodput = |summary| flow(summary, "bulk").goodput_mbps;
        let ratio = goodput(&inside) / goodput(&outside);
        assert!((ratio / share - 1.0).abs() < 0.01, "{kind}: {ratio}, by the headers {share}");
    }
}

#[test]
fn packets_and_acknowledgements_have_the_length_of_the_outer_datagram() {
    let (_, packets) = run(&[&INSIDE, &["tunnels={vpn: {kind: quic, ip_version: 6}}"]]);
    let lengths = |flow| {
        let mut lengths: Vec<u32> =
            packets.iter().filter(|it| it.flow == flow).map(|it| it.len_bytes).collect();
        lengths.dedup();
        lengths
    };
    // 78 bytes over IPv6 on an echo of 84 and a frame of 200.
    assert_eq!((lengths(1), lengths(2)), (vec![162], vec![278]));
    // A cell with a thin uplink has room for the acknowledgements of fewer segments.
    let thin = ["cell.tdd.pattern=DDDDDDDDDDDDDDDDDDMU", "cell.uplink={mcs: 0}"];
    let goodput = |summary: &Summary| flow(summary, "bulk").goodput_mbps;
    let outside = goodput(&run(&[&thin]).0);
    let inside = goodput(&run(&[&thin, &INSIDE]).0);
    assert!(inside < 0.75 * outside, "{inside} {outside}");
}

#[test]
fn ecn_crosses_a_tunnel_in_normal_mode_alone() {
    let prague = ["flows[0].congestion_control=prague", "ues[0].drbs[0].pipeline=l4s"];
    let with = |tunnel: &str| {
        let tunnels = format!("tunnels={{vpn: {tunnel}}}");
        let (summary, _) = run(&[&prague, &INSIDE, &[&tunnels]]);
        (flow(&summary, "bulk").ce_packets, flow(&summary, "bulk").lost_packets)
    };
    let (marked, lost) = with("{}");
    assert!(marked > 100 && lost == 0, "{marked} {lost}");
    let (marked, lost) = with("{copy_ecn: false}");
    assert!(marked == 0 && lost > 0, "{marked} {lost}");
}

#[test]
fn the_inner_dscp_is_seen_only_if_it_is_copied() {
    let pipeline = "ues[0].drbs[0].pipeline=cake_diffserv";
    let voip_p95_ms = |tunnel: &str| {
        let tunnels = format!("tunnels={{vpn: {tunnel}}}");
        let (summary, _) = run(&[&[pipeline], &INSIDE, &[&tunnels]]);
        flow(&summary, "voip").one_way_delay_ms.p95
    };
    let (hidden, copied) = (voip_p95_ms("{}"), voip_p95_ms("{copy_dscp: true}"));
    assert!(copied < hidden - 5.0, "{copied} {hidden}");
}

#[test]
fn each_ue_has_its_own_end_of_a_tunnel() {
    let pipeline = "ues[0].drbs[0].pipeline={template: low_latency, bulk_bound_us: 300000}";
    let flows = "flows=[{name: bulk, kind: tcp, rnti: 1, tunnel: vpn}, \
                 {name: ping, kind: ping, rnti: 2, tunnel: vpn}]";
    let (summary, _) = run(&[&["ues[0].rnti=1", "ues[0].count=2", pipeline], &[flows]]);
    assert!(ping_p95_ms(&summary) < 30.0, "{}", ping_p95_ms(&summary));
}

#[test]
fn a_tunnel_is_the_same_in_every_run() {
    assert_eq!(run(&[&INSIDE]).0, run(&[&INSIDE]).0);
}
