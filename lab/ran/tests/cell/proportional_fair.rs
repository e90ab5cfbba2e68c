//! Proportional fair over many slots matches theory.

use crate::common::{SECOND_US, bytes_of, cell_with, saturate};
use ran::{AtEnd, CellConfig, Channel, McsSeries, PfConfig, PfGranularity, SchedulerConfig};

const SECONDS: u64 = 60;

fn pf(granularity: PfGranularity) -> CellConfig {
    // Long compared with the channel, which changes each slot.
    let config = PfConfig { time_constant_us: 1_000_000, granularity };
    CellConfig {
        scheduler: SchedulerConfig::ProportionalFair(config),
        reserved: None,
        ..CellConfig::lte_5mhz()
    }
}

/// One of two MCS in each slot with equal probability, independent of other UEs.
fn two_rates(low: u8, high: u8, seed: u64) -> Channel {
    let mut state = seed;
    let values: Vec<u8> = (0..SECONDS * 1000)
        .map(|_| {
            // Knuth's linear congruential generator; the top bit is good enough.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 1 { high } else { low }
        })
        .collect();
    Channel::McsSeries(McsSeries::new(1000, values, AtEnd::Loop).unwrap())
}

/// Bytes of a transport block of the paper's cell over all PRBs.
const MCS_6: f64 = 325.0;
const MCS_26: f64 = 1908.0;

/// Two equal UEs, each slot at `low` or `high`: the better one is served, and each half of the time if
/// both are equal, so each gets (3·high + low)/8 per slot; round robin gives (high + low)/4.
#[test]
fn two_ues_of_two_rates_get_the_opportunistic_share() {
    for granularity in [PfGranularity::Wideband, PfGranularity::PerRbg] {
        let channels = [two_rates(6, 26, 1), two_rates(6, 26, 2)];
        let (mut cell, bearers) = cell_with(pf(granularity), &channels);
        saturate(&mut cell, &bearers, SECONDS * SECOND_US);
        for rnti in 1..=2 {
            let got = cell.mac_report(rnti, 0).unwrap().dl_aggr_tbs as f64;
            let expected = (3.0 * MCS_26 + MCS_6) / 8.0 * (SECONDS * 1000) as f64;
            assert!((got / expected - 1.0).abs() < 0.03, "{granularity:?}: {got}, not {expected}");
        }
        assert_eq!(cell.totals().used_prb_pct(), 100.0);
    }
}

/// UEs with the same relative variation get bytes in proportion to their rates (Kelly 1997).
#[test]
fn a_better_channel_gets_bytes_in_proportion() {
    // MCS 14 carries 807 bytes, 5.89 times the 137 of MCS 2; MCS 26 is 5.87 times MCS 6.
    let channels = [two_rates(2, 14, 3), two_rates(6, 26, 4)];
    let (mut cell, bearers) = cell_with(pf(PfGranularity::Wideband), &channels);
    saturate(&mut cell, &bearers, SECONDS * SECOND_US);
    for (rnti, low, high) in [(1, 137.0, 807.0), (2, MCS_6, MCS_26)] {
        let got = cell.mac_report(rnti, 0).unwrap().dl_aggr_tbs as f64;
        let expected = (3.0 * high + low) / 8.0 * (SECONDS * 1000) as f64;
        assert!((got / expected - 1.0).abs() < 0.03, "{rnti}: {got}, not {expected}");
    }
}

/// Constant channels get equal parts of the time, as with round robin.
#[test]
fn fixed_channels_get_equal_time() {
    for granularity in [PfGranularity::Wideband, PfGranularity::PerRbg] {
        let channels = [28, 20, 12, 4].map(Channel::FixedMcs);
        let (mut cell, bearers) = cell_with(pf(granularity), &channels);
        let out = saturate(&mut cell, &bearers, 20 * SECOND_US);
        let total = cell.totals().used_prb as f64;
        for rnti in 1..=4 {
            let share = cell.used_prb(rnti).unwrap() as f64 / total;
            assert!((share - 0.25).abs() < 0.02, "{granularity:?} {rnti}: {share}");
        }
        assert!(bytes_of(&out, bearers[0]) > 8 * bytes_of(&out, bearers[3]));
    }
}

#[test]
fn more_ues_than_fit_a_slot_are_all_served() {
    let channels = vec![Channel::FixedMcs(15); 40];
    for granularity in [PfGranularity::Wideband, PfGranularity::PerRbg] {
        let (mut cell, bearers) = cell_with(pf(granularity), &channels);
        saturate(&mut cell, &bearers, 10 * SECOND_US);
        let used: Vec<u64> = (1..=40).map(|rnti| cell.used_prb(rnti).unwrap()).collect();
        let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
        assert!(*most as f64 / *least as f64 <= 1.1, "{granularity:?}: {least} {most}");
    }
}

/// A UE with data again after a pause starves others no longer than the time constant.
#[test]
fn a_pause_is_forgotten_after_the_time_constant() {
    let channels = [Channel::FixedMcs(20), Channel::FixedMcs(20)];
    let (mut cell, bearers) = cell_with(pf(PfGranularity::Wideband), &channels);
    saturate(&mut cell, &bearers[..1], 10 * SECOND_US);
    let before = cell.used_prb(1).unwrap();
    saturate(&mut cell, &bearers, 20 * SECOND_US);
    let after = cell.used_prb(1).unwrap() - before;
    // In ten seconds half of 250000 PRBs, less about a time constant's worth.
    assert!((90_000..=125_000).contains(&after), "{after}");
}
