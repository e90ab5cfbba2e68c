//! Counters of the gNB for monitoring: what they sum up is what bearers report one by one.

use e2sm_tc::v1::ControlMessage;
use lab_world::{ByKind, DelayDistribution, PacketKind, World};

use crate::common::{flow, run};
use crate::setup::{control, replace};

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
    let by_kind = PacketKind::ALL.map(|kind| *counters.by_kind.of(kind));
    // The second that begins now is not over.
    let packets: u64 = by_kind.iter().map(|delay| delay.packets()).sum();
    assert!((0..50).contains(&(bearer.drained_packets - packets)), "{by_kind:?}");
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

/// Goodput of the download, bit/s, and the mean delay of its own packets in the gNB, ms, of each of
/// `seconds`.
fn seconds_of_bulk(world: &mut World, seconds: u64) -> Vec<(f64, f64)> {
    let so_far = |world: &World| {
        let summary = world.summary();
        let bulk = flow(&summary, "bulk");
        let packets = bulk.queuing_ms.count as f64;
        (bulk.goodput_bytes as f64, packets, bulk.queuing_ms.mean * packets)
    };
    let mut before = so_far(world);
    let second = |_| {
        world.step_until(world.now_us() + 1_000_000, &mut |_| {});
        let after = so_far(world);
        let row = ((after.0 - before.0) * 8.0, (after.2 - before.2) / (after.1 - before.1));
        before = after;
        row
    };
    (0..seconds).map(second).collect()
}

#[test]
fn sparse_bulk_and_inherited_packets_are_apart_where_a_mean_over_all_hides_two_of_them() {
    let mut world = run("default.yaml", 7.0, &[]);
    let before = world.gnb_counters().by_kind;
    assert_eq!(before.inherited.packets(), 0);
    assert!(
        mean_ms(before.sparse) > 500.0,
        "without control sparse packets wait behind the download"
    );
    let queued = world.summary().bearers[0].queued_bytes.peak;
    assert!(queued > 8_000_000, "{queued}");

    control(&mut world, 1, &ControlMessage::Transaction(replace("low_latency")));
    let seconds = seconds_of_bulk(&mut world, 12);
    let after = world.gnb_counters();
    let ByKind { sparse, bulk, inherited } = after.by_kind;
    assert!(mean_ms(inherited) > 800.0, "{inherited:?}");
    assert!(inherited.packets() > 5_000 && inherited.packets() < 7_000, "{inherited:?}");
    let since = |now: DelayDistribution, then: DelayDistribution| {
        (now.sum_us - then.sum_us) as f64 / (now.packets() - then.packets()) as f64 / 1e3
    };
    assert!(since(sparse, before.sparse) < 10.0, "{before:?} {sparse:?}");
    assert!(since(bulk, before.bulk) < 100.0, "{bulk:?}");
    // The download keeps its rate in each second, and within ten its own delay is short.
    for (number, (goodput_bps, _)) in seconds.iter().enumerate() {
        assert!(*goodput_bps > 0.7 * 39.8e6, "second {number}: {seconds:?}");
    }
    for (_, own_ms) in &seconds[5..] {
        assert!(*own_ms < 100.0, "{seconds:?}");
    }
}

#[test]
fn the_summary_has_the_names_and_units_of_ts_28_552() {
    let world = checked(&["ues[0].drbs[0].pipeline=transparent"]);
    let (summary, delays) = (world.summary(), world.gnb_counters().delays);
    let kpis = summary.ts_28_552;
    let tenth_ms = 10.0 * mean_ms(delays.rlc);
    assert!((kpis.rlc_sdu_delay_dl.unwrap() - tenth_ms).abs() < 1e-6, "{kpis:?}");
    assert_eq!(kpis.pdcp_packet_drop_rate_dl, Some(0.0));
    let text = summary.to_json().unwrap();
    for name in ["DRB.PdcpSduDelayDl", "DRB.RlcSduDelayDl", "DRB.PdcpPacketDropRateDl"] {
        assert!(text.contains(&format!("\"{name}\"")), "{name} is not in {text}");
    }
}
