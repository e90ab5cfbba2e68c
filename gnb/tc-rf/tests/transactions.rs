//! Changes of a pipeline: all or nothing, and no packet lost.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod util;

use e2sm_tc::v1::*;
use tc_rf::templates::{NAMES, TemplateParams, by_name, fq_codel, transparent};
use tc_rf::{MAX_QUEUES, TrafficControl, capabilities};
use util::*;

fn apply(tc: &mut TrafficControl<TestPacket>, transaction: &Transaction) -> ControlOutcome {
    tc.apply(transaction, 0, &mut ())
}

/// Cause and element of a refusal; what is in force must not have changed.
fn refusal(tc: &mut TrafficControl<TestPacket>, transaction: &Transaction) -> (Cause, String) {
    let (pipeline, revision) = (tc.pipeline().clone(), tc.revision());
    let outcome = apply(tc, transaction);
    assert_eq!(tc.pipeline(), &pipeline);
    assert_eq!(tc.revision(), revision);
    match outcome {
        ControlOutcome::Refused { cause, element, detail, revision: at } => {
            assert!(!detail.is_empty());
            assert_eq!(at, (cause != Cause::UnknownBearer).then_some(revision));
            (cause, element)
        }
        ControlOutcome::Accepted { .. } => panic!("accepted {transaction:?}"),
    }
}

fn refused(edit: impl FnOnce(&mut Pipeline)) -> (Cause, String) {
    let mut pipeline = by_port(4);
    edit(&mut pipeline);
    refusal(&mut control(by_port(4)), &replace(pipeline))
}

fn is(cause: Cause, element: &str) -> (Cause, String) {
    (cause, element.to_owned())
}

#[test]
fn every_template_is_accepted_and_counts_a_revision() {
    let mut tc = control(transparent());
    let params = TemplateParams { greedy: vec![flow(1), flow_v6(2)], ..TemplateParams::default() };
    for (revision, name) in (2..).zip(NAMES) {
        let pipeline = by_name(name, &params).expect("a template");
        assert_eq!(pipeline.name, name);
        let outcome = apply(&mut tc, &replace(pipeline));
        assert_eq!(outcome, ControlOutcome::Accepted { revision, lease_ms: None });
        let status = tc.status(0);
        assert_eq!((status.name.as_str(), status.revision, status.safe), (name, revision, false));
    }
    assert_eq!(by_name("cake", &params), None);
}

#[test]
fn capabilities_are_what_is_accepted() {
    let declared = capabilities();
    assert_eq!(declared.classifiers, ["round_robin", "stochastic_hash", "osi"]);
    assert_eq!(declared.queues, ["fifo", "codel"]);
    assert_eq!(declared.schedulers, ["round_robin", "deficit_round_robin", "strict_priority"]);
    assert_eq!(declared.pacers, ["none", "bdp5g", "e5g_bdp", "drql"]);
    assert!(declared.policer && declared.shaper);
    assert_eq!((declared.max_queues, declared.max_filters), (4096, 256));
}

#[test]
fn kinds_that_are_not_here_are_refused_by_name() {
    let hash = StochasticHash { target: target(0, 4), perturbation: None, ways: 1 };
    let codel =
        Codel { target_us: 1, interval_us: 2, ecn: false, ce_threshold_us: None, l4s: false };
    let disciplines = [
        (
            QueueDiscipline::Pie {
                target_us: 1,
                update_us: 1,
                alpha_milli: 1,
                beta_milli: 1,
                ecn: false,
            },
            "pie",
        ),
        (
            QueueDiscipline::Red {
                min_bytes: 1,
                max_bytes: 2,
                max_probability_milli: 1,
                ecn: false,
            },
            "red",
        ),
        (QueueDiscipline::Cobalt(codel), "cobalt"),
        (QueueDiscipline::Bode { bound_us: 1 }, "bode"),
        (QueueDiscipline::L4sMarking { threshold_us: 1, ramp_us: 1 }, "l4s_marking"),
        (QueueDiscipline::DualPi2 { target_us: 1, update_us: 1, coupling_milli: 1 }, "dual_pi2"),
    ];
    for (discipline, name) in disciplines {
        assert_eq!(
            refused(|p| p.queues[0].discipline = discipline),
            is(Cause::Unsupported, &format!("queues[0].discipline.{name}"))
        );
    }
    let schedulers = [
        (Scheduler::Weighted { quantum_bytes: 1500, weights: vec![] }, "weighted"),
        (
            Scheduler::ConditionalPriority { l4s: 0, classic: 1, time_shift_us: 1 },
            "conditional_priority",
        ),
        (Scheduler::EarliestDeadlineFirst { budgets: vec![] }, "earliest_deadline_first"),
    ];
    for (scheduler, name) in schedulers {
        assert_eq!(
            refused(|p| p.scheduler = scheduler),
            is(Cause::Unsupported, &format!("scheduler.{name}"))
        );
    }
    let pacers = [
        (Pacer::Dql { min_bytes: 1, max_bytes: 2 }, "dql"),
        (
            Pacer::DynRlc {
                interval_us: 1,
                target_us: 1,
                min_sdus: 1,
                max_sdus: 2,
                alpha_milli: 1,
            },
            "dyn_rlc",
        ),
        (Pacer::Ebb { target_us: 1 }, "ebb"),
        (Pacer::UpfSdap, "upf_sdap"),
        (Pacer::Forecast { stale_us: 1 }, "forecast"),
    ];
    for (pacer, name) in pacers {
        assert_eq!(refused(|p| p.pacer = pacer), is(Cause::Unsupported, &format!("pacer.{name}")));
    }
    let l4s = L4sEcnClassifier { l4s: target(0, 1), classic: target(1, 1) };
    let classifiers = [
        (Classifier::L4sEcn(l4s), "classifier.l4s_ecn"),
        (Classifier::HostThenFlow(hash), "classifier.host_then_flow"),
        (
            Classifier::StochasticHash(StochasticHash { ways: 8, ..hash }),
            "classifier.stochastic_hash.ways",
        ),
    ];
    for (classifier, element) in classifiers {
        assert_eq!(refused(|p| p.classifier = classifier), is(Cause::Unsupported, element));
    }
}

#[test]
fn a_value_out_of_range_names_its_place() {
    let codel = |target_us, interval_us| {
        QueueDiscipline::Codel(Codel {
            target_us,
            interval_us,
            ecn: false,
            ce_threshold_us: None,
            l4s: false,
        })
    };
    let filter = |rule: FlowMatch| osi(vec![(rule, target(0, 1))], target(0, 1));
    let v4 = std::net::Ipv4Addr::LOCALHOST;
    let prefix = Some(Prefix::V4 { address: v4, length: 33 });
    let shaper = |rate_kbps, burst_bytes| Some(Shaper { rate_kbps, burst_bytes, group: None });
    type Edit = Box<dyn FnOnce(&mut Pipeline)>;
    let cases: Vec<(Edit, &str)> = vec![
        (Box::new(|p| p.name = "n".repeat(65)), "name"),
        (Box::new(|p| p.name = "a\nb".to_owned()), "name"),
        (Box::new(|p| p.queues.clear()), "queues"),
        (Box::new(|p| p.queues[0].count = 0), "queues[0].count"),
        (Box::new(|p| p.queues[0].first = 65_533), "queues[0].count"),
        (Box::new(|p| p.queues[0].limit_packets = Some(0)), "queues[0].limit_packets"),
        (Box::new(|p| p.queues[0].limit_bytes = Some(0)), "queues[0].limit_bytes"),
        (
            Box::new(move |p| p.queues[0].discipline = codel(0, 100_000)),
            "queues[0].discipline.codel.target_us",
        ),
        (
            Box::new(move |p| p.queues[0].discipline = codel(6, 5)),
            "queues[0].discipline.codel.target_us",
        ),
        (
            Box::new(move |p| p.queues[0].discipline = codel(5_000, 0)),
            "queues[0].discipline.codel.interval_us",
        ),
        (Box::new(move |p| p.queues[0].shaper = shaper(0, 1)), "queues[0].shaper.rate_kbps"),
        (Box::new(move |p| p.queues[0].shaper = shaper(1, 0)), "queues[0].shaper.burst_bytes"),
        (
            Box::new(|p| {
                let exceed = ExceedAction::Remark { dscp: 64 };
                p.queues[0].policer = Some(Policer { rate_kbps: 1, burst_bytes: 1, exceed });
            }),
            "queues[0].policer.exceed.remark.dscp",
        ),
        (
            Box::new(move |p| {
                p.classifier = filter(FlowMatch { source: prefix, ..FlowMatch::default() });
            }),
            "classifier.osi.filters[0].match.source.v4.length",
        ),
        (
            Box::new(move |p| {
                let source_port = Some(PortRange { low: 9, high: 8 });
                p.classifier = filter(FlowMatch { source_port, ..FlowMatch::default() });
            }),
            "classifier.osi.filters[0].match.source_port.high",
        ),
        (
            Box::new(move |p| {
                p.classifier = filter(FlowMatch { qfi: Some(64), ..FlowMatch::default() });
            }),
            "classifier.osi.filters[0].match.qfi",
        ),
        (
            Box::new(|p| p.scheduler = Scheduler::DeficitRoundRobin { quantum_bytes: 255 }),
            "scheduler.deficit_round_robin.quantum_bytes",
        ),
        (Box::new(|p| p.pacer = Pacer::Drql { mtu_bytes: 10 }), "pacer.drql.mtu_bytes"),
        (Box::new(|p| p.buffer.packets = 0), "buffer.packets"),
        (Box::new(|p| p.buffer.bytes = 0), "buffer.bytes"),
    ];
    for (edit, element) in cases {
        assert_eq!(refused(edit), is(Cause::OutOfRange, element));
    }
}

#[test]
fn stages_must_fit_together() {
    assert_eq!(
        refused(|p| p.classifier = Classifier::RoundRobin(target(3, 2))),
        is(Cause::Inconsistent, "classifier.round_robin")
    );
    assert_eq!(
        refused(|p| p.queues.push(fifo(3, 1))),
        is(Cause::DuplicateId, "queues[1]"),
        "ids must be disjoint"
    );
    assert_eq!(refused(|p| p.queues.insert(0, fifo(2, 5))), is(Cause::DuplicateId, "queues[1]"));
    assert_eq!(refused(|p| p.queues.push(fifo(10, MAX_QUEUES))), is(Cause::Capacity, "queues"));
    let rule = FlowMatch::default();
    assert_eq!(
        refused(|p| {
            p.classifier = osi(vec![(rule.clone(), target(0, 1)); 257], target(0, 1));
        }),
        is(Cause::Capacity, "classifier.osi.filters")
    );
    assert_eq!(
        refused(|p| {
            let order = vec![target(0, 2), target(1, 1)];
            p.scheduler = Scheduler::StrictPriority { order };
        }),
        is(Cause::DuplicateId, "scheduler.strict_priority.order[1]")
    );
    for queue in [0, 9] {
        assert_eq!(
            refused(|p| {
                let exceed = ExceedAction::Deviate { queue };
                p.queues[0].policer = Some(Policer { rate_kbps: 1, burst_bytes: 1, exceed });
            }),
            is(Cause::Inconsistent, "queues[0].policer.exceed.deviate.queue")
        );
    }
    assert_eq!(
        refused(|p| {
            let shaper = |rate_kbps| Some(Shaper { rate_kbps, burst_bytes: 1, group: Some(1) });
            p.queues[0].shaper = shaper(1);
            p.queues.push(QueueSet { shaper: shaper(2), ..fifo(9, 1) });
        }),
        is(Cause::Inconsistent, "queues[1].shaper")
    );
    assert_eq!(
        refused(|p| {
            p.queues[0].discipline = QueueDiscipline::Codel(Codel {
                target_us: 5_000,
                interval_us: 100_000,
                ecn: true,
                ce_threshold_us: None,
                l4s: true,
            });
        }),
        is(Cause::Inconsistent, "queues[0].discipline.codel.ce_threshold_us")
    );
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
    let hash = StochasticHash { target: target(0, 2), perturbation: None, ways: 1 };
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
    tc.apply(&replace(fq_codel(&TemplateParams::default())), 5_000, &mut ());
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
    let mut tc = control(fq_codel(&TemplateParams {
        pacer: Pacer::None,
        flow_queues: 1,
        ..TemplateParams::default()
    }));
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
