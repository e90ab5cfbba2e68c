//! A pipeline that takes over a backlog: what was queued before is forwarded, what came meanwhile is
//! cut once, and the discipline decides about the rest.

use crate::util::{Recorder, TestPacket, by_port, control, packet, replace};
use e2sm_tc::v1::*;
use tc_rf::{BlockRoom, DropReason, TrafficControl};

const SECOND_US: u64 = 1_000_000;
/// Time at which the pipeline changes in these tests.
const CHANGE_US: u64 = 2 * SECOND_US;
/// The next ms, and the one in which the backlog of [`changed`] has left, a packet each ms.
const NEXT_US: u64 = CHANGE_US + 1000;
const CLEARED_US: u64 = 2 * CHANGE_US + 1000;

fn codel(ecn: bool) -> QueueDiscipline {
    QueueDiscipline::Codel(Codel {
        target_us: 5_000,
        interval_us: 100_000,
        ecn,
        ce_threshold_us: None,
        l4s: false,
    })
}

const BODE: QueueDiscipline = QueueDiscipline::Bode { bound_us: 300_000, spare_bytes: None };

/// Two queues of one discipline, pulled just in time; flow `n` goes to queue `n`.
fn pulled(discipline: QueueDiscipline) -> Pipeline {
    let mut pipeline = Pipeline { pacer: Pacer::JustInTime, ..by_port(2) };
    pipeline.queues[0].discipline = discipline;
    pipeline
}

const FIFO: QueueDiscipline = QueueDiscipline::Fifo { drop: FifoDrop::Tail };

/// A packet per ms, numbered by its ms, from `from_us` to `to_us`.
fn arrive(tc: &mut TrafficControl<TestPacket>, ecn: Ecn, from_us: u64, to_us: u64) {
    for at_us in (from_us..to_us).step_by(1000) {
        tc.ingress(TestPacket { ecn, ..packet(1, 1500, at_us / 1000) }, at_us, &mut ());
    }
}

fn pull(tc: &mut TrafficControl<TestPacket>, now_us: u64, events: &mut Recorder) -> Option<u64> {
    tc.buffer_status(now_us, events);
    let room = BlockRoom { bytes: 1600, next_block: None };
    tc.pull(&room, now_us, events).map(|packet| packet.number)
}

/// FIFOs with 2 s of backlog, replaced at [`CHANGE_US`].
fn changed(discipline: QueueDiscipline, ecn: Ecn) -> TrafficControl<TestPacket> {
    let mut tc = control(pulled(FIFO));
    arrive(&mut tc, ecn, 0, CHANGE_US);
    tc.apply(&replace(pulled(discipline)), CHANGE_US, &mut ());
    tc
}

/// Pulls a packet each ms while one arrives each ms; what was pulled up to `to_us`.
fn serve(
    tc: &mut TrafficControl<TestPacket>,
    ecn: Ecn,
    (from_us, to_us): (u64, u64),
    events: &mut Recorder,
) -> Vec<u64> {
    let mut out = Vec::new();
    for now_us in (from_us..to_us).step_by(1000) {
        arrive(tc, ecn, now_us, now_us + 1000);
        out.extend(pull(tc, now_us, events));
    }
    out
}

#[test]
fn what_was_queued_before_is_forwarded_and_what_came_meanwhile_is_cut_once() {
    for discipline in [codel(false), QueueDiscipline::Cobalt(cobalt())] {
        let mut tc = changed(discipline.clone(), Ecn::NotEct);
        let mut events = Recorder::default();
        let served = serve(&mut tc, Ecn::NotEct, (NEXT_US, CLEARED_US), &mut events);
        assert_eq!(served, (0..2000).collect::<Vec<_>>(), "{discipline:?}: the inherited backlog");
        assert!(events.drops.is_empty(), "{discipline:?}");

        let next = pull(&mut tc, CLEARED_US, &mut events).expect("a packet");
        assert_eq!(next, 3901, "{discipline:?}: what waited for 100 ms stays");
        let cut: Vec<_> =
            events.drops.iter().map(|(packet, why, _)| (packet.number, *why)).collect();
        let expected: Vec<_> = (2001..3901).map(|n| (n, DropReason::Takeover)).collect();
        assert_eq!(cut, expected, "{discipline:?}");

        events.drops.clear();
        let rest = (CLEARED_US, CLEARED_US + 5 * SECOND_US);
        serve(&mut tc, Ecn::NotEct, rest, &mut events);
        let repeated = events.drops.iter().any(|(_, why, _)| *why == DropReason::Takeover);
        assert!(!repeated, "{discipline:?}: its own rules from there on");
    }
}

fn cobalt() -> Codel {
    let QueueDiscipline::Codel(codel) = codel(false) else { panic!("CoDel") };
    codel
}

#[test]
fn a_bound_holds_for_an_inherited_queue_once_it_has_been_within_it() {
    let mut tc = changed(BODE, Ecn::NotEct);
    let mut events = Recorder::default();
    let kept = serve(&mut tc, Ecn::NotEct, (NEXT_US, CLEARED_US), &mut events);
    assert_eq!(kept, (0..2000).collect::<Vec<_>>());
    let rest: Vec<u64> =
        (0..1_700).filter_map(|n| pull(&mut tc, CLEARED_US + n * 1000, &mut events)).collect();
    assert_eq!(rest.len(), 1_700, "its wait falls from two seconds to 300 ms");
    assert!(events.drops.is_empty());
    let late_us = CLEARED_US + 3 * SECOND_US;
    assert_eq!(pull(&mut tc, late_us, &mut events), Some(3701), "still as inherited");
    let within_us = 4 * SECOND_US;
    let mut tc = changed(BODE, Ecn::NotEct);
    for _ in 0..2000 {
        pull(&mut tc, CHANGE_US, &mut events);
    }
    arrive(&mut tc, Ecn::NotEct, CHANGE_US, within_us);
    assert_eq!(pull(&mut tc, within_us, &mut events), Some(3700), "300 ms");
    assert!(events.drops.iter().all(|(_, why, _)| *why == DropReason::Discipline("bode")));
}

#[test]
fn the_cut_leaves_three_packets_for_duplicate_acknowledgements() {
    let mut tc = changed(codel(false), Ecn::NotEct);
    arrive(&mut tc, Ecn::NotEct, NEXT_US, NEXT_US + 10_000);
    let mut events = Recorder::default();
    let now_us = CHANGE_US + SECOND_US;
    let served: Vec<u64> = std::iter::from_fn(|| pull(&mut tc, now_us, &mut events)).collect();
    let expected: Vec<u64> = (0..2000).chain(2008..2011).collect();
    assert_eq!(served, expected);
    assert_eq!(events.drops.len(), 7);
}

#[test]
fn flows_that_are_marked_are_neither_spared_nor_cut() {
    let mut tc = changed(codel(true), Ecn::Ect0);
    let mut events = Recorder::default();
    let served = serve(&mut tc, Ecn::Ect0, (CHANGE_US, 3 * CHANGE_US), &mut events);
    assert_eq!(served, (0..4000).collect::<Vec<_>>());
    assert!(events.drops.is_empty());
    let first_us = events.marks.first().map(|(_, at_us)| *at_us);
    assert_eq!(first_us, Some(CHANGE_US + 100_000), "CoDel's own first signal");
}

#[test]
fn a_backlog_that_is_not_late_is_the_disciplines_from_the_start() {
    let mut tc = control(pulled(FIFO));
    arrive(&mut tc, Ecn::NotEct, 0, 50_000);
    tc.apply(&replace(pulled(codel(false))), 50_000, &mut ());
    let mut plain = control(pulled(codel(false)));
    arrive(&mut plain, Ecn::NotEct, 0, 50_000);
    let (mut events, mut expected) = (Recorder::default(), Recorder::default());
    let served = serve(&mut tc, Ecn::NotEct, (50_000, SECOND_US), &mut events);
    assert_eq!(served, serve(&mut plain, Ecn::NotEct, (50_000, SECOND_US), &mut expected));
    assert!(!events.drops.is_empty());
    assert_eq!(events.drops, expected.drops);
}

#[test]
fn what_the_rlc_returns_is_inherited() {
    let mut tc = control(by_port(2));
    arrive(&mut tc, Ecn::NotEct, 0, CHANGE_US);
    let mut down = Vec::new();
    tc.egress(CHANGE_US, &mut (), &mut |packet| down.push(packet));
    tc.apply(&replace(pulled(codel(false))), CHANGE_US, &mut ());
    let returned = down.into_iter().map(|packet| {
        let arrived_us = packet.number * 1000;
        (packet, arrived_us)
    });
    tc.recall_unsent(returned.collect::<Vec<_>>().into_iter(), CHANGE_US + 500);
    let mut events = Recorder::default();
    let served = serve(&mut tc, Ecn::NotEct, (CHANGE_US + 1000, 2 * CHANGE_US), &mut events);
    assert_eq!(served, (0..1999).collect::<Vec<_>>());
    assert!(events.drops.is_empty());
}

#[test]
fn the_same_pipeline_again_spares_nothing_that_came_after_the_first() {
    let mut tc = changed(codel(false), Ecn::NotEct);
    let mut events = Recorder::default();
    let mut now_us = NEXT_US;
    while now_us < CLEARED_US {
        serve(&mut tc, Ecn::NotEct, (now_us, now_us + 500_000), &mut events);
        now_us += 500_000;
        tc.apply(&replace(pulled(codel(false))), now_us, &mut ());
    }
    assert_eq!(pull(&mut tc, now_us, &mut events), Some(3901));
    assert_eq!(events.drops.len(), 1900);
}

#[test]
fn a_longer_bound_takes_nothing_over_and_a_shorter_one_does() {
    let bode = |bound_us| pulled(QueueDiscipline::Bode { bound_us, spare_bytes: None });
    for (from_us, to_us) in [(300_000, 400_000), (400_000, 300_000)] {
        let mut tc = control(bode(from_us));
        arrive(&mut tc, Ecn::NotEct, 0, 350_000);
        tc.apply(&replace(bode(to_us)), 350_000, &mut ());
        let mut events = Recorder::default();
        assert_eq!(pull(&mut tc, 350_000, &mut events), Some(0));
        assert!(events.drops.is_empty());
    }
    let mut tc = control(bode(300_000));
    arrive(&mut tc, Ecn::NotEct, 0, 350_000);
    tc.apply(&replace(bode(300_000)), 350_000, &mut ());
    assert_eq!(pull(&mut tc, 350_000, &mut Recorder::default()), Some(50), "the bound holds");
}
