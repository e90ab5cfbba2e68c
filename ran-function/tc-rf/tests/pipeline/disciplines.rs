//! What holds for every queue discipline under every scheduler.

use std::collections::BTreeMap;

use crate::util::aqm::{disciplines, schedulers};
use crate::util::*;
use e2sm_tc::v1::*;
use proptest::prelude::*;
use tc_rf::TrafficControl;
use tc_rf::queueing::Queues;

/// Two queues of a discipline under a scheduler; flow `n` goes to queue `n % 2`.
fn pipeline(discipline: QueueDiscipline, scheduler: Scheduler) -> Pipeline {
    let set = QueueSet { discipline, limit_packets: Some(60), ..fifo(0, 2) };
    Pipeline { queues: vec![set], scheduler, ..by_port(2) }
}

/// What happens next. `Jump` is a clock that leaps, ahead or back.
#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u16, len_bytes: u32, ecn: Ecn },
    Serve(u32),
    Wait(u64),
    Jump(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let ecn = prop_oneof![
        2 => Just(Ecn::NotEct), 1 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)
    ];
    prop_oneof![
        12 => (0u16..2, prop_oneof![Just(1u32), 40..1501u32, Just(9_000)], ecn)
            .prop_map(|(flow, len_bytes, ecn)| Step::Arrive { flow, len_bytes, ecn }),
        6 => (0u32..4).prop_map(Step::Serve),
        6 => (0u64..20_000).prop_map(Step::Wait),
        1 => prop_oneof![0u64..1_000_000, Just(u64::MAX - 1), 0u64..1 << 50].prop_map(Step::Jump),
    ]
}

/// Runs the steps; in is out plus dropped plus queued at every one of them. Returns all that came
/// out or was dropped, for comparison.
fn run(queues: &mut Queues<TestPacket>, steps: &[Step]) -> Result<Vec<String>, TestCaseError> {
    let mut events = Recorder::default();
    let mut out = Vec::new();
    let (mut now_us, mut arrived) = (0u64, 0u64);
    let mut last = BTreeMap::new();
    for step in steps {
        let mut serve = 0;
        match *step {
            Step::Arrive { flow, len_bytes, ecn } => {
                let arriving = TestPacket { ecn, ..packet(flow, len_bytes, arrived) };
                arrived += 1;
                let queue = usize::from(flow);
                prop_assert!(queues.enqueue(queue, arriving, now_us, &mut events).is_ok());
            }
            Step::Serve(count) => serve = count,
            Step::Wait(us) => now_us = now_us.saturating_add(us),
            Step::Jump(us) => now_us = us,
        }
        for _ in 0..serve {
            let Some(next) = queues.dequeue(now_us, &mut events) else {
                prop_assert_eq!(queues.backlog_packets(), 0, "stalls with packets queued");
                break;
            };
            let previous = last.insert(next.queue, next.packet.number);
            prop_assert!(previous < Some(next.packet.number), "a flow out of order");
            out.push(format!("{next:?} at {now_us}"));
        }
        let gone = (out.len() + events.drops.len()) as u64;
        prop_assert_eq!(arrived, gone + u64::from(queues.backlog_packets()));
        let counted: u64 =
            (0..2).filter_map(|q| queues.state(q)).map(|s| s.stats.dropped_packets).sum();
        prop_assert_eq!(counted, events.drops.len() as u64, "each drop is counted");
    }
    // Every packet left comes out or is dropped with a reason.
    while queues.dequeue(now_us, &mut events).is_some_and(|next| {
        out.push(format!("{next:?}"));
        true
    }) {}
    prop_assert_eq!((queues.backlog_packets(), queues.backlog_bytes()), (0, 0));
    prop_assert_eq!(arrived, (out.len() + events.drops.len()) as u64);
    out.extend(events.drops.iter().map(|drop| format!("{drop:?}")));
    out.extend(events.marks.iter().map(|mark| format!("{mark:?}")));
    Ok(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_is_lost_reordered_or_stuck_and_the_seed_decides(
        steps in prop::collection::vec(step(), 1..300),
        seed in any::<u64>(),
    ) {
        for scheduler in schedulers(2) {
            for (_, discipline) in disciplines() {
                let pipeline = pipeline(discipline, scheduler.clone());
                let mut first = Queues::from_model(&pipeline, seed).expect("a good pipeline");
                let mut again = first.clone();
                prop_assert_eq!(run(&mut first, &steps)?, run(&mut again, &steps)?);
            }
        }
    }
}

#[test]
fn a_change_of_discipline_under_load_loses_nothing() {
    let names: Vec<_> = disciplines();
    let start = pipeline(names[0].1.clone(), Scheduler::RoundRobin);
    let mut tc = control(start);
    let mut events = Recorder::default();
    let (mut now_us, mut arrived, mut out) = (0, 0, 0);
    for (_, discipline) in names.iter().chain(names.iter().rev()) {
        for n in 0..100 {
            now_us += 700;
            let ecn = if n % 3 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            let arriving = TestPacket { ecn, ..packet(n % 2, 1_000, arrived) };
            tc.ingress(arriving, now_us, &mut events);
            arrived += 1;
        }
        let before = (tc.backlog_packets(), events.drops.len());
        let next = replace(pipeline(discipline.clone(), Scheduler::RoundRobin));
        let outcome = tc.apply(&next, now_us, &mut events);
        assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
        assert_eq!((tc.backlog_packets(), events.drops.len()), before);
        if arrived % 200 == 0 {
            tc.egress(now_us, &mut events, &mut |_| out += 1);
        }
    }
    tc.egress(now_us, &mut events, &mut |_| out += 1);
    assert_eq!(tc.backlog_packets(), 0);
    assert_eq!(arrived, out + events.drops.len() as u64);
    assert_eq!(tc.status(now_us).dropped_packets, events.drops.len() as u64);
}

#[test]
fn the_state_of_a_discipline_outlives_changes_elsewhere() {
    let mut tc = control(pipeline(crate::util::aqm::pie(false), Scheduler::RoundRobin));
    let mut events = Recorder::default();
    // A probability near 1: no packet leaves for long, then all that are in.
    for n in 0..60 {
        tc.ingress(packet(0, 1_500, n), 0, &mut events);
    }
    tc.egress(500_000, &mut events, &mut |_| {});
    for n in 60..120 {
        tc.ingress(packet(0, 1_500, n), 500_001 + n, &mut events);
    }
    let change = delta(vec![PipelineEdit::SetName("other".to_owned())]);
    let twin = tc.clone();
    tc.apply(&change, 500_200, &mut events);
    let later = |mut tc: TrafficControl<TestPacket>| {
        let mut events = Recorder::default();
        for n in 0..400 {
            tc.ingress(packet(0, 1_500, n), 800_000 + n, &mut events);
            if n % 2 == 0 {
                tc.egress(800_000 + n, &mut events, &mut |_| {});
            }
        }
        events.drops.iter().map(|(packet, ..)| packet.number).collect::<Vec<_>>()
    };
    assert_eq!(later(tc), later(twin));
}

/// Thousands of flows in one queue, the shortest and the longest packets, 64 queues.
#[test]
fn extremes_are_handled() {
    for (name, discipline) in disciplines() {
        let hash = StochasticHash::plain(target(0, 64));
        let sets = (0..32).map(|n| QueueSet { discipline: discipline.clone(), ..fifo(2 * n, 2) });
        let one_hash = StochasticHash { target: target(0, 1), ..hash };
        for classifier in [Classifier::StochasticHash(hash), Classifier::StochasticHash(one_hash)] {
            let mut tc = control(Pipeline {
                classifier,
                queues: sets.clone().collect(),
                scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 1514 },
                ..by_port(1)
            });
            let mut events = Recorder::default();
            let (mut out, mut now_us) = (0, 0);
            for n in 0..20_000u64 {
                now_us += 97;
                let len_bytes = if n % 2 == 0 { 1 } else { 9_000 };
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][n as usize % 3];
                let arriving = TestPacket { ecn, ..packet((n % 5_000) as u16, len_bytes, n) };
                tc.ingress(arriving, now_us, &mut events);
                if n % 64 == 0 {
                    tc.egress(now_us, &mut events, &mut |_| out += 1);
                }
            }
            tc.egress(now_us, &mut events, &mut |_| out += 1);
            assert_eq!(tc.backlog_packets(), 0, "{name}");
            assert_eq!(out + events.drops.len(), 20_000, "{name}");
            assert!(out > 0, "{name}");
        }
    }
}
