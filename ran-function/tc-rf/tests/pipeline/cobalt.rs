//! COBALT: BLUE's ramp, and CoDel's half against timelines worked out by hand.

use crate::util::aqm::Bench;
use e2sm_tc::v1::Ecn;
use tc_rf::DropReason;
use tc_rf::queueing::{AqmState, Cobalt, CodelParams, Discipline};

fn params(ecn: bool) -> CodelParams {
    CodelParams {
        target_us: 5_000,
        interval_us: 100_000,
        ecn,
        ce_threshold_us: None,
        l4s: false,
        mtu_bytes: 1_500,
    }
}

fn bench(params: CodelParams, limit_packets: u32) -> Bench {
    Bench::with_limit(&[Discipline::Cobalt(params)], limit_packets, 1)
}

fn cobalt(bench: &Bench) -> Cobalt {
    match bench.state(0).aqm {
        AqmState::Cobalt(cobalt) => cobalt,
        other => panic!("{other:?}"),
    }
}

fn drops(bench: &Bench, why: DropReason) -> Vec<u64> {
    bench.events.drops.iter().filter(|(_, reason, _)| *reason == why).map(|d| d.2).collect()
}

#[test]
fn blue_climbs_by_a_256th_per_overflow_and_target_time() {
    let mut bench = bench(params(false), 10);
    bench.enqueue(0, 10, Ecn::NotEct, 0);
    assert_eq!(cobalt(&bench).p_blue(), 0.0);
    bench.enqueue(0, 5, Ecn::NotEct, 0);
    assert_eq!(cobalt(&bench).p_blue(), 1.0 / 256.0, "once, however many");
    bench.enqueue(0, 5, Ecn::NotEct, 5_000);
    assert_eq!(cobalt(&bench).p_blue(), 1.0 / 256.0, "not within the target");
    for n in 2..=300 {
        bench.enqueue(0, 1, Ecn::NotEct, n * 5_001);
        let expected = (n as f64 / 256.0).min(1.0 - 1.0 / 4_294_967_296.0);
        assert_eq!(cobalt(&bench).p_blue(), expected);
    }
    assert!(cobalt(&bench).dropping(), "an overflow is CoDel's signal as well");
}

#[test]
fn blue_falls_by_a_4096th_per_empty_service_and_target_time() {
    let mut bench = bench(params(false), 10);
    bench.enqueue(0, 12, Ecn::NotEct, 0);
    // Two packets and what they leave behind: each service of the empty queue counts once.
    while bench.dequeue(10).is_some() {}
    let mut p = 1.0 / 256.0;
    assert_eq!(cobalt(&bench).p_blue(), p, "not within the target");
    for n in 1..=16 {
        let now_us = n * 6_000;
        bench.enqueue(0, 1, Ecn::NotEct, now_us);
        assert!(bench.dequeue(now_us).is_some(), "the last packet is never dropped");
        assert!(bench.dequeue(now_us).is_none());
        p -= 1.0 / 4096.0;
        assert_eq!(cobalt(&bench).p_blue(), p);
    }
    assert_eq!(p, 0.0);
}

#[test]
fn blue_drops_as_often_as_its_probability_and_never_marks() {
    let mut bench = bench(params(true), 5_000);
    bench.enqueue(0, 5_000, Ecn::Ect0, 0);
    for n in 0..64 {
        bench.enqueue(0, 1, Ecn::Ect0, n * 5_001);
    }
    assert_eq!(cobalt(&bench).p_blue(), 0.25);
    bench.events.drops.clear();
    let now_us = 63 * 5_001;
    while bench.dequeue(now_us).is_some() {}
    let blue = drops(&bench, DropReason::Discipline("blue")).len();
    // 5000 at a quarter: 1250 with a standard deviation of 31.
    assert!((1_100..1_400).contains(&blue), "{blue}");
    assert!(drops(&bench, DropReason::Discipline("codel")).is_empty(), "CoDel marks");
}

#[test]
fn codel_signals_after_an_interval_and_faster_from_then_on() {
    let mut bench = bench(params(false), 100_000);
    bench.enqueue(0, 1, Ecn::NotEct, 0);
    bench.dequeue(0);
    bench.enqueue(0, 2_000, Ecn::NotEct, 0);
    for ms in 1..=430 {
        bench.dequeue(ms * 1_000);
    }
    // Above target (5 ms) from 6 ms on: due 100 ms later, then after 100/√2, 100/√3, … ms: 106,
    // 176.711, 234.446, 284.446, 329.167, 369.992, 407.788 ms, done at the next dequeue.
    let expected = [106, 177, 235, 285, 330, 370, 408].map(|ms| ms * 1_000);
    assert_eq!(drops(&bench, DropReason::Discipline("codel")), expected);
    assert_eq!(cobalt(&bench).count(), 8);
}

#[test]
fn the_count_falls_as_it_rose_and_is_not_forgotten() {
    let mut bench = bench(params(false), 100_000);
    bench.enqueue(0, 1, Ecn::NotEct, 0);
    bench.dequeue(0);
    bench.enqueue(0, 2_000, Ecn::NotEct, 0);
    for ms in 1..=430 {
        bench.dequeue(ms * 1_000);
    }
    while bench.state(0).backlog_packets > 0 {
        bench.dequeue(430_000);
    }
    // Fresh packets below target. A signal was due at 443.143 ms with a count of 8; instead the
    // count falls by one there and then at intervals of 100/√7, 100/√6, …
    let mut counts = Vec::new();
    for ms in (440..=600).step_by(10) {
        bench.enqueue(0, 2, Ecn::NotEct, ms * 1_000);
        bench.dequeue(ms * 1_000);
        bench.dequeue(ms * 1_000);
        counts.push(cobalt(&bench).count());
    }
    assert!(!cobalt(&bench).dropping());
    assert_eq!(counts[0], 8);
    assert!(
        counts.windows(2).all(|pair| pair[1] == pair[0] || pair[1] + 1 == pair[0]),
        "{counts:?}"
    );
    let last = counts[counts.len() - 1];
    assert!((1..8).contains(&last), "{counts:?}");
}

#[test]
fn ecn_capable_packets_are_marked_instead() {
    let mut bench = bench(params(true), 100_000);
    bench.enqueue(0, 1, Ecn::Ect0, 0);
    bench.dequeue(0);
    bench.enqueue(0, 2_000, Ecn::Ect0, 0);
    for ms in 1..=240 {
        bench.dequeue(ms * 1_000);
    }
    let marks: Vec<u64> = bench.events.marks.iter().map(|(_, at_us)| *at_us).collect();
    assert_eq!(marks, [106_000, 177_000, 235_000]);
    assert!(bench.events.drops.is_empty());
    assert_eq!(bench.state(0).stats.marked_packets, 3);
}

#[test]
fn l4s_packets_obey_the_threshold_and_blue_alone() {
    let l4s = CodelParams { ce_threshold_us: Some(1_000), l4s: true, ..params(true) };
    let mut bench = bench(l4s, 100_000);
    bench.enqueue(0, 400, Ecn::Ect1, 0);
    for ms in 1..=400 {
        bench.dequeue(ms * 1_000);
    }
    let stats = bench.state(0).stats;
    assert_eq!((stats.threshold_marked_packets, stats.marked_packets), (399, 0));
    assert_eq!(cobalt(&bench).count(), 0, "CoDel learns nothing from them");
}
