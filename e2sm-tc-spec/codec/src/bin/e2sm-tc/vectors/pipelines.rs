//! A pipeline for each alternative of each stage.

use std::net::{Ipv4Addr, Ipv6Addr};

use e2sm_tc::v1::*;

pub(super) fn target(first: QueueId, count: u16) -> QueueTarget {
    QueueTarget { first, count }
}

pub(super) fn codel() -> Codel {
    Codel { target_us: 5_000, interval_us: 100_000, ecn: true, ce_threshold_us: None, l4s: false }
}

pub(super) fn queue_set(first: QueueId, count: u16, discipline: QueueDiscipline) -> QueueSet {
    QueueSet {
        first,
        count,
        discipline,
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    }
}

pub(super) fn buffer() -> BufferLimit {
    BufferLimit { packets: 10_240, bytes: 4 << 20, overflow: Overflow::FattestHead }
}

fn hash(first: QueueId, count: u16) -> StochasticHash {
    StochasticHash::plain(target(first, count))
}

/// RFC 8290 over DRQL.
pub(super) fn fq_codel() -> Pipeline {
    Pipeline {
        name: "fq_codel".to_owned(),
        classifier: Classifier::StochasticHash(hash(0, 1024)),
        queues: vec![queue_set(0, 1024, QueueDiscipline::Codel(codel()))],
        scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 1514 },
        pacer: Pacer::Drql { mtu_bytes: 1500 },
        buffer: buffer(),
    }
}

fn two_queues() -> Pipeline {
    let fifo = QueueDiscipline::Fifo { drop: FifoDrop::Tail };
    Pipeline {
        name: "two queues".to_owned(),
        classifier: Classifier::RoundRobin(target(0, 2)),
        queues: vec![queue_set(0, 1, fifo.clone()), queue_set(1, 1, fifo)],
        scheduler: Scheduler::RoundRobin,
        pacer: Pacer::None,
        buffer: BufferLimit { packets: 1, bytes: u32::MAX, overflow: Overflow::Tail },
    }
}

pub(super) fn any_filter() -> Filter {
    Filter { id: 0, rule: FlowMatch::default(), target: target(0, 1) }
}

pub(super) fn full_filter() -> Filter {
    Filter {
        id: 65_535,
        rule: FlowMatch {
            source: Some(Prefix::V4 { address: Ipv4Addr::new(10, 45, 0, 0), length: 16 }),
            destination: Some(Prefix::V4 { address: Ipv4Addr::new(192, 0, 2, 7), length: 32 }),
            source_port: Some(PortRange { low: 0, high: 65_535 }),
            destination_port: Some(PortRange { low: 443, high: 443 }),
            protocol: Some(17),
            dscp: Some(46),
            qfi: Some(63),
            ecn: Some(Ecn::Ect1),
            inner: None,
        },
        target: target(1, 1),
    }
}

fn ipv6_filter() -> Filter {
    let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0);
    Filter {
        id: 7,
        rule: FlowMatch {
            source: Some(Prefix::V6 { address, length: 64 }),
            destination: Some(Prefix::V6 { address: Ipv6Addr::UNSPECIFIED, length: 0 }),
            ecn: Some(Ecn::NotEct),
            ..FlowMatch::default()
        },
        target: target(0, 2),
    }
}

/// Each pipeline with the name of the alternative it covers.
pub(super) fn all() -> Vec<(String, Pipeline)> {
    let mut all = vec![("fq_codel".to_owned(), fq_codel())];
    for classifier in classifiers() {
        let name = format!("classifier_{}", classifier.kind());
        all.push((name, Pipeline { classifier, ..two_queues() }));
    }
    for scheduler in schedulers() {
        let name = format!("scheduler_{}", scheduler.kind());
        all.push((name, Pipeline { scheduler, ..two_queues() }));
    }
    for pacer in pacers() {
        let name = match pacer {
            Pacer::DynRlc { metric, .. } => format!("pacer_dyn_rlc_{}", metric.kind()),
            _ => format!("pacer_{}", pacer.kind()),
        };
        all.push((name, Pipeline { pacer, ..two_queues() }));
    }
    for (index, discipline) in disciplines().into_iter().enumerate() {
        let name = format!("queue_{}_{index}", discipline.kind());
        all.push((name, Pipeline { queues: vec![queue_set(0, 2, discipline)], ..two_queues() }));
    }
    for exceed in exceed_actions() {
        let mut pipeline = two_queues();
        if let Some(set) = pipeline.queues.first_mut() {
            set.policer = Some(Policer { rate_kbps: 5_000, burst_bytes: 30_000, exceed });
            set.shaper = Some(Shaper { rate_kbps: 2_000, burst_bytes: 3_000, group: Some(9) });
            set.limit_packets = Some(1_000);
            set.limit_bytes = Some(1_500_000);
        }
        if let Some(set) = pipeline.queues.last_mut() {
            set.shaper = Some(Shaper { rate_kbps: 1, burst_bytes: 1, group: None });
        }
        all.push((format!("policer_{}", exceed.kind()), pipeline));
    }
    for (name, classifier) in looking_into_tunnels() {
        all.push((format!("classifier_{name}"), Pipeline { classifier, ..two_queues() }));
    }
    for isolation in ISOLATIONS {
        let isolating = StochasticHash { isolation: Some(isolation), ..hash(0, 2) };
        let pipeline = Pipeline {
            classifier: Classifier::StochasticHash(isolating),
            scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 300 },
            ..two_queues()
        };
        all.push((format!("isolation_{}", isolation.kind()), pipeline));
    }
    let isolating = L4sEcnClassifier {
        isolation: Some(Isolation::DualHosts),
        ..L4sEcnClassifier::new(target(0, 1), target(1, 1), None)
    };
    all.push((
        "isolation_l4s_ecn".to_owned(),
        Pipeline {
            classifier: Classifier::L4sEcn(isolating),
            scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 300 },
            ..two_queues()
        },
    ));
    all
}

const ISOLATIONS: [Isolation; 8] = [
    Isolation::Flows,
    Isolation::SrcHost,
    Isolation::DstHost,
    Isolation::Hosts,
    Isolation::DualSrcHost,
    Isolation::DualDstHost,
    Isolation::DualHosts,
    Isolation::Triple,
];

/// Classifiers with what was added for tunnels.
fn looking_into_tunnels() -> Vec<(&'static str, Classifier)> {
    let inner_dscp = FlowMatch { dscp: Some(46), inner: Some(true), ..FlowMatch::default() };
    let filter = Filter { rule: inner_dscp, ..any_filter() };
    let (first, second) = (target(0, 1), target(1, 1));
    vec![
        (
            "stochastic_hash_inner",
            Classifier::StochasticHash(StochasticHash {
                tunnels: Some(Tunnels::Inner),
                ..hash(0, 2)
            }),
        ),
        (
            "osi_inner_dscp",
            Classifier::Osi(OsiClassifier {
                tunnels: Some(Tunnels::Outer),
                ..OsiClassifier::new(vec![filter], second)
            }),
        ),
        (
            "l4s_ecn_outer",
            Classifier::L4sEcn(L4sEcnClassifier {
                tunnels: Some(Tunnels::Outer),
                ..L4sEcnClassifier::new(first, second, None)
            }),
        ),
    ]
}

fn classifiers() -> Vec<Classifier> {
    vec![
        Classifier::RoundRobin(target(0, 2)),
        Classifier::StochasticHash(StochasticHash {
            perturbation: Some(0xdead_beef),
            ways: 2,
            ..hash(0, 2)
        }),
        Classifier::Osi(OsiClassifier::new(
            vec![full_filter(), ipv6_filter(), any_filter()],
            target(1, 1),
        )),
        Classifier::L4sEcn(L4sEcnClassifier::new(target(0, 1), target(1, 1), None)),
        Classifier::HostThenFlow(hash(0, 2)),
    ]
}

fn schedulers() -> Vec<Scheduler> {
    vec![
        Scheduler::RoundRobin,
        Scheduler::DeficitRoundRobin { quantum_bytes: 300 },
        Scheduler::StrictPriority { order: vec![target(1, 1), target(0, 1)] },
        Scheduler::Weighted {
            quantum_bytes: 1514,
            weights: vec![
                QueueWeight { target: target(0, 1), weight: 255, shared: false },
                QueueWeight { target: target(1, 1), weight: 1, shared: true },
            ],
        },
        Scheduler::ConditionalPriority { l4s: 0, classic: 1, time_shift_us: 50_000 },
        Scheduler::EarliestDeadlineFirst {
            budgets: vec![QueueBudget { target: target(0, 2), budget_us: 20_000 }],
        },
        Scheduler::Guaranteed {
            quantum_bytes: 300,
            shares: vec![
                QueueShare {
                    target: target(0, 1),
                    weight: 255,
                    guarantee: Some(Guarantee { rate_kbps: 20_000, burst_bytes: 250_000 }),
                },
                QueueShare { target: target(1, 1), weight: 1, guarantee: None },
            ],
        },
        Scheduler::InelasticFirst(InelasticFirst {
            quantum_bytes: 300,
            part_milli: 500,
            qfis: vec![1, 63],
        }),
    ]
}

fn pacers() -> Vec<Pacer> {
    vec![
        Pacer::None,
        Pacer::Bdp5g,
        Pacer::E5gBdp,
        Pacer::Drql { mtu_bytes: 1500 },
        Pacer::Dql { min_bytes: 0, max_bytes: 100_000 },
        Pacer::DynRlc {
            interval_us: 200_000,
            target_us: 10_000,
            min_sdus: 1,
            max_sdus: 1_000,
            alpha_milli: 1_000,
            metric: DelayMetric::IntervalAverage,
            status_gap_beta_milli: None,
        },
        Pacer::DynRlc {
            interval_us: 10_000,
            target_us: 40_000,
            min_sdus: 1,
            max_sdus: 10,
            alpha_milli: 50,
            metric: DelayMetric::IntervalMinimum,
            status_gap_beta_milli: Some(1_750),
        },
        Pacer::DynRlc {
            interval_us: 1,
            target_us: 1,
            min_sdus: 65_535,
            max_sdus: 65_535,
            alpha_milli: 0,
            metric: DelayMetric::IntervalMaximum,
            status_gap_beta_milli: Some(u32::MAX),
        },
        Pacer::DynRlc {
            interval_us: 1,
            target_us: 1,
            min_sdus: 1,
            max_sdus: 1,
            alpha_milli: 65_535,
            metric: DelayMetric::Ewma,
            status_gap_beta_milli: None,
        },
        Pacer::Ebb { target_us: 5_000 },
        Pacer::UpfSdap,
        Pacer::Forecast { stale_us: 100_000 },
        Pacer::Bdp5gPrototype,
        Pacer::JustInTime,
    ]
}

fn adaptive_codel(bound_us: Option<u32>) -> QueueDiscipline {
    QueueDiscipline::AdaptiveCodel(AdaptiveCodel {
        target_us: 15_000,
        max_target_us: 100_000,
        interval_us: 150_000,
        ecn: bound_us.is_some(),
        bound_us,
    })
}

fn disciplines() -> Vec<QueueDiscipline> {
    let l4s = Codel { ce_threshold_us: Some(1_000), l4s: true, ..codel() };
    vec![
        QueueDiscipline::Fifo { drop: FifoDrop::Tail },
        QueueDiscipline::Fifo { drop: FifoDrop::Head },
        QueueDiscipline::Codel(codel()),
        QueueDiscipline::Codel(l4s),
        QueueDiscipline::Pie {
            target_us: 15_000,
            update_us: 15_000,
            alpha_milli: 125,
            beta_milli: 1_250,
            ecn: true,
        },
        QueueDiscipline::Red {
            min_bytes: 30_000,
            max_bytes: 90_000,
            max_probability_milli: 20,
            ecn: false,
        },
        QueueDiscipline::Cobalt(codel()),
        QueueDiscipline::Bode { bound_us: 20_000, spare_bytes: None },
        QueueDiscipline::Bode { bound_us: 300_000, spare_bytes: Some(3_000) },
        QueueDiscipline::L4sMarking { threshold_us: 1_000, ramp_us: 2_000 },
        QueueDiscipline::DualPi2 { target_us: 15_000, update_us: 16_000, coupling_milli: 2_000 },
        adaptive_codel(None),
        adaptive_codel(Some(300_000)),
    ]
}

fn exceed_actions() -> [ExceedAction; 3] {
    [ExceedAction::Drop, ExceedAction::Deviate { queue: 1 }, ExceedAction::Remark { dscp: 8 }]
}
