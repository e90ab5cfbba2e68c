//! RLC-AM, HARQ with errors, uplink access and F1-U of a scenario.

use crate::common::{flow, run};
use crate::setup::{control, replace};
use e2sm_tc::v1::ControlMessage;
use lab_world::{Indication, Output, Payload, RanFunction, SubscriptionRequest, Summary};

const AM: &str = "ues[0].drbs[0].rlc={mode: am}";

fn goodput(summary: &Summary) -> f64 {
    flow(summary, "bulk").goodput_mbps
}

#[test]
fn an_am_bearer_has_the_goodput_of_a_um_bearer() {
    let um = run("default.yaml", 10.0, &[]).summary();
    let am = run("default.yaml", 10.0, &[AM]).summary();
    let ratio = goodput(&am) / goodput(&um);
    assert!((0.97..1.01).contains(&ratio), "{} and {}", goodput(&am), goodput(&um));
}

/// An NR cell of 580 Mbit/s whose UE reports each 60 ms: 2048 SDUs of a 12-bit window last for 40 ms.
const STALLING: &str = "cell={rat: nr, n_prb: 106, scs_khz: 30, layers: 4, mcs_table: qam256, \
    tdd: {pattern: DDDDDDDMUU}}";

#[test]
fn a_stalled_window_leaves_the_queue_where_a_ping_passes_it() {
    let run = |pipeline: &str| {
        let pipeline = format!(
            "ues=[{{rnti: 17921, channel: {{fixed_mcs: 26}}, drbs: [{{id: 1, pipeline: {pipeline}, \
             rlc: {{mode: am, sn_bits: 12, t_status_prohibit_us: 60000}}}}]}}]"
        );
        let summary = run("default.yaml", 4.0, &[STALLING, &pipeline]).summary();
        let dropped = summary.bearers[0].rlc_dropped_packets;
        (goodput(&summary), flow(&summary, "ping").rtt_ms.unwrap().p95, dropped)
    };
    let (plain, _, _) = run("transparent");
    let (pulled, ping_ms, dropped) = run("low_latency");
    assert!(pulled > 0.98 * plain, "{pulled} of {plain} Mbit/s");
    // The wait for a status report is the window's own.
    assert!(ping_ms < 75.0, "ping p95 {ping_ms} ms");
    assert_eq!(dropped, 0);
    // DynRLC by its name: its threshold follows the gaps between status reports.
    let (paced, _, _) = run("{template: fq_codel, pacer: {dyn_rlc: {max_sdus: 4096}}}");
    assert!(paced > 0.95 * plain, "{paced} of {plain} Mbit/s");
}

#[test]
fn dyn_rlc_carries_the_same_above_am_as_above_um() {
    let pacer = "ues[0].drbs[0].pipeline={template: fq_codel, pacer: dyn_rlc}";
    let um = run("default.yaml", 10.0, &[pacer]).summary();
    let am = run("default.yaml", 10.0, &[pacer, AM]).summary();
    assert!(goodput(&am) > 0.97 * goodput(&um), "{} and {}", goodput(&am), goodput(&um));
}

#[test]
fn block_errors_lose_packets_of_a_um_bearer_and_hardly_any_of_an_am_bearer() {
    let harq = "cell.harq={bler: 0.3, combining_gain: 1, max_transmissions: 2}";
    let udp = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 8000, stop_s: 5}]";
    let known = "ues[0].channel={fixed_mcs: 10}";
    let um = run("default.yaml", 8.0, &[known, harq, udp]).summary();
    let am = run("default.yaml", 8.0, &[known, harq, udp, AM]).summary();
    let lost = |summary: &Summary| {
        let udp = flow(summary, "udp");
        udp.sent_packets - udp.received_packets
    };
    assert!(lost(&um) > 100 && um.cell.lost_sdus == lost(&um), "{}", lost(&um));
    // t-Reordering of PDCP (100 ms) may expire before AM delivers.
    assert!(lost(&am) * 20 < lost(&um), "{}", lost(&am));
    assert_eq!(am.cell.lost_sdus, lost(&am));
}

#[test]
fn pipelines_work_above_am_with_errors_and_the_same_seed_gives_the_same_bytes() {
    for pipeline in ["bdp_only", "fq_codel"] {
        let pipeline = format!("ues[0].drbs[0].pipeline={pipeline}");
        let overrides = [AM, "cell.harq={bler: 0.1}", pipeline.as_str()];
        let summary = run("default.yaml", 6.0, &overrides).summary();
        assert_eq!(summary, run("default.yaml", 6.0, &overrides).summary());
        let in_rlc_ms = summary.bearers[0].rlc_sojourn_ms.mean;
        assert!(in_rlc_ms < 20.0, "{pipeline}: {in_rlc_ms} ms");
        assert!(goodput(&summary) > 20.0, "{pipeline}: {}", goodput(&summary));
    }
}

#[test]
fn rlc_reports_show_mode_am_and_retransmissions() {
    let harq = "cell.harq={bler: 0.2, combining_gain: 1, max_transmissions: 1}";
    let mut world = run("default.yaml", 3.0, &[AM, harq]);
    let request = SubscriptionRequest::periodic(world.node_id(), RanFunction::Rlc, 100);
    world.subscribe(&request).unwrap();
    let mut last = Vec::new();
    world.step_until(4_000_000, &mut |output| {
        if let Output::Indication(Indication { report, .. }) = output
            && let Payload::Message(bytes) = report.payload
        {
            last = bytes.to_vec();
        }
    });
    let field = |index: usize| {
        let at = 4 + 4 * index;
        u32::from_le_bytes(last[at..at + 4].try_into().unwrap())
    };
    let (sent, retransmitted, status_pdus, status_bytes) =
        (field(0), field(5), field(20), field(21));
    assert!((101..sent / 2).contains(&retransmitted), "{retransmitted} of {sent}");
    assert!(status_pdus > 50 && status_bytes > 3 * status_pdus, "{status_bytes} B");
    assert_eq!(last[4 + 148], 0, "mode AM");
}

#[test]
fn uplink_access_follows_the_scenario() {
    let rtt = |uplink: &str| {
        let quiet = "flows=[{name: ping, kind: ping, interval_ms: 50}]";
        let summary = run("default.yaml", 5.0, &[quiet, uplink]).summary();
        flow(&summary, "ping").rtt_ms.unwrap().mean
    };
    let base = rtt("cell.uplink={}");
    let rare = rtt("cell.uplink={sr_period_us: 40000}");
    let slow = rtt("cell.uplink={sr_to_pusch_us: 24000}");
    assert!((rare - base - 17.5).abs() < 3.0, "half of 40 ms less half of 5: {base} and {rare}");
    assert!((slow - base - 20.0).abs() < 1.0, "{base} and {slow}");
}

#[test]
fn every_packet_is_accounted_for_when_f1_loses_delays_and_reorders() {
    let udp = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 8000, stop_s: 4}]";
    for rlc in ["ues[0].drbs[0].rlc={mode: um}", AM] {
        for f1 in [
            "split={f1_delay_us: 5000, f1: {loss: 0.02}}",
            "split={f1_delay_us: 5000, f1: {loss: 0.02, jitter_us: 4000, keep_order: false}}",
            "split={f1: {loss: 0.02, jitter_us: 4000, delivery_status_us: 2000}}",
        ] {
            let summary = run("default.yaml", 6.0, &[udp, rlc, f1]).summary();
            assert_eq!(summary, run("default.yaml", 6.0, &[udp, rlc, f1]).summary());
            let (udp, bearer) = (flow(&summary, "udp"), &summary.bearers[0]);
            assert!(bearer.f1_lost_packets > 20, "{f1}");
            assert_eq!(
                udp.received_packets + bearer.f1_lost_packets,
                udp.sent_packets,
                "{rlc} {f1}"
            );
        }
    }
}

#[test]
fn pacers_work_with_delivery_status_as_with_rlc_status() {
    let run = |f1: &str, rlc: &str| {
        let f1 = format!("split={{f1_delay_us: 2000, core_delay_us: 2000{f1}}}");
        let pipeline = "ues[0].drbs[0].pipeline=bdp_only";
        let summary = run("default.yaml", 10.0, &[&f1, pipeline, rlc]).summary();
        (goodput(&summary), summary.bearers[0].rlc_sojourn_ms.mean)
    };
    for rlc in ["ues[0].drbs[0].rlc={mode: um}", AM] {
        let (direct, direct_ms) = run("", rlc);
        let (derived, derived_ms) = run(", f1: {delivery_status_us: 500}", rlc);
        assert!((derived / direct - 1.0).abs() < 0.05, "{rlc}: {direct} and {derived} Mbit/s");
        assert!(
            (derived_ms - direct_ms).abs() < 0.3 * direct_ms + 0.5,
            "{direct_ms} and {derived_ms} ms"
        );
    }
}

#[test]
fn recalled_packets_leave_no_gap_and_are_counted_once() {
    let volume = |f1: &str, rlc: &str| {
        let split = format!("split={{core_delay_us: 2000{f1}}}");
        let mut world = run("default.yaml", 4.0, &[&split, rlc]);
        let request = SubscriptionRequest {
            kpm_measurements: vec!["DRB.PdcpSduVolumeDL".to_owned()],
            ..SubscriptionRequest::periodic(world.node_id(), RanFunction::Kpm, 2_000)
        };
        world.subscribe(&request).unwrap();
        let before = world.summary().bearers[0].ingress_bytes;
        let switch = ControlMessage::Transaction(replace("fq_codel"));
        assert!(control(&mut world, 1, &switch).acknowledged);
        let mut kbit = 0.0;
        world.step_until(6_000_000, &mut |output| {
            if let Output::Indication(Indication { report, .. }) = output
                && let Payload::Kpm(report) = report.payload
            {
                kbit += report.ues[0].values["DRB.PdcpSduVolumeDL"];
            }
        });
        let summary = world.summary();
        let entered = (summary.bearers[0].ingress_bytes - before) as f64 * 8.0 / 1e3;
        (kbit, entered, summary)
    };
    for f1 in ["", ", f1_delay_us: 5000", ", f1_delay_us: 5000, f1: {delivery_status_us: 1000}"] {
        for rlc in ["ues[0].drbs[0].rlc={mode: um}", AM] {
            let (kbit, entered, summary) = volume(f1, rlc);
            // Megabytes are recalled from the RLC; each packet counts once.
            assert!(kbit <= entered + 1_000.0, "{rlc} {f1}: {kbit} kbit down, {entered} entered");
            assert_eq!(summary.cell.lost_sdus, 0);
            assert_eq!(summary.bearers[0].rlc_dropped_packets, 0);
        }
    }
}
