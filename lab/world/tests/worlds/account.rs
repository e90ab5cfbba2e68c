//! The account of all packets: whatever happens to UEs and links, each packet is somewhere.

use lab_world::{PacketAccount, World};

use crate::common::scenario;

/// A cell in which everything happens that ends packets: a UE that comes late, one that leaves, losses on
/// the radio and on F1-U, more traffic than the cell carries, a pipeline that drops.
const UES: &str = "ues=[\
    {rnti: 1, channel: {fixed_mcs: 10}, drbs: [{id: 1, pipeline: fq_codel}], leave_at_s: 3}, \
    {rnti: 2, channel: {fixed_mcs: 10}, drbs: [{id: 1, rlc: {mode: am, limit_bytes: 200000}}], \
     join_at_s: 1}]";
const FLOWS: &str = "flows=[\
    {name: early, kind: udp_cbr, rnti: each, rate_kbps: 30000}, \
    {name: bulk, kind: tcp, rnti: each}, \
    {name: ping, kind: ping, rnti: each, interval_ms: 20}, \
    {name: video, kind: video, rnti: each}]";

/// The account each 7 ms of five seconds.
fn accounts(overrides: &[&str]) -> Vec<PacketAccount> {
    let mut world = World::new(&scenario("default.yaml", overrides)).unwrap();
    (1..=5_000_000 / 7_000)
        .map(|step| {
            world.step_until(step * 7_000, &mut |_| {});
            world.packet_account()
        })
        .collect()
}

#[test]
fn the_account_closes_at_every_moment() {
    for more in [
        &[][..],
        &["split={core_delay_us: 3000, f1_delay_us: 2000, f1: {jitter_us: 500, loss: 0.01}}"],
        &["cell.harq={bler: 0.3, max_transmissions: 2}"],
    ] {
        let all = accounts(&[&[UES, FLOWS][..], more].concat());
        for account in &all {
            let gaps = (account.downlink.unaccounted(), account.uplink.unaccounted());
            assert_eq!(gaps, (0, 0), "{more:?}: {account:?}");
        }
        let last = all.last().unwrap();
        assert!(last.downlink.unattached > 0, "{more:?}: {last:?}");
        assert!(last.downlink.released > 0 && last.downlink.arrived > 10_000, "{more:?}: {last:?}");
        assert!(last.uplink.unattached > 0 && last.uplink.arrived > 0, "{more:?}: {last:?}");
        let lost = last.downlink.lost_on_f1 + last.downlink.lost_on_radio;
        assert_eq!(lost > 0, !more.is_empty(), "{more:?}: {last:?}");
    }
}

/// Counters for monitoring and the summary have what was lost for want of a UE, by cause.
#[test]
fn packets_for_a_ue_that_is_not_attached_are_counted_by_cause() {
    let mut world = World::new(&scenario("default.yaml", &[UES, FLOWS])).unwrap();
    world.step_until(900_000, &mut |_| {});
    let [_, late] = &world.summary().bearers[..] else { panic!("two bearers") };
    // 30 Mbit/s of datagrams come for it from the start.
    assert!(late.unattached_packets > 1_000, "{late:?}");
    assert_eq!((late.ingress_packets, late.released_packets), (0, 0));
    world.step_until(5_000_000, &mut |_| {});
    let (summary, counters) = (world.summary(), world.gnb_counters());
    let account = world.packet_account().downlink;
    let unattached: u64 = summary.bearers.iter().map(|bearer| bearer.unattached_packets).sum();
    let released: u64 = summary.bearers.iter().map(|bearer| bearer.released_packets).sum();
    assert!(summary.bearers[0].released_packets > 0, "{summary:?}");
    assert_eq!((unattached, released), (counters.unattached_dropped, counters.released_dropped));
    assert_eq!((unattached, released), (account.unattached, account.released));
}

/// A run without losses for want of a UE counts none.
#[test]
fn an_attached_ue_loses_nothing_for_want_of_it() {
    let mut world = World::new(&scenario("default.yaml", &[])).unwrap();
    world.step_until(2_000_000, &mut |_| {});
    let counters = world.gnb_counters();
    assert_eq!((counters.unattached_dropped, counters.released_dropped), (0, 0));
    let account = world.packet_account();
    assert_eq!((account.downlink.unaccounted(), account.uplink.unaccounted()), (0, 0));
    assert!(account.downlink.in_flight() > 0);
}
