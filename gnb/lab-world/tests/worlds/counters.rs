//! Counters of the gNB for monitoring: what they sum up is what bearers report one by one.

use lab_world::{DelayDistribution, World};

use crate::common::run;

/// Counters of a full download, compared with the summary of its bearer.
fn checked(overrides: &[&str]) -> World {
    let world = run("default.yaml", 3.0, overrides);
    let counters = world.gnb_counters();
    let (delays, summary) = (counters.delays, world.summary());
    let bearer = &summary.bearers[0];
    assert_eq!(delays.sojourn.packets(), bearer.drained_packets);
    let own = world.bearer_delays()[0];
    assert_eq!((own.packets, own.delay_us), (bearer.drained_packets, delays.sojourn.sum_us));
    assert_eq!(delays.pdcp.sum_us + delays.f1.sum_us + delays.rlc.sum_us, delays.sojourn.sum_us);
    let dropped = counters.aqm_dropped + counters.overflow_dropped + counters.policer_dropped;
    assert_eq!(dropped, bearer.tc_dropped_packets);
    assert_eq!(counters.rlc_dropped, bearer.rlc_dropped_packets);
    assert_eq!(counters.marked, bearer.tc_marked_packets);
    world
}

fn mean_ms(delay: DelayDistribution) -> f64 {
    delay.sum_us as f64 / delay.packets().max(1) as f64 / 1e3
}

#[test]
fn a_queue_moved_out_of_the_rlc_moves_its_delay_to_the_cu() {
    let rlc = checked(&["ues[0].drbs[0].pipeline=transparent"]).gnb_counters().delays;
    assert!(mean_ms(rlc.rlc) > 100.0, "{rlc:?}");
    assert!(mean_ms(rlc.pdcp) < 1.0, "{rlc:?}");
    let cu = checked(&["ues[0].drbs[0].pipeline=bdp_only"]).gnb_counters().delays;
    assert!(mean_ms(cu.pdcp) > 100.0, "{cu:?}");
    assert!(mean_ms(cu.rlc) < 20.0, "{cu:?}");
    assert_eq!(cu.f1.sum_us, 0, "CU and DU together");
}

#[test]
fn the_delay_on_f1_is_apart() {
    let split = ["ues[0].drbs[0].pipeline=fq_codel", "split={f1_delay_us: 10000}"];
    let delays = checked(&split).gnb_counters().delays;
    assert_eq!(delays.f1.sum_us, 10_000 * delays.f1.packets());
    assert!(mean_ms(delays.sojourn) > 10.0);
}

#[test]
fn drops_of_the_queue_discipline_and_of_a_full_queue_are_apart() {
    let aqm = checked(&["ues[0].drbs[0].pipeline=fq_codel"]).gnb_counters();
    assert!(aqm.aqm_dropped + aqm.marked > 0 && aqm.overflow_dropped == 0, "{aqm:?}");
    let flood = "flows=[{name: a, kind: udp_cbr, rate_kbps: 200000}]";
    let full = checked(&["ues[0].drbs[0].pipeline=bdp_only", flood]).gnb_counters();
    assert!(full.overflow_dropped > 0 && full.aqm_dropped == 0, "{full:?}");
}
