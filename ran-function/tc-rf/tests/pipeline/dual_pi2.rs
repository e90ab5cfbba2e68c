//! L4S marking and DualPI2 on virtual time, against RFC 9332 appendix A.

use crate::util::aqm::Bench;
use crate::util::*;
use e2sm_tc::v1::{Cause, ControlOutcome, Ecn, Pipeline, QueueDiscipline, QueueSet};
use tc_rf::DropReason;
use tc_rf::queueing::{AqmState, Discipline, DualPi2, DualPi2Params, Member, RampParams};

const PARAMS: DualPi2Params =
    DualPi2Params { target_us: 15_000, update_us: 16_000, coupling_milli: 2_000 };
const L: usize = 0;
const C: usize = 1;

fn pair() -> Bench {
    let member = |member| Discipline::DualPi2(PARAMS, member);
    Bench::new(&[member(Member::LowLatency), member(Member::Classic)])
}

fn state(bench: &mut Bench, now_us: u64) -> DualPi2 {
    match bench.aqm(C, now_us) {
        AqmState::DualPi2(state) => state,
        other => panic!("{other:?}"),
    }
}

/// A Classic queue that is not served until update `updates`; the clock stands 1 ms after it.
fn loaded(updates: u64) -> (Bench, u64) {
    let mut bench = pair();
    bench.enqueue(C, 4_000, Ecn::NotEct, 0);
    (bench, 16_000 * updates + 1_000)
}

/// Serves `count` packets of `queue` alone and gives (forwarded, forwarded with CE, dropped).
fn serve(bench: &mut Bench, queue: usize, count: u64, now_us: u64) -> (u64, u64, u64) {
    let before = bench.state(queue).stats;
    loop {
        let stats = bench.state(queue).stats;
        let taken = |s: tc_rf::queueing::QueueStats| s.forwarded_packets + s.dropped_packets;
        if taken(stats) - taken(before) >= count {
            let marked = stats.marked_packets - before.marked_packets;
            let forwarded = stats.forwarded_packets - before.forwarded_packets;
            return (forwarded, marked, stats.dropped_packets - before.dropped_packets);
        }
        bench.dequeue(now_us).expect("a packet");
    }
}

#[test]
fn the_base_probability_follows_the_pi_controller() {
    // alpha = 0.1 · 0.016 / 0.1² = 0.16, beta = 0.3 / 0.1 = 3. The head of C is 16 n ms old at
    // update n: the step is 0.16 (0.016 n − 0.015) + 3 · 0.016.
    let expected =
        [0.048_16, 0.098_88, 0.152_16, 0.208, 0.266_4, 0.327_36, 0.390_88, 0.456_96, 0.525_6];
    let (mut bench, _) = loaded(0);
    for (n, expected) in (1..).zip(expected) {
        let before = state(&mut bench, 16_000 * n - 1).base_probability();
        let now = state(&mut bench, 16_000 * n);
        assert!((now.base_probability() - expected).abs() < 1e-12, "{n}");
        assert!(before < now.base_probability());
        assert_eq!(now.delay_us(), 16_000 * n);
        // p_C = p'², p_CL = k p'.
        assert!((now.classic_probability() - expected * expected).abs() < 1e-12);
        assert!((now.coupled_probability(&PARAMS) - 2.0 * expected).abs() < 1e-12);
    }
    assert_eq!(state(&mut bench, 10_000_000).base_probability(), 1.0, "clamped");
}

#[test]
fn the_probability_falls_to_zero_once_the_queues_are_empty() {
    let (mut bench, now_us) = loaded(4);
    while bench.dequeue(now_us).is_some() {}
    // The delay falls from 64 ms to 0: 0.16 · −0.015 − 3 · 0.064 = −0.1944.
    let fallen = state(&mut bench, 80_000).base_probability();
    assert!((fallen - (0.208 - 0.194_4)).abs() < 1e-12, "{fallen}");
    // Then by 0.0024 per update.
    assert!((state(&mut bench, 96_000).base_probability() - 0.011_2).abs() < 1e-12);
    assert_eq!(state(&mut bench, 200_000).base_probability(), 0.0);
}

#[test]
fn classic_is_dropped_by_the_square_and_l4s_marked_in_proportion() {
    let (mut bench, now_us) = loaded(4);
    bench.enqueue(L, 2_000, Ecn::Ect1, now_us);
    // p' = 0.208: p_C = 0.043264, p_CL = 0.416. Signals recur evenly.
    let (forwarded, marked, dropped) = serve(&mut bench, L, 1_001, now_us);
    assert_eq!((forwarded, marked, dropped), (1_001, 416, 0));
    let taken = bench.state(C).stats.forwarded_packets + bench.state(C).stats.dropped_packets;
    let dropped = bench.state(C).stats.dropped_packets;
    assert_eq!(dropped, (taken as f64 * 0.043_264).floor() as u64);
    assert!(
        bench
            .events
            .drops
            .iter()
            .all(|(_, reason, _)| *reason == DropReason::Discipline("dual_pi2"))
    );
    assert_eq!(state(&mut bench, now_us).c_sojourn_us(), now_us);
    assert_eq!(state(&mut bench, now_us).l_sojourn_us(), 0);
}

#[test]
fn classic_ecn_is_marked_with_the_same_probability() {
    let mut bench = pair();
    bench.enqueue(C, 4_000, Ecn::Ect0, 0);
    let (forwarded, marked, dropped) = serve(&mut bench, C, 1_001, 65_000);
    assert_eq!((forwarded, marked, dropped), (1_001, 43, 0));
}

#[test]
fn overload_drops_l4s_like_classic_and_disables_ecn() {
    let mut bench = pair();
    bench.enqueue(C, 4_000, Ecn::Ect0, 0);
    let now_us = 9 * 16_000 + 1_000;
    bench.enqueue(L, 2_000, Ecn::Ect1, now_us);
    // p' = 0.5256: p_CL = 1.0512 is saturated; p_C = 0.27625536 is above p_Cmax = 1/k² = 0.25.
    let (forwarded, marked, dropped) = serve(&mut bench, L, 1_001, now_us);
    assert_eq!(dropped, ((forwarded + dropped) as f64 * 0.276_255_36).floor() as u64);
    assert_eq!(forwarded, marked, "what is left is marked, all of it");
    let stats = bench.state(C).stats;
    assert_eq!(stats.marked_packets, 0);
    let taken = stats.forwarded_packets + stats.dropped_packets;
    assert_eq!(stats.dropped_packets, (taken as f64 * 0.276_255_36).floor() as u64);
}

#[test]
fn l4s_traffic_alone_drives_the_controller_too() {
    let mut bench = pair();
    bench.enqueue(L, 100, Ecn::Ect1, 0);
    assert!((state(&mut bench, 16_000).base_probability() - 0.048_16).abs() < 1e-12);
}

#[test]
fn the_native_step_is_2_ms_and_the_longest_gap_between_departures() {
    // One packet leaves each 100 µs; before, a slot of TDD without downlink of 2 ms, or none.
    for (slot_us, unmarked) in [(0, 21), (2_000, 40)] {
        let mut bench = pair();
        bench.enqueue(L, 1, Ecn::Ect1, 1_000);
        assert_eq!(serve(&mut bench, L, 1, 1_000 + slot_us), (1, 0, 0), "no congestion");
        let start_us = 1_000 + slot_us;
        bench.enqueue(L, 100, Ecn::Ect1, start_us);
        let marked = (1..=100).map(|n| serve(&mut bench, L, 1, start_us + 100 * n).1);
        // The hundredth packet is alone.
        assert_eq!(marked.sum::<u64>(), 99 - unmarked, "{slot_us}");
    }
    let mut lone = pair();
    lone.enqueue(L, 1, Ecn::Ect1, 0);
    assert_eq!(lone.dequeue(10_000).expect("a packet").ecn, Ecn::Ect1);
}

#[test]
fn packets_in_the_queue_they_do_not_belong_to_get_their_own_signal() {
    // p' = 0.208: ECT(1) in C is marked with p_CL.
    let mut bench = pair();
    bench.enqueue(C, 2_000, Ecn::Ect1, 0);
    let (forwarded, marked, dropped) = serve(&mut bench, C, 1_001, 65_000);
    assert_eq!((forwarded, marked, dropped), (1_001, 416, 0));
    // In L, (p_L / k)² is p_C as long as the native ramp is silent.
    for (ecn, marked, dropped) in [(Ecn::Ect0, 43, 0), (Ecn::NotEct, 0, 43)] {
        let (mut bench, now_us) = loaded(4);
        bench.enqueue(L, 1_001, ecn, now_us);
        assert_eq!(serve(&mut bench, L, 1_001, now_us), (1_001 - dropped, marked, dropped));
    }
}

#[test]
fn immediate_marking_is_a_step_or_a_ramp() {
    let marks = |ramp: RampParams, sojourn_us: u64, ecn: Ecn| {
        let mut bench = Bench::new(&[Discipline::L4sMarking(ramp)]);
        bench.enqueue(0, 1_000, ecn, 0);
        while bench.dequeue(sojourn_us).is_some() {}
        let stats = bench.state(0).stats;
        assert_eq!((stats.forwarded_packets, stats.dropped_packets), (1_000, 0));
        stats.threshold_marked_packets
    };
    let step = RampParams { threshold_us: 1_000, ramp_us: 1_000 };
    let ramp = RampParams { threshold_us: 1_000, ramp_us: 5_000 };
    let cases = [
        (step, 999, Ecn::Ect1, 0),
        (step, 1_000, Ecn::Ect1, 1_000),
        (ramp, 1_000, Ecn::Ect1, 0),
        (ramp, 2_000, Ecn::Ect1, 250),
        (ramp, 4_000, Ecn::Ect0, 750),
        (ramp, 5_000, Ecn::Ce, 1_000),
        (ramp, 5_000, Ecn::NotEct, 0),
    ];
    for (ramp, sojourn_us, ecn, expected) in cases {
        assert_eq!(marks(ramp, sojourn_us, ecn), expected, "{sojourn_us} {ecn:?}");
    }
}

fn dual(first: u16, count: u16) -> QueueSet {
    let discipline =
        QueueDiscipline::DualPi2 { target_us: 15_000, update_us: 16_000, coupling_milli: 2_000 };
    QueueSet { discipline, ..fifo(first, count) }
}

fn two_pairs() -> Pipeline {
    Pipeline { queues: vec![dual(0, 2), dual(2, 2), fifo(4, 1)], ..by_port(5) }
}

#[test]
fn pairs_of_one_pipeline_are_separate_and_survive_reconfiguration() {
    let mut tc = control(two_pairs());
    for n in 0..600 {
        tc.ingress(packet(1, 1500, n), 0, &mut ());
        tc.ingress(packet(3, 1500, n), 79_000, &mut ());
    }
    // A change of another queue keeps p', which has had five updates: the C packets of the first
    // pair are dropped by its square, those of the second pair are fresh.
    let change = delta(vec![e2sm_tc::v1::PipelineEdit::ModifyQueues(QueueSet {
        limit_packets: Some(9),
        ..fifo(4, 1)
    })]);
    let mut events = Recorder::default();
    let outcome = tc.apply(&change, 81_000, &mut events);
    assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
    tc.egress(81_000, &mut events, &mut |_| {});
    let dropped =
        |flow_number| events.drops.iter().filter(|(p, ..)| p.flow == flow(flow_number)).count();
    // 600 · 0.2664².
    assert_eq!((dropped(1), dropped(3)), (42, 0));
}

#[test]
fn a_pair_is_two_queues() {
    for count in [1, 3] {
        let pipeline = Pipeline { queues: vec![dual(0, count), fifo(10, 1)], ..by_port(1) };
        match control(by_port(1)).apply(&replace(pipeline), 0, &mut ()) {
            ControlOutcome::Refused { cause, element, detail, .. } => {
                assert_eq!((cause, element.as_str()), (Cause::Inconsistent, "queues[0].count"));
                assert!(detail.contains("expected two queues"), "{detail}");
            }
            accepted => panic!("{accepted:?}"),
        }
    }
}
