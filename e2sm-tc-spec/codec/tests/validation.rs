//! Each rule of validation refuses what it is there for, with the element and the cause.

#![allow(clippy::unwrap_used, reason = "a test says what is expected")]

use e2sm_tc::v1::*;

fn codel() -> Codel {
    Codel { target_us: 5_000, interval_us: 100_000, ecn: true, ce_threshold_us: None, l4s: false }
}

fn set(first: QueueId, count: u16) -> QueueSet {
    QueueSet {
        first,
        count,
        discipline: QueueDiscipline::Codel(codel()),
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    }
}

fn target(first: QueueId, count: u16) -> QueueTarget {
    QueueTarget { first, count }
}

/// Queues 0..=3 and 10.
fn valid() -> Pipeline {
    Pipeline {
        name: "valid".to_owned(),
        classifier: Classifier::Osi(OsiClassifier {
            filters: vec![filter(1, FlowMatch::default())],
            default: target(0, 4),
        }),
        queues: vec![set(0, 4), set(10, 1)],
        scheduler: Scheduler::StrictPriority { order: vec![target(10, 1)] },
        pacer: Pacer::E5gBdp,
        buffer: BufferLimit { packets: 1_000, bytes: 1_500_000, overflow: Overflow::Tail },
    }
}

fn filter(id: FilterId, rule: FlowMatch) -> Filter {
    Filter { id, rule, target: target(10, 1) }
}

fn refused(change: impl FnOnce(&mut Pipeline)) -> (String, Cause) {
    let mut pipeline = valid();
    change(&mut pipeline);
    let invalid = pipeline.validate().unwrap_err();
    (invalid.element, invalid.cause)
}

fn at(element: &str, cause: Cause) -> (String, Cause) {
    (element.to_owned(), cause)
}

#[test]
fn a_pipeline_that_makes_sense_is_valid() {
    valid().validate().unwrap();
}

#[test]
fn queues_are_disjoint_numbered_and_not_too_many() {
    assert_eq!(refused(|p| p.queues.push(set(3, 1))), at("queues[2].first", Cause::DuplicateId));
    assert_eq!(
        refused(|p| p.queues.push(set(65_535, 2))),
        at("queues[2].count", Cause::OutOfRange)
    );
    assert_eq!(refused(|p| p.queues.push(set(100, 4_096))), at("queues", Cause::Capacity));
    assert_eq!(refused(|p| p.queues[0].count = 0), at("queues[0].count", Cause::OutOfRange));
    assert_eq!(refused(|p| p.queues.clear()), at("queues", Cause::OutOfRange));
}

#[test]
fn targets_exist() {
    assert_eq!(
        refused(|p| p.classifier = Classifier::RoundRobin(target(0, 5))),
        at("classifier.round_robin", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| {
            p.classifier =
                Classifier::Osi(OsiClassifier { filters: vec![], default: target(9, 1) });
        }),
        at("classifier.osi.default", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| p.queues.truncate(1)),
        at("classifier.osi.filters[0].target", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| {
            p.scheduler = Scheduler::EarliestDeadlineFirst {
                budgets: vec![QueueBudget { target: target(4, 1), budget_us: 1 }],
            };
        }),
        at("scheduler.earliest_deadline_first.budgets[0].target", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| {
            p.scheduler =
                Scheduler::ConditionalPriority { l4s: 11, classic: 0, time_shift_us: 50_000 };
        }),
        at("scheduler.conditional_priority.l4s", Cause::Inconsistent)
    );
}

#[test]
fn targets_of_a_scheduler_are_listed_once() {
    assert_eq!(
        refused(|p| {
            p.scheduler = Scheduler::StrictPriority {
                order: vec![target(10, 1), target(0, 2), target(1, 1)],
            };
        }),
        at("scheduler.strict_priority.order[2].first", Cause::DuplicateId)
    );
}

#[test]
fn filters_make_sense() {
    let with = |rule: FlowMatch| {
        refused(|p| {
            p.classifier = Classifier::Osi(OsiClassifier {
                filters: vec![filter(1, FlowMatch::default()), filter(2, rule)],
                default: target(0, 1),
            });
        })
    };
    assert_eq!(
        with(FlowMatch {
            destination_port: Some(PortRange { low: 443, high: 80 }),
            ..FlowMatch::default()
        }),
        at("classifier.osi.filters[1].match.destination_port.high", Cause::OutOfRange)
    );
    assert_eq!(
        with(FlowMatch {
            source: Some(Prefix::V4 { address: [10, 0, 0, 0].into(), length: 8 }),
            destination: Some(Prefix::V6 { address: 1u128.into(), length: 128 }),
            ..FlowMatch::default()
        }),
        at("classifier.osi.filters[1].match.destination", Cause::Inconsistent)
    );
    assert_eq!(
        with(FlowMatch {
            source: Some(Prefix::V4 { address: [10, 0, 0, 0].into(), length: 33 }),
            ..FlowMatch::default()
        }),
        at("classifier.osi.filters[1].match.source.v4.length", Cause::OutOfRange)
    );
    assert_eq!(
        with(FlowMatch { dscp: Some(64), ..FlowMatch::default() }),
        at("classifier.osi.filters[1].match.dscp", Cause::OutOfRange)
    );
    assert_eq!(
        refused(|p| {
            let filters = vec![filter(1, FlowMatch::default()); 2];
            p.classifier = Classifier::Osi(OsiClassifier { filters, default: target(0, 1) });
        }),
        at("classifier.osi.filters[1].id", Cause::DuplicateId)
    );
}

#[test]
fn ways_divide_the_queues_hashed_into() {
    assert_eq!(
        refused(|p| {
            p.classifier = Classifier::StochasticHash(StochasticHash {
                target: target(0, 4),
                perturbation: None,
                ways: 3,
            });
        }),
        at("classifier.stochastic_hash.ways", Cause::Inconsistent)
    );
}

#[test]
fn disciplines_have_sensible_parameters() {
    let with = |discipline| refused(|p| p.queues[1].discipline = discipline);
    assert_eq!(
        with(QueueDiscipline::Codel(Codel { interval_us: 4_999, ..codel() })),
        at("queues[1].discipline.codel.interval_us", Cause::OutOfRange)
    );
    assert_eq!(
        with(QueueDiscipline::Cobalt(Codel { target_us: 0, ..codel() })),
        at("queues[1].discipline.cobalt.target_us", Cause::OutOfRange)
    );
    assert_eq!(
        with(QueueDiscipline::Codel(Codel { l4s: true, ..codel() })),
        at("queues[1].discipline.codel.ce_threshold_us", Cause::Inconsistent)
    );
    assert_eq!(
        with(QueueDiscipline::Red {
            min_bytes: 10,
            max_bytes: 10,
            max_probability_milli: 1,
            ecn: false
        }),
        at("queues[1].discipline.red.max_bytes", Cause::OutOfRange)
    );
    assert_eq!(
        with(QueueDiscipline::L4sMarking { threshold_us: 1_000, ramp_us: 999 }),
        at("queues[1].discipline.l4s_marking.ramp_us", Cause::OutOfRange)
    );
    assert_eq!(
        with(QueueDiscipline::DualPi2 { target_us: 15_000, update_us: 16_000, coupling_milli: 2 }),
        at("queues[1].count", Cause::Inconsistent)
    );
}

#[test]
fn policers_and_shapers_let_something_through() {
    let policer = |exceed| Some(Policer { rate_kbps: 1, burst_bytes: 1, exceed });
    let shaper = |rate_kbps, group| Some(Shaper { rate_kbps, burst_bytes: 1, group });
    assert_eq!(
        refused(|p| p.queues[1].shaper = shaper(0, None)),
        at("queues[1].shaper.rate_kbps", Cause::OutOfRange)
    );
    assert_eq!(
        refused(|p| {
            p.queues[0].shaper = shaper(1, Some(5));
            p.queues[1].shaper = shaper(2, Some(5));
        }),
        at("queues[1].shaper", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| p.queues[0].policer = policer(ExceedAction::Deviate { queue: 3 })),
        at("queues[0].policer.exceed.deviate.queue", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| p.queues[0].policer = policer(ExceedAction::Deviate { queue: 4 })),
        at("queues[0].policer.exceed.deviate.queue", Cause::Inconsistent)
    );
    assert_eq!(
        refused(|p| p.queues[0].policer = policer(ExceedAction::Remark { dscp: 64 })),
        at("queues[0].policer.exceed.remark.dscp", Cause::OutOfRange)
    );
    assert_eq!(
        refused(|p| p.queues[0].limit_packets = Some(0)),
        at("queues[0].limit_packets", Cause::OutOfRange)
    );
}

#[test]
fn pacers_and_the_buffer_have_sensible_limits() {
    assert_eq!(
        refused(|p| p.pacer = Pacer::Dql { min_bytes: 2, max_bytes: 1 }),
        at("pacer.dql.max_bytes", Cause::OutOfRange)
    );
    assert_eq!(
        refused(|p| p.pacer = Pacer::Drql { mtu_bytes: 0 }),
        at("pacer.drql.mtu_bytes", Cause::OutOfRange)
    );
    assert_eq!(
        refused(|p| {
            p.pacer = Pacer::DynRlc {
                interval_us: 0,
                target_us: 1,
                min_sdus: 1,
                max_sdus: 1,
                alpha_milli: 1,
                metric: DelayMetric::Ewma,
                status_gap_beta_milli: None,
            };
        }),
        at("pacer.dyn_rlc.interval_us", Cause::OutOfRange)
    );
    assert_eq!(
        refused(|p| {
            p.pacer = Pacer::DynRlc {
                interval_us: 1_000,
                target_us: 1_000,
                min_sdus: 1,
                max_sdus: 1,
                alpha_milli: 1,
                metric: DelayMetric::IntervalAverage,
                status_gap_beta_milli: Some(0),
            };
        }),
        at("pacer.dyn_rlc.status_gap_beta_milli", Cause::OutOfRange)
    );
    assert_eq!(refused(|p| p.buffer.bytes = 0), at("buffer.bytes", Cause::OutOfRange));
}

#[test]
fn paths_of_a_transaction_start_at_the_pipeline_or_at_the_edit() {
    let with = |change| {
        let transaction = Transaction {
            bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
            expected_revision: None,
            lease_ms: Some(1_000),
            dry_run: false,
            change,
        };
        let invalid = transaction.validate().unwrap_err();
        (invalid.element, invalid.cause)
    };
    let nameless = Pipeline { name: String::new(), ..valid() };
    assert_eq!(with(PipelineChange::Replace(nameless)), at("name", Cause::OutOfRange));
    let edits = vec![PipelineEdit::SetPacer(Pacer::None), PipelineEdit::AddQueues(set(65_535, 9))];
    assert_eq!(
        with(PipelineChange::Delta(edits)),
        at("delta[1].add_queues.count", Cause::OutOfRange)
    );
    assert_eq!(with(PipelineChange::Delta(vec![])), at("change.delta", Cause::OutOfRange));
}

#[test]
fn a_forecast_has_as_many_points_of_everything_and_names_a_bearer_once() {
    let forecast = BearerForecast {
        bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
        origin_us: 0,
        horizon_start_us: 0,
        step_us: 1_000,
        occupancy_bytes: vec![1, 2],
        limit_bytes: vec![],
        drain_bytes: vec![3],
    };
    let invalid = ForecastFeed { bearers: vec![forecast.clone()] }.validate().unwrap_err();
    assert_eq!(invalid.element, "bearers[0].drain_bytes");
    let whole = BearerForecast { drain_bytes: vec![3, 4], ..forecast };
    let invalid = ForecastFeed { bearers: vec![whole.clone(), whole] }.validate().unwrap_err();
    assert_eq!(
        (invalid.element.as_str(), invalid.cause),
        ("bearers[1].bearer", Cause::DuplicateId)
    );
}

#[test]
fn a_refusal_of_any_length_can_be_sent() {
    let long = "µ".repeat(5_000);
    let outcome = ControlOutcome::refused(Cause::Inconsistent, &long, &long, Some(1));
    let sent = encode(&outcome).unwrap();
    assert_eq!(decode::<ControlOutcome>(&sent).unwrap(), outcome);
}
