//! What holds for every pacer, whatever its algorithm: it never stalls, never bloats the RLC, takes
//! any packet and any clock, and does the same twice.

use crate::util::pacers::all;
use crate::util::split::Split;
use crate::util::*;
use e2sm_tc::v1::Pacer;
use proptest::prelude::*;
use tc_rf::templates::BdpOnly;
use tc_rf::{RlcStatus, SduDelays, TrafficControl};

const SECOND_US: u64 = 1_000_000;

fn bearer(pacer: Pacer) -> TrafficControl<TestPacket> {
    control(BdpOnly { pacer, ..BdpOnly::default() }.pipeline())
}

/// Keeps 200 packets of this length waiting.
fn bulk(len_bytes: u32) -> impl FnMut(&mut TrafficControl<TestPacket>, u64) {
    move |tc, now_us| {
        while tc.backlog_packets() < 200 {
            tc.ingress(packet(1, len_bytes, 0), now_us, &mut ());
        }
    }
}

#[test]
fn a_steady_radio_is_used_and_its_rlc_buffer_bounded() {
    // 2289 bytes a TTI: the cell of irazabal2021, whose Table 2 has DynRLC at 89.9 % of the resource
    // blocks and the others above 98 %.
    for pacer in all() {
        let mut tc = bearer(pacer);
        let mut du = Split::new(0, |_| 2289);
        du.run(&mut tc, (0, 2 * SECOND_US), bulk(1500), |_| None);
        du.clear_counts();
        du.run(&mut tc, (2 * SECOND_US, 4 * SECOND_US), bulk(1500), |_| None);
        let share = du.drained_bytes * 1000 / du.offered_bytes;
        let expected = if matches!(pacer, Pacer::DynRlc { .. }) { 890 } else { 980 };
        assert!(share >= expected, "{pacer:?}: {share} ‰ of the radio");
        assert!(du.peak_bytes <= 20_000, "{pacer:?}: {} B in the RLC", du.peak_bytes);
    }
}

#[test]
fn nothing_stalls_while_the_radio_is_away_and_it_goes_on_when_it_is_back() {
    for pacer in all() {
        let mut tc = bearer(pacer);
        // MCS 0 (a few bytes a TTI), nothing for five seconds, then the full rate.
        let mut du = Split::new(0, |us: u64| match us / SECOND_US {
            0 => 2289,
            1 | 2 => 32,
            3..8 => 0,
            _ => 2289,
        });
        du.run(&mut tc, (0, SECOND_US), bulk(1500), |_| None);
        du.clear_counts();
        du.run(&mut tc, (SECOND_US, 8 * SECOND_US), bulk(1500), |_| None);
        assert!(du.peak_bytes <= 20_000, "{pacer:?}: {} B in the RLC", du.peak_bytes);
        du.clear_counts();
        du.run(&mut tc, (8 * SECOND_US, 12 * SECOND_US), bulk(1500), |_| None);
        let share = du.drained_bytes * 1000 / du.offered_bytes;
        assert!(share >= 800, "{pacer:?}: {share} ‰ once the radio was back");
    }
}

#[test]
fn packets_of_any_length_pass() {
    for pacer in all() {
        for len_bytes in [1, 9_000] {
            let mut tc = bearer(pacer);
            let mut du = Split::new(0, |_| 500);
            du.run(&mut tc, (0, SECOND_US), bulk(len_bytes), |_| None);
            assert!(
                du.drained_bytes >= u64::from(len_bytes) * 10,
                "{pacer:?}: {} B in packets of {len_bytes} B",
                du.drained_bytes
            );
            // DynRLC and EBB count SDUs, however long; 10 of them here.
            let bound = 40_000 + 10 * len_bytes;
            assert!(du.peak_bytes <= bound, "{pacer:?}: {} B in the RLC", du.peak_bytes);
        }
    }
}

#[test]
fn a_packet_above_an_empty_rlc_goes_down_within_a_few_ttis() {
    for pacer in all() {
        let mut tc = bearer(pacer);
        let mut du = Split::new(0, |_| 2289);
        // A second of bulk, three of silence, one packet.
        du.run(&mut tc, (0, SECOND_US), bulk(1500), |_| None);
        du.run(&mut tc, (SECOND_US, 4 * SECOND_US), |_, _| {}, |_| None);
        assert_eq!((tc.backlog_packets(), du.occupancy_bytes()), (0, 0), "{pacer:?}");
        tc.ingress(packet(1, 9_000, 0), 4 * SECOND_US, &mut ());
        du.run(&mut tc, (4 * SECOND_US, 4 * SECOND_US + 6_000), |_, _| {}, |_| None);
        assert_eq!(tc.backlog_packets(), 0, "{pacer:?} kept it");
    }
}

#[test]
fn our_own_pacers_bloat_no_rlc_that_is_milliseconds_away() {
    for pacer in [Pacer::Bdp5g, Pacer::UpfSdap, Pacer::Forecast { stale_us: 100_000 }] {
        let mut tc = bearer(pacer);
        let mut du = Split::new(10_000, |_| 2289);
        du.run(&mut tc, (0, 2 * SECOND_US), bulk(1500), |_| None);
        du.clear_counts();
        du.run(&mut tc, (2 * SECOND_US, 6 * SECOND_US), bulk(1500), |_| None);
        let share = du.drained_bytes * 1000 / du.offered_bytes;
        assert!(share >= 980, "{pacer:?}: {share} ‰ of the radio");
        assert!(du.peak_bytes <= 50_000, "{pacer:?}: {} B in the RLC", du.peak_bytes);
    }
}

#[test]
fn the_same_twice() {
    for pacer in all() {
        let of = || {
            let mut tc = bearer(pacer);
            let mut du = Split::new(3_000, |us: u64| (us / 1_000 * 7_919 % 4_001) as u32);
            du.run(&mut tc, (0, SECOND_US), bulk(1500), |_| None);
            (du.drained_bytes, du.peak_bytes, du.starved_ttis, tc.rlc_limit_bytes())
        };
        assert_eq!(of(), of(), "{pacer:?}");
    }
}

/// Statuses of a DU, plausible or not.
fn any_status() -> impl Strategy<Value = RlcStatus> {
    let extreme = prop_oneof![Just(0u32), Just(u32::MAX), any::<u32>(), 0..5_000u32];
    let time = prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>(), 0..10 * SECOND_US];
    (
        (time.clone(), extreme.clone(), extreme.clone(), extreme.clone(), extreme.clone()),
        (any::<bool>(), extreme.clone(), extreme.clone(), proptest::option::of(time.clone())),
        (proptest::option::of(time), extreme.clone(), extreme),
    )
        .prop_map(|(a, b, c)| RlcStatus {
            at_us: a.0,
            occupancy_bytes: a.1,
            occupancy_packets: a.2,
            capacity_bytes_per_tti: a.3,
            tti_us: a.4,
            dl_opportunity: b.0,
            unacknowledged_packets: b.1,
            unacknowledged_bytes: b.2,
            status_pdu_at_us: b.3,
            received_bytes: c.0,
            removed: SduDelays {
                count: c.1,
                sum_us: u64::from(c.1) * u64::from(c.2),
                min_us: c.2,
                max_us: c.2,
            },
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_status_and_no_clock_make_it_panic_or_lose_a_packet(
        which in 0..13usize,
        steps in prop::collection::vec((any_status(), prop_oneof![0..2_000u64, Just(u64::MAX / 64)], 1..9_001u32), 1..60),
    ) {
        let pacer = all()[which];
        let mut tc = bearer(pacer);
        let (mut now_us, mut went_in, mut came_out) = (0u64, 0u64, 0u64);
        for (status, wait_us, len_bytes) in steps {
            now_us = now_us.saturating_add(wait_us).min(u64::MAX / 2);
            tc.ingress(packet(1, len_bytes, 0), now_us, &mut ());
            went_in += 1;
            tc.rlc_status(&status, now_us);
            came_out += egress(&mut tc, now_us).len() as u64;
            tc.next_deadline_us(now_us);
            tc.rlc_limit_bytes();
        }
        prop_assert_eq!(came_out + u64::from(tc.backlog_packets()), went_in);
        now_us += SECOND_US;
        came_out += egress(&mut tc, now_us).len() as u64;
        prop_assert_eq!(came_out, went_in, "feedback broke and the bearer stalled");
    }
}
