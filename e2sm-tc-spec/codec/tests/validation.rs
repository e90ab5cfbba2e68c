//! Each validation rule refuses with element and cause.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use e2sm_tc::v1::Cause::{Capacity, DuplicateId, Inconsistent, OutOfRange};
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
        classifier: Classifier::Osi(OsiClassifier::new(
            vec![filter(1, FlowMatch::default())],
            target(0, 4),
        )),
        queues: vec![set(0, 4), set(10, 1)],
        scheduler: Scheduler::StrictPriority { order: vec![target(10, 1)] },
        pacer: Pacer::E5gBdp,
        buffer: BufferLimit { packets: 1_000, bytes: 1_500_000, overflow: Overflow::Tail },
    }
}

fn filter(id: FilterId, rule: FlowMatch) -> Filter {
    Filter { id, rule, target: target(10, 1) }
}

/// Checks that the valid pipeline, changed, is refused at the element with the cause.
#[track_caller]
fn refused(change: impl FnOnce(&mut Pipeline), element: &str, cause: Cause) {
    let mut pipeline = valid();
    change(&mut pipeline);
    assert_refused(&pipeline, element, cause);
}

#[track_caller]
fn assert_refused(value: &impl Validate, element: &str, cause: Cause) {
    let invalid = value.validate().unwrap_err();
    assert_eq!((invalid.element.as_str(), invalid.cause), (element, cause));
}

fn dyn_rlc(interval_us: u32, status_gap_beta_milli: Option<u32>) -> Pacer {
    Pacer::DynRlc {
        interval_us,
        target_us: 1_000,
        min_sdus: 1,
        max_sdus: 1,
        alpha_milli: 1,
        metric: DelayMetric::IntervalAverage,
        status_gap_beta_milli,
    }
}

#[test]
fn the_pipeline_that_the_cases_change_is_valid() {
    valid().validate().unwrap();
}

#[test]
fn queues_are_disjoint_numbered_and_not_too_many() {
    refused(|p| p.queues.push(set(3, 1)), "queues[2].first", DuplicateId);
    refused(|p| p.queues.push(set(65_535, 2)), "queues[2].count", OutOfRange);
    refused(|p| p.queues.push(set(100, 4_096)), "queues", Capacity);
    refused(|p| p.queues[0].count = 0, "queues[0].count", OutOfRange);
    refused(|p| p.queues.clear(), "queues", OutOfRange);
}

#[test]
fn targets_exist() {
    refused(
        |p| p.classifier = Classifier::RoundRobin(target(0, 5)),
        "classifier.round_robin",
        Inconsistent,
    );
    refused(
        |p| p.classifier = Classifier::Osi(OsiClassifier::new(vec![], target(9, 1))),
        "classifier.osi.default",
        Inconsistent,
    );
    refused(|p| p.queues.truncate(1), "classifier.osi.filters[0].target", Inconsistent);
    refused(
        |p| {
            p.scheduler = Scheduler::EarliestDeadlineFirst {
                budgets: vec![QueueBudget { target: target(4, 1), budget_us: 1 }],
            }
        },
        "scheduler.earliest_deadline_first.budgets[0].target",
        Inconsistent,
    );
    refused(
        |p| {
            p.scheduler = Scheduler::Guaranteed {
                quantum_bytes: 300,
                shares: vec![QueueShare { target: target(4, 1), weight: 1, guarantee: None }],
            }
        },
        "scheduler.guaranteed.shares[0].target",
        Inconsistent,
    );
    refused(
        |p| {
            p.scheduler =
                Scheduler::ConditionalPriority { l4s: 11, classic: 0, time_shift_us: 50_000 }
        },
        "scheduler.conditional_priority.l4s",
        Inconsistent,
    );
}

#[test]
fn targets_of_a_scheduler_are_listed_once() {
    refused(
        |p| {
            p.scheduler =
                Scheduler::StrictPriority { order: vec![target(10, 1), target(0, 2), target(1, 1)] }
        },
        "scheduler.strict_priority.order[2].first",
        DuplicateId,
    );
}

#[test]
fn filters_are_consistent() {
    let with = |rule: FlowMatch, element, cause| {
        let filters = vec![filter(1, FlowMatch::default()), filter(2, rule)];
        let default = target(0, 1);
        let change = |p: &mut Pipeline| {
            p.classifier = Classifier::Osi(OsiClassifier::new(filters, default));
        };
        refused(change, &format!("classifier.osi.filters[1].{element}"), cause);
    };
    with(
        FlowMatch {
            destination_port: Some(PortRange { low: 443, high: 80 }),
            ..FlowMatch::default()
        },
        "match.destination_port.high",
        OutOfRange,
    );
    with(
        FlowMatch {
            source: Some(Prefix::V4 { address: [10, 0, 0, 0].into(), length: 8 }),
            destination: Some(Prefix::V6 { address: 1u128.into(), length: 128 }),
            ..FlowMatch::default()
        },
        "match.destination",
        Inconsistent,
    );
    with(
        FlowMatch {
            source: Some(Prefix::V4 { address: [10, 0, 0, 0].into(), length: 33 }),
            ..FlowMatch::default()
        },
        "match.source.v4.length",
        OutOfRange,
    );
    with(FlowMatch { dscp: Some(64), ..FlowMatch::default() }, "match.dscp", OutOfRange);
    refused(
        |p| {
            let filters = vec![filter(1, FlowMatch::default()); 2];
            p.classifier = Classifier::Osi(OsiClassifier::new(filters, target(0, 1)));
        },
        "classifier.osi.filters[1].id",
        DuplicateId,
    );
}

#[test]
fn ways_divide_the_queues_hashed_into() {
    refused(
        |p| {
            p.classifier = Classifier::StochasticHash(StochasticHash {
                ways: 3,
                ..StochasticHash::plain(target(0, 4))
            })
        },
        "classifier.stochastic_hash.ways",
        Inconsistent,
    );
}

#[test]
fn parameters_of_disciplines_are_bounded_and_ordered() {
    let with = |discipline, element, cause| {
        refused(|p| p.queues[1].discipline = discipline, element, cause);
    };
    with(
        QueueDiscipline::Codel(Codel { interval_us: 4_999, ..codel() }),
        "queues[1].discipline.codel.interval_us",
        OutOfRange,
    );
    with(
        QueueDiscipline::Cobalt(Codel { target_us: 0, ..codel() }),
        "queues[1].discipline.cobalt.target_us",
        OutOfRange,
    );
    with(
        QueueDiscipline::Red { min_bytes: 10, max_bytes: 10, max_probability_milli: 1, ecn: false },
        "queues[1].discipline.red.max_bytes",
        OutOfRange,
    );
    with(
        QueueDiscipline::L4sMarking { threshold_us: 1_000, ramp_us: 999 },
        "queues[1].discipline.l4s_marking.ramp_us",
        OutOfRange,
    );
    with(
        QueueDiscipline::DualPi2 { target_us: 15_000, update_us: 16_000, coupling_milli: 2 },
        "queues[1].count",
        Inconsistent,
    );
}

#[test]
fn policers_and_shapers_have_rates_groups_and_targets() {
    let policer = |exceed| Some(Policer { rate_kbps: 1, burst_bytes: 1, exceed });
    let shaper = |rate_kbps, group| Some(Shaper { rate_kbps, burst_bytes: 1, group });
    refused(|p| p.queues[1].shaper = shaper(0, None), "queues[1].shaper.rate_kbps", OutOfRange);
    refused(
        |p| {
            p.queues[0].shaper = shaper(1, Some(5));
            p.queues[1].shaper = shaper(2, Some(5));
        },
        "queues[1].shaper",
        Inconsistent,
    );
    refused(
        |p| p.queues[0].policer = policer(ExceedAction::Deviate { queue: 3 }),
        "queues[0].policer.exceed.deviate.queue",
        Inconsistent,
    );
    refused(
        |p| p.queues[0].policer = policer(ExceedAction::Deviate { queue: 4 }),
        "queues[0].policer.exceed.deviate.queue",
        Inconsistent,
    );
    refused(
        |p| p.queues[0].policer = policer(ExceedAction::Remark { dscp: 64 }),
        "queues[0].policer.exceed.remark.dscp",
        OutOfRange,
    );
    refused(|p| p.queues[0].limit_packets = Some(0), "queues[0].limit_packets", OutOfRange);
}

#[test]
fn pacers_and_the_buffer_have_bounded_limits() {
    refused(
        |p| p.pacer = Pacer::Dql { min_bytes: 2, max_bytes: 1 },
        "pacer.dql.max_bytes",
        OutOfRange,
    );
    refused(|p| p.pacer = Pacer::Drql { mtu_bytes: 0 }, "pacer.drql.mtu_bytes", OutOfRange);
    refused(|p| p.pacer = dyn_rlc(0, None), "pacer.dyn_rlc.interval_us", OutOfRange);
    refused(
        |p| p.pacer = dyn_rlc(1_000, Some(0)),
        "pacer.dyn_rlc.status_gap_beta_milli",
        OutOfRange,
    );
    refused(|p| p.buffer.bytes = 0, "buffer.bytes", OutOfRange);
}

#[test]
fn paths_of_a_transaction_start_at_the_pipeline_or_at_the_edit() {
    let with = |change, element, cause| {
        let transaction = Transaction {
            bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
            expected_revision: None,
            lease_ms: Some(1_000),
            owner: None,
            as_safe: false,
            dry_run: false,
            change,
        };
        assert_refused(&transaction, element, cause);
    };
    let nameless = Pipeline { name: String::new(), ..valid() };
    with(PipelineChange::Replace(nameless), "name", OutOfRange);
    let edits = vec![PipelineEdit::SetPacer(Pacer::None), PipelineEdit::AddQueues(set(65_535, 9))];
    with(PipelineChange::Delta(edits), "delta[1].add_queues.count", OutOfRange);
    with(PipelineChange::Delta(vec![]), "change.delta", OutOfRange);
}

#[test]
fn forecasts_have_equally_many_points_and_one_entry_per_bearer() {
    let forecast = BearerForecast {
        bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
        origin_us: 0,
        horizon_start_us: 0,
        step_us: 1_000,
        occupancy_bytes: vec![1, 2],
        limit_bytes: vec![],
        drain_bytes: vec![3],
        cumulated_drain: None,
    };
    let feed = ForecastFeed { bearers: vec![forecast.clone()] };
    assert_refused(&feed, "bearers[0].drain_bytes", Inconsistent);
    let whole = BearerForecast { drain_bytes: vec![3, 4], ..forecast };
    let feed = ForecastFeed { bearers: vec![whole.clone(), whole] };
    assert_refused(&feed, "bearers[1].bearer", DuplicateId);
}

#[test]
fn sums_of_the_drain_are_in_order() {
    let whole = CumulatedDrain {
        points_us: vec![1_000, 3_000],
        levels_milli: vec![500, 900],
        bytes: vec![10, 20, 10, 30],
    };
    let feed = |change: fn(&mut CumulatedDrain)| {
        let mut cumulated = whole.clone();
        change(&mut cumulated);
        ForecastFeed {
            bearers: vec![BearerForecast {
                bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
                origin_us: 0,
                horizon_start_us: 0,
                step_us: 1_000,
                occupancy_bytes: vec![1],
                limit_bytes: vec![],
                drain_bytes: vec![],
                cumulated_drain: Some(cumulated),
            }],
        }
    };
    assert_eq!(feed(|_| {}).validate(), Ok(()));
    let refused = |change, element: &str, cause| {
        assert_refused(&feed(change), &format!("bearers[0].cumulated_drain.{element}"), cause);
    };
    refused(|it| it.points_us[1] = 1_000, "points_us[1]", Inconsistent);
    refused(|it| it.levels_milli[1] = 500, "levels_milli[1]", Inconsistent);
    refused(|it| it.levels_milli[0] = 0, "levels_milli[0]", OutOfRange);
    refused(|it| it.levels_milli[1] = 1_000, "levels_milli[1]", OutOfRange);
    refused(|it| it.bytes.truncate(3), "bytes", Inconsistent);
    refused(|it| it.bytes[1] = 9, "bytes[1]", Inconsistent);
    refused(|it| it.bytes[3] = 19, "bytes[3]", Inconsistent);
}

#[test]
fn refusals_are_clipped_to_the_encodable_length() {
    let long = "µ".repeat(5_000);
    let outcome = ControlOutcome::refused(Inconsistent, &long, &long, Some(1));
    let sent = encode(&outcome).unwrap();
    assert_eq!(decode::<ControlOutcome>(&sent).unwrap(), outcome);
}
