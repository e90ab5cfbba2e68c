//! Pacers over an RLC buffer: it stays short and does not run dry.

use crate::util::*;
use e2sm_tc::v1::Pacer;
use tc_rf::templates::{BdpOnly, FqCodel};
use tc_rf::{RlcStatus, TrafficControl};

const SECOND_US: u64 = 1_000_000;
const DRQL: Pacer = Pacer::Drql { mtu_bytes: 1500 };

/// Keeps 200 packets waiting.
fn bulk(tc: &mut TrafficControl<TestPacket>, now_us: u64) {
    while tc.backlog_packets() < 200 {
        tc.ingress(packet(1, 1500, 0), now_us, &mut ());
    }
}

fn bearer(pacer: Pacer) -> TrafficControl<TestPacket> {
    control(BdpOnly { pacer, ..BdpOnly::default() }.pipeline())
}

/// Share of the cell's capacity that a bulk flow gets through, in thousandths, and the longest RLC
/// buffer, over two seconds after one to settle.
fn settled(pacer: Pacer, mut rlc: Rlc) -> (u64, u32) {
    let mut tc = bearer(pacer);
    run(&mut tc, &mut rlc, (0, SECOND_US), bulk, |_, _| {});
    (rlc.drained_bytes, rlc.peak_bytes) = (0, 0);
    run(&mut tc, &mut rlc, (SECOND_US, 3 * SECOND_US), bulk, |_, _| {});
    (rlc.drained_bytes * 1000 / rlc.capacity_bytes(2 * SECOND_US), rlc.peak_bytes)
}

#[test]
fn a_steady_cell_is_filled_and_its_rlc_buffer_stays_short() {
    // 2289 bytes per TTI is the cell of irazabal2021, whose Table 2 has 98.1 % used resource
    // blocks for e5G-BDP and 98.7 % for DRQL.
    for bytes_per_slot in [300, 1000, 2289, 3600, 9000] {
        for make in [Rlc::fdd, Rlc::tdd] {
            for pacer in [Pacer::E5gBdp, DRQL] {
                let (share, peak_bytes) = settled(pacer, make(bytes_per_slot));
                assert!(share >= 980, "{pacer:?}, {bytes_per_slot} B: {share} ‰");
                let bound = 2 * bytes_per_slot + 1800;
                assert!(peak_bytes <= bound, "{pacer:?}, {bytes_per_slot} B: {peak_bytes} B");
            }
            let (share, peak_bytes) = settled(Pacer::Bdp5g, make(bytes_per_slot));
            assert!(share >= 980, "5G-BDP, {bytes_per_slot} B: {share} ‰");
            assert!(peak_bytes <= 31_500, "5G-BDP, {bytes_per_slot} B: {peak_bytes} B");
        }
    }
}

#[test]
fn without_a_pacer_everything_goes_down_at_once() {
    let mut tc = bearer(Pacer::None);
    let mut rlc = Rlc::fdd(2289);
    tc.rlc_status(&rlc.slot(0), 0);
    for number in 0..100 {
        tc.ingress(packet(1, 1500, number), 0, &mut ());
    }
    assert_eq!(tc.next_deadline_us(0), Some(0));
    assert_eq!(egress(&mut tc, 0).len(), 100);
    assert_eq!(tc.next_deadline_us(0), None);
    assert_eq!(tc.rlc_limit_bytes(), None);
}

#[test]
fn a_pacer_installed_over_a_bloated_rlc_buffer_lets_it_drain_first() {
    for pacer in [Pacer::Bdp5g, Pacer::E5gBdp, DRQL] {
        let mut tc = bearer(Pacer::None);
        let mut rlc = Rlc::fdd(2289);
        tc.rlc_status(&rlc.slot(0), 0);
        for number in 0..1000 {
            tc.ingress(packet(1, 1500, number), 0, &mut ());
        }
        for packet in egress(&mut tc, 0) {
            rlc.push(&packet);
        }
        tc.rlc_status(&rlc.slot(1_000), 1_000);
        let pipeline = BdpOnly { pacer, ..BdpOnly::default() }.pipeline();
        tc.apply(&replace(pipeline), 1_000, &mut ());
        rlc.peak_bytes = 0;
        run(&mut tc, &mut rlc, (2_000, 600_000), bulk, |_, _| {});
        assert_eq!(rlc.peak_bytes, 0, "{pacer:?} gave a buffer of 130 kB and more");
        run(&mut tc, &mut rlc, (600_000, SECOND_US), bulk, |_, _| {});
        assert!((1500..=20_000).contains(&rlc.peak_bytes), "{pacer:?}: {}", rlc.peak_bytes);
    }
}

#[test]
fn a_sparse_flow_waits_for_no_more_than_the_rlc_buffer() {
    // A ping: 64 bytes every 10 ms beside a bulk flow, FQ-CoDel, TDD cell.
    for pacer in [Pacer::Bdp5g, Pacer::E5gBdp, DRQL] {
        let mut tc = control(FqCodel { pacer, ..FqCodel::default() }.pipeline());
        let mut rlc = Rlc::tdd(3600);
        let mut longest_us = 0;
        let arrivals = |tc: &mut TrafficControl<TestPacket>, now_us| {
            bulk(tc, now_us);
            if now_us % 10_000 == 0 {
                tc.ingress(packet(2, 64, now_us), now_us, &mut ());
            }
        };
        run(&mut tc, &mut rlc, (0, 2 * SECOND_US), arrivals, |packet, now_us| {
            if packet.flow == flow(2) {
                longest_us = longest_us.max(now_us - packet.number);
            }
        });
        assert!(longest_us <= 2_000, "{pacer:?}: {longest_us} µs above the RLC");
    }
}

#[test]
fn a_bearer_without_rlc_status_falls_back_to_no_pacing() {
    for pacer in [Pacer::Bdp5g, Pacer::E5gBdp, DRQL] {
        let mut tc = bearer(pacer);
        let bloated = RlcStatus {
            at_us: 0,
            occupancy_bytes: 1_000_000,
            tti_us: 1000,
            dl_opportunity: true,
            ..RlcStatus::default()
        };
        tc.rlc_status(&bloated, 0);
        tc.ingress(packet(1, 1500, 0), 5_000, &mut ());
        assert_eq!(egress(&mut tc, 5_000).len(), 0);
        let deadline_us = tc.next_deadline_us(5_000).expect("a packet waits");
        assert_eq!(deadline_us, 100_000, "{pacer:?}");
        assert_eq!(egress(&mut tc, deadline_us).len(), 1);
    }
}

#[test]
fn the_status_reports_the_drain_of_the_rlc_buffer() {
    let mut tc = bearer(Pacer::E5gBdp);
    let mut rlc = Rlc::tdd(3600);
    run(&mut tc, &mut rlc, (0, SECOND_US), bulk, |_, _| {});
    let report = tc.status(SECOND_US).pacer;
    // 3600 bytes in eight of ten slots of half a millisecond: 46.08 Mbit/s.
    assert!((45_000..=46_200).contains(&report.drain_kbps), "{}", report.drain_kbps);
    assert!(report.forwarded_bytes >= rlc.drained_bytes);
    let status = rlc.slot(SECOND_US);
    tc.rlc_status(&status, SECOND_US);
    assert_eq!(tc.status(SECOND_US).pacer.rlc_occupancy_bytes, status.occupancy_bytes);
}

#[test]
fn the_status_reports_the_limit_in_force_and_none_without_one() {
    let mut tc = bearer(Pacer::Drql { mtu_bytes: 1500 });
    let mut rlc = Rlc::tdd(3600);
    run(&mut tc, &mut rlc, (0, SECOND_US), bulk, |_, _| {});
    let limit_bytes = tc.status(SECOND_US).pacer.limit_bytes;
    assert_eq!(limit_bytes, tc.rlc_limit_bytes());
    assert!(limit_bytes.is_some_and(|bytes| bytes >= 3600), "{limit_bytes:?}");
    assert_eq!(bearer(Pacer::None).status(0).pacer.limit_bytes, None);
}

#[test]
fn what_is_taken_back_is_not_taken_for_bandwidth() {
    for pacer in [Pacer::Bdp5g, Pacer::E5gBdp, DRQL] {
        let mut tc = bearer(Pacer::None);
        let mut rlc = Rlc::fdd(2289);
        let mut down = Vec::new();
        tc.rlc_status(&rlc.slot(0), 0);
        for number in 0..5000 {
            tc.ingress(packet(1, 1500, number), 0, &mut ());
        }
        tc.egress(0, &mut (), &mut |packet| down.push(packet));
        let bloated = RlcStatus { occupancy_bytes: 7_500_000, ..rlc.slot(1000) };
        tc.rlc_status(&bloated, 1000);
        let paced = BdpOnly { pacer, ..BdpOnly::default() }.pipeline();
        tc.apply(&replace(paced), 1500, &mut ());
        tc.recall_unsent(down.into_iter().map(|packet| (packet, 0)), 1500);
        assert_eq!(tc.backlog_packets(), 5000);
        run(&mut tc, &mut rlc, (2000, 102_000), |_, _| {}, |_, _| {});
        assert!(rlc.peak_bytes <= 50_000, "{pacer:?}: {} B went down at once", rlc.peak_bytes);
        let share = rlc.drained_bytes * 1000 / rlc.capacity_bytes(100_000);
        assert!(share >= 900, "{pacer:?}: {share} ‰ of the capacity");
    }
}
