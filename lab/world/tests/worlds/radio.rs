//! Schedulers, slices and channels of a scenario.

use lab_scenario::LoadedScenario;
use lab_world::{Bound, World};
use tempfile::TempDir;

use crate::setup::{load, shared_trace};

/// Two UEs with a greedy sender each, 24 Mbit/s into 17 Mbit/s.
fn scenario(scheduler: &str, ues: [&str; 2], seed: u64) -> String {
    format!(
        "
seed: {seed}
duration_s: 10
cell: {{ rat: lte, n_prb: 25, scheduler: {scheduler} }}
ues:
  - {{ rnti: 1, {}, drbs: [{{ id: 1 }}] }}
  - {{ rnti: 2, {}, drbs: [{{ id: 1 }}] }}
flows:
  - {{ name: one, kind: udp_cbr, rnti: 1, rate_kbps: 24000, packet_bytes: 1500 }}
  - {{ name: two, kind: udp_cbr, rnti: 2, rate_kbps: 24000, packet_bytes: 1500 }}
",
        ues[0], ues[1]
    )
}

/// Goodput of each flow, Mbit/s, and RBs used, percent.
fn run(text: &str) -> (Vec<f64>, f64) {
    let mut world = World::new(&load(text)).unwrap();
    world.step_until(10_000_000, &mut |_| {});
    let goodput = |name: &str| {
        let (_, _, flow) = world.flows().find(|(own, _, _)| *own == name).unwrap();
        flow.arrivals().goodput().mean_bps(1_000_000, 10_000_000) / 1e6
    };
    let sample = world.cell_sample();
    let used = 100.0 * sample.used_prb as f64 / sample.available_prb as f64;
    (vec![goodput("one"), goodput("two")], used)
}

const SLICES: [&str; 2] =
    ["slice: 7, channel: { fixed_mcs: 28 }", "slice: 9, channel: { fixed_mcs: 28 }"];

fn sliced(kind: &str) -> String {
    let scheduler = format!(
        "{{ kind: {kind}, slices: [{{ id: 7, percent: 25 }}, {{ id: 9, percent: 75, \
         ue_scheduler: pf }}], time_constant_ms: 50 }}"
    );
    scenario(&scheduler, SLICES, 1)
}

#[test]
fn slices_get_their_shares() {
    for kind in ["fp", "eqp", "fixed_partition", "elastic_quantum_partition"] {
        let (goodput, used) = run(&sliced(kind));
        let ratio = goodput[0] / goodput[1];
        // 6 of 24 RBs and 4 of 16, in blocks that grow a little unevenly.
        assert!((ratio / (1.0 / 3.0) - 1.0).abs() < 0.1, "{kind}: {goodput:?}");
        assert!((used - 100.0 * 22.4 / 23.4).abs() < 0.5, "{kind}: {used}");
    }
}

#[test]
fn a_slice_without_traffic_lends_prbs_up_to_the_quantum_limit() {
    let used = |kind: &str| {
        let ues = ["prb_share_percent: 25", "prb_share_percent: 75"]
            .map(|share| format!("{share}, channel: {{ fixed_mcs: 28 }}"));
        let text = scenario(kind, [&ues[0], &ues[1]], 1);
        // A packet in twelve seconds.
        let text = text.replace("rnti: 2, rate_kbps: 24000", "rnti: 2, rate_kbps: 1");
        let mut world = World::new(&load(&text)).unwrap();
        world.step_until(10_000_000, &mut |_| {});
        world.cell_sample().used_prb
    };
    let alone = used("fp");
    let borrowed = [25, 100, 500].map(|limit| {
        let kind = format!("{{ kind: eqp, quantum_limit_prb: {limit} }}");
        used(&kind) - alone
    });
    // From three quarters of the limit to all of it, by the size of the last group.
    for (borrowed, limit) in borrowed.into_iter().zip([25, 100, 500]) {
        assert!((3 * limit / 4..=limit).contains(&borrowed), "{borrowed} of {limit}");
    }
}

#[test]
fn proportional_fair_serves_the_ue_at_its_best_channel() {
    // In opposite phases: one is good while the other is bad.
    let ues = [
        "channel: { mcs_series: { period_ms: 20, values: [28, 8] } }",
        "channel: { mcs_series: { period_ms: 20, values: [8, 28] } }",
    ];
    let sum = |scheduler: &str| run(&scenario(scheduler, ues, 1)).0.iter().sum::<f64>();
    let turns = sum("rr");
    for scheduler in [
        "pf",
        "{ kind: pf, time_constant_ms: 500 }",
        "{ kind: proportional_fair, time_constant_ms: 500, granularity: per_rbg }",
    ] {
        let fair = sum(scheduler);
        // Always at MCS 28 rather than half of the time: 2292 bytes to (2292 + 437)/2.
        assert!(fair > 1.5 * turns, "{scheduler}: {fair}, in turn {turns}");
    }
}

/// The keys reach the cell: reports by sub-band carry more where the UEs walk.
#[test]
fn reports_by_sub_band_are_used() {
    let ue =
        "channel: { fading: { mean_snr_db: 12, speed_kmh: 2, antennas: 1, delay_spread_ns: 300 } }";
    let sum = |adaptation: &str| {
        let pf = "{ kind: pf, granularity: per_rbg }";
        let text = scenario(pf, [ue, ue], 1).replace(
            "rat: lte, n_prb: 25,",
            &format!("rat: nr, n_prb: 51, resource_allocation: type0_config1, {adaptation}"),
        );
        run(&text).0.iter().sum::<f64>()
    };
    let [wideband, large, small] = ["", "value2", "value1"].map(|size| {
        let key = format!("adaptation: {{ subband_size: {size} }},");
        sum(if size.is_empty() { "" } else { &key })
    });
    assert!(small > wideband && large > wideband && small != large, "{wideband} {large} {small}");
}

#[test]
fn each_kind_of_channel_carries_traffic_and_repeats_with_its_seed() {
    for channel in [
        "mcs_series: { period_ms: 100, values: [10, 20], at_end: hold }",
        "cqi_series: { period_ms: 100, values: [15, 0, 7] }",
        "cqi_series: { period_ms: 100, values: [1, 15], at_end: hold, cqi_to_mcs: \
         [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] }",
        "rate_series: { period_ms: 100, values_kbps: [9000, 0, 3000], at_end: loop }",
        "gauss_markov: { mean_snr_db: 12, std_dev_db: 4, coherence_ms: 200, period_ms: 5 }",
        "ideal: { gauss_markov: { mean_snr_db: 12, std_dev_db: 4, coherence_ms: 200 } }",
        "snr_series: { period_ms: 100, values_db: [12, 3, 20] }",
        "fading: { mean_snr_db: 15, speed_kmh: 30 }",
        "fading: { speed_kmh: 3, profile: tdl_a, path: { model: umi, distance_m: 80 } }",
        "mobility: { pattern: train }",
        "mobility: { pattern: static, mean_mcs: 20, std_dev_mcs: 6, coherence_ms: 50, period_ms: 10 }",
    ] {
        let ue = format!("channel: {{ {channel} }}");
        let text = |seed| scenario("rr", [&ue, &ue], seed);
        let (first, _) = run(&text(1));
        assert!(first.iter().all(|mbps| *mbps > 0.5), "{channel}: {first:?}");
        assert_eq!(first, run(&text(1)).0, "{channel}");
        if channel.starts_with("gauss") || channel.starts_with("mobility") {
            assert_ne!(first, run(&text(2)).0, "{channel}");
            assert_ne!(first[0], first[1], "{channel}: a stream for each UE");
        }
    }
}

#[test]
fn an_impossible_mobility_model_names_its_place() {
    let ue = "channel: { mobility: { pattern: train, std_dev_mcs: 1 } }";
    let loaded = load(&scenario("rr", [ue, ue], 1));
    let error = World::new(&loaded).err().unwrap().to_string();
    let expected = "scenario.yaml: ues[0].channel.mobility: channel.std_dev_mcs: 1; expected above";
    assert!(error.starts_with(expected), "{error}");
}

/// A folder with a CSV of UCC's columns.
fn csv(rows: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("Timestamp,SNR,CQI,DL_bitrate\n{rows}");
    std::fs::write(folder.path().join("trace.csv"), text).unwrap();
    folder
}

#[test]
fn a_csv_of_ucc_is_a_channel_by_any_of_its_columns() {
    let rows = "2020.02.14_10.00.00,20.0,15,4000\n2020.02.14_10.00.01,-5.0,2,1000\n\
                2020.02.14_10.00.02,-,-,0\n";
    let directory = csv(rows);
    let mbps = |channel: &str| {
        let ue = format!("channel: {{ ucc_csv: {{ path: trace.csv, {channel} }} }}");
        let text = scenario("rr", [&ue, "channel: { fixed_mcs: 0 }"], 1);
        let loaded = LoadedScenario::from_yaml(&text, "s.yaml", directory.path(), &[]).unwrap();
        let mut world = World::new(&loaded).unwrap();
        world.step_until(9_000_000, &mut |_| {});
        let (_, _, flow) = world.flows().next().unwrap();
        flow.arrivals().goodput().mean_bps(3_000_000, 9_000_000) / 1e6
    };
    let (cqi, outage) = (mbps("column: cqi"), mbps("column: cqi, missing: outage"));
    assert!(cqi > 2.0 && outage < cqi, "{cqi} {outage}");
    assert!(mbps("column: snr") > 2.0);
    let rate = mbps("column: dl_bitrate");
    // 5000 kbit in 3 s, in halves with the other UE or whole, less headers.
    assert!((0.7..1.7).contains(&rate), "{rate}");
    let held = mbps("column: cqi, at_end: hold");
    assert!(held < 1.0, "{held}");
}

#[test]
fn an_invalid_csv_value_is_named_with_file_line_and_column() {
    let rows = "2020.02.14_10.00.00,20.0,15,4000\n2020.02.14_10.00.01,-5.0,NaN,1000\n";
    let directory = csv(rows);
    let ue = "channel: { ucc_csv: { path: trace.csv } }";
    let text = scenario("rr", [ue, ue], 1);
    let loaded = LoadedScenario::from_yaml(&text, "s.yaml", directory.path(), &[]).unwrap();
    let error = World::new(&loaded).err().unwrap().to_string();
    let expected = "s.yaml: ues[0].channel.ucc_csv.path: trace.csv: line 3, column 'CQI': 'NaN'; \
                    expected a whole number from 0 to 15, or '-'";
    assert_eq!(error, expected);
}

#[test]
fn a_column_of_any_table_is_a_channel() {
    let folder = tempfile::tempdir().unwrap();
    let text = "at,cqi,sinr,rsrp\n0,15,22,-95\n1,2,-4,-122\n2,,,\n";
    std::fs::write(folder.path().join("walk.csv"), text).unwrap();
    let mbps = |channel: &str| {
        let ue = format!(
            "channel: {{ measured_csv: {{ path: walk.csv, period_ms: 1000, {channel} }} }}"
        );
        let text = scenario("rr", [&ue, "channel: { fixed_mcs: 0 }"], 1);
        let loaded = LoadedScenario::from_yaml(&text, "s.yaml", folder.path(), &[]).unwrap();
        let mut world = World::new(&loaded).unwrap();
        world.step_until(9_000_000, &mut |_| {});
        let (_, _, flow) = world.flows().next().unwrap();
        flow.arrivals().goodput().mean_bps(3_000_000, 9_000_000) / 1e6
    };
    let sinr = mbps("column: sinr");
    assert!(sinr > 2.0, "{sinr}");
    let cqi = mbps("column: cqi, quantity: cqi");
    assert!((0.7..1.4).contains(&(cqi / sinr)), "{cqi} {sinr}");
    // -95 and -122 dBm are 22 and -5 dB above the noise.
    let rsrp = mbps("column: rsrp, quantity: rsrp_dbm, noise_dbm: -117");
    assert!((0.9..1.1).contains(&(rsrp / sinr)), "{rsrp} {sinr}");
    let noisy = mbps("column: rsrp, quantity: rsrp_dbm, noise_dbm: -107");
    assert!(noisy < 0.8 * rsrp, "{noisy} {rsrp}");
    let outage = mbps("column: sinr, missing: outage, at_end: hold");
    assert!(outage < 0.01, "{outage}");
}

#[test]
fn a_recorded_drive_runs() {
    let Some(file) = shared_trace("ucc-5g/driving-2019.12.16.csv.gz") else { return };
    let ue = format!("channel: {{ ucc_csv: {{ path: '{}' }} }}", file.display());
    let (goodput, _) = run(&scenario("rr", [&ue, &ue], 1));
    assert!(goodput.iter().all(|mbps| *mbps > 1.0), "{goodput:?}");
}

#[test]
fn nr_resource_block_groups_are_allocated_whole() {
    let used = |allocation: &str| {
        let text = format!(
            "
duration_s: 1
cell: {{ rat: nr, n_prb: 106, scs_khz: 15, resource_allocation: {allocation} }}
ues: [{{ rnti: 1, channel: {{ fixed_mcs: 20 }}, drbs: [{{ id: 1 }}] }}]
flows: [{{ name: ping, kind: ping, interval_ms: 20 }}]
"
        );
        let mut world = World::new(&load(&text)).unwrap();
        world.step_until(1_000_000, &mut |_| {});
        world.cell_sample().used_prb
    };
    // An echo needs one or two PRBs: a group of 8 in configuration 1, of 16 in configuration 2.
    let single = used("type1");
    assert!(single > 0);
    assert_eq!(used("type0_config2"), 2 * used("type0_config1"));
    assert!(used("type0_config1") >= 4 * single);
}

/// 38.214 §5.1.3.2: data has what PDCCH and DM-RS leave of the 168 elements of a PRB, 144 and 126.
#[test]
fn overhead_of_pdcch_and_dmrs_is_taken_from_the_rate() {
    let mbps = |overhead: &str| {
        let text = format!(
            "
duration_s: 5
cell: {{ rat: nr, n_prb: 106, scs_khz: 30, overhead: {overhead} }}
ues: [{{ rnti: 1, channel: {{ fixed_mcs: 9 }}, drbs: [{{ id: 1 }}] }}]
flows: [{{ name: bulk, kind: udp_cbr, rate_kbps: 100000, packet_bytes: 1500 }}]
"
        );
        let mut world = World::new(&load(&text)).unwrap();
        world.step_until(5_000_000, &mut |_| {});
        let (_, _, flow) = world.flows().find(|(own, _, _)| *own == "bulk").unwrap();
        flow.arrivals().goodput().mean_bps(1_000_000, 5_000_000) / 1e6
    };
    let share = mbps("{ pdcch_symbols: 2, dmrs_symbols: 3, dmrs_re: 6 }") / mbps("{}");
    // A TBS is quantised.
    assert!((share - 126.0 / 144.0).abs() < 0.01, "{share}");
}

/// The lowest MCS in two of ten slots is too little for the acknowledgements of a wide downlink, one for
/// each second segment.
#[test]
fn the_uplink_of_a_wide_cell_carries_its_acknowledgements() {
    let measured = |uplink: &str| {
        let text = format!(
            "{{ name: wide, seed: 1, duration_s: 10, \
             cell: {{ rat: nr, n_prb: 273, scs_khz: 30, layers: 2, \
             tdd: {{ pattern: DDDDDDDMUU }}{uplink} }}, \
             ues: [{{ rnti: 17, channel: {{ fixed_mcs: 27 }}, drbs: [{{ id: 1, pipeline: low_latency }}] }}], \
             flows: [{{ name: down, kind: tcp, rnti: 17, receive_window_bytes: 16777216, ack_thinning: false }}] }}"
        );
        let mut world = World::new(&load(&text)).unwrap();
        world.step_until(10_000_000, &mut |_| {});
        let summary = world.summary();
        (summary.flows[0].goodput_mbps, summary.cell.bound)
    };
    let (narrow_mbps, bound) = measured(", uplink: { mcs: 0 }");
    assert_eq!(bound, Bound::Uplink { rnti: 17 });
    let (mbps, bound) = measured("");
    assert!(mbps > 1.5 * narrow_mbps, "{mbps} {narrow_mbps}");
    assert_eq!(bound, Bound::DownlinkPrb);
}

/// The power of a UE at the edge carries an upload over a part of the carrier: the rest is free, and the upload waits.
#[test]
fn a_ue_whose_power_is_exhausted_is_named() {
    let bound = |snr_db: u32| {
        let text = format!(
            "{{ name: power, seed: 1, duration_s: 10, \
             cell: {{ rat: nr, n_prb: 106, scs_khz: 30, tdd: {{ pattern: DDDDDDDMUU }} }}, \
             ues: [{{ rnti: 17, channel: {{ snr_series: {{ period_ms: 100, values_db: [{snr_db}] }} }}, \
             drbs: [{{ id: 1, pipeline: low_latency }}] }}], \
             flows: [{{ name: up, kind: udp_cbr, direction: up, rnti: 17, rate_kbps: 4000 }}] }}"
        );
        let mut world = World::new(&load(&text)).unwrap();
        world.step_until(10_000_000, &mut |_| {});
        let summary = world.summary();
        (summary.cell.bound, summary.bearers[0].uplink_full_pct)
    };
    let (weak, limited_pct) = bound(6);
    assert_eq!(weak, Bound::UplinkPower { rnti: 17 });
    assert!(limited_pct.is_some_and(|pct| pct >= 90.0), "{limited_pct:?}");
    let (strong, limited_pct) = bound(30);
    assert_eq!((strong, limited_pct), (Bound::Senders, None));
}
