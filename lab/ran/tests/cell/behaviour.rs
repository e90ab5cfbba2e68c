//! Cells: reports, delays, block errors, UEs and bearers added and removed.

use crate::common::{Packet, SECOND_US, bytes_of, cell_with, saturate, ue, with_errors};
use proptest::prelude::*;
use ran::{
    BearerConfig, BlockErrors, Cell, CellConfig, Channel, Delivery, HarqConfig, LogicalChannel,
    MahimahiTrace,
};

fn lte() -> (Cell<Packet>, usize) {
    let (cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[Channel::FixedMcs(28)]);
    (cell, bearers[0])
}

fn packet(len: u32) -> Packet {
    Packet { id: 0, len }
}

#[test]
fn head_of_line_age_is_current_and_0_for_an_empty_queue() {
    let (mut cell, bearer) = lte();
    let mut out = Vec::new();
    assert_eq!(cell.rlc_report(bearer, 0).unwrap().txsdu_wt_us, 0);
    cell.slot(0, &mut out);
    for at_us in [100, 100, 100, 100, 600] {
        cell.enqueue(bearer, packet(1500), at_us).unwrap();
    }
    let report = cell.rlc_report(bearer, 700).unwrap();
    assert_eq!((report.txsdu_wt_us, report.txbuf_occ_pkts), (600, 5));
    assert_eq!(report.txbuf_occ_bytes, 5 * 1502);
    assert_eq!(report.txsdu_avg_time_to_tx, 0.0, "nothing has left");
    // 2292 bytes a subframe, 1506 for a whole packet.
    let ages = [1000, 2000, 3000, 4000].map(|slot_us| {
        cell.slot(slot_us, &mut out);
        cell.rlc_report(bearer, slot_us + 200).unwrap().txsdu_wt_us
    });
    assert_eq!(ages, [1100, 2100, 2600, 0], "a packet that is partly sent is still the head");
    assert_eq!(cell.rlc_report(bearer, 4200).unwrap().txbuf_occ_bytes, 0);
}

#[test]
fn sojourn_ends_when_the_first_byte_leaves_and_delivery_with_the_last() {
    let (mut cell, bearer) = lte();
    let mut out = Vec::new();
    cell.slot(0, &mut out);
    for _ in 0..2 {
        cell.enqueue(bearer, packet(1500), 400).unwrap();
    }
    cell.slot(1000, &mut out);
    cell.slot(2000, &mut out);
    assert_eq!(cell.rlc_report(bearer, 2000).unwrap().txsdu_avg_time_to_tx, 600.0);
    assert_eq!(out.iter().map(|d| d.dequeued_us).collect::<Vec<_>>(), [1000, 2000]);
    assert_eq!(out[1].delivered_us, 6000);
}

#[test]
fn a_millisecond_without_opportunity_is_reported() {
    // Opportunities at the ends of the milliseconds 2 and 3 of every 5.
    let trace = MahimahiTrace::parse("2\n3\n5\n").unwrap();
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[Channel::Mahimahi(trace)]);
    let mut out = Vec::new();
    let reported: Vec<(bool, bool)> = (0..10)
        .map(|ms| {
            cell.slot(ms * 1000, &mut out);
            let status = cell.bearer_status(bearers[0]).unwrap();
            (status.dl_opportunity, status.capacity_bytes_per_tti > 0)
        })
        .collect();
    assert!(reported.iter().all(|(opportunity, capacity)| opportunity == capacity));
    // The slot at millisecond m carries what the trace had in the one that ends there.
    let served: Vec<usize> = (0..10).filter(|ms| reported[*ms].0).collect();
    assert_eq!(served, [2, 3, 5, 7, 8]);
}

#[test]
fn the_mean_sojourn_is_that_of_the_last_100_ms() {
    let (mut cell, bearer) = lte();
    let mut out = Vec::new();
    cell.slot(0, &mut out);
    cell.enqueue(bearer, packet(100), 200).unwrap();
    cell.enqueue(bearer, packet(100), 600).unwrap();
    cell.slot(1000, &mut out);
    assert_eq!(cell.rlc_report(bearer, 1000).unwrap().txsdu_avg_time_to_tx, 600.0);
    assert_eq!(cell.rlc_report(bearer, 101_000).unwrap().txsdu_avg_time_to_tx, 600.0);
    assert_eq!(cell.rlc_report(bearer, 101_001).unwrap().txsdu_avg_time_to_tx, 0.0);
}

#[test]
fn reports_count_delivered_and_dropped_sdus() {
    let mut cell = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(0x4601, Channel::FixedMcs(28))).unwrap();
    let config = BearerConfig { limit_packets: 3, ..BearerConfig::um(5) };
    let bearer = cell.add_bearer(0x4601, config).unwrap();
    let mut out = Vec::new();
    cell.slot(0, &mut out);
    for id in 0..5 {
        let taken = cell.enqueue(bearer, Packet { id, len: 1500 }, 500);
        assert_eq!(taken.is_ok(), id < 3);
    }
    cell.slot(1000, &mut out);
    assert!(cell.send_uplink(bearer, 0, 52, 1000));
    let rlc = cell.rlc_report(bearer, 1100).unwrap();
    assert_eq!((rlc.rnti, rlc.rbid, rlc.mode), (0x4601, 5, 1));
    assert_eq!((rlc.rxsdu_pkts, rlc.rxsdu_bytes), (5, 5 * 1502));
    assert_eq!((rlc.rxsdu_dd_pkts, rlc.rxsdu_dd_bytes), (2, 2 * 1502));
    // One whole SDU of 1502 + 1, and the 781 bytes that 2292 − 1506 − 3 − 2 leave of the next.
    assert_eq!((rlc.txpdu_pkts, rlc.txpdu_bytes, rlc.txpdu_segmented), (2, 1503 + 783, 1));
    assert_eq!((rlc.txsdu_pkts, rlc.txsdu_bytes), (1, 54));
    assert_eq!((rlc.rxpdu_pkts, rlc.rxpdu_bytes), (1, 55));
    let mac = cell.mac_report(0x4601, 1100).unwrap();
    assert_eq!((mac.dl_aggr_tbs, mac.dl_curr_tbs, mac.dl_sched_rb), (2292, 2292, 25));
    assert_eq!((mac.dl_aggr_prb, mac.dl_aggr_sdus, mac.dl_aggr_bytes_sdus), (25, 2, 2286));
    assert_eq!((mac.dl_mcs1, mac.wb_cqi, mac.frame, mac.slot), (28, 15, 0, 1));
    assert_eq!(mac.dl_harq, [1, 0, 0, 0, 0]);
    assert_eq!((mac.ul_aggr_tbs, mac.ul_aggr_sdus), (57, 1));
    assert_eq!(cell.mac_report(0x4601, 10_250_500).unwrap().frame, 1);
    for slot in 2..4 {
        cell.slot(slot * 1000, &mut out);
    }
    assert_eq!(cell.mac_report(0x4601, 3100).unwrap().dl_curr_tbs, 0, "an idle slot");
}

#[test]
fn delay_is_wait_for_the_slot_plus_phy_and_never_in_the_past() {
    let (mut cell, bearers) = cell_with(CellConfig::nr_n78_106prb(), &[Channel::FixedMcs(10)]);
    let mut delays = Vec::new();
    for i in 0..1000u64 {
        let sent_us = i * 7_130;
        let mut out = Vec::new();
        let mut sent = false;
        while out.is_empty() {
            let now_us = cell.next_slot_us();
            if now_us >= sent_us && !sent {
                cell.enqueue(bearers[0], packet(84), sent_us).unwrap();
                sent = true;
            }
            cell.slot(now_us, &mut out);
            assert!(out.iter().all(|d: &Delivery<Packet>| d.delivered_us >= now_us));
        }
        assert_eq!(out[0].enqueued_us, sent_us);
        assert_eq!(out[0].delivered_us, out[0].dequeued_us + 1500);
        delays.push(out[0].delivered_us - sent_us);
    }
    // irazabal2024: at worst the M has just gone, and two U have to pass.
    assert!(*delays.iter().max().unwrap() <= 1500 + 1500);
    let mean_us = delays.iter().sum::<u64>() as f64 / 1000.0;
    assert!((1_800.0..2_200.0).contains(&mean_us), "{mean_us}");
}

/// A bearer with a priority and a prioritised rate in kByte/s.
fn channel_of(drb: u8, priority: u8, rate_kbytes_per_s: u32) -> BearerConfig {
    let channel = LogicalChannel { priority, rate_kbytes_per_s, ..LogicalChannel::default() };
    BearerConfig { channel, ..BearerConfig::um(drb) }
}

#[test]
fn a_bearer_of_low_priority_has_its_prioritised_rate_beside_a_saturating_one() {
    let mut cell = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(28))).unwrap();
    let urgent = cell.add_bearer(1, channel_of(1, 2, 0)).unwrap();
    let starved = cell.add_bearer(1, channel_of(2, 9, 0)).unwrap();
    let kept = cell.add_bearer(1, channel_of(3, 16, 250)).unwrap();
    let mut out = Vec::new();
    for ms in 0..2000u64 {
        for bearer in [urgent, starved, kept] {
            while cell.bearer_status(bearer).unwrap().occupancy_bytes < 20_000 {
                cell.enqueue(bearer, packet(1500), 1000 * ms).unwrap();
            }
        }
        cell.slot(1000 * ms, &mut out);
    }
    let kbytes_per_s = |bearer| bytes_of(&out, bearer) as f64 / 2000.0;
    assert!((245.0..255.0).contains(&kbytes_per_s(kept)), "{}", kbytes_per_s(kept));
    assert_eq!(bytes_of(&out, starved), 0);
    assert!(kbytes_per_s(urgent) > 1_500.0, "{}", kbytes_per_s(urgent));
}

#[test]
fn the_urgent_bearer_is_served_first_and_equal_ones_alternate() {
    let mut cell = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(28))).unwrap();
    let bulk = |drb| channel_of(drb, 9, 0);
    let first = cell.add_bearer(1, bulk(1)).unwrap();
    let second = cell.add_bearer(1, bulk(2)).unwrap();
    let urgent = cell.add_bearer(1, channel_of(3, 2, 0)).unwrap();
    let mut cell_out = Vec::new();
    for slot in 0..2000u64 {
        let now_us = slot * 1000;
        for bearer in [first, second] {
            while cell.bearer_status(bearer).unwrap().occupancy_bytes < 20_000 {
                cell.enqueue(bearer, packet(1500), now_us).unwrap();
            }
        }
        cell.enqueue(urgent, packet(200), now_us).unwrap();
        cell.slot(now_us, &mut cell_out);
        let status = cell.bearer_status(urgent).unwrap();
        assert_eq!(status.occupancy_bytes, 0, "the urgent one never waits");
    }
    let ratio = bytes_of(&cell_out, first) as f64 / bytes_of(&cell_out, second) as f64;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

fn nr_with(bler: f64, combining_gain: f64) -> CellConfig {
    with_errors(CellConfig::nr_n78_106prb(), BlockErrors { bler, combining_gain }, 4)
}

#[test]
fn retransmissions_cost_prbs_and_time_but_no_packet_and_no_order() {
    let (mut cell, bearers) = cell_with(nr_with(0.1, 0.0), &[Channel::FixedMcs(10)]);
    let out = saturate(&mut cell, &bearers, 10 * SECOND_US);
    let ids: Vec<u64> = out.iter().map(|d| d.sdu.id).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "PDCP restores the order");
    let totals = cell.totals();
    assert_eq!(totals.lost_sdus, 0);
    let mac = cell.mac_report(1, 10 * SECOND_US).unwrap();
    let rate = f64::from(mac.dl_harq[1]) / f64::from(mac.dl_harq[0]);
    assert!((0.08..0.12).contains(&rate), "{rate}");
    assert!((0.05..0.15).contains(&mac.dl_bler), "{}", mac.dl_bler);
    assert_eq!(u64::from(mac.dl_aggr_retx_prb), totals.retx_prb);
    let late = out.iter().filter(|d| d.delivered_us - d.dequeued_us >= 5_000).count();
    assert!(late > 0);
    let goodput = bytes_of(&out, bearers[0]) as f64 * 8.0 / (10 * SECOND_US) as f64;
    assert!((35.0..38.5).contains(&goodput), "{goodput}");
}

#[test]
fn a_block_that_fails_four_times_is_lost_and_counted() {
    let (mut cell, bearers) = cell_with(nr_with(0.5, 1.0), &[Channel::FixedMcs(10)]);
    let out = saturate(&mut cell, &bearers, 5 * SECOND_US);
    let rlc = cell.rlc_report(bearers[0], 5 * SECOND_US).unwrap();
    let mac = cell.mac_report(1, 5 * SECOND_US).unwrap();
    assert!(mac.dl_harq[4] > 0);
    let lost = cell.totals().lost_sdus;
    assert!(lost > 0);
    let in_air = cell.sdus_in_air(bearers[0]).unwrap() as u64;
    let left = u64::from(rlc.rxsdu_pkts - rlc.txbuf_occ_pkts);
    assert_eq!(out.len() as u64 + lost + in_air, left, "every packet is accounted for");
    let ids: Vec<u64> = out.iter().map(|d| d.sdu.id).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "in order and once");
}

#[test]
fn ues_and_bearers_are_added_and_removed_under_load() {
    let channels = [Channel::FixedMcs(28), Channel::FixedMcs(28)];
    let errors = BlockErrors { bler: 0.1, combining_gain: 1.0 };
    let (mut cell, bearers) = cell_with(with_errors(CellConfig::lte_5mhz(), errors, 4), &channels);
    saturate(&mut cell, &bearers, SECOND_US);
    let queued = cell.bearer_status(bearers[0]).unwrap().occupancy_packets as usize;
    assert_eq!(cell.remove_bearer(bearers[0]).unwrap().len(), queued);
    assert_eq!(cell.remove_bearer(bearers[0]), None);
    assert_eq!(cell.enqueue(bearers[0], packet(100), SECOND_US), Err(packet(100)));
    assert_eq!(cell.bearer_status(bearers[0]), None);
    assert_eq!(cell.rlc_report(bearers[0], SECOND_US), None);
    let before = cell.used_prb(1).unwrap();
    saturate(&mut cell, &bearers[1..], 2 * SECOND_US);
    let after = cell.used_prb(1).unwrap();
    assert!(after - before < 200, "only blocks in the air: {}", after - before);
    let again = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
    assert!(again != bearers[0], "an index is never given twice");
    assert!(cell.remove_ue(2).is_some_and(|queued| !queued.is_empty()));
    assert_eq!((cell.remove_ue(2), cell.mac_report(2, 0)), (None, None));
    cell.add_ue(ue(3, Channel::FixedMcs(28))).unwrap();
    let third = cell.add_bearer(3, BearerConfig::um(1)).unwrap();
    let out = saturate(&mut cell, &[again, third], 3 * SECOND_US);
    assert!(bytes_of(&out, again) > 800_000 && bytes_of(&out, third) > 800_000);
    assert_eq!(cell.rntis().collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn duplicates_are_refused() {
    let (mut cell, _) = lte();
    for (error, expected) in [
        (cell.add_ue(ue(1, Channel::FixedMcs(1))), "rnti 1 exists already"),
        (cell.add_bearer(1, BearerConfig::um(1)).map(|_| ()), "drb 1 exists already"),
        (
            cell.add_bearer(9, BearerConfig::um(1)).map(|_| ()),
            "rnti 0x0009: no such UE in the cell",
        ),
        (cell.add_bearer(1, BearerConfig::um(33)).map(|_| ()), "drb: 33; expected 1 to 32"),
        (cell.set_channel(1, Channel::FixedMcs(29)), "channel.mcs: 29; expected MCS 0 to 28"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn invalid_cells_name_the_field() {
    let good = CellConfig::lte_5mhz;
    let harq = |bler| {
        let errors = BlockErrors { bler, ..BlockErrors::default() };
        HarqConfig { errors, ..HarqConfig::default() }
    };
    for (config, expected) in [
        (CellConfig { n_prb: 0, ..good() }, "n_prb: 0; expected 1 to 275 PRB"),
        (CellConfig { n_prb: 50, ..good() }, "n_prb: 50; expected at most 25 PRB"),
        (CellConfig { rbg_size_prb: 0, ..good() }, "rbg_size_prb: 0; expected 1 to n_prb = 25"),
        (CellConfig { max_ues_per_slot: 0, ..good() }, "max_ues_per_slot: 0; expected 1"),
        (CellConfig { harq: harq(1.5), ..good() }, "harq.bler: 1.5; expected 0 to 1"),
        (CellConfig { harq: harq(f64::NAN), ..good() }, "harq.bler: NaN; expected 0 to 1"),
        (
            CellConfig { duplexing: CellConfig::nr_n78_106prb().duplexing, ..good() },
            "duplexing: tdd; expected fdd for an LTE cell",
        ),
        (
            CellConfig {
                reserved: Some(ran::config::ReservedPrb {
                    period_slots: 10,
                    slots: vec![0, 10],
                    n_prb: 8,
                }),
                ..good()
            },
            "reserved.slots: 10; expected less than period_slots = 10",
        ),
    ] {
        let error = Cell::<Packet>::new(config).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_slot_called_early_does_nothing() {
    let (mut cell, bearer) = lte();
    let mut out = Vec::new();
    cell.slot(0, &mut out);
    cell.enqueue(bearer, packet(100), 0).unwrap();
    cell.slot(999, &mut out);
    assert_eq!((out.len(), cell.next_slot_us()), (0, 1000));
    cell.slot(1000, &mut out);
    assert_eq!((out.len(), cell.next_slot_us()), (1, 2000));
}

#[derive(Debug, Clone)]
struct Arrival {
    bearer: usize,
    len: u32,
    after_us: u64,
}

fn replay(cell: &mut Cell<Packet>, arrivals: &[Arrival]) -> Vec<Delivery<Packet>> {
    let mut out = Vec::new();
    let mut at_us = cell.next_slot_us();
    for (id, arrival) in arrivals.iter().enumerate() {
        at_us += arrival.after_us;
        while cell.next_slot_us() <= at_us {
            cell.slot(cell.next_slot_us(), &mut out);
        }
        let sdu = Packet { id: id as u64, len: arrival.len };
        // The buffer may be full.
        let _dropped = cell.enqueue(arrival.bearer, sdu, at_us);
    }
    for _ in 0..500 {
        cell.slot(cell.next_slot_us(), &mut out);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn runs_are_deterministic_and_a_clone_continues_alike(
        arrivals in prop::collection::vec(
            (0usize..3, 1u32..1501, 0u64..2000).prop_map(|(bearer, len, after_us)| Arrival {
                bearer,
                len,
                after_us,
            }),
            1..300,
        ),
        seed in any::<u64>(),
    ) {
        let config = CellConfig { seed, ..nr_with(0.2, 0.3) };
        let trace = MahimahiTrace::parse("3\n4\n4\n9\n").unwrap();
        let channels =
            [Channel::FixedMcs(4), Channel::FixedMcs(20), Channel::Mahimahi(trace)];
        let (mut cell, _) = cell_with(config.clone(), &channels);
        let (mut twin, _) = cell_with(config, &channels);
        let (first, rest) = arrivals.split_at(arrivals.len() / 2);
        prop_assert_eq!(replay(&mut cell, first), replay(&mut twin, first));
        let mut fork = cell.clone();
        prop_assert_eq!(replay(&mut cell, rest), replay(&mut fork, rest));
        prop_assert_eq!(cell.totals(), fork.totals());
        for rnti in 1..=3 {
            prop_assert_eq!(cell.mac_report(rnti, 0), fork.mac_report(rnti, 0));
        }
        prop_assert!(cell.totals().used_prb <= cell.totals().available_prb);
    }
}
