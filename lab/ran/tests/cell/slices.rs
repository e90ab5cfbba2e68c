//! Slices over many slots: shares, whole packets, conservation of RBs (irazabal2021 §IV-B, §VI-B).

use crate::common::{Packet, SECOND_US, bytes_of, cell_of_slices, saturate};
use proptest::prelude::*;
use ran::{
    AtEnd, BearerIndex, Cell, CellConfig, Channel, EqpConfig, McsSeries, PfConfig, PfGranularity,
    SchedulerConfig, SliceShare, UeScheduler,
};

/// Slices 1 and 2 with these percentages.
fn shares(one: u8, two: u8) -> Vec<SliceShare> {
    vec![SliceShare::new(1, one), SliceShare::new(2, two)]
}

fn eqp(one: u8, two: u8, quantum_limit_prb: u16) -> SchedulerConfig {
    let slices = shares(one, two);
    SchedulerConfig::ElasticQuantumPartition(EqpConfig { slices, quantum_limit_prb })
}

fn fp(one: u8, two: u8) -> SchedulerConfig {
    SchedulerConfig::FixedPartition(shares(one, two))
}

/// A cell with a UE at MCS 28 in each of slices 1 and 2.
fn two_ues(scheduler: SchedulerConfig) -> (Cell<Packet>, Vec<BearerIndex>) {
    cell(scheduler, &[1, 2].map(|slice| (slice, Channel::FixedMcs(28))))
}

/// The paper's cell with UEs by slice and channel, RNTI from 1.
fn cell(scheduler: SchedulerConfig, ues: &[(u8, Channel)]) -> (Cell<Packet>, Vec<BearerIndex>) {
    cell_of_slices(CellConfig { scheduler, ..CellConfig::lte_5mhz() }, ues)
}

fn prbs(cell: &Cell<Packet>, rnti: u16) -> f64 {
    cell.used_prb(rnti).unwrap() as f64
}

#[test]
fn eqp_keeps_the_shares_of_busy_slices() {
    for (one, two) in [(25, 75), (50, 50)] {
        let (mut cell, bearers) = two_ues(eqp(one, two, 100));
        saturate(&mut cell, &bearers, 10 * SECOND_US);
        let total = prbs(&cell, 1) + prbs(&cell, 2);
        let owned = |percent: u8| {
            let share = |prb: u16| f64::from(u16::from(percent) * prb / 100);
            8_000.0 * share(25) + 2_000.0 * share(17)
        };
        // Off by at most the limit (§IV-B); no RB is idle except those discarded by rounding.
        assert!((prbs(&cell, 1) - owned(one)).abs() <= 100.0, "{} of {total}", prbs(&cell, 1));
        assert_eq!(total, owned(one) + owned(two));
        assert_eq!(cell.quantum_prb(1).unwrap() + cell.quantum_prb(2).unwrap(), 0);
    }
}

/// A packet of 1500 bytes takes 16 RBs at MCS 28: with 6 RBs per slot (25 %) it is sent in three
/// segments, unless the slice may borrow.
#[test]
fn eqp_sends_packets_whole_that_a_fixed_partition_segments() {
    let delay = |scheduler| {
        let (mut cell, bearers) = two_ues(scheduler);
        let mut out = Vec::new();
        for slot in 0..20_000 {
            let now_us = slot * 1000;
            // 75 % of the slice's share, and a saturated other slice.
            if slot % 4 == 0 {
                cell.enqueue(bearers[0], Packet { id: slot, len: 1500 }, now_us).unwrap();
            }
            while cell.bearer_status(bearers[1]).unwrap().occupancy_bytes < 10_000 {
                cell.enqueue(bearers[1], Packet { id: slot, len: 1500 }, now_us).unwrap();
            }
            cell.slot(now_us, &mut out);
        }
        let own: Vec<u64> = out
            .iter()
            .filter(|delivery| delivery.bearer == bearers[0])
            .map(|delivery| delivery.dequeued_us - delivery.enqueued_us)
            .collect();
        assert!(own.len() > 4900, "{}", own.len());
        own.iter().sum::<u64>() as f64 / own.len() as f64
    };
    let (elastic, fixed) = (delay(eqp(25, 75, 100)), delay(fp(25, 75)));
    assert!(elastic < 300.0, "{elastic} µs");
    assert!(fixed >= 2000.0, "{fixed} µs");
}

#[test]
fn eqp_lends_idle_rbs_up_to_three_quarters_of_the_limit() {
    let (mut cell, bearers) = two_ues(eqp(25, 75, 100));
    saturate(&mut cell, &bearers[..1], SECOND_US);
    let owned = 800.0 * 6.0 + 200.0 * 4.0;
    let borrowed = prbs(&cell, 1) - owned;
    assert!((75.0..=100.0).contains(&borrowed), "{borrowed}");
    assert_eq!(cell.quantum_prb(1), Some(-borrowed as i64));
    assert_eq!((cell.quantum_prb(2), cell.quantum_prb(3)), (Some(borrowed as i64), None));
    // The lender has data again: it gets back its RBs, and the debt is within the limit.
    saturate(&mut cell, &bearers, 2 * SECOND_US);
    assert!(cell.quantum_prb(1).unwrap().abs() <= 100, "{:?}", cell.quantum_prb(1));
    let second = prbs(&cell, 2) - (800.0 * 18.0 + 200.0 * 12.0);
    assert!(second.abs() <= 100.0, "{second}");
}

#[test]
fn a_larger_limit_lends_more() {
    let mut before = 0.0;
    for limit in [25, 50, 100, 250, 500] {
        let (mut cell, bearers) = two_ues(eqp(25, 75, limit));
        saturate(&mut cell, &bearers[..1], SECOND_US);
        let borrowed = prbs(&cell, 1) - (800.0 * 6.0 + 200.0 * 4.0);
        assert!(borrowed >= 0.75 * f64::from(limit) && borrowed <= f64::from(limit), "{borrowed}");
        assert!(borrowed > before);
        before = borrowed;
    }
}

#[test]
fn under_fixed_partition_a_slice_keeps_its_share_whatever_others_do() {
    let bytes = |others: usize| {
        let mut ues = vec![(1, Channel::FixedMcs(20))];
        ues.extend(vec![(2, Channel::FixedMcs(28)); others]);
        let (mut cell, bearers) = cell(fp(50, 50), &ues);
        let out = saturate(&mut cell, &bearers, 2 * SECOND_US);
        bytes_of(&out, bearers[0])
    };
    let alone = bytes(0);
    assert!(alone > 0);
    assert_eq!((bytes(1), bytes(5)), (alone, alone));
}

#[test]
fn the_ues_of_a_slice_share_by_its_scheduler() {
    let pf = UeScheduler::ProportionalFair(PfConfig::default());
    let slices = vec![SliceShare { ues: pf, ..SliceShare::new(1, 48) }, SliceShare::new(2, 52)];
    for scheduler in [
        SchedulerConfig::FixedPartition(slices.clone()),
        SchedulerConfig::ElasticQuantumPartition(EqpConfig::new(slices)),
    ] {
        let ues = [
            (1, Channel::FixedMcs(28)),
            (1, Channel::FixedMcs(10)),
            (2, Channel::FixedMcs(28)),
            (2, Channel::FixedMcs(10)),
        ];
        let partition = matches!(scheduler, SchedulerConfig::FixedPartition(_));
        let (mut cell, bearers) = cell(scheduler, &ues);
        saturate(&mut cell, &bearers, 10 * SECOND_US);
        let ratio = [(1, 2), (3, 4)].map(|(one, two)| prbs(&cell, one) / prbs(&cell, two));
        if partition {
            // Constant channels: equal parts of the time under either scheduler.
            assert!(ratio.iter().all(|ratio| (0.9..1.1).contains(ratio)), "{ratio:?}");
        } else {
            // Whole packets come first, and those of the better channel take fewer RBs.
            assert!(ratio.iter().all(|ratio| (1.0..6.0).contains(ratio)), "{ratio:?}");
        }
    }
}

#[test]
fn a_ue_without_rate_stops_no_other_and_recovers() {
    let mahimahi = |text| Channel::Mahimahi(ran::MahimahiTrace::parse(text).unwrap());
    // One opportunity in ten seconds.
    let dead = mahimahi("10000\n");
    for scheduler in [
        SchedulerConfig::RoundRobin,
        SchedulerConfig::ProportionalFair(PfConfig::default()),
        fp(50, 50),
        eqp(50, 50, 100),
    ] {
        let ues = [(1, dead.clone()), (2, Channel::FixedMcs(0))];
        let (mut cell, bearers) = cell(scheduler, &ues);
        let out = saturate(&mut cell, &bearers, 9 * SECOND_US);
        assert_eq!(bytes_of(&out, bearers[0]), 0);
        // I_TBS 0 over 12 of 25 PRBs and more: the UE at MCS 0 goes on.
        assert!(bytes_of(&out, bearers[1]) > 9_000 * 20, "{}", bytes_of(&out, bearers[1]));
        let out = saturate(&mut cell, &bearers, 21 * SECOND_US);
        assert!(bytes_of(&out, bearers[0]) <= 3000);
        assert_eq!(cell.totals().lost_sdus, 0);
    }
}

/// Any of the schedulers.
fn scheduler() -> impl Strategy<Value = SchedulerConfig> {
    let pf = any::<bool>().prop_map(|per_rbg| PfConfig {
        granularity: if per_rbg { PfGranularity::PerRbg } else { PfGranularity::Wideband },
        ..PfConfig::default()
    });
    let ues = prop_oneof![
        Just(UeScheduler::RoundRobin),
        pf.clone().prop_map(UeScheduler::ProportionalFair),
    ];
    let slices = (20u8..80, ues).prop_map(|(percent, ues)| {
        vec![SliceShare { ues, ..SliceShare::new(1, percent) }, SliceShare::new(2, 100 - percent)]
    });
    prop_oneof![
        Just(SchedulerConfig::RoundRobin),
        pf.prop_map(SchedulerConfig::ProportionalFair),
        slices.clone().prop_map(SchedulerConfig::FixedPartition),
        (slices, 1u16..300).prop_map(|(slices, quantum_limit_prb)| {
            SchedulerConfig::ElasticQuantumPartition(EqpConfig { slices, quantum_limit_prb })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_slot_gives_more_than_it_has_and_no_packet_is_lost(
        scheduler in scheduler(),
        rbg in 1u16..5,
        max_ues in 1u16..9,
        mcs in prop::collection::vec((1u8..3, 0u8..29), 1..8),
        load in prop::collection::vec(prop::collection::vec(0u32..3000, 0..8), 10..80),
    ) {
        let slices = scheduler.slices().is_some();
        let config = CellConfig {
            scheduler: scheduler.clone(),
            rbg_size_prb: rbg,
            max_ues_per_slot: max_ues,
            ..CellConfig::lte_5mhz()
        };
        let ues: Vec<(u8, Channel)> = mcs
            .iter()
            .map(|(slice, mcs)| {
                let series = McsSeries::new(7_000, [*mcs, 28 - *mcs, 0], AtEnd::Loop).unwrap();
                (*slice, Channel::McsSeries(series))
            })
            .collect();
        let (mut cell, bearers) = cell_of_slices(config, &ues);
        let (mut sent, mut out) = (0, Vec::new());
        let mut before = cell.totals();
        for slot in 0..3000u64 {
            for (at, len) in load.get(slot as usize).into_iter().flatten().enumerate() {
                if *len > 0 {
                    let packet = Packet { id: sent, len: *len };
                    cell.enqueue(bearers[at % bearers.len()], packet, slot * 1000).unwrap();
                    sent += 1;
                }
            }
            cell.slot(slot * 1000, &mut out);
            let now = cell.totals();
            let available = now.available_prb - before.available_prb;
            let used = now.used_prb - before.used_prb;
            prop_assert!(used <= available, "slot {slot}: {used} of {available}");
            if !slices && cell.rntis().count() <= usize::from(max_ues) {
                // Work conserving: RBs are left only without data, or if too few for the smallest
                // block (8 bytes are 4 PRBs at MCS 0).
                let left =
                    bearers.iter().any(|b| cell.bearer_status(*b).unwrap().occupancy_bytes > 0);
                let idle = available - used;
                prop_assert!(!left || idle < 4, "slot {slot}: {used} of {available}");
            }
            before = now;
        }
        let waiting: u64 = bearers
            .iter()
            .map(|b| u64::from(cell.bearer_status(*b).unwrap().occupancy_packets))
            .sum();
        prop_assert_eq!(out.len() as u64 + waiting, sent);
        // A share too small for a byte at MCS 0 may leave data waiting.
        prop_assert!(slices || waiting == 0, "{waiting} of {sent} waiting");
    }

    #[test]
    fn the_same_calls_give_the_same_bytes(scheduler in scheduler()) {
        let run = |fork: bool| {
            let ues: Vec<(u8, Channel)> =
                (0..6).map(|at| (1 + at % 2, Channel::FixedMcs(4 + at * 4))).collect();
            let (mut cell, bearers) = cell(scheduler.clone(), &ues);
            let mut out = saturate(&mut cell, &bearers, SECOND_US / 4);
            let mut cell = if fork { cell.clone() } else { cell };
            out.extend(saturate(&mut cell, &bearers, SECOND_US / 2));
            (out, cell.totals())
        };
        prop_assert!(run(false) == run(true));
    }
}
