//! Radio outages and extreme traffic: under every template all packets are received or counted as
//! drops or as lost on the radio.

use crate::common::run;
use lab_world::Summary;
use tc_rf::templates;

/// Two seconds of 60 Mbit/s: more than the cell carries.
const FLOWS: &str = "flows=[{name: a, kind: udp_cbr, rate_kbps: 40000, stop_s: 2}, \
                     {name: b, kind: udp_cbr, rate_kbps: 20000, stop_s: 2, ecn_field: ect1}, \
                     {name: c, kind: voip, stop_s: 2, dscp: 46}]";

/// Every sent packet is received, dropped or lost on the radio once traffic has stopped and queues
/// have drained.
fn assert_accounted_for(summary: &Summary, what: &str) {
    let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
    let received: u64 = summary.flows.iter().map(|flow| flow.received_packets).sum();
    let dropped: u64 =
        summary.bearers.iter().map(|b| b.tc_dropped_packets + b.rlc_dropped_packets).sum();
    assert!(sent > 100, "{what}: the flows send");
    assert!(received > 0, "{what}: something arrives");
    let lost = summary.cell.lost_sdus;
    assert_eq!(received + dropped + lost, sent, "{what}: sent is received, dropped or lost");
}

/// Runs a fault under every template, in both modes of RLC.
fn under_every_template(fault: &str, seconds: f64, overrides: &[&str]) {
    for template in templates::NAMES {
        for mode in ["um", "am"] {
            let pipeline = format!("ues[0].drbs[0].pipeline={template}");
            let mode_of_rlc = format!("ues[0].drbs[0].rlc={{mode: {mode}, limit_bytes: 400000}}");
            let all: Vec<&str> =
                overrides.iter().copied().chain([&*pipeline, &*mode_of_rlc]).collect();
            let summary = run("default.yaml", seconds, &all).summary();
            assert_accounted_for(&summary, &format!("{fault}, {template}, RLC-{mode}"));
        }
    }
}

#[test]
fn traffic_recovers_from_a_radio_outage_of_seconds() {
    // CQI 0 is out of range (38.214 table 5.2.2.1-2): 1 s of radio, 3 s of none.
    let channel = "ues[0].channel={cqi_series: {period_ms: 1000, values: [9, 0, 0, 0]}}";
    under_every_template("radio outage", 16.0, &[FLOWS, channel]);
}

#[test]
fn a_radio_that_the_gnb_misjudges_loses_what_it_counts() {
    // 80 km/h, reports of 20 ms ago, no outer loop, two transmissions.
    let channel = "ues[0].channel={fading: {mean_snr_db: 12, speed_kmh: 80, antennas: 1}}";
    let blind = "cell.adaptation={outer_loop: cqi_only, cqi_delay_slots: 40}";
    let twice = "cell.harq={max_transmissions: 2}";
    under_every_template("fast fading", 16.0, &[FLOWS, channel, blind, twice]);
}

#[test]
fn the_slowest_radio_drains_all_queues() {
    let slow = "flows=[{name: a, kind: udp_cbr, rate_kbps: 12000, stop_s: 1}, \
                {name: c, kind: voip, stop_s: 2}]";
    let bulk = ["ues[0].channel={fixed_mcs: 0}", slow];
    under_every_template("MCS 0", 20.0, &bulk);
}

#[test]
fn the_shortest_and_the_longest_packets_share_a_bearer() {
    let flows = "flows=[{name: long, kind: udp_cbr, rate_kbps: 40000, packet_bytes: 9000, stop_s: 2}, \
                 {name: short, kind: udp_cbr, rate_kbps: 1000, packet_bytes: 28, stop_s: 2}]";
    under_every_template("28 and 9000 B", 10.0, &[flows]);
}

#[test]
fn hundreds_of_flows_in_few_queues_are_all_served() {
    let flows = (0..8)
        .map(|n| {
            format!(
                "{{name: f{n}, kind: udp_cbr, count: 64, rate_kbps: 200, packet_bytes: 300, \
                 stop_s: 2}}"
            )
        })
        .collect::<Vec<_>>()
        .join(", ");
    let flows = format!("flows=[{flows}]");
    for template in templates::NAMES {
        let pipeline = format!("ues[0].drbs[0].pipeline={template}");
        let summary = run("default.yaml", 20.0, &[&flows, &pipeline]).summary();
        assert_accounted_for(&summary, &format!("512 flows, {template}"));
        let starved = summary.flows.iter().filter(|flow| flow.received_packets == 0).count();
        assert_eq!(starved, 0, "{template}: flows of which nothing arrives");
    }
}
