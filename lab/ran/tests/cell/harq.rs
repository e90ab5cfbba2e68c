//! HARQ: throughput, rounds and residual loss match their computed values.

use crate::common::{SECOND_US, bytes_of, cell_with, saturate};
use ran::{BlockErrors, CellConfig, Channel, HarqConfig};

fn lte(harq: HarqConfig) -> CellConfig {
    CellConfig { harq, reserved: None, ..CellConfig::lte_5mhz() }
}

#[test]
fn goodput_and_loss_follow_the_geometric_distribution() {
    for (bler, combining_gain, most) in
        [(0.1, 1.0, 4), (0.1, 0.1, 4), (0.3, 0.5, 3), (0.5, 1.0, 2), (0.2, 1.0, 1)]
    {
        let errors = BlockErrors { bler, combining_gain };
        let harq = HarqConfig { errors, max_transmissions: most, ..CellConfig::lte_5mhz().harq };
        let (mut cell, bearers) = cell_with(lte(harq), &[Channel::FixedMcs(28)]);
        let seconds = 40;
        saturate(&mut cell, &bearers, seconds * SECOND_US);
        // Transmission n happens when all before it failed.
        let reached: Vec<f64> =
            (0..=most).map(|n| (0..n).map(|k| errors.probability(k)).product()).collect();
        let per_block: f64 = reached[..usize::from(most)].iter().sum();
        let rounds = cell.mac_report(1, 0).unwrap().dl_harq;
        let first = f64::from(rounds[0]);
        // Each block takes all PRBs of a subframe, so blocks and retransmissions share them.
        let expected = (seconds * 1000) as f64 / per_block;
        assert!((first / expected - 1.0).abs() < 0.01, "{first} blocks, {expected} expected");
        for (n, chance) in reached.iter().enumerate().skip(1) {
            let counted =
                f64::from(if n == usize::from(most) { rounds[4] } else { rounds[n] }) / first;
            let sigma = (chance * (1.0 - chance) / first).sqrt();
            assert!(
                (counted - chance).abs() < 5.0 * sigma + 1e-4,
                "round {n}: {counted}, {chance}"
            );
        }
        let prbs = cell.totals();
        let retransmissions: u32 = rounds[1..4].iter().sum();
        assert_eq!(prbs.retx_prb, u64::from(retransmissions) * 25);
    }
}

#[test]
fn few_processes_and_a_long_round_trip_limit_the_throughput() {
    let rate = |processes, rtt_us| {
        let harq = HarqConfig { processes, rtt_us, ..CellConfig::lte_5mhz().harq };
        let (mut cell, bearers) = cell_with(lte(harq), &[Channel::FixedMcs(28)]);
        let out = saturate(&mut cell, &bearers, 2 * SECOND_US);
        bytes_of(&out, bearers[0]) as f64
    };
    let full = rate(8, 8_000);
    assert!((rate(16, 8_000) / full - 1.0).abs() < 1e-9, "further processes change nothing");
    assert!((rate(4, 8_000) / full - 0.5).abs() < 0.01);
    assert!((rate(1, 8_000) / full - 0.125).abs() < 0.01);
    assert!((rate(8, 16_000) / full - 0.5).abs() < 0.01);
}

#[test]
fn trace_channels_never_fail() {
    let errors = BlockErrors { bler: 1.0, combining_gain: 1.0 };
    let harq = HarqConfig { errors, ..CellConfig::lte_5mhz().harq };
    let trace = ran::MahimahiTrace::parse("1\n").unwrap();
    let (mut cell, bearers) = cell_with(lte(harq), &[Channel::Mahimahi(trace)]);
    let out = saturate(&mut cell, &bearers, SECOND_US);
    assert!(bytes_of(&out, bearers[0]) > 1_000_000);
    assert_eq!(cell.mac_report(1, 0).unwrap().dl_harq[1..], [0; 4]);
}

#[test]
fn errors_that_are_never_drawn_change_nothing() {
    let run = |combining_gain| {
        let errors = BlockErrors { bler: 0.0, combining_gain };
        let harq = HarqConfig { errors, ..CellConfig::lte_5mhz().harq };
        let (mut cell, bearers) = cell_with(lte(harq), &[Channel::FixedMcs(28)]);
        saturate(&mut cell, &bearers, SECOND_US)
    };
    assert_eq!(run(0.0), run(1.0));
}
