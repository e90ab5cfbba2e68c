//! Discontinuous reception: what waits for a UE to listen, and what does not.

use crate::common::{Packet, SECOND_US, bytes_of, saturate, ue, with_errors};
use proptest::prelude::*;
use ran::{
    AtEnd, BearerConfig, BearerIndex, BlockErrors, Cell, CellConfig, Channel, Delivery, DrxConfig,
    ShortCycle, SnrSeries, UeConfig,
};

/// On-durations from 5 to 13 ms of each 160 ms.
const DRX: DrxConfig = DrxConfig {
    long_cycle_us: 160_000,
    offset_us: 5000,
    on_duration_us: 8000,
    inactivity_us: 20_000,
    short: None,
    retransmission_us: 8000,
};

fn cell_of(
    config: CellConfig,
    channel: Channel,
    drx: Option<DrxConfig>,
) -> (Cell<Packet>, BearerIndex) {
    let mut cell = Cell::new(config).unwrap();
    cell.add_ue(UeConfig { drx, ..ue(1, channel) }).unwrap();
    let bearer = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
    (cell, bearer)
}

fn run(cell: &mut Cell<Packet>, until_us: u64) -> Vec<Delivery<Packet>> {
    let mut out = Vec::new();
    while cell.next_slot_us() < until_us {
        cell.slot(cell.next_slot_us(), &mut out);
    }
    out
}

/// Waits of single packets that come at these times, until their slot, µs.
fn waits_us(drx: Option<DrxConfig>, at_us: &[u64]) -> Vec<u64> {
    let (mut cell, bearer) = cell_of(CellConfig::lte_5mhz(), Channel::FixedMcs(10), drx);
    let mut out = Vec::new();
    for (id, at_us) in (0..).zip(at_us) {
        out.extend(run(&mut cell, *at_us));
        cell.enqueue(bearer, Packet { id, len: 100 }, *at_us).unwrap();
    }
    let until_us = at_us.last().unwrap() + SECOND_US;
    out.extend(run(&mut cell, until_us));
    assert_eq!(
        out.iter().map(|one| one.sdu.id).collect::<Vec<_>>(),
        (0..at_us.len() as u64).collect::<Vec<_>>()
    );
    out.iter().map(|one| one.dequeued_us - one.enqueued_us).collect()
}

#[test]
fn a_packet_waits_for_the_next_on_duration() {
    let at_us = [6000, 50_000, 330_000];
    assert_eq!(waits_us(None, &at_us), [0, 0, 0]);
    // The second comes after the inactivity timer, the third in the on-duration from 325 ms on.
    assert_eq!(waits_us(Some(DRX), &at_us), [0, 115_000, 0]);
}

#[test]
fn a_steady_flow_waits_only_if_its_interval_exceeds_the_inactivity_timer() {
    let each_20_ms: Vec<u64> = (0..100).map(|i| 6000 + i * 20_000).collect();
    let longest = |inactivity_us: u32| {
        let waits = waits_us(Some(DrxConfig { inactivity_us, ..DRX }), &each_20_ms);
        waits.into_iter().max().unwrap()
    };
    assert_eq!(longest(21_000), 0);
    assert!((130_000..160_000).contains(&longest(19_000)), "{}", longest(19_000));
}

#[test]
fn short_cycles_bound_the_wait_after_traffic() {
    let short = Some(ShortCycle { cycle_us: 20_000, cycles: 16 });
    let drx = Some(DrxConfig { short, ..DRX });
    // Inactive at 26 ms; short cycles until 346 ms: on at 45 ms.
    assert_eq!(waits_us(drx, &[6000, 40_000]), [0, 5000]);
    assert_eq!(waits_us(Some(DRX), &[6000, 40_000]), [0, 125_000]);
}

#[test]
fn a_scheduling_request_wakes_the_ue_for_both_directions() {
    let leaves_us = |drx| {
        let (mut cell, bearer) = cell_of(CellConfig::lte_5mhz(), Channel::FixedMcs(10), drx);
        run(&mut cell, 50_000);
        cell.enqueue(bearer, Packet { id: 0, len: 100 }, 50_000).unwrap();
        assert!(cell.send_uplink(bearer, 7, 64, 51_000));
        let out = run(&mut cell, 100_000);
        let uplink = cell.take_uplink_arrivals().next().unwrap().leaves_us.unwrap();
        (uplink, out[0].dequeued_us)
    };
    let (always, asleep) = (leaves_us(None), leaves_us(Some(DRX)));
    assert_eq!(asleep.0, always.0, "the uplink waits as without DRX");
    assert_eq!(always.1, 50_000);
    // The request is sent at 60 ms.
    assert_eq!(asleep.1, 60_000);
}

#[test]
fn a_saturated_ue_never_sleeps_once_it_was_served() {
    let carried = |drx| {
        let (mut cell, bearer) = cell_of(CellConfig::nr_n78_106prb(), Channel::FixedMcs(10), drx);
        let out = saturate(&mut cell, &[bearer], 5 * SECOND_US);
        (bytes_of(&out, bearer), cell.active_pct(bearer))
    };
    let (always, asleep) = (carried(None), carried(Some(DRX)));
    assert_eq!(always.1, None);
    assert!(asleep.1.unwrap() > 99.8);
    assert!(asleep.0 as f64 > 0.998 * always.0 as f64);
}

#[test]
fn a_failed_block_is_sent_again_outside_the_on_duration() {
    let always_once = BlockErrors { bler: 1.0, combining_gain: 0.0 };
    let config = with_errors(CellConfig::lte_5mhz(), always_once, 4);
    let rtt_us = u64::from(config.harq.rtt_us);
    let drx = DrxConfig { inactivity_us: 0, ..DRX };
    let delivered_us = |retransmission_us| {
        let drx = Some(DrxConfig { retransmission_us, ..drx });
        let (mut cell, bearer) = cell_of(config.clone(), Channel::FixedMcs(10), drx);
        run(&mut cell, 12_000);
        cell.enqueue(bearer, Packet { id: 0, len: 100 }, 12_000).unwrap();
        let out = run(&mut cell, SECOND_US);
        out[0].delivered_us - u64::from(config.harq.phy_delay_us)
    };
    assert_eq!(delivered_us(1000), 12_000 + rtt_us);
    assert_eq!(delivered_us(0), 165_000, "without drx-RetransmissionTimerDL the UE sleeps");
}

#[test]
fn a_ue_that_sleeps_reports_no_cqi() {
    let series = SnrSeries::new(60_000, vec![25.0, 5.0], AtEnd::Hold).unwrap();
    let cqi_at = |drx, until_us| {
        let config = CellConfig::nr_n78_106prb();
        let (mut cell, _) = cell_of(config, Channel::SnrSeries(series.clone()), drx);
        run(&mut cell, until_us);
        cell.mac_report(1, until_us).unwrap().wb_cqi
    };
    assert!(cqi_at(None, 150_000) < cqi_at(None, 50_000));
    assert_eq!(cqi_at(Some(DRX), 150_000), cqi_at(Some(DRX), 50_000));
    assert_eq!(cqi_at(Some(DRX), 172_000), cqi_at(None, 172_000), "it reports as it wakes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_packet_arrives_in_order_within_two_cycles(
        at in prop::collection::vec((0u64..400, 40u32..1500), 1..60),
        cycle_ms in prop::sample::select(vec![10u32, 20, 40, 160, 320]),
        on_ms in 2u32..=10,
        inactivity_ms in 0u32..100,
        short in prop::option::of(1u8..=16),
        seed: u64,
    ) {
        let drx = DrxConfig {
            long_cycle_us: cycle_ms * 1000,
            offset_us: (seed % u64::from(cycle_ms)) as u32 * 1000,
            on_duration_us: on_ms * 1000,
            inactivity_us: inactivity_ms * 1000,
            short: short.map(|cycles| ShortCycle { cycle_us: 10_000, cycles }),
            retransmission_us: 8000,
        };
        let config = CellConfig::nr_n78_106prb();
        let (mut cell, bearer) = cell_of(config, Channel::FixedMcs(10), Some(drx));
        let mut out = Vec::new();
        let mut now_us = 0;
        for (id, (gap_ms, len)) in (0..).zip(&at) {
            now_us += gap_ms * 1000;
            out.extend(run(&mut cell, now_us));
            cell.enqueue(bearer, Packet { id, len: *len }, now_us).unwrap();
        }
        out.extend(run(&mut cell, now_us + SECOND_US));
        let ids: Vec<u64> = out.iter().map(|one| one.sdu.id).collect();
        prop_assert_eq!(ids, (0..at.len() as u64).collect::<Vec<_>>());
        let most_us = u64::from(2 * cycle_ms) * 1000 + 10_000;
        for one in &out {
            let wait_us = one.dequeued_us - one.enqueued_us;
            prop_assert!(wait_us <= most_us, "{wait_us} µs of {most_us}");
        }
    }
}
