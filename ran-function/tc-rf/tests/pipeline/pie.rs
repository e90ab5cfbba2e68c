//! PIE on virtual time, against timelines worked out by hand from RFC 8033.

use crate::util::aqm::Bench;
use e2sm_tc::v1::Ecn;
use tc_rf::DropReason;
use tc_rf::queueing::{AqmState, Discipline, Pie, PieParams};

fn params(ecn: bool) -> PieParams {
    let (target_us, update_us) = (15_000, 15_000);
    PieParams { target_us, update_us, alpha_milli: 125, beta_milli: 1_250, ecn }
}

fn bench(ecn: bool, seed: u64) -> Bench {
    Bench::with_limit(&[Discipline::Pie(params(ecn))], 100_000, seed)
}

fn pie(bench: &mut Bench, now_us: u64) -> Pie {
    match bench.aqm(0, now_us) {
        AqmState::Pie(pie) => pie,
        other => panic!("{other:?}"),
    }
}

/// A thousand packets at 0, and one out 1 ms before each update, so that update `n` at 15 n ms
/// sees a delay of 15 n − 1 ms. Stops after update `updates`, one µs past it.
fn loaded(ecn: bool, seed: u64, updates: u64) -> Bench {
    let mut bench = bench(ecn, seed);
    bench.enqueue(0, 1_000, Ecn::NotEct, 0);
    for n in 1..=updates {
        bench.dequeue(15_000 * n - 1_000).expect("a packet");
    }
    let _ = pie(&mut bench, 15_000 * updates + 1);
    bench
}

#[test]
fn the_probability_climbs_through_all_bands_of_the_auto_tuning() {
    // Each step is 0.125 (q − 0.015) + 1.25 (q − q_old), with q in seconds, divided by
    // 2048, 512, 128, 32, 8 and 2 as the probability is below 10⁻⁶ … 10⁻¹.
    let expected = [
        0.017_375 / 2048.0,                    // q 14 ms, q_old 0, from 0
        8.483_886_718_75e-6 + 0.020_5 / 512.0, // q 29, below 10⁻⁵
        4.852_294_921_875e-5 + 0.022_375 / 128.0,
        2.233_276_367_187_5e-4 + 0.024_25 / 32.0,
        9.811_401_367_187_5e-4 + 0.026_125 / 32.0,
        1.797_546_386_718_75e-3 + 0.028 / 8.0,
        0.005_297_546_386_718_75 + 0.029_875 / 8.0,
        0.009_031_921_386_718_75 + 0.031_75 / 8.0,
        0.013_000_671_386_718_75 + 0.033_625 / 2.0,
        0.029_813_171_386_718_75 + 0.035_5 / 2.0,
        0.047_563_171_386_718_75 + 0.037_375 / 2.0,
        0.066_250_671_386_718_75 + 0.039_25 / 2.0,
        0.085_875_671_386_718_75 + 0.041_125 / 2.0,
        // From 0.1 on the step of 0.043 is capped (§5.5).
        0.106_438_171_386_718_75 + 0.02,
        0.126_438_171_386_718_75 + 0.02,
    ];
    let mut bench = bench(false, 1);
    bench.enqueue(0, 1_000, Ecn::NotEct, 0);
    for (n, expected) in (1..).zip(expected) {
        bench.dequeue(15_000 * n - 1_000).expect("a packet");
        let before = pie(&mut bench, 15_000 * n - 1);
        let after = pie(&mut bench, 15_000 * n);
        assert!(
            (after.drop_prob() - expected).abs() < 1e-15,
            "{n}: {} {expected}",
            after.drop_prob()
        );
        assert!(before.drop_prob() < after.drop_prob(), "not before its time");
        assert_eq!(after.qdelay_old_us(), 15_000 * n - 1_000);
        // §4.4: 150 ms, less 15 ms per update.
        assert_eq!(after.burst_allowance_us(), 150_000u64.saturating_sub(15_000 * n));
    }
}

#[test]
fn above_250_ms_each_update_adds_2_percent() {
    // Alpha and beta as small as they may be: what is left is Linux's step.
    let params = PieParams { alpha_milli: 1, beta_milli: 0, ..params(false) };
    for (wait_us, added) in [(249_000, 0.0), (251_000, 0.02)] {
        let mut bench = Bench::new(&[Discipline::Pie(params)]);
        bench.enqueue(0, 1_000, Ecn::NotEct, 0);
        let _ = pie(&mut bench, 0);
        bench.dequeue(wait_us).expect("a packet");
        let before = pie(&mut bench, wait_us).drop_prob();
        let after = pie(&mut bench, wait_us + 15_000).drop_prob();
        assert!((after - before - added).abs() < 0.001, "{wait_us}: {before} and {after}");
    }
}

#[test]
fn updates_without_packets_are_made_up_for() {
    let mut stepped = loaded(false, 1, 3);
    let mut late = loaded(false, 1, 3);
    for now_us in (46_000..400_000).step_by(1_000) {
        let _ = pie(&mut stepped, now_us);
    }
    assert_eq!(pie(&mut stepped, 400_000), pie(&mut late, 400_000));
}

#[test]
fn without_congestion_the_probability_decays_to_nothing() {
    // Without beta, which would take it to 0 at once when the delay vanishes.
    let params = PieParams { alpha_milli: 1_000, beta_milli: 0, ..params(false) };
    let mut bench = Bench::new(&[Discipline::Pie(params)]);
    bench.enqueue(0, 1_000, Ecn::NotEct, 0);
    for n in 1..=15 {
        bench.dequeue(15_000 * n - 1_000).expect("a packet");
    }
    while bench.dequeue(226_000).is_some() {}
    let empty = pie(&mut bench, 226_000);
    assert_eq!((empty.qdelay_us(), empty.qdelay_old_us()), (0, 224_000), "0 once it is empty");
    let p0 = empty.drop_prob();
    assert!(p0 > 0.15, "{p0}");
    // The first update still sees the old delay; from the second on both are 0.
    let p1 = pie(&mut bench, 240_000).drop_prob();
    assert!((p1 - (p0 - 0.015)).abs() < 1e-12);
    let p2 = pie(&mut bench, 255_000).drop_prob();
    assert!((p2 - (p1 - 0.015) * 0.98).abs() < 1e-12);
    assert_eq!(pie(&mut bench, 5_000_000).drop_prob(), 0.0);
    assert_eq!(pie(&mut bench, 5_000_000).burst_allowance_us(), 0);
    bench.enqueue(0, 1, Ecn::NotEct, 5_000_001);
    assert_eq!(pie(&mut bench, 5_000_001).burst_allowance_us(), 150_000, "reset by an arrival");
}

#[test]
fn a_burst_passes_and_what_follows_is_dropped_with_the_probability() {
    let mut early = loaded(false, 1, 9);
    early.enqueue(0, 500, Ecn::NotEct, 136_000);
    assert!(early.events.drops.is_empty(), "15 ms of the allowance are left");

    let mut bench = loaded(false, 1, 15);
    let p = pie(&mut bench, 225_001).drop_prob();
    bench.enqueue(0, 20_000, Ecn::NotEct, 226_000);
    let drops: Vec<u64> = bench.events.drops.iter().map(|(packet, ..)| packet.number).collect();
    assert!(
        bench.events.drops.iter().all(|(_, reason, _)| *reason == DropReason::Discipline("pie"))
    );
    // §5.4: none before p has added up to 0.85, one at the latest at 8.5.
    for pair in drops.windows(2) {
        let accumulated = (pair[1] - pair[0]) as f64 * p;
        assert!((0.85..=8.5 + p).contains(&accumulated), "{pair:?}");
    }
    // ⌈0.85/p⌉ − 1 packets are spared and then each goes with p, so a drop per 1/p + 5 packets;
    // 20 000 of them give some 1700 with a standard deviation below 1.5 %.
    let mean = 1.0 / p + (0.85 / p).ceil() - 1.0;
    let expected = 20_000.0 / mean;
    assert!((drops.len() as f64 / expected - 1.0).abs() < 0.06, "{} {expected}", drops.len());
}

#[test]
fn two_packets_are_never_dropped() {
    let mut bench = loaded(false, 1, 15);
    while bench.state(0).backlog_packets > 2 {
        bench.dequeue(225_500);
    }
    for n in 0..1_000 {
        bench.enqueue(0, 1, Ecn::NotEct, 226_000 + n);
        bench.dequeue(226_000 + n);
    }
    assert!(bench.events.drops.is_empty());
}

#[test]
fn ecn_marks_below_a_tenth_and_drops_above() {
    for (updates, marks) in [(12, true), (15, false)] {
        let mut bench = loaded(true, 1, updates);
        bench.enqueue(0, 2_000, Ecn::Ect0, 15_000 * updates + 500);
        assert_eq!(bench.events.marks.is_empty(), !marks);
        assert_eq!(bench.events.drops.is_empty(), marks);
        let stats = bench.state(0).stats;
        assert_eq!(stats.marked_packets, bench.events.marks.len() as u64);
        assert_eq!(stats.dropped_packets, bench.events.drops.len() as u64);
    }
    let mut off = loaded(false, 1, 12);
    off.enqueue(0, 2_000, Ecn::Ect0, 180_500);
    assert!(off.events.marks.is_empty() && !off.events.drops.is_empty());
}

#[test]
fn the_seed_decides() {
    let drops = |seed| {
        let mut bench = loaded(false, seed, 15);
        bench.enqueue(0, 2_000, Ecn::NotEct, 226_000);
        bench.events.drops.iter().map(|(packet, ..)| packet.number).collect::<Vec<_>>()
    };
    assert_eq!(drops(1), drops(1));
    assert_ne!(drops(1), drops(2));
}
