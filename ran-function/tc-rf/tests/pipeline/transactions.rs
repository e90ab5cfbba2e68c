//! Changes of a pipeline: all or nothing, and no packet lost.

use crate::util::transactions::{apply, is, refusal};
use crate::util::*;
use e2sm_tc::v1::*;
use tc_rf::templates::{FqCodel, NAMES, by_name, transparent};
use tc_rf::{TrafficControl, capabilities};

#[test]
fn every_template_is_accepted_and_counts_a_revision() {
    let mut tc = control(transparent());
    for (revision, name) in (2..).zip(NAMES) {
        let pipeline = by_name(name).expect("a template");
        assert_eq!(pipeline.name, name);
        let outcome = apply(&mut tc, &replace(pipeline));
        assert_eq!(outcome, ControlOutcome::Accepted { revision, lease_ms: None });
        let status = tc.status(0);
        assert_eq!((status.name.as_str(), status.revision, status.safe), (name, revision, false));
    }
    assert_eq!(by_name("cake"), None);
}

#[test]
fn capabilities_are_what_is_accepted() {
    let declared = capabilities();
    assert_eq!(declared.classifiers, Classifier::KINDS);
    assert_eq!(declared.queues, QueueDiscipline::KINDS);
    assert_eq!(declared.schedulers, Scheduler::KINDS);
    assert_eq!(declared.pacers, Pacer::KINDS);
    assert!(declared.policer && declared.shaper);
    assert_eq!((declared.max_queues, declared.max_filters), (4096, 256));
}

#[test]
fn a_stale_revision_changes_nothing() {
    let mut tc = control(by_port(2));
    let stale = Transaction { expected_revision: Some(7), ..replace(by_port(3)) };
    assert_eq!(refusal(&mut tc, &stale), is(Cause::StaleRevision, "expected_revision"));
    let current = Transaction { expected_revision: Some(1), ..replace(by_port(3)) };
    assert!(matches!(apply(&mut tc, &current), ControlOutcome::Accepted { revision: 2, .. }));
}

#[test]
fn another_bearer_is_unknown() {
    let mut tc = control(by_port(2));
    let other = BearerId { drb: 2, ..BEARER };
    let transaction = Transaction { bearer: other, ..replace(by_port(3)) };
    assert_eq!(refusal(&mut tc, &transaction), is(Cause::UnknownBearer, "bearer"));
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let mut tc = control(by_port(2));
    let mut events = Recorder::default();
    let dry = Transaction { dry_run: true, lease_ms: Some(500), ..replace(by_port(3)) };
    let outcome = tc.apply(&dry, 0, &mut events);
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 1, lease_ms: Some(500) });
    assert_eq!(tc.pipeline(), &by_port(2));
    assert!(events.events.is_empty());
    let bad = Transaction { dry_run: true, ..replace(Pipeline { queues: vec![], ..by_port(3) }) };
    assert_eq!(refusal(&mut tc, &bad), is(Cause::OutOfRange, "queues"));
}

#[test]
fn a_delta_is_applied_in_order_and_whole() {
    let mut tc = control(by_port(2));
    let rule = FlowMatch { protocol: Some(17), ..FlowMatch::default() };
    let filter = Filter { id: 50, rule, target: target(7, 2) };
    let edits = vec![
        PipelineEdit::AddQueues(fifo(7, 3)),
        PipelineEdit::AddFilter { position: 0, filter },
        PipelineEdit::RemoveQueues(target(9, 1)),
        PipelineEdit::ModifyQueues(QueueSet { limit_packets: Some(5), ..fifo(8, 1) }),
        PipelineEdit::RemoveFilter(1),
        PipelineEdit::SetScheduler(Scheduler::DeficitRoundRobin { quantum_bytes: 600 }),
        PipelineEdit::SetPacer(Pacer::E5gBdp),
        PipelineEdit::SetName("edited".to_owned()),
    ];
    let mut events = Recorder::default();
    assert!(matches!(
        tc.apply(&delta(edits), 0, &mut events),
        ControlOutcome::Accepted { revision: 2, .. }
    ));
    let p = tc.pipeline();
    let sets: Vec<_> = p.queues.iter().map(|s| (s.first, s.count, s.limit_packets)).collect();
    assert_eq!(sets, [(0, 2, None), (7, 1, None), (8, 1, Some(5))]);
    let Classifier::Osi(osi) = &p.classifier else { panic!("still OSI") };
    assert_eq!(osi.filters.iter().map(|f| f.id).collect::<Vec<_>>(), [50, 0]);
    assert_eq!((p.pacer, p.name.as_str()), (Pacer::E5gBdp, "edited"));
    let changed = EventKind::PipelineChanged { revision: 2, name: "edited".to_owned() };
    assert_eq!(events.events, [changed]);
}

#[test]
fn one_bad_edit_undoes_the_others() {
    let rule = FlowMatch::default();
    let add = |position, id| PipelineEdit::AddFilter {
        position,
        filter: Filter { id, rule: rule.clone(), target: target(0, 1) },
    };
    let name = PipelineEdit::SetName("half".to_owned());
    let hash = StochasticHash::plain(target(0, 2));
    let cases = [
        (add(9, 77), Cause::OutOfRange, "delta[1].add_filter.position"),
        (add(0, 1), Cause::DuplicateId, "delta[1].add_filter.filter.id"),
        (PipelineEdit::RemoveFilter(9), Cause::UnknownFilter, "delta[1].remove_filter"),
        (PipelineEdit::AddQueues(fifo(1, 4)), Cause::DuplicateId, "delta[1].add_queues"),
        (PipelineEdit::ModifyQueues(fifo(1, 4)), Cause::UnknownQueue, "delta[1].modify_queues"),
        (PipelineEdit::RemoveQueues(target(0, 9)), Cause::UnknownQueue, "delta[1].remove_queues"),
        (
            PipelineEdit::RemoveQueues(target(0, 0)),
            Cause::OutOfRange,
            "delta[1].remove_queues.count",
        ),
        (
            PipelineEdit::RemoveQueues(target(1, 1)),
            Cause::Inconsistent,
            "classifier.osi.filters[1].target",
        ),
        (
            PipelineEdit::AddQueues(QueueSet { count: 0, ..fifo(5, 1) }),
            Cause::OutOfRange,
            "delta[1].add_queues.count",
        ),
    ];
    for (edit, cause, element) in cases {
        let mut tc = control(by_port(2));
        assert_eq!(refusal(&mut tc, &delta(vec![name.clone(), edit])), is(cause, element));
    }
    let mut tc = control(by_port(2));
    let edits = vec![PipelineEdit::SetClassifier(Classifier::StochasticHash(hash)), add(0, 77)];
    assert_eq!(refusal(&mut tc, &delta(edits)), is(Cause::Inconsistent, "delta[1].add_filter"));
}

#[test]
fn packets_of_removed_queues_move_in_order_of_arrival() {
    let mut tc = control(by_port(3));
    for number in 0..9 {
        tc.ingress(packet((number % 3) as u16, 100, number), number, &mut ());
    }
    let edits = vec![
        PipelineEdit::RemoveFilter(1),
        PipelineEdit::RemoveFilter(2),
        PipelineEdit::RemoveQueues(target(1, 2)),
    ];
    assert!(matches!(apply(&mut tc, &delta(edits)), ControlOutcome::Accepted { .. }));
    assert_eq!(tc.backlog_packets(), 9);
    assert_eq!(numbers(&egress(&mut tc, 10)), (0..9).collect::<Vec<_>>());
}

#[test]
fn sojourn_goes_on_across_a_reconfiguration() {
    let mut tc = control(by_port(1));
    tc.ingress(packet(0, 100, 0), 1_000, &mut ());
    tc.apply(&replace(FqCodel::default().pipeline()), 5_000, &mut ());
    let status = tc.status(9_000);
    assert_eq!(status.head_of_line_age_us, 8_000);
    tc.apply(&replace(transparent()), 9_000, &mut ());
    assert_eq!(egress(&mut tc, 9_500).len(), 1);
    let queue = tc.status(9_500).queues[0];
    assert_eq!(queue.last_sojourn_us, 8_500);
}

#[test]
fn a_smaller_buffer_drops_nothing_that_is_queued() {
    for overflow in [Overflow::Tail, Overflow::FattestHead] {
        let mut tc = control(by_port(2));
        let mut events = Recorder::default();
        for number in 0..500 {
            tc.ingress(packet(1, 1500, number), 0, &mut events);
        }
        let buffer = BufferLimit { packets: 10, bytes: 15_000, overflow };
        let edits = vec![
            PipelineEdit::SetBuffer(buffer),
            PipelineEdit::ModifyQueues(QueueSet { limit_packets: Some(1), ..fifo(1, 1) }),
        ];
        tc.apply(&delta(edits), 0, &mut events);
        assert_eq!((tc.backlog_packets(), events.drops.len()), (500, 0));
        tc.ingress(packet(1, 1500, 500), 0, &mut events);
        assert!(!events.drops.is_empty(), "the limit is for later arrivals");
    }
}

#[test]
fn codel_goes_on_where_a_queue_stays() {
    let mut tc =
        control(FqCodel { pacer: Pacer::None, queues: 1, ..FqCodel::default() }.pipeline());
    let mut events = Recorder::default();
    // A shaped queue with a standing backlog: CoDel gets into its dropping state.
    let mut set = tc.pipeline().queues[0].clone();
    set.shaper = Some(Shaper { rate_kbps: 12_000, burst_bytes: 1500, group: None });
    let edit = delta(vec![PipelineEdit::ModifyQueues(set)]);
    tc.apply(&edit, 0, &mut events);
    for number in 0..1_000 {
        tc.ingress(packet(0, 1500, number), 0, &mut events);
    }
    for ms in 0..300 {
        tc.egress(ms * 1000, &mut events, &mut |_| {});
    }
    let drops = events.drops.len();
    assert!(drops >= 2);
    let renamed = delta(vec![PipelineEdit::SetName("renamed".to_owned())]);
    tc.apply(&renamed, 300_000, &mut events);
    for ms in 300..400 {
        tc.egress(ms * 1000, &mut events, &mut |_| {});
    }
    // Starting over would take until 400 ms for the first drop.
    assert!(events.drops.len() > drops);
}

#[test]
fn repeating_a_transaction_gives_no_fresh_burst() {
    let mut pipeline = by_port(1);
    pipeline.queues[0].shaper = Some(Shaper { rate_kbps: 8, burst_bytes: 15_000, group: None });
    let mut tc = control(pipeline.clone());
    for number in 0..100 {
        tc.ingress(packet(0, 1500, number), 0, &mut ());
    }
    assert_eq!(egress(&mut tc, 0).len(), 10);
    for _ in 0..5 {
        tc.apply(&replace(pipeline.clone()), 0, &mut ());
        pipeline.name.push('x');
        pipeline.scheduler = match pipeline.scheduler {
            Scheduler::RoundRobin => Scheduler::DeficitRoundRobin { quantum_bytes: 1514 },
            _ => Scheduler::RoundRobin,
        };
        assert_eq!(egress(&mut tc, 0).len(), 0);
    }
}

#[test]
fn a_bad_safe_pipeline_is_an_error() {
    let bad = Pipeline { queues: vec![], ..by_port(1) };
    let error = TrafficControl::<TestPacket>::new(BEARER, bad, 1).expect_err("no queues");
    assert_eq!((error.cause, error.element.as_str()), (Cause::OutOfRange, "queues"));
}

#[test]
fn a_name_the_wire_cannot_carry_is_refused() {
    let mut tc = control(by_port(1));
    for name in ["", "déjà vu", "a\nb", &"x".repeat(65)] {
        let renamed = Pipeline { name: name.to_owned(), ..by_port(2) };
        let outcome = tc.apply(&replace(renamed), 0, &mut Recorder::default());
        let ControlOutcome::Refused { cause, element, .. } = outcome else {
            panic!("{name:?} was taken");
        };
        assert_eq!((cause, element.as_str()), (Cause::OutOfRange, "name"));
    }
}
