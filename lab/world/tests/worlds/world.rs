//! The world on virtual time: delay with and without traffic control, determinism, conservation of
//! packets, channels from traces.

use std::path::{Path, PathBuf};

use crate::common::{flow, run, scenario, scenarios};
use crate::setup::{mahimahi, trace};
use lab_scenario::LoadedScenario;
use lab_world::{Summary, World};

/// A radio whose MCS the gNB knows, in place of the pedestrian's.
const KNOWN: &str = "ues[0].channel={fixed_mcs: 10}";

#[test]
fn a_greedy_flow_delays_the_default_bearer_and_fq_codel_prevents_it() {
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
fn the_default_cell_has_the_goodput_of_the_paper() {
    // irazabal2024 §V: about 40 Mbit/s at MCS 10; the pedestrian of the default has as much.
    for (radio, least, most) in [(KNOWN, 36.0, 42.0), ("duration_s=20", 36.0, 46.0)] {
        let summary = run("default.yaml", 20.0, &[radio]).summary();
        let goodput = flow(&summary, "bulk").goodput_mbps;
        assert!((least..most).contains(&goodput), "{radio}: {goodput} Mbit/s");
        assert!(summary.cell.used_rb_pct > 95.0, "{radio}: {} %", summary.cell.used_rb_pct);
    }
}

#[test]
fn the_same_seed_gives_the_same_world_and_another_seed_does_not() {
    let world = |seed: u32| {
        let overrides = [format!("seed={seed}"), "split.core_jitter_us=900".to_owned()];
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let mut world = run("default.yaml", 4.0, &overrides);
        format!("{:?} {:?}", world.summary(), world.bearer_samples())
    };
    assert_eq!(world(7), world(7));
    assert_ne!(world(7), world(8));
}

#[test]
fn the_length_of_steps_does_not_change_the_result() {
    let loaded = scenario("default.yaml", &[]);
    let whole = {
        let mut world = World::new(&loaded).unwrap();
        world.step_until(3_000_000, &mut |_| {});
        world.summary()
    };
    let mut world = World::new(&loaded).unwrap();
    while world.now_us() < 3_000_000 {
        world.step_until((world.now_us() + 777).min(3_000_000), &mut |_| {});
    }
    assert_eq!(world.summary(), whole);
}

#[test]
fn a_fork_does_not_affect_the_original() {
    let mut world = run("default.yaml", 2.0, &[]);
    let mut fork = world.fork();
    fork.step_until(3_000_000, &mut |_| {});
    assert_eq!(world.now_us(), 2_000_000);
    world.step_until(3_000_000, &mut |_| {});
    assert_eq!(world.summary(), fork.summary());
}

/// Every sent packet is received or dropped once traffic has stopped and queues have drained.
fn assert_conserved(summary: &Summary) {
    let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
    let received: u64 = summary.flows.iter().map(|flow| flow.received_packets).sum();
    let sum = |pick: fn(&lab_world::BearerSummary) -> u64| -> u64 {
        summary.bearers.iter().map(pick).sum()
    };
    let drops = sum(|b| b.tc_dropped_packets) + sum(|b| b.rlc_dropped_packets);
    assert!(sent > 1_000, "the scenario sends something");
    assert_eq!(sum(|b| b.ingress_packets), sent);
    assert_eq!(sum(|b| b.drained_packets) + drops, sent);
    assert_eq!(received + drops, sent);
}

#[test]
fn every_packet_between_server_and_ue_is_accounted_for() {
    let udp = "flows=[{name: a, kind: udp_cbr, rate_kbps: 60000, stop_s: 3}, \
               {name: b, kind: voip, stop_s: 3}, {name: c, kind: ping, stop_s: 3}]";
    let shallow = "ues[0].drbs[0].rlc.limit_bytes=200000";
    for pipeline in ["transparent", "bdp_only", "fq_codel"] {
        for split in ["split={}", "split={f1_delay_us: 10000}", "split={sdap_poll_us: 200}"] {
            let pipeline = format!("ues[0].drbs[0].pipeline={pipeline}");
            let summary = run("default.yaml", 12.0, &[udp, shallow, split, &pipeline]).summary();
            assert_conserved(&summary);
        }
    }
    let codel = "ues[0].drbs[0].rlc.aqm={codel: {}}";
    assert_conserved(&run("default.yaml", 12.0, &[udp, codel]).summary());
}

/// The RLC buffer holds seconds and drops nothing; the congestion control determines how far it fills.
#[test]
fn each_congestion_control_runs_and_some_keep_the_buffer_short() {
    let measure = |flow_keys: &str| {
        let bulk = format!("flows=[{{name: bulk, kind: tcp, hystart: false, {flow_keys}}}]");
        // Vegas takes each fade for a queue: here it would leave three quarters of a fading radio unused.
        let summary = run("default.yaml", 12.0, &[KNOWN, &bulk]).summary();
        let bulk = flow(&summary, "bulk");
        (bulk.goodput_mbps, bulk.one_way_delay_ms.mean)
    };
    let (cubic_mbps, cubic_ms) = measure("congestion_control: cubic");
    for control in ["reno", "westwood", "c2tcp", "cubic, pacing: true", "cubic, accecn: true"] {
        let (mbps, _) = measure(&format!("congestion_control: {control}"));
        assert!(mbps > 0.6 * cubic_mbps, "{control}: {mbps} of {cubic_mbps} Mbit/s");
    }
    for control in ["vegas", "bbr", "bbr3", "c2tcp, c2tcp_setpoint_ms: 60"] {
        let (mbps, ms) = measure(&format!("congestion_control: {control}"));
        assert!(mbps > 0.5 * cubic_mbps, "{control}: {mbps} of {cubic_mbps} Mbit/s");
        assert!(ms < 0.4 * cubic_ms, "{control}: {ms} of {cubic_ms} ms");
    }
}

#[test]
fn each_layer_adds_its_delay() {
    let delay = |overrides: &[&str]| {
        let quiet = "flows=[{name: ping, kind: ping, interval_ms: 50}]";
        let overrides: Vec<&str> = overrides.iter().copied().chain([quiet]).collect();
        let summary = run("default.yaml", 5.0, &overrides).summary();
        flow(&summary, "ping").rtt_ms.unwrap().mean
    };
    let base = delay(&["split={core_delay_us: 2000}"]);
    let core = delay(&["split={core_delay_us: 7000}"]);
    let f1 = delay(&["split={core_delay_us: 2000, f1_delay_us: 10000}"]);
    assert!((core - base - 10.0).abs() < 3.0, "core: {base} to {core} ms");
    assert!((f1 - base - 20.0).abs() < 5.0, "F1: {base} to {f1} ms");
}

#[test]
fn a_ue_that_leaves_stops_its_traffic_and_the_other_gets_the_cell() {
    let ues = "ues=[{rnti: 1, channel: {fixed_mcs: 10}, drbs: [{id: 1}], leave_at_s: 4}, \
               {rnti: 2, channel: {fixed_mcs: 10}, drbs: [{id: 1}], join_at_s: 2}]";
    let flows = "flows=[{name: one, kind: udp_cbr, rnti: 1, rate_kbps: 50000}, \
                 {name: two, kind: udp_cbr, rnti: 2, rate_kbps: 50000}]";
    let mut world = World::new(&scenario("default.yaml", &[flows, ues])).unwrap();
    let mut attached = Vec::new();
    let mut before = [0, 0];
    let mut mbps = Vec::new();
    for second in 1..=6 {
        world.step_until(second * 1_000_000, &mut |_| {});
        attached.push(world.bearer_samples().len());
        let now: Vec<u64> = world.flow_samples().iter().map(|f| f.goodput_bytes).collect();
        mbps.push([0, 1].map(|flow| (now[flow] - before[flow]) * 8 / 1_000_000));
        before = [now[0], now[1]];
    }
    assert_eq!(attached, [1, 2, 2, 1, 1, 1], "bearers at the end of each second");
    assert!(mbps[1][0] > 36 && mbps[1][1] == 0, "alone: {mbps:?}");
    assert!(mbps[3][0].abs_diff(mbps[3][1]) <= 2 && mbps[3][0] > 15, "shared: {mbps:?}");
    assert!(mbps[5][0] == 0 && mbps[5][1] > 36, "the other alone: {mbps:?}");
}

#[test]
fn a_fixed_partition_divides_the_cell_by_its_shares() {
    let cell = "cell.scheduler=fixed_partition";
    let ues = "ues=[{rnti: 1, prb_share_percent: 25, channel: {fixed_mcs: 10}, drbs: [{id: 1}]}, \
               {rnti: 2, prb_share_percent: 75, channel: {fixed_mcs: 10}, drbs: [{id: 1}]}]";
    let flows = "flows=[{name: each, kind: udp_cbr, rnti: each, rate_kbps: 60000}]";
    let summary = run("default.yaml", 4.0, &[cell, ues, flows]).summary();
    let (one, two) = (summary.flows[0].goodput_mbps, summary.flows[1].goodput_mbps);
    assert!((2.8..3.2).contains(&(two / one)), "{one} and {two} Mbit/s");
}

#[test]
fn a_trace_limits_the_capacity_of_the_radio() {
    // Two opportunities of 1500 B each ms: 24 Mbit/s.
    let (_folder, channel) = trace((1..=1000).map(|ms| format!("{ms}\n{ms}\n")), "");
    let flows = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 60000}]";
    let summary = run("default.yaml", 5.0, &[&channel, flows, "cell.tdd="]).summary();
    let goodput = summary.flows[0].goodput_mbps;
    assert!((21.0..24.0).contains(&goodput), "{goodput} Mbit/s");
}

#[test]
fn an_aqm_in_the_rlc_that_drops_nothing_costs_no_capacity() {
    // Bursts and gaps: the RLC draws what the present slot can carry, not the previous one.
    let lines = (1..=1000).map(|ms| format!("{ms}\n").repeat([0, 5, 0, 1, 0, 0, 9][ms % 7]));
    let (_folder, channel) = trace(lines, "");
    let goodput = |aqm: &str| {
        let aqm = format!("ues[0].drbs[0].rlc.aqm={aqm}");
        let flows = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 60000}]";
        let limit = "ues[0].drbs[0].rlc.limit_bytes=1000000000";
        run("default.yaml", 5.0, &[&channel, flows, "cell.tdd=", limit, &aqm]).summary().flows[0]
            .goodput_mbps
    };
    let fifo = goodput("");
    assert!(fifo > 20.0, "{fifo} Mbit/s");
    for aqm in [
        "head_drop",
        "{bode: {bound_us: 10000000}}",
        "{codel: {target_us: 9000000, interval_us: 10000000}}",
    ] {
        let managed = goodput(aqm);
        assert!((managed / fifo - 1.0).abs() < 0.01, "{aqm}: {managed} of {fifo} Mbit/s");
    }
}

#[test]
fn an_opportunity_of_a_datagram_and_its_headers_carries_each_without_segmentation() {
    // One opportunity each 10 ms, and as many datagrams of 1500 bytes.
    let worst_ms = |bytes: u32| {
        let lines = (1..=100).map(|n| format!("{}\n", 10 * n));
        let (_folder, channel) = trace(lines, &format!(", opportunity_bytes: {bytes}"));
        let flows = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 600, packet_bytes: 1500}]";
        let aqm = "ues[0].drbs[0].rlc.aqm={bode: {bound_us: 5000}}";
        run("default.yaml", 5.0, &[&channel, flows, "cell.tdd=", aqm]).summary().flows[0]
            .queuing_ms
            .max
    };
    // The rest of a segmented datagram waits in the RLC for the next opportunity.
    assert!(worst_ms(1506) <= 10.5, "{} ms", worst_ms(1506));
    assert!(worst_ms(1500) > 10.5, "{} ms", worst_ms(1500));
}

#[test]
fn the_rlc_draws_from_bearers_with_aqm_by_priority() {
    // Ten datagrams each 20 ms for two flows of seven: the first bearer gets all it needs, in either
    // order of the file.
    let lines = (1..=50).map(|n| format!("{}\n", 20 * n).repeat(10));
    let (_folder, channel) = trace(lines, ", opportunity_bytes: 1506");
    let flow = |id: u8| format!("{{name: f{id}, kind: udp_cbr, rate_kbps: 4000, drb: {id}}}");
    let flows = format!("flows=[{}, {}]", flow(1), flow(2));
    let drb = |id: u8| {
        format!("{{id: {id}, priority: {id}, rlc: {{aqm: {{bode: {{bound_us: 30000}}}}}}}}")
    };
    for drbs in [format!("[{}, {}]", drb(1), drb(2)), format!("[{}, {}]", drb(2), drb(1))] {
        let set = format!("ues[0].drbs={drbs}");
        let summary = run("default.yaml", 5.0, &[&set, &flows, &channel, "cell.tdd="]).summary();
        let [first, second] = &summary.flows[..] else { panic!("two flows") };
        assert!(first.goodput_mbps > 3.8 && second.goodput_mbps < 2.1, "{drbs}: {summary:?}");
        assert!(first.queuing_ms.max < 21.0, "{drbs}: {} ms", first.queuing_ms.max);
        // Drawn packets leave in the same slot instead of waiting behind the first bearer's.
        assert!(second.queuing_ms.max < 31.0, "{drbs}: {} ms", second.queuing_ms.max);
    }
}

#[test]
fn an_invalid_trace_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("empty", ""), ("words", "1\n2\nthree\n"), ("missing", "")] {
        let path = folder.path().join(name);
        if name != "missing" {
            std::fs::write(&path, content).unwrap();
        }
        let channel = mahimahi(&path, "");
        let error = World::new(&scenario("default.yaml", &[&channel])).unwrap_err().to_string();
        assert!(error.contains("ues[0].channel.mahimahi.path: "), "{error}");
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_compressed_trace_is_read_up_to_a_size_limit() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let gzip = |name: &str, bytes: &mut dyn Iterator<Item = Vec<u8>>| {
        let path = folder.path().join(name);
        let file = std::fs::File::create(&path).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        bytes.for_each(|chunk| encoder.write_all(&chunk).unwrap());
        encoder.finish().unwrap();
        path
    };
    let good = gzip("good.gz", &mut std::iter::once(b"1\n2\n3\n".to_vec()));
    let bomb = gzip("bomb.gz", &mut (0..80).map(|_| vec![b'\n'; 1 << 20]));
    let load = |path: &Path| World::new(&scenario("default.yaml", &[&mahimahi(path, "")]));
    load(&good).unwrap();
    let error = load(&bomb).unwrap_err().to_string();
    assert!(error.contains("is larger than"), "{error}");
}

#[test]
fn codel_in_the_rlc_keeps_its_queue_short() {
    let near = ["flows[0].core_delay_us=1000"];
    let base = run("irazabal2021/vanilla.yaml", 15.0, &near).summary();
    let codel = run("irazabal2021/codel.yaml", 15.0, &near).summary();
    let p95 = |summary: &Summary| summary.bearers[0].rlc_sojourn_ms.p95;
    assert!(p95(&base) > 500.0, "FIFO p95 {} ms", p95(&base));
    assert!(p95(&codel) < 50.0, "CoDel p95 {} ms", p95(&codel));
    assert!(codel.bearers[0].rlc_dropped_packets > 0, "CoDel drops");
}

#[test]
fn the_sojourn_template_keeps_the_queue_of_a_download_short_and_the_radio_busy() {
    // Where the rate changes with each fade, the queue that keeps the radio busy is longer.
    for (radio, most_ms, most_ping_ms) in [(KNOWN, 50.0, 20.0), ("duration_s=20", 120.0, 25.0)] {
        let measure = |pipeline: &str| {
            let pipeline = format!("ues[0].drbs[0].pipeline={pipeline}");
            let summary = run("default.yaml", 20.0, &[radio, &pipeline]).summary();
            let (bulk, ping) = (flow(&summary, "bulk"), flow(&summary, "ping").rtt_ms.unwrap());
            (bulk.queuing_ms.p95, bulk.goodput_mbps, ping.p95)
        };
        let (bloated_ms, goodput_mbps, _) = measure("transparent");
        assert!(bloated_ms > 1_000.0, "{radio}: {bloated_ms} ms");
        let (queued_ms, short_mbps, ping_ms) = measure("low_latency");
        assert!(queued_ms < most_ms, "{radio}: {queued_ms} ms");
        let ratio = short_mbps / goodput_mbps;
        assert!(ratio > 0.98, "{radio}: {short_mbps} of {goodput_mbps} Mbit/s");
        assert!(ping_ms < most_ping_ms, "{radio}: {ping_ms} ms");
    }
}

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
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
        // Real hosts are silent on virtual time.
        let flows = &loaded.scenario.flows;
        if !flows.is_empty() && flows.iter().all(|flow| flow.app.kind() == "host") {
            continue;
        }
        // 1.5 s into the first bulk flow, if any.
        let is_bulk = |kind: &str| ["tcp", "udp_cbr"].contains(&kind);
        let bulk = loaded.scenario.flows.iter().filter(|flow| is_bulk(flow.app.kind()));
        let begins_s = bulk.map(|flow| flow.keys.start_s).reduce(f64::min).unwrap_or(0.0);
        world.step_until(((begins_s + 1.5) * 1e6) as u64, &mut |_| {});
        let delivered: u64 = world.flow_samples().iter().map(|flow| flow.goodput_bytes).sum();
        assert!(delivered > 100_000, "{}: {delivered} bytes", file.display());
    }
}

/// The cell's edge: so many kbit/s, a call beside some downloads.
fn cell_edge(kbps: u32, downloads: u32, pipeline: &str) -> Summary {
    let ues = format!(
        "ues=[{{rnti: 1, channel: {{rate_series: {{period_ms: 1000, values_kbps: [{kbps}]}}}}, \
         drbs: [{{id: 1, pipeline: {pipeline}}}]}}]"
    );
    let flows = format!(
        "flows=[{{name: voip, kind: voip}}, {{name: ping, kind: ping, interval_ms: 50}}, \
         {{name: bulk, kind: tcp, count: {downloads}}}]"
    );
    run("default.yaml", 20.0, &["cell={rat: nr, n_prb: 24, scs_khz: 15}", &ues, &flows]).summary()
}

#[test]
fn at_the_edge_of_a_cell_no_flow_waits_for_seconds() {
    // A call of 80 kbit/s that gets a ninth of 500.
    let summary = cell_edge(500, 8, "low_latency");
    for flow in &summary.flows {
        let p95_ms = flow.queuing_ms.p95;
        assert!(p95_ms < 850.0, "{}: {p95_ms} ms where the bound is 300", flow.name);
    }
    let call_ms = flow(&summary, "voip").queuing_ms.p95;
    assert!(call_ms < 500.0, "{call_ms} ms");
}

#[test]
fn at_the_edge_of_a_cell_5g_bdp_leaves_no_ten_packets_in_the_rlc() {
    let summary = cell_edge(500, 1, "fq_codel");
    let rlc_ms = summary.bearers[0].rlc_sojourn_ms.p95;
    assert!(rlc_ms < 100.0, "{rlc_ms} ms");
    assert!(flow(&summary, "ping").queuing_ms.p95 < 130.0);
}

/// The default cell with all its slots, its server farther away, and two flows in the template `l4s`.
fn dual_queue(flows: &str, pipeline: &str) -> Summary {
    let pipeline = format!("ues[0].drbs[0].pipeline={pipeline}");
    let cell = "cell={rat: nr, n_prb: 106, scs_khz: 30, tdd: {pattern: DDDDDDDMUU}}";
    run("default.yaml", 20.0, &[cell, "split.core_delay_us=15000", flows, &pipeline]).summary()
}

const PRAGUE: &str = "{name: prague, kind: tcp, congestion_control: prague}";

#[test]
fn prague_and_cubic_share_a_dual_queue_on_tdd() {
    let flows = format!("flows=[{{name: cubic, kind: tcp}}, {PRAGUE}]");
    let summary = dual_queue(&flows, "l4s");
    let (cubic, prague) = (flow(&summary, "cubic"), flow(&summary, "prague"));
    let ratio = prague.goodput_mbps / cubic.goodput_mbps;
    assert!((0.67..1.5).contains(&ratio), "{} and {}", cubic.goodput_mbps, prague.goodput_mbps);
    assert!(prague.queuing_ms.p95 < 8.0, "{} ms", prague.queuing_ms.p95);
}

#[test]
fn an_unresponsive_classic_flow_does_not_make_the_l_queue_wait() {
    let flows = format!("flows=[{{name: udp, kind: udp_cbr, rate_kbps: 80000}}, {PRAGUE}]");
    let l_ms = |pipeline| flow(&dual_queue(&flows, pipeline), "prague").queuing_ms.p95;
    let (weighted, shifted) = (l_ms("l4s"), l_ms("{template: l4s, time_shift_us: 30000}"));
    assert!(weighted < 7.0 && shifted > 20.0, "{weighted} and {shifted} ms");
}
