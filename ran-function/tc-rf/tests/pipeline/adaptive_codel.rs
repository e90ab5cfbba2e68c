//! CoDel for a radio: a dip is no queue, the target keeps the radio busy, and nobody waits beyond the bound.

use crate::util::aqm::Bench;
use e2sm_tc::v1::Ecn;
use proptest::prelude::*;
use tc_rf::DropReason;
use tc_rf::queueing::{AdaptiveCodelParams, AqmState, CodelParams, Discipline, MTU_BYTES};

const TARGET_US: u64 = 15_000;
const MAX_TARGET_US: u64 = 100_000;
const INTERVAL_US: u64 = 150_000;
const BOUND_US: u64 = 300_000;
const MS: u64 = 1_000;

fn params() -> AdaptiveCodelParams {
    AdaptiveCodelParams {
        codel: CodelParams {
            target_us: TARGET_US,
            interval_us: INTERVAL_US,
            ecn: true,
            ce_threshold_us: None,
            l4s: false,
            mtu_bytes: u64::from(MTU_BYTES),
        },
        max_target_us: MAX_TARGET_US,
        bound_us: Some(BOUND_US),
    }
}

fn bench() -> Bench {
    Bench::new(&[Discipline::AdaptiveCodel(params())])
}

fn target_us(bench: &mut Bench, now_us: u64) -> u64 {
    match bench.aqm(0, now_us) {
        AqmState::AdaptiveCodel(state) => state.target_us(&params()),
        other => panic!("{other:?}"),
    }
}

/// Serves a packet each `period_ms` while one arrives for each that leaves: a window that does not change.
fn window(bench: &mut Bench, ecn: Ecn, period_ms: u64, ms: std::ops::Range<u64>) {
    for now_ms in ms.step_by(period_ms as usize) {
        if bench.dequeue(now_ms * MS).is_some() {
            bench.enqueue(0, 1, ecn, now_ms * MS);
        }
    }
}

#[test]
fn a_dip_of_the_radio_is_no_queue() {
    let run = |discipline| {
        let mut bench = Bench::new(&[discipline]);
        bench.enqueue(0, 12, Ecn::NotEct, 0);
        window(&mut bench, Ecn::NotEct, 1, 0..2_000);
        assert!(bench.events.drops.is_empty(), "12 ms");
        // A twentieth of the rate for a second: 240 ms.
        window(&mut bench, Ecn::NotEct, 20, 2_000..3_000);
        bench.events.drops.len()
    };
    assert_eq!(run(Discipline::AdaptiveCodel(params())), 0);
    assert!(run(Discipline::Codel(params().codel)) > 3);
}

#[test]
fn a_rate_that_stays_low_becomes_the_rate() {
    let mut bench = bench();
    bench.enqueue(0, 12, Ecn::NotEct, 0);
    window(&mut bench, Ecn::NotEct, 1, 0..2_000);
    window(&mut bench, Ecn::NotEct, 10, 2_000..20_000);
    let (_, _, first_us) = bench.events.drops.first().expect("a drop");
    // What is behind the head, 11 packets, is 11 ms of the former rate, and 15 ms of it when the memory has
    // faded by a quarter: after 5 s · ln(15/11), and an interval later.
    let expected_ms = 2_000.0 + 5_000.0 * (15.0_f64 / 11.0).ln() + 150.0;
    assert!((*first_us as f64 / 1e3 - expected_ms).abs() < 100.0, "{first_us} of {expected_ms} ms");
}

#[test]
fn a_standing_queue_is_signalled_after_an_interval_by_codel_and_by_marks() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut bench = bench();
        bench.enqueue(0, 40, ecn, 0);
        window(&mut bench, ecn, 1, 0..200);
        let drops = bench.events.drops.iter().map(|(_, why, at_us)| {
            assert_eq!(*why, DropReason::Discipline("codel"));
            *at_us
        });
        let marks = bench.events.marks.iter().map(|(_, at_us)| *at_us);
        let at_us: Vec<u64> = if ecn == Ecn::NotEct { drops.collect() } else { marks.collect() };
        // The sojourn is above the target from 15 ms on.
        assert_eq!(at_us, [(15 * MS) + INTERVAL_US], "{ecn:?}");
    }
}

/// Runs the queue empty for `idle_ms` and refills it; returns when.
fn empties(bench: &mut Bench, from_ms: u64, idle_ms: u64) -> u64 {
    let mut now_ms = from_ms;
    while bench.state(0).backlog_packets > 0 {
        bench.dequeue(now_ms * MS);
        now_ms += 1;
    }
    let again_ms = now_ms - 1 + idle_ms;
    bench.enqueue(0, 20, Ecn::Ect0, again_ms * MS);
    bench.dequeue(again_ms * MS);
    again_ms
}

#[test]
fn the_target_grows_while_signals_leave_the_radio_idle_and_falls_back() {
    let mut bench = bench();
    bench.enqueue(0, 40, Ecn::Ect0, 0);
    window(&mut bench, Ecn::Ect0, 1, 0..200);
    assert!(!bench.events.marks.is_empty(), "a signal");
    let again_ms = empties(&mut bench, 200, 50);
    let raised_us = target_us(&mut bench, again_ms * MS);
    // 7 ms per thousandth of 20 s: 350 µs per ms of idleness, of which half of a gap of 1 ms is none.
    assert!((raised_us - TARGET_US).abs_diff(350 * 50 - 175) < 100, "{raised_us}");

    window(&mut bench, Ecn::Ect0, 1, again_ms + 1..again_ms + 60_000);
    let later_us = target_us(&mut bench, (again_ms + 60_000) * MS);
    assert!(later_us - TARGET_US < (raised_us - TARGET_US) / 15, "{later_us}");

    let mut now_ms = again_ms + 60_000;
    for _ in 0..50 {
        now_ms = empties(&mut bench, now_ms, 100);
        bench.enqueue(0, 200, Ecn::Ect0, now_ms * MS);
        window(&mut bench, Ecn::Ect0, 1, now_ms + 1..now_ms + 400);
    }
    assert_eq!(target_us(&mut bench, now_ms * MS), MAX_TARGET_US);
}

#[test]
fn idleness_that_no_signal_caused_leaves_the_target() {
    let mut bench = bench();
    let mut now_ms = 0;
    for _ in 0..100 {
        bench.enqueue(0, 5, Ecn::Ect0, now_ms * MS);
        now_ms = empties(&mut bench, now_ms, 50);
    }
    assert_eq!(target_us(&mut bench, now_ms * MS), TARGET_US, "no signal");
    bench.enqueue(0, 100, Ecn::Ect0, now_ms * MS);
    window(&mut bench, Ecn::Ect0, 1, now_ms + 1..now_ms + 400);
    assert!(!bench.events.marks.is_empty());
    // Longer than a sender's pause of a round trip: the application's.
    let now_ms = empties(&mut bench, now_ms + 400, 1_000);
    assert_eq!(target_us(&mut bench, now_ms * MS), TARGET_US);
}

#[test]
fn what_an_outage_left_of_a_sparse_flow_is_not_dropped() {
    let mut bench = bench();
    for outage in 0..3 {
        let since_us = outage * 10_000 * MS;
        (0..74).for_each(|n| bench.enqueue_len(0, 1, 200, Ecn::NotEct, since_us + n * 20 * MS));
        // Late already before: a trickle.
        for ms in [400, 410, 420] {
            bench.dequeue(since_us + ms * MS);
        }
        for ms in 5_000..6_000 {
            bench.dequeue(since_us + ms * MS);
        }
    }
    assert!(bench.events.drops.is_empty(), "{}", bench.events.drops.len());
}

#[test]
fn signals_that_fell_due_in_an_outage_are_not_caught_up() {
    let drops = |discipline| {
        let mut bench = Bench::new(&[discipline]);
        bench.enqueue(0, 400, Ecn::NotEct, 0);
        window(&mut bench, Ecn::NotEct, 1, 0..3_000);
        let before = bench.events.drops.len();
        bench.dequeue(8_000 * MS);
        bench.events.drops.len() - before
    };
    let unbounded = AdaptiveCodelParams { bound_us: None, ..params() };
    assert!(drops(Discipline::AdaptiveCodel(unbounded)) <= 10);
    assert!(drops(Discipline::Codel(params().codel)) > 100);
}

#[test]
fn a_sender_that_does_not_react_is_held_to_the_bound() {
    let mut bench = bench();
    let mut arrived_us = Vec::new();
    let mut longest_us = 0;
    for ms in 0..20_000u64 {
        bench.enqueue(0, 2, Ecn::NotEct, ms * MS);
        arrived_us.extend([ms * MS; 2]);
        let left = bench.dequeue(ms * MS).expect("a packet");
        if ms > 2_000 {
            longest_us = longest_us.max(ms * MS - arrived_us[left.number as usize]);
        }
    }
    assert!(longest_us <= BOUND_US, "{longest_us}");
    let bound = |why: &DropReason| *why == DropReason::Discipline("bound");
    assert!(bench.events.drops.iter().any(|(_, why, _)| bound(why)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever arrives and leaves when: the target stays within its limits, nothing is reordered, and
    /// each packet leaves or is dropped once.
    #[test]
    fn the_target_stays_within_its_limits(
        steps in prop::collection::vec((0u64..400_000, 0u32..40, 0u32..40), 1..200),
    ) {
        let mut bench = bench();
        let (mut now_us, mut entered, mut left) = (0, 0u64, 0u64);
        let mut last = None;
        for (wait_us, arrivals, departures) in steps {
            now_us += wait_us;
            bench.enqueue(0, arrivals, Ecn::NotEct, now_us);
            entered += u64::from(arrivals);
            for _ in 0..departures {
                let Some(packet) = bench.dequeue(now_us) else { break };
                prop_assert!(last < Some(packet.number));
                last = Some(packet.number);
                left += 1;
            }
            let target_us = target_us(&mut bench, now_us);
            prop_assert!((TARGET_US..=MAX_TARGET_US).contains(&target_us));
        }
        let queued = u64::from(bench.state(0).backlog_packets);
        prop_assert_eq!(entered, left + queued + bench.events.drops.len() as u64);
    }
}
