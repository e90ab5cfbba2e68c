//! Pipelines that are refused, each with the place and the cause.

use crate::util::transactions::{is, refusal};
use crate::util::*;
use e2sm_tc::v1::*;
use tc_rf::MAX_QUEUES;

fn refused(edit: impl FnOnce(&mut Pipeline)) -> (Cause, String) {
    let mut pipeline = by_port(4);
    edit(&mut pipeline);
    refusal(&mut control(by_port(4)), &replace(pipeline))
}

fn dyn_rlc(interval_us: u32, target_us: u32, sdus: (u16, u16), alpha_milli: u16) -> Pacer {
    Pacer::DynRlc {
        interval_us,
        target_us,
        min_sdus: sdus.0,
        max_sdus: sdus.1,
        alpha_milli,
        metric: DelayMetric::default(),
        status_gap_beta_milli: None,
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
        // Below one packet of the MTU.
        (Box::new(|p| p.queues[0].limit_bytes = Some(1_499)), "queues[0].limit_bytes"),
        (Box::new(|p| p.buffer.bytes = 1_499), "buffer.bytes"),
        (
            Box::new(move |p| p.queues[0].discipline = codel(0, 100_000)),
            "queues[0].discipline.codel.target_us",
        ),
        (
            Box::new(move |p| p.queues[0].discipline = codel(6, 5)),
            "queues[0].discipline.codel.interval_us",
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
        (
            Box::new(|p| {
                p.scheduler = Scheduler::Weighted { quantum_bytes: 0, weights: vec![] };
            }),
            "scheduler.weighted.quantum_bytes",
        ),
        (
            Box::new(|p| {
                let weights = vec![QueueWeight { target: target(0, 1), weight: 0, shared: false }];
                p.scheduler = Scheduler::Weighted { quantum_bytes: 1514, weights };
            }),
            "scheduler.weighted.weights[0].weight",
        ),
        (
            Box::new(|p| {
                let guarantee = Some(Guarantee { rate_kbps: 0, burst_bytes: 1_500 });
                let shares = vec![QueueShare { target: target(0, 1), weight: 1, guarantee }];
                p.scheduler = Scheduler::Guaranteed { quantum_bytes: 1514, shares };
            }),
            "scheduler.guaranteed.shares[0].guarantee.rate_kbps",
        ),
        (
            Box::new(|p| {
                let qfis = vec![];
                let first = InelasticFirst { quantum_bytes: 300, part_milli: 901, qfis };
                p.scheduler = Scheduler::InelasticFirst(first);
            }),
            "scheduler.inelastic_first.part_milli",
        ),
        (
            Box::new(|p| {
                let qfis = vec![9, 64];
                let first = InelasticFirst { quantum_bytes: 300, part_milli: 500, qfis };
                p.scheduler = Scheduler::InelasticFirst(first);
            }),
            "scheduler.inelastic_first.qfis[1]",
        ),
        (
            Box::new(|p| {
                let budgets = vec![QueueBudget { target: target(0, 1), budget_us: 0 }];
                p.scheduler = Scheduler::EarliestDeadlineFirst { budgets };
            }),
            "scheduler.earliest_deadline_first.budgets[0].budget_us",
        ),
        (
            Box::new(|p| {
                let hash = StochasticHash { ways: 0, ..StochasticHash::plain(target(0, 4)) };
                p.classifier = Classifier::HostThenFlow(hash);
            }),
            "classifier.host_then_flow.ways",
        ),
        (Box::new(|p| p.pacer = Pacer::Drql { mtu_bytes: 10 }), "pacer.drql.mtu_bytes"),
        (Box::new(|p| p.pacer = Pacer::Dql { min_bytes: 0, max_bytes: 67 }), "pacer.dql.max_bytes"),
        (
            Box::new(|p| p.pacer = Pacer::Dql { min_bytes: 1501, max_bytes: 1500 }),
            "pacer.dql.max_bytes",
        ),
        (Box::new(|p| p.pacer = dyn_rlc(0, 40_000, (1, 64), 50)), "pacer.dyn_rlc.interval_us"),
        (Box::new(|p| p.pacer = dyn_rlc(200_000, 0, (1, 64), 50)), "pacer.dyn_rlc.target_us"),
        (Box::new(|p| p.pacer = dyn_rlc(200_000, 40_000, (0, 64), 50)), "pacer.dyn_rlc.min_sdus"),
        (Box::new(|p| p.pacer = dyn_rlc(200_000, 40_000, (9, 8), 50)), "pacer.dyn_rlc.max_sdus"),
        (Box::new(|p| p.pacer = dyn_rlc(200_000, 40_000, (1, 64), 0)), "pacer.dyn_rlc.alpha_milli"),
        (
            Box::new(|p| p.pacer = dyn_rlc(200_000, 40_000, (1, 64), 1001)),
            "pacer.dyn_rlc.alpha_milli",
        ),
        (
            Box::new(|p| {
                p.pacer = dyn_rlc(200_000, 40_000, (1, 64), 50);
                let Pacer::DynRlc { status_gap_beta_milli, .. } = &mut p.pacer else { return };
                *status_gap_beta_milli = Some(999);
            }),
            "pacer.dyn_rlc.status_gap_beta_milli",
        ),
        (Box::new(|p| p.pacer = Pacer::Ebb { target_us: 0 }), "pacer.ebb.target_us"),
        (Box::new(|p| p.pacer = Pacer::Forecast { stale_us: 0 }), "pacer.forecast.stale_us"),
        (Box::new(|p| p.buffer.packets = 0), "buffer.packets"),
        (Box::new(|p| p.buffer.bytes = 0), "buffer.bytes"),
    ];
    for (edit, element) in cases {
        assert_eq!(refused(edit), is(Cause::OutOfRange, element));
    }
}

#[test]
fn a_discipline_that_cannot_work_is_refused_with_its_place() {
    let pie = |target_us, update_us, alpha_milli, beta_milli| QueueDiscipline::Pie {
        target_us,
        update_us,
        alpha_milli,
        beta_milli,
        ecn: false,
    };
    let red = |min_bytes, max_bytes, max_probability_milli| QueueDiscipline::Red {
        min_bytes,
        max_bytes,
        max_probability_milli,
        ecn: false,
    };
    let dual = |target_us, update_us, coupling_milli| QueueDiscipline::DualPi2 {
        target_us,
        update_us,
        coupling_milli,
    };
    let marking = |threshold_us, ramp_us| QueueDiscipline::L4sMarking { threshold_us, ramp_us };
    let adaptive = |target_us, max_target_us, bound_us| {
        QueueDiscipline::AdaptiveCodel(AdaptiveCodel {
            target_us,
            max_target_us,
            interval_us: 150_000,
            ecn: true,
            bound_us,
        })
    };
    let cobalt = |target_us, interval_us| {
        QueueDiscipline::Cobalt(Codel {
            target_us,
            interval_us,
            ecn: false,
            ce_threshold_us: None,
            l4s: false,
        })
    };
    let cases = [
        (pie(0, 15_000, 125, 1_250), "pie.target_us"),
        (pie(15_000, 0, 125, 1_250), "pie.update_us"),
        (pie(15_000, 15_000, 0, 1_250), "pie.alpha_milli"),
        (pie(15_000, 15_000, 125, u32::MAX), "pie.beta_milli"),
        (red(5_000, 5_000, 20), "red.max_bytes"),
        (red(5_000, 15_000, 1_001), "red.max_probability_milli"),
        (cobalt(0, 100_000), "cobalt.target_us"),
        (cobalt(5_000, 0), "cobalt.interval_us"),
        (QueueDiscipline::Bode { bound_us: 0, spare_bytes: None }, "bode.bound_us"),
        (marking(1_000, 999), "l4s_marking.ramp_us"),
        (marking(u32::MAX, u32::MAX), "l4s_marking.threshold_us"),
        (adaptive(0, 100_000, None), "adaptive_codel.target_us"),
        (adaptive(5_000, 4_999, None), "adaptive_codel.max_target_us"),
        (adaptive(5_000, 100_000, Some(99_999)), "adaptive_codel.bound_us"),
        (dual(0, 16_000, 2_000), "dual_pi2.target_us"),
        (dual(15_000, 0, 2_000), "dual_pi2.update_us"),
        (dual(15_000, 16_000, 0), "dual_pi2.coupling_milli"),
    ];
    for (discipline, field) in cases {
        assert_eq!(
            refused(|p| {
                p.queues[0] = QueueSet { discipline, ..fifo(0, 2) };
                p.queues.push(fifo(2, 2));
            }),
            is(Cause::OutOfRange, &format!("queues[0].discipline.{field}"))
        );
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
        is(Cause::DuplicateId, "queues[1].first"),
        "ids must be disjoint"
    );
    assert_eq!(
        refused(|p| p.queues.insert(0, fifo(2, 5))),
        is(Cause::DuplicateId, "queues[1].first")
    );
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
        is(Cause::DuplicateId, "scheduler.strict_priority.order[1].first")
    );
    let hash = StochasticHash { ways: 3, ..StochasticHash::plain(target(0, 4)) };
    for (classifier, element) in [
        (Classifier::StochasticHash(hash), "classifier.stochastic_hash.ways"),
        (Classifier::HostThenFlow(hash), "classifier.host_then_flow.ways"),
        (
            Classifier::L4sEcn(L4sEcnClassifier::new(target(3, 2), target(0, 1), None)),
            "classifier.l4s_ecn.l4s",
        ),
        (
            Classifier::L4sEcn(L4sEcnClassifier::new(target(0, 2), target(2, 1), Some(2))),
            "classifier.l4s_ecn.ways",
        ),
    ] {
        assert_eq!(refused(|p| p.classifier = classifier), is(Cause::Inconsistent, element));
    }
    let isolating = StochasticHash {
        isolation: Some(Isolation::DualHosts),
        ..StochasticHash::plain(target(0, 4))
    };
    for (classifier, kind) in [
        // Under round robin, and with shares of hosts of its own.
        (Classifier::StochasticHash(isolating), "stochastic_hash"),
        (Classifier::HostThenFlow(isolating), "host_then_flow"),
    ] {
        assert_eq!(
            refused(|p| p.classifier = classifier),
            is(Cause::Inconsistent, &format!("classifier.{kind}.isolation"))
        );
    }
    for (l4s, classic, element) in [(9, 0, "l4s"), (0, 9, "classic"), (1, 1, "classic")] {
        assert_eq!(
            refused(|p| {
                p.scheduler = Scheduler::ConditionalPriority { l4s, classic, time_shift_us: 1 };
            }),
            is(Cause::Inconsistent, &format!("scheduler.conditional_priority.{element}"))
        );
    }
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
}
