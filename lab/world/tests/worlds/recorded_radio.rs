//! A recorded drive (T-Mobile LTE, Mahimahi): capacity comes in bursts, and a pacer whose RLC limit is
//! too low loses capacity.

use crate::common::run;
use crate::setup::{mahimahi, shared_trace};
use lab_world::{BearerSummary, World};

/// The bearer after 40 s of more traffic than the radio carries, at an F1 delay; `None` without trace.
fn saturated(pipeline: &str, f1_delay_us: u32) -> Option<BearerSummary> {
    let trace = shared_trace("mahimahi-us/TMobile-LTE-driving.down.xz")?;
    let f1 = format!("split.f1_delay_us={f1_delay_us}");
    let pipeline = format!("ues[0].drbs[0].pipeline={pipeline}");
    let flows = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 80000}]";
    let world: World = run("default.yaml", 40.0, &[&mahimahi(&trace, ""), &pipeline, &f1, flows]);
    world.summary().bearers.pop()
}

#[test]
fn the_default_pacer_uses_the_capacity_without_filling_the_rlc() {
    let Some(unpaced) = saturated("transparent", 0) else { return };
    // A second at the trace's mean rate is 1.6 MB; without a pacer the RLC holds 10 MB. At an F1 delay
    // of 10 ms, a round trip counted twice makes the mean 600 ms.
    for (f1_delay_us, least, most_ms) in
        [(0, 975, (250.0, f64::MAX)), (10_000, 970, (f64::MAX, 250.0))]
    {
        let paced = saturated("bdp_only", f1_delay_us).unwrap();
        let share = paced.drained_packets * 1000 / unpaced.drained_packets;
        assert!(share >= least, "F1 {f1_delay_us} µs: {share} ‰ of the goodput without a pacer");
        let (p95_ms, mean_ms) = (paced.rlc_sojourn_ms.p95, paced.rlc_sojourn_ms.mean);
        assert!(
            p95_ms <= most_ms.0 && mean_ms <= most_ms.1,
            "{p95_ms} and {mean_ms} ms in the RLC"
        );
    }
}

#[test]
fn the_published_pacer_loses_capacity_that_ours_uses() {
    let drained = |pacer: &str| {
        let pipeline = format!(
            "{{name: paced, classifier: {{round_robin: {{first: 0, count: 1}}}}, queues: [{{first: 0, \
             count: 1, discipline: {{fifo: {{drop: tail}}}}}}], scheduler: round_robin, pacer: {pacer}, \
             buffer: {{packets: 10000, bytes: 15000000, overflow: tail}}}}"
        );
        Some(saturated(&pipeline, 0)?.drained_packets)
    };
    let (Some(published), Some(ours)) = (drained("bdp5g_prototype"), drained("bdp5g")) else {
        return;
    };
    assert!(published * 100 < ours * 97, "{published} packets by the published, {ours} by ours");
}
