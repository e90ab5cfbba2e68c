//! A recorded drive (T-Mobile LTE, Mahimahi): capacity comes in bursts, and a pacer that holds too
//! little in the RLC loses what it could have carried.

// A skipped test says why.
use std::path::PathBuf;

use crate::common::run;
use lab_world::World;

/// The trace where it is kept; absent with a word where it is not.
fn trace() -> Option<PathBuf> {
    let root = std::env::var("SOJOURN_SHARED").map_or_else(
        |_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let file = root.join("traces/mahimahi-us/TMobile-LTE-driving.down.xz");
    if file.is_file() {
        return Some(file);
    }
    println!("skipped: no trace at {}", file.display());
    None
}

/// Forty seconds of more than the radio carries.
fn saturated(trace: &std::path::Path, pipeline: &str) -> World {
    saturated_over_f1(trace, pipeline, 0)
}

fn saturated_over_f1(trace: &std::path::Path, pipeline: &str, f1_delay_us: u32) -> World {
    let f1 = format!("split.f1_delay_us={f1_delay_us}");
    let channel = format!("ues[0].channel={{mahimahi: {{path: {}}}}}", trace.display());
    let pipeline = format!("ues[0].drbs[0].pipeline={pipeline}");
    let flows = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 80000}]";
    run("default.yaml", 40.0, &[&channel, &pipeline, &f1, flows])
}

#[test]
fn the_default_pacer_leaves_no_opportunity_unused_while_packets_wait() {
    let Some(trace) = trace() else { return };
    let unpaced = saturated(&trace, "transparent").summary().bearers[0].drained_packets;
    let paced = saturated(&trace, "bdp_only").summary();
    let share = paced.bearers[0].drained_packets * 1000 / unpaced;
    assert!(share >= 975, "{share} ‰ of what goes without a pacer");
    // A second at the trace's mean rate is 1.6 MB; without a pacer the RLC holds 10 MB.
    let p95_ms = paced.bearers[0].rlc_sojourn_ms.p95;
    assert!(p95_ms <= 250.0, "{p95_ms} ms in the RLC");
}

#[test]
fn the_default_pacer_bloats_no_du_that_is_milliseconds_away() {
    let Some(trace) = trace() else { return };
    let unpaced = saturated(&trace, "transparent").summary().bearers[0].drained_packets;
    let paced = saturated_over_f1(&trace, "bdp_only", 10_000).summary();
    let share = paced.bearers[0].drained_packets * 1000 / unpaced;
    assert!(share >= 970, "{share} ‰ of what goes without a pacer");
    // Counting the round trip twice makes it 600 ms.
    let mean_ms = paced.bearers[0].rlc_sojourn_ms.mean;
    assert!(mean_ms <= 250.0, "{mean_ms} ms in the RLC");
}

#[test]
fn the_published_pacer_runs_dry_where_ours_does_not() {
    let Some(trace) = trace() else { return };
    let drained = |pacer: &str| {
        let pipeline = format!(
            "{{name: paced, classifier: {{round_robin: {{first: 0, count: 1}}}}, queues: [{{first: 0, \
             count: 1, discipline: {{fifo: {{drop: tail}}}}}}], scheduler: round_robin, pacer: {pacer}, \
             buffer: {{packets: 10000, bytes: 15000000, overflow: tail}}}}"
        );
        saturated(&trace, &pipeline).summary().bearers[0].drained_packets
    };
    let (published, ours) = (drained("bdp5g_prototype"), drained("bdp5g"));
    assert!(published * 100 < ours * 97, "{published} packets by the published, {ours} by ours");
}
