//! Applications: quality of experience, and their flows in the gNB.

use std::collections::HashSet;
use std::path::Path;

use lab_scenario::{LoadedScenario, Override};
use lab_world::{FlowSummary, World};
use traffic::Direction;

const CELL: &str = "
duration_s: 30
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 17921
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1 }]
flows:
";

fn world(flows: &str, overrides: &[&str]) -> World {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let text = format!("{CELL}{flows}");
    let loaded = LoadedScenario::from_yaml(&text, "apps.yaml", Path::new(""), &overrides).unwrap();
    World::new(&loaded).unwrap()
}

fn run(flows: &str, until_s: u64) -> World {
    let mut world = world(flows, &[]);
    world.step_until(until_s * 1_000_000, &mut |_| {});
    world
}

fn figure(flow: &FlowSummary, name: &str) -> f64 {
    flow.app.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", flow.app))
}

#[test]
fn fq_codel_improves_the_quality_of_experience_of_every_application() {
    let run =
        |overrides: &[&str]| crate::common::run("applications.yaml", 40.0, overrides).summary();
    let bloated = run(&[]);
    let queued = run(&["ues[0].drbs[0].pipeline=fq_codel"]);
    for (name, figure_name) in [
        ("voip#1", "playout_delay_ms"),
        ("call", "frame_delay_p95_ms"),
        ("game", "action_to_screen_p95_ms"),
        ("web", "page_load_p95_s"),
    ] {
        let value = |summary| figure(crate::common::flow(summary, name), figure_name);
        let (before, after) = (value(&bloated), value(&queued));
        assert!(after < 0.6 * before, "{name}: {before} became {after}");
    }
    let mos = |summary| figure(crate::common::flow(summary, "voip#4"), "mos");
    assert!(mos(&queued) > 4.3 && mos(&bloated) < 4.0, "{} {}", mos(&queued), mos(&bloated));
    assert!(figure(crate::common::flow(&queued, "video"), "qoe_per_chunk") > 2.0);
}

#[test]
fn responsiveness_sees_the_queue_of_a_flow_that_a_ping_does_not() {
    let flows = "
  - { name: rpm, kind: responsiveness, responsiveness: { connections: 1, interval_ms: 1000 } }
  - { name: ping, kind: ping }
";
    let measured = |pipeline: &str| {
        let mut world = world(flows, &[&format!("ues[0].drbs[0].pipeline={pipeline}")]);
        world.step_until(15_000_000, &mut |_| {});
        world.summary()
    };
    let deep = measured(
        "{template: low_latency, target_us: 300000, max_target_us: 300000, interval_us: 300000}",
    );
    let short = measured("low_latency");
    let rpm = |summary: &lab_world::Summary, half: &str| figure(&summary.flows[0], half);
    for summary in [&deep, &short] {
        assert!(rpm(summary, "foreign_rpm") > 1_500.0, "{summary:?}");
        let ping = summary.flows[1].rtt_ms.unwrap();
        assert!(ping.p95 < 40.0, "{ping:?}");
        // A minute over the round trip and the time in the gNB.
        let queue_ms = summary.flows[0].queuing_ms.p50;
        let bound = 60_000.0 / queue_ms;
        assert!(rpm(summary, "loaded_rpm") < bound, "{} {bound}", rpm(summary, "loaded_rpm"));
    }
    assert!(rpm(&short, "loaded_rpm") > 3.0 * rpm(&deep, "loaded_rpm"));
}

#[test]
fn frames_of_calls_and_games_are_late_behind_a_queue_and_in_time_beside_it() {
    let flows = "
  - { name: bulk, kind: tcp, hystart: false }
  - { name: voip, kind: voip }
  - { name: game, kind: game }
  - { name: call, kind: call }
  - { name: stream, kind: udp_cbr, rate_kbps: 1000, deadline_ms: 80 }
  - { name: ping, kind: ping }
";
    let measured = |pipeline: &str| {
        let mut world = world(flows, &[&format!("ues[0].drbs[0].pipeline={pipeline}")]);
        world.step_until(10_000_000, &mut |_| {});
        world.summary().flows
    };
    let (bloated, apart) = (measured("transparent"), measured("fq_codel"));
    for (index, budget_ms, units) in
        [(1, 100.0, 500), (2, 50.0, 170), (3, 150.0, 300), (4, 80.0, 833)]
    {
        let [late, in_time] = [&bloated, &apart].map(|flows| flows[index].deadline.unwrap());
        assert_eq!((late.budget_ms, in_time.budget_ms), (budget_ms, budget_ms));
        assert!(late.in_time_pct < 30.0, "{index}: {late:?}");
        assert!(in_time.in_time_pct > 99.0, "{index}: {in_time:?}");
        assert!(in_time.due_count.abs_diff(units) < 20, "{index}: {in_time:?}");
    }
    assert!([0, 5].iter().all(|index| bloated[*index].deadline.is_none()));
}

#[test]
fn drops_of_a_bearer_are_those_of_its_flows() {
    let flows = "
  - { name: bulk, kind: tcp, count: 3 }
  - { name: flood, kind: udp_cbr, rate_kbps: 60000 }
  - { name: ping, kind: ping }
";
    let tight = "ues[0].drbs[0].rlc.limit_bytes=60000";
    for overrides in [
        &["ues[0].drbs[0].pipeline=fq_codel"][..],
        &[tight],
        &[tight, "ues[0].drbs[0].rlc.aqm={codel: {}}"],
    ] {
        let mut world = world(flows, overrides);
        world.step_until(6_000_000, &mut |_| {});
        let summary = world.summary();
        let bearer = &summary.bearers[0];
        let sum = |of: fn(&FlowSummary) -> u64| summary.flows.iter().map(of).sum::<u64>();
        assert_eq!(sum(|flow| flow.tc_dropped_packets), bearer.tc_dropped_packets);
        assert_eq!(sum(|flow| flow.rlc_dropped_packets), bearer.rlc_dropped_packets);
        assert!(bearer.tc_dropped_packets + bearer.rlc_dropped_packets > 0, "{overrides:?}");
        let flood = &summary.flows[3];
        let dropped = flood.tc_dropped_packets + flood.rlc_dropped_packets;
        assert!(dropped > 1_000, "{flood:?}");
        // The receiver sees the same gaps, except those behind the newest packet.
        assert!(dropped.abs_diff(flood.lost_packets) <= dropped / 20, "{flood:?}");
        assert!(bearer.queued_bytes.peak >= bearer.queued_bytes.mean as u64);
    }
}

#[test]
fn the_bearer_and_the_flow_that_wait_longest_are_named() {
    let text = "
duration_s: 10
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 17921
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1, priority: 2 }, { id: 2, priority: 1 }, { id: 3, priority: 3 }]
flows:
  - { name: many, kind: udp_cbr, rate_kbps: 20000, packet_bytes: 200, drb: 2 }
  - { name: starved, kind: udp_cbr, rate_kbps: 60000, drb: 3 }
  - { name: ping, kind: ping, drb: 1 }
";
    let loaded = LoadedScenario::from_yaml(text, "worst.yaml", Path::new(""), &[]).unwrap();
    let mut world = World::new(&loaded).unwrap();
    world.step_until(8_000_000, &mut |_| {});
    let summary = world.summary();
    let (bearer, flow) = (summary.worst.bearer.unwrap(), summary.worst.flow.unwrap());
    assert_eq!((bearer.drb, flow.drb, flow.name.as_str()), (3, 3, "starved"));
    assert!(bearer.sojourn_p95_ms > 200.0 && flow.queuing_p95_ms > 200.0, "{bearer:?} {flow:?}");
    let slow: Vec<u64> = summary.flows.iter().map(|one| one.queued_above_100ms_s).collect();
    assert!(slow[1] >= 6 && slow[0] == 0 && slow[2] == 0, "{slow:?}");
    let peaks: Vec<u64> = summary.bearers.iter().map(|one| one.queued_bytes.peak).collect();
    assert!(peaks[2] > 10 * peaks[1].max(peaks[0]), "{peaks:?}");
}

#[test]
fn the_deadline_of_a_cloud_game_is_beyond_the_way_to_the_gnb() {
    let missed_pct = |flows: &str, overrides: &[&str]| {
        let mut world = world(flows, overrides);
        world.step_until(20_000_000, &mut |_| {});
        100.0 - world.summary().flows[0].deadline.unwrap().in_time_pct
    };
    let alone = "  - { name: game, kind: cloud_game }\n";
    let beside = "  - { name: game, kind: cloud_game }
  - { name: steam, kind: download, start_s: 1, download: { file_bytes: 10000000000 } }\n";
    for delay in ["split.core_delay_us=1000", "flows[0].core_delay_us=100000"] {
        let alone = missed_pct(alone, &[delay]);
        assert!(alone < 1.0, "{delay}: {alone}");
    }
    let beside = missed_pct(beside, &[]);
    assert!(beside > 50.0, "in the queue of eight connections: {beside}");
}

#[test]
fn calls_in_parallel_do_not_coincide() {
    let mut world = world("  - { name: voip, kind: voip, count: 8 }\n", &[]);
    world.record_packets(true);
    world.step_until(2_000_000, &mut |_| {});
    let names: Vec<String> = world.summary().flows.into_iter().map(|flow| flow.name).collect();
    assert_eq!(names.first().map(String::as_str), Some("voip#1"));
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 8);
    let mut sent: Vec<u64> = world.take_packets().iter().map(|it| it.sent_us % 20_000).collect();
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), 8, "each has its own phase");
    let gaps = sent.iter().zip(sent.iter().cycle().skip(1));
    let least = gaps.map(|(a, b)| (b + 20_000 - a) % 20_000).min().unwrap();
    // Each has an eighth of 20 ms and starts in its first half.
    assert!(least >= 1_250, "{sent:?}");
}

#[test]
fn connections_of_a_browser_are_one_flow_of_the_scenario() {
    let flows = "
  - { name: first, kind: web, web: { connections: 5, reading_mean_s: 0.5, embedded_k: 10, \
                 embedded_alpha: 0.5 } }
  - { name: video, kind: video }
  - { name: second, kind: voip }
";
    let mut world = world(flows, &["ues[0].drbs[0].pipeline=fq_codel"]);
    world.record_packets(true);
    world.step_until(10_000_000, &mut |_| {});
    let packets = world.take_packets();
    // Rows name the flow of the scenario, not the connection.
    let rows: HashSet<u32> = packets.iter().map(|packet| packet.flow).collect();
    assert_eq!(rows, HashSet::from([0, 1, 2]));
    let summary = world.summary();
    let bytes = |flow: u32| -> u64 {
        packets.iter().filter(|it| it.flow == flow).map(|it| u64::from(it.len_bytes)).sum()
    };
    for (index, flow) in (0..).zip(&summary.flows) {
        assert!(flow.goodput_bytes > 0 && bytes(index) > flow.goodput_bytes, "{}", flow.name);
    }
    assert!(figure(&summary.flows[0], "pages_loaded_count") >= 3.0);
}

#[test]
fn an_ipv6_datagram_is_twenty_bytes_longer() {
    let lengths = |version: u8| {
        let flows = format!(
            "  - {{ name: voip, kind: voip, ip_version: {version} }}
  - {{ name: bulk, kind: tcp, ip_version: {version} }}\n"
        );
        let mut world = world(&flows, &[]);
        world.record_packets(true);
        world.step_until(1_000_000, &mut |_| {});
        let packets = world.take_packets();
        let longest = |flow| {
            packets.iter().filter(|it| it.flow == flow).map(|it| it.len_bytes).max().unwrap()
        };
        (longest(0), longest(1), world.summary().flows[0].goodput_bytes)
    };
    assert_eq!(lengths(4).0, 200);
    assert_eq!(lengths(6).0, 220);
    assert_eq!((lengths(4).1, lengths(6).1), (1_500, 1_500), "TCP segments are shorter");
    assert_eq!(lengths(4).2, lengths(6).2, "the payload is the same");
}

#[test]
fn an_ect_datagram_can_be_marked() {
    let flows = "
  - { name: bulk, kind: udp_cbr, rate_kbps: 60000, ecn_field: ect1 }
  - { name: plain, kind: udp_cbr, rate_kbps: 100 }
";
    let mut world = world(flows, &["ues[0].drbs[0].pipeline=l4s"]);
    world.record_packets(true);
    world.step_until(3_000_000, &mut |_| {});
    let packets = world.take_packets();
    assert!(packets.iter().any(|it| it.flow == 0 && it.ce), "an L4S queue marks ECT(1)");
    assert!(packets.iter().all(|it| it.flow == 0 || !it.ce));
    let flows = world.summary().flows;
    assert!(flows[0].ce_packets > 0 && flows[1].ce_packets == 0);
}

#[test]
fn an_l4s_sender_fills_a_cell_with_a_long_uplink() {
    let flow = "  - { name: prague, kind: tcp, congestion_control: prague }\n";
    let uplink = "cell.tdd.pattern=DDMUUUUUUU";
    let goodput_mbps = |pipeline: &str| {
        let mut world = world(flow, &[uplink, &format!("ues[0].drbs[0].pipeline={pipeline}")]);
        world.step_until(10_000_000, &mut |_| {});
        world.summary().flows[0].goodput_mbps
    };
    let unmarked = goodput_mbps("{template: low_latency, threshold_us: 10000000}");
    let starved = goodput_mbps("{template: low_latency, threshold_us: 2000}");
    assert!(starved < 0.1 * unmarked, "each wait for the uplink is marked: {starved}");
    let measured = goodput_mbps("low_latency");
    assert!(measured > 0.9 * unmarked, "{measured} of {unmarked} Mbit/s");
}

/// Data go up and answers come down: what the flows measure is the uplink, and what the gNB queues are the
/// acknowledgements.
#[test]
fn data_of_flows_up_cross_the_uplink() {
    let flows = "
  - { name: bulk, kind: tcp, direction: up, receive_window_bytes: 100000, ack_thinning: false }
  - { name: camera, kind: udp_cbr, direction: up, rate_kbps: 500, packet_bytes: 500, deadline_ms: 500 }
  - { name: voice, kind: voip, direction: up }
";
    let world = run(flows, 10);
    let summary = world.summary();
    let [bulk, camera, voice] = &summary.flows[..] else { panic!("three flows") };
    assert!(summary.flows.iter().all(|flow| flow.direction == Direction::Up));
    assert!(bulk.goodput_mbps > 1.0, "{bulk:?}");
    assert!((camera.goodput_mbps - 0.5 * 472.0 / 500.0).abs() < 0.02, "{camera:?}");
    assert_eq!(camera.deadline.unwrap().in_time_pct, 100.0, "{camera:?}");
    assert!(figure(voice, "uplink_mos") > 3.5, "{voice:?}");
    // The gNB drained acknowledgements of 52 bytes alone, one for two segments.
    let bearer = &summary.bearers[0];
    assert_eq!(bearer.drained_bytes, 52 * bearer.drained_packets, "{bearer:?}");
    assert!(2 * bearer.drained_packets >= bulk.received_packets, "{bearer:?}");
    // No packet is faster than a request, a grant and a slot when the UE was idle.
    assert!(voice.one_way_delay_ms.max >= 5.0, "{voice:?}");
    let account = world.packet_account();
    assert_eq!((account.downlink.unaccounted(), account.uplink.unaccounted()), (0, 0));
}

#[test]
fn sprout_and_vivace_use_the_cell() {
    let world = run("  - { name: vivace, kind: vivace }\n", 30);
    let vivace = &world.summary().flows[0];
    assert!(vivace.goodput_mbps > 5.0, "{vivace:?}");
    assert!(vivace.rtt_ms.unwrap().count > 1_000);
    let world = run("  - { name: sprout, kind: sprout }\n", 30);
    let sprout = &world.summary().flows[0];
    assert!(sprout.goodput_mbps > 5.0, "{sprout:?}");
    assert!(sprout.one_way_delay_ms.p95 < 120.0, "{sprout:?}");
}

#[test]
fn the_same_seed_gives_the_same_summary() {
    let flows = "
  - { name: call, kind: call }
  - { name: game, kind: game }
  - { name: web, kind: web, web: { reading_mean_s: 1 } }
  - { name: video, kind: video, video: { controller: festive } }
  - { name: vivace, kind: vivace }
  - { name: sprout, kind: sprout }
";
    let once = run(flows, 10).summary();
    assert_eq!(once, run(flows, 10).summary());
    let mut other = world(flows, &["seed=2"]);
    other.step_until(10_000_000, &mut |_| {});
    assert_ne!(once.flows, other.summary().flows);
}
