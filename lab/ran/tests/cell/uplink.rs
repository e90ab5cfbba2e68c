//! The uplink of a cell: access, sharing, errors, and what the carrier can carry.

use std::collections::BTreeMap;

use crate::common::{Packet, SECOND_US, ue};
use proptest::prelude::*;
use ran::{
    AtEnd, BearerConfig, BearerIndex, BlockErrors, Cell, CellConfig, Channel, GaussMarkov,
    HarqConfig, LogicalChannel, PfConfig, SnrSeries, UeConfig, UeScheduler, UplinkArrival,
    UplinkConfig,
};

const MTU: u32 = 1500;

/// A cell with a bearer for each channel.
fn cell_of(config: CellConfig, channels: &[Channel]) -> (Cell<Packet>, Vec<BearerIndex>) {
    let mut cell = Cell::new(config).unwrap();
    let bearers = channels.iter().zip(1..).map(|(channel, rnti)| {
        cell.add_ue(ue(rnti, channel.clone())).unwrap();
        cell.add_bearer(rnti, BearerConfig::um(1)).unwrap()
    });
    let bearers = bearers.collect();
    (cell, bearers)
}

/// Runs the slots until `until_us`; what left.
fn run(cell: &mut Cell<Packet>, until_us: u64) -> Vec<UplinkArrival> {
    let mut all = Vec::new();
    while cell.next_slot_us() < until_us {
        cell.slot(cell.next_slot_us(), &mut Vec::new());
        all.extend(cell.take_uplink_arrivals());
    }
    all
}

/// Time at which a single packet of 64 bytes, sent at `now_us`, leaves.
fn leaves_us(config: CellConfig, now_us: u64) -> u64 {
    let (mut cell, bearers) = cell_of(config, &[Channel::FixedMcs(10)]);
    run(&mut cell, now_us);
    assert!(cell.send_uplink(bearers[0], 5, 64, now_us));
    let all = run(&mut cell, now_us + 60_000);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].bearer, all[0].tag), (bearers[0], 5));
    all[0].leaves_us.unwrap()
}

#[test]
fn a_single_packet_waits_for_request_grant_and_slot() {
    let nr = CellConfig::nr_n78_106prb;
    // Request in slot 8 at 4 ms, PUSCH from 8 ms on: slot 18 at 9 ms, over at 9.5 ms.
    assert_eq!(leaves_us(nr(), 0), 10_000);
    assert_eq!(leaves_us(nr(), 4_000), 10_000);
    assert_eq!(leaves_us(nr(), 4_001), 15_000);
}

#[test]
fn access_takes_about_8_ms_in_the_nr_cell_and_17_in_the_lte_cell() {
    let mean_us = |config: &CellConfig| {
        let delays = (0..200).map(|i| {
            let now_us = 100_000 + i * 50;
            (leaves_us(config.clone(), now_us) - now_us) as f64
        });
        delays.sum::<f64>() / 200.0
    };
    let nr_us = mean_us(&CellConfig::nr_n78_106prb());
    assert!((8_000.0..9_000.0).contains(&nr_us), "{nr_us}");
    let lte_us = mean_us(&CellConfig::lte_5mhz());
    assert!((16_500.0..17_500.0).contains(&lte_us), "{lte_us}");
}

/// Keeps every UE's queue filled; bytes of packets that left, by bearer, and the report of UE 1.
fn saturate(cell: &mut Cell<Packet>, bearers: &[BearerIndex], seconds: u64) -> Vec<u64> {
    let mut bytes = vec![0; bearers.len()];
    let mut waiting = vec![0; bearers.len()];
    while cell.next_slot_us() < seconds * SECOND_US {
        let now_us = cell.next_slot_us();
        for (at, bearer) in bearers.iter().enumerate() {
            while waiting[at] < 100 && cell.send_uplink(*bearer, 0, MTU, now_us) {
                waiting[at] += 1;
            }
        }
        cell.slot(now_us, &mut Vec::new());
        for arrival in cell.take_uplink_arrivals() {
            let at = bearers.iter().position(|bearer| *bearer == arrival.bearer).unwrap();
            waiting[at] -= 1;
            bytes[at] += arrival.leaves_us.map_or(0, |_| u64::from(MTU));
        }
    }
    bytes
}

fn mbps(bytes: &[u64], seconds: u64) -> f64 {
    bytes.iter().sum::<u64>() as f64 * 8.0 / seconds as f64 / 1e6
}

/// 106 PRBs of 156 resource elements in two of ten slots of 0.5 ms at 256QAM 948/1024: 49.0 Mbit/s of
/// transport blocks.
#[test]
fn any_number_of_ues_carry_what_the_carrier_has() {
    for (ues, scheduler) in [
        (1, UeScheduler::RoundRobin),
        (20, UeScheduler::RoundRobin),
        (40, UeScheduler::RoundRobin),
        (20, UeScheduler::ProportionalFair(PfConfig::default())),
    ] {
        let config = CellConfig { uplink_scheduler: scheduler, ..CellConfig::nr_n78_106prb() };
        let (mut cell, bearers) = cell_of(config, &vec![Channel::FixedMcs(27); ues]);
        let bytes = saturate(&mut cell, &bearers, 5);
        let total = mbps(&bytes, 5);
        assert!((45.0..49.0).contains(&total), "{ues} UEs: {total}");
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(*least as f64 > 0.93 * *most as f64, "{ues} UEs: {bytes:?}");
        let used: f64 =
            bearers.iter().map(|b| cell.uplink_used_pct(*b, 5 * SECOND_US).unwrap()).sum();
        assert!((95.0..101.0).contains(&used), "{ues} UEs: {used}");
    }
}

#[test]
fn a_full_lte_uplink_carries_what_its_table_says() {
    let (mut cell, bearers) = cell_of(CellConfig::lte_5mhz(), &[Channel::FixedMcs(28)]);
    let bytes = saturate(&mut cell, &bearers, 5);
    // 18336 bits a millisecond.
    let total = mbps(&bytes, 5);
    assert!((17.0..18.34).contains(&total), "{total}");
}

#[test]
fn few_acknowledgements_leave_the_uplink_to_an_upload() {
    let (mut cell, bearers) =
        cell_of(CellConfig::nr_n78_106prb(), &[Channel::FixedMcs(20), Channel::FixedMcs(20)]);
    let mut delays = Vec::new();
    let mut sent_us = BTreeMap::new();
    let mut waiting = 0;
    while cell.next_slot_us() < 5 * SECOND_US {
        let now_us = cell.next_slot_us();
        while waiting < 200 && cell.send_uplink(bearers[0], 0, MTU, now_us) {
            waiting += 1;
        }
        if now_us.is_multiple_of(7_000) {
            assert!(cell.send_uplink(bearers[1], now_us, 52, now_us));
            sent_us.insert(now_us, now_us);
        }
        cell.slot(now_us, &mut Vec::new());
        for arrival in cell.take_uplink_arrivals() {
            if arrival.bearer == bearers[0] {
                waiting -= 1;
            } else if let Some(leaves_us) = arrival.leaves_us {
                delays.push(leaves_us - sent_us[&arrival.tag]);
            }
        }
    }
    // The upload of the other UE costs an acknowledgement no more than its request.
    let longest = delays.iter().max().unwrap();
    assert!(delays.len() > 600 && *longest <= 16_000, "{} {longest}", delays.len());
}

fn with_errors(bler: f64, most: u8) -> CellConfig {
    let errors = BlockErrors { bler, combining_gain: 1.0 };
    let harq = HarqConfig { errors, max_transmissions: most, ..HarqConfig::default() };
    CellConfig { harq, ..CellConfig::nr_n78_106prb() }
}

#[test]
fn failed_blocks_are_sent_again_and_then_lost_in_um() {
    let (mut cell, bearers) = cell_of(with_errors(0.3, 2), &[Channel::FixedMcs(10)]);
    let (mut lost, mut left, mut tags) = (0, 0, Vec::new());
    for tag in 0..4_000 {
        assert!(cell.send_uplink(bearers[0], tag, 200, cell.next_slot_us()));
        for arrival in run(&mut cell, (tag + 1) * 25_000) {
            lost += u32::from(arrival.leaves_us.is_none());
            left += u32::from(arrival.leaves_us.is_some());
            tags.push(arrival.tag);
        }
    }
    assert!(tags.is_sorted(), "in order");
    // 0.3 of 0.3.
    let rate = f64::from(lost) / f64::from(lost + left);
    assert!((0.07..0.11).contains(&rate), "{rate}");
    let report = cell.mac_report(1, 0).unwrap();
    let first = f64::from(report.ul_harq[1]) / f64::from(report.ul_harq[0]);
    assert!((0.27..0.33).contains(&first), "{:?}", report.ul_harq);
    let all = f64::from(report.ul_harq[4]) / f64::from(report.ul_harq[1]);
    assert!((0.25..0.35).contains(&all), "{:?}", report.ul_harq);
    assert!(report.ul_aggr_prb > 0 && report.ul_aggr_retx_prb > 0 && report.ul_mcs1 == 10);
}

#[test]
fn am_loses_nothing_of_the_uplink() {
    let mut cell = Cell::<Packet>::new(with_errors(0.4, 1)).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(10))).unwrap();
    let bearer = cell.add_bearer(1, BearerConfig::am(1, ran::AmConfig::default())).unwrap();
    for tag in 0..1_000 {
        assert!(cell.send_uplink(bearer, tag, 200, 0));
    }
    let all = run(&mut cell, 20 * SECOND_US);
    assert_eq!(all.len(), 1_000);
    assert!(all.iter().zip(0..).all(|(a, tag)| a.tag == tag && a.leaves_us.is_some()));
}

/// Packets that are under way when the SNR falls from 25 dB after a second.
fn after_a_fall_to(snr_db: f64) -> Vec<UplinkArrival> {
    let series = SnrSeries::new(SECOND_US, [25.0, snr_db], AtEnd::Hold).unwrap();
    let mut cell = Cell::<Packet>::new(CellConfig::nr_n78_106prb()).unwrap();
    cell.add_ue(ue(1, Channel::SnrSeries(series))).unwrap();
    let bearer = cell.add_bearer(1, BearerConfig::am(1, ran::AmConfig::default())).unwrap();
    run(&mut cell, 970_000);
    let mut left = Vec::new();
    for tag in 0..40 {
        assert!(cell.send_uplink(bearer, tag, MTU, cell.next_slot_us()));
        left.extend(run(&mut cell, 970_000 + tag * 1_000));
    }
    left.extend(run(&mut cell, 60 * SECOND_US));
    left
}

/// A block that was sized for 25 dB would never be received at 3 or -4 dB.
#[test]
fn am_sends_again_at_the_rate_of_the_radio_as_it_is_now() {
    for snr_db in [3.0, -4.0] {
        let left = after_a_fall_to(snr_db);
        assert_eq!(left.len(), 40, "{snr_db} dB");
        assert!(left.iter().zip(0..).all(|(a, tag)| a.tag == tag && a.leaves_us.is_some()));
        let fallen = left.iter().filter(|one| one.leaves_us > Some(SECOND_US + 20_000)).count();
        assert!(fallen > 10, "{snr_db} dB: {fallen}");
    }
}

#[test]
fn a_ue_whose_block_carries_um_alone_loses_it_beside_a_bearer_of_am() {
    let mut cell = Cell::<Packet>::new(with_errors(0.4, 1)).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(10))).unwrap();
    let um = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
    let am = cell.add_bearer(1, BearerConfig::am(2, ran::AmConfig::default())).unwrap();
    let mut all = Vec::new();
    for tag in 0..1_000 {
        let bearer = if tag % 2 == 0 { um } else { am };
        assert!(cell.send_uplink(bearer, tag, 100, cell.next_slot_us()));
        all.extend(run(&mut cell, (tag + 1) * 40_000));
    }
    all.extend(run(&mut cell, 50 * SECOND_US));
    let lost = [um, am].map(|bearer| {
        all.iter().filter(|one| one.bearer == bearer && one.leaves_us.is_none()).count()
    });
    // 0.4 of 500.
    assert_eq!(all.len(), 1_000);
    assert!((160..240).contains(&lost[0]) && lost[1] == 0, "{lost:?}");
}

/// A packet each 23 ms, in each of five places of the pattern of 5 ms.
#[test]
fn a_gnb_that_grants_unasked_saves_requests_while_data_comes() {
    let mean_us = |preschedule_us: u32| {
        let mut cell = Cell::<Packet>::new(CellConfig::nr_n78_106prb()).unwrap();
        let uplink = Some(UplinkConfig { preschedule_us, ..UplinkConfig::nr_n78() });
        cell.add_ue(UeConfig { uplink, ..ue(1, Channel::FixedMcs(10)) }).unwrap();
        let bearer = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
        let mut all = Vec::new();
        for number in 0..1_001 {
            let now_us = number * 23_000;
            all.extend(run(&mut cell, now_us));
            assert!(cell.send_uplink(bearer, now_us, 64, now_us));
        }
        assert_eq!(all.len(), 1_000);
        all.iter().map(|one| one.leaves_us.unwrap() - one.tag).sum::<u64>() / 1_000
    };
    // Requests at 4 ms of the pattern, answered in the next one: 10, 7, 9, 6 and 8 ms.
    assert_eq!(mean_us(0), 8_000);
    // The next uplink slot: 5, 2, 4, 1 and 3 ms, but for the first packet.
    assert!((3_000..3_010).contains(&mean_us(30_000)), "{}", mean_us(30_000));
}

#[test]
fn a_ue_at_the_edge_sends_over_few_prbs() {
    let carried = |snr_db: f64| {
        let series = SnrSeries::new(SECOND_US, [snr_db], AtEnd::Hold).unwrap();
        let (mut cell, bearers) =
            cell_of(CellConfig::nr_n78_106prb(), &[Channel::SnrSeries(series)]);
        let bytes = saturate(&mut cell, &bearers, 4);
        let report = cell.mac_report(1, 0).unwrap();
        let blocks = f64::from(report.ul_harq[0]);
        let errors = f64::from(report.ul_harq[1]) / blocks;
        (mbps(&bytes, 4), f64::from(report.ul_aggr_prb) / blocks, errors)
    };
    let (near, middle, edge) = (carried(45.0), carried(15.0), carried(0.0));
    assert!(near.0 > 3.0 * middle.0 && middle.0 > 3.0 * edge.0, "{near:?} {middle:?} {edge:?}");
    assert!(near.1 > 100.0 && edge.1 < 40.0, "{near:?} {edge:?}");
    for (_, _, errors) in [middle, edge] {
        assert!((0.05..0.15).contains(&errors), "{middle:?} {edge:?}");
    }
}

#[test]
fn a_ue_that_leaves_loses_its_queue_and_a_full_one_drops() {
    let mut cell = Cell::<Packet>::new(CellConfig::nr_n78_106prb()).unwrap();
    let uplink = Some(UplinkConfig { limit_packets: 5, ..UplinkConfig::nr_n78() });
    cell.add_ue(UeConfig { uplink, ..ue(1, Channel::FixedMcs(10)) }).unwrap();
    let bearer = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
    let taken = (0..8).filter(|tag| cell.send_uplink(bearer, *tag, MTU, 0)).count();
    assert_eq!(taken, 5);
    cell.remove_ue(1).unwrap();
    let lost: Vec<_> = cell.take_uplink_arrivals().collect();
    assert_eq!(lost.len(), 5);
    assert!(lost.iter().all(|arrival| arrival.leaves_us.is_none()));
    assert!(!cell.send_uplink(bearer, 9, MTU, 0), "no such bearer");
}

#[test]
fn a_packet_of_a_higher_priority_overtakes_the_queue_of_another_bearer() {
    let delay_us = |priority: u8| {
        let mut cell = Cell::<Packet>::new(CellConfig::nr_n78_106prb()).unwrap();
        cell.add_ue(ue(1, Channel::FixedMcs(10))).unwrap();
        let bulk = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
        let channel = LogicalChannel { priority, ..LogicalChannel::default() };
        let sparse = cell.add_bearer(1, BearerConfig { channel, ..BearerConfig::um(2) }).unwrap();
        for tag in 0..1000 {
            assert!(cell.send_uplink(bulk, tag, MTU, 0));
        }
        run(&mut cell, 50_000);
        assert!(cell.send_uplink(sparse, 5000, 64, 50_000));
        let all = run(&mut cell, 2 * SECOND_US);
        let own = all.iter().find(|arrival| arrival.tag == 5000).unwrap();
        own.leaves_us.unwrap() - 50_000
    };
    let (before, behind) = (delay_us(2), delay_us(16));
    assert!(before < 6_000, "the next block: {before}");
    assert!(behind > 500_000, "behind 1.5 MB: {behind}");
}

/// One UE of a random cell: its channel, and packets of random sizes at random slots.
fn channel() -> impl Strategy<Value = Channel> {
    prop_oneof![
        (0u8..28).prop_map(Channel::FixedMcs),
        (-5.0..30.0, 1u64..200).prop_map(|(mean_snr_db, coherence_ms)| {
            Channel::GaussMarkov(GaussMarkov {
                mean_snr_db,
                std_dev_db: 4.0,
                coherence_us: coherence_ms * 1000,
                period_us: 1000,
            })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// No slot carries more than its PRBs at the highest MCS, no packet is early, and each leaves or is lost
    /// once; a clone goes on alike.
    #[test]
    fn random_cells_respect_the_carrier(
        channels in prop::collection::vec(channel(), 1..6),
        n_prb in 11u16..60,
        bler in 0.0..0.5f64,
        sends in prop::collection::vec((0usize..6, 28u32..3000, 0u64..400), 1..120),
        most in 1u16..9,
    ) {
        let config = CellConfig {
            n_prb,
            max_ues_per_slot: most,
            reserved: None,
            ..with_errors(bler, 3)
        };
        let most_bytes = u64::from(*config.tbs_tables().uplink_row(27).last().unwrap());
        let (mut cell, bearers) = cell_of(config, &channels);
        let mut sends: Vec<_> = sends.into_iter().zip(0u64..).collect();
        sends.sort_by_key(|((_, _, slot), tag)| (*slot, *tag));
        let mut waiting: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        let mut by_time: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut fork, mut forked) = (None, Vec::new());
        let mut rest = Vec::new();
        let mut sends = sends.into_iter().peekable();
        for slot in 0..3_000u64 {
            let now_us = cell.next_slot_us();
            while let Some(((at, len, _), tag)) = sends.next_if(|((_, _, when), _)| *when <= slot) {
                let bearer = bearers[at % bearers.len()];
                prop_assert!(cell.send_uplink(bearer, tag, len, now_us));
                waiting.insert(tag, (now_us, len));
            }
            cell.slot(now_us, &mut Vec::new());
            let arrivals: Vec<_> = cell.take_uplink_arrivals().collect();
            if fork.is_some() {
                rest.extend(arrivals.iter().copied());
            }
            for arrival in arrivals {
                let (sent_us, len) = waiting.remove(&arrival.tag).expect("leaves or is lost once");
                if let Some(leaves_us) = arrival.leaves_us {
                    // Request, grant and block take 4.5 ms at least.
                    prop_assert!(leaves_us >= sent_us + 1_000, "{sent_us} {leaves_us}");
                    *by_time.entry(leaves_us).or_default() += u64::from(len);
                }
            }
            if slot == 500 {
                fork = Some(cell.clone());
            }
        }
        let carried: u64 = by_time.values().sum();
        // Two of ten slots carry uplink.
        prop_assert!(carried <= most_bytes * 600);
        let mut fork = fork.unwrap();
        while fork.next_slot_us() < cell.next_slot_us() {
            fork.slot(fork.next_slot_us(), &mut Vec::new());
            forked.extend(fork.take_uplink_arrivals());
        }
        // Sends end with slot 400.
        prop_assert_eq!(forked, rest);
    }
}
