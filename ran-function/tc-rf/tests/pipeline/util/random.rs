//! Random stages and pipelines, of all kinds that are declared.

use e2sm_tc::v1::*;
use proptest::prelude::*;
use tc_rf::capabilities;
use tc_rf::templates::{
    CakeDiffserv, FlowSlicing, FqCodel, FqL4s, LowLatency, SegregateGreedy, Slice, by_name,
};

use super::{aqm, fifo, flow, osi, target};

/// DSCP of flow `n`: best effort, CS1, AF41 or EF.
pub(crate) fn dscp_of(n: u16) -> u8 {
    [0, 8, 34, 46][usize::from(n % 4)]
}

pub(crate) fn pacer() -> impl Strategy<Value = Pacer> {
    prop_oneof![
        Just(Pacer::None),
        Just(Pacer::Bdp5g),
        Just(Pacer::E5gBdp),
        Just(Pacer::Bdp5gPrototype),
        Just(Pacer::UpfSdap),
        Just(Pacer::JustInTime),
        (68u16..2000).prop_map(|mtu_bytes| Pacer::Drql { mtu_bytes }),
        (1_500u32..9_000, 9_000u32..90_000)
            .prop_map(|(min_bytes, max_bytes)| Pacer::Dql { min_bytes, max_bytes }),
        (1_000u32..50_000).prop_map(|target_us| Pacer::Ebb { target_us }),
        (10_000u32..1_000_000).prop_map(|stale_us| Pacer::Forecast { stale_us }),
        (10_000u32..1_000_000, 1u16..=999, proptest::option::of(63u32..1_000_000)).prop_map(
            |(stale_us, level_milli, bound_us)| Pacer::BaseStock {
                stale_us,
                level_milli,
                bound_us
            }
        ),
        (1_000u32..200_000, proptest::option::of(1_000u32..2_000)).prop_map(
            |(interval_us, status_gap_beta_milli)| Pacer::DynRlc {
                interval_us,
                target_us: 3_000,
                min_sdus: 1,
                max_sdus: 64,
                alpha_milli: 50,
                metric: DelayMetric::IntervalAverage,
                status_gap_beta_milli,
            }
        ),
    ]
}

/// Alone, or in one of two groups.
pub(crate) fn shaper() -> impl Strategy<Value = Option<Shaper>> {
    let alone = (1u32..50_000, 1u32..20_000).prop_map(|(rate_kbps, burst_bytes)| Shaper {
        rate_kbps,
        burst_bytes,
        group: None,
    });
    let grouped = (0u16..2).prop_map(|group| Shaper {
        rate_kbps: 800 + 4_000 * u32::from(group),
        burst_bytes: 3_000,
        group: Some(group),
    });
    proptest::option::of(prop_oneof![alone, grouped])
}

pub(crate) fn policer() -> impl Strategy<Value = Option<Policer>> {
    let exceed = prop_oneof![
        Just(ExceedAction::Drop),
        (0u16..20).prop_map(|queue| ExceedAction::Deviate { queue }),
        (0u8..64).prop_map(|dscp| ExceedAction::Remark { dscp }),
    ];
    proptest::option::weighted(
        0.3,
        (1u32..5_000, 1u32..20_000, exceed).prop_map(|(rate_kbps, burst_bytes, exceed)| Policer {
            rate_kbps,
            burst_bytes,
            exceed,
        }),
    )
}

pub(crate) fn scheduler() -> impl Strategy<Value = Scheduler> {
    let quantum_bytes = 256u32..4000;
    prop_oneof![
        Just(Scheduler::RoundRobin),
        quantum_bytes
            .clone()
            .prop_map(|quantum_bytes| { Scheduler::DeficitRoundRobin { quantum_bytes } }),
        Just(Scheduler::StrictPriority { order: vec![target(0, 1)] }),
        (quantum_bytes.clone(), 1u8.., 1u32..50_000, 1u32..100_000).prop_map(
            |(quantum_bytes, weight, rate_kbps, burst_bytes)| {
                let guarantee = Some(Guarantee { rate_kbps, burst_bytes });
                let shares = vec![QueueShare { target: target(0, 2), weight, guarantee }];
                Scheduler::Guaranteed { quantum_bytes, shares }
            }
        ),
        (quantum_bytes, 1u8.., any::<bool>()).prop_map(|(quantum_bytes, weight, shared)| {
            let weights = vec![QueueWeight { target: target(0, 2), weight, shared }];
            Scheduler::Weighted { quantum_bytes, weights }
        }),
        (0u32..100_000, any::<bool>()).prop_map(|(time_shift_us, swapped)| {
            let (l4s, classic) = if swapped { (1, 0) } else { (0, 1) };
            Scheduler::ConditionalPriority { l4s, classic, time_shift_us }
        }),
        (1u32..100_000).prop_map(|budget_us| {
            let budgets = vec![QueueBudget { target: target(1, 1), budget_us }];
            Scheduler::EarliestDeadlineFirst { budgets }
        }),
    ]
}

pub(crate) fn buffer() -> impl Strategy<Value = BufferLimit> {
    (1u32..300, 1_500u32..400_000, any::<bool>()).prop_map(|(packets, bytes, fattest)| {
        let overflow = if fattest { Overflow::FattestHead } else { Overflow::Tail };
        BufferLimit { packets, bytes, overflow }
    })
}

const ISOLATIONS: [Option<Isolation>; 4] =
    [None, Some(Isolation::SrcHost), Some(Isolation::DualHosts), Some(Isolation::Triple)];

/// Classifiers over queues `0..sets * 4`, of which there are at least two.
pub(crate) fn classifier(sets: u16) -> impl Strategy<Value = Classifier> {
    let count = sets * 4;
    let ways = prop::sample::select(&[1u8, 2, 4][..]);
    let hash = move |(ways, perturbation)| StochasticHash {
        perturbation,
        ways,
        ..StochasticHash::plain(target(0, count))
    };
    let bulk = FlowMatch { dscp: Some(dscp_of(1)), ..FlowMatch::default() };
    let dscp = FlowMatch { dscp: Some(dscp_of(2)), ..FlowMatch::default() };
    prop_oneof![
        ((ways.clone(), any::<Option<u32>>()), prop::sample::select(&ISOLATIONS[..])).prop_map(
            move |(parameters, isolation)| {
                Classifier::StochasticHash(StochasticHash { isolation, ..hash(parameters) })
            }
        ),
        (ways, any::<Option<u32>>()).prop_map(hash).prop_map(Classifier::HostThenFlow),
        (1..count).prop_map(move |first| {
            let (l4s, classic) = (target(0, first), target(first, count - first));
            let is_even = first.is_multiple_of(2) && count.is_multiple_of(2);
            let ways = is_even.then_some(2);
            Classifier::L4sEcn(L4sEcnClassifier::new(l4s, classic, ways))
        }),
        (1..count).prop_map(move |first| {
            let filters = vec![(bulk.clone(), target(0, first)), (dscp.clone(), target(first, 1))];
            osi(filters, target(0, count))
        }),
    ]
}

/// A discipline that is declared; a pair needs two queues of its own.
pub(crate) fn discipline() -> impl Strategy<Value = QueueDiscipline> {
    let declared = capabilities().queues;
    let single: Vec<_> = aqm::disciplines()
        .into_iter()
        .map(|(_, discipline)| discipline)
        .filter(|discipline| declared.iter().any(|kind| kind == discipline.kind()))
        .filter(|discipline| !matches!(discipline, QueueDiscipline::DualPi2 { .. }))
        .collect();
    prop::sample::select(single)
}

/// Queues `0..sets * 4`, each four of one discipline with policer and shaper.
fn queues(sets: u16) -> impl Strategy<Value = Vec<QueueSet>> {
    let set = (discipline(), policer(), shaper(), proptest::option::of(1u32..20));
    prop::collection::vec(set, usize::from(sets)).prop_map(|sets| {
        (0u16..)
            .zip(sets)
            .map(|(index, (discipline, policer, shaper, limit_packets))| QueueSet {
                discipline,
                policer,
                shaper,
                limit_packets,
                ..fifo(index * 4, 4)
            })
            .collect()
    })
}

/// Any classifier over any queues under any scheduler and pacer. Some do not fit together and are
/// refused.
pub(crate) fn composed() -> impl Strategy<Value = Pipeline> {
    (1u16..6).prop_flat_map(|sets| {
        (classifier(sets), queues(sets), scheduler(), pacer(), buffer()).prop_map(
            |(classifier, queues, scheduler, pacer, buffer)| Pipeline {
                name: "composed".to_owned(),
                classifier,
                queues,
                scheduler,
                pacer,
                buffer,
            },
        )
    })
}

pub(crate) fn edit() -> impl Strategy<Value = PipelineEdit> {
    prop_oneof![
        scheduler().prop_map(PipelineEdit::SetScheduler),
        pacer().prop_map(PipelineEdit::SetPacer),
        buffer().prop_map(PipelineEdit::SetBuffer),
        (1u16..6).prop_flat_map(classifier).prop_map(PipelineEdit::SetClassifier),
        (0u16..20, 1u16..20, discipline(), policer(), shaper()).prop_map(
            |(first, count, discipline, policer, shaper)| {
                let set = QueueSet { discipline, policer, shaper, ..fifo(first, count) };
                PipelineEdit::ModifyQueues(set)
            }
        ),
        (0u16..60, 1u16..20)
            .prop_map(|(first, count)| { PipelineEdit::AddQueues(fifo(first, count)) }),
        (0u16..60, 1u16..20)
            .prop_map(|(first, count)| { PipelineEdit::RemoveQueues(target(first, count)) }),
    ]
}

/// The flows as they arrive, each to its host and with its DSCP.
pub(crate) fn arriving(n: u16) -> FiveTuple {
    let destination = std::net::Ipv4Addr::new(198, 51, 100, 1 + (n % 3) as u8).into();
    FiveTuple { destination, ..flow(n) }
}

/// A template with another pacer and buffer, sometimes another scheduler; few queues.
pub(crate) fn template() -> impl Strategy<Value = Pipeline> {
    let names = prop::sample::select(&tc_rf::templates::NAMES[..]);
    let scheduler = proptest::option::of(scheduler());
    (names, pacer(), buffer(), shaper(), 1u16..40, scheduler).prop_map(
        |(name, pacer, buffer, shaper, queues, scheduler)| {
            let slices = vec![
                Slice { matches: vec![], flows: vec![arriving(0), arriving(1)], shaper },
                Slice { matches: vec![], flows: vec![arriving(2)], shaper: None },
            ];
            let template = match name {
                "flow_slicing" => FlowSlicing { slices, ..FlowSlicing::default() }.pipeline(),
                "segregate_greedy" => {
                    let greedy = vec![arriving(3)];
                    SegregateGreedy { greedy, ..SegregateGreedy::default() }.pipeline()
                }
                "fq_codel" => FqCodel { queues, ..FqCodel::default() }.pipeline(),
                "fq_l4s" => FqL4s { queues, ..FqL4s::default() }.pipeline(),
                "low_latency" => LowLatency { queues, ..LowLatency::default() }.pipeline(),
                "cake_diffserv" => CakeDiffserv { queues, ..CakeDiffserv::default() }.pipeline(),
                _ => by_name(name).expect("a template"),
            };
            let scheduler = scheduler.unwrap_or_else(|| template.scheduler.clone());
            Pipeline { scheduler, pacer, buffer, ..template }
        },
    )
}

/// A change of all or some stages; some are refused.
pub(crate) fn change_of_pipeline() -> impl Strategy<Value = Box<PipelineChange>> {
    prop_oneof![
        2 => template().prop_map(PipelineChange::Replace),
        2 => composed().prop_map(PipelineChange::Replace),
        2 => prop::collection::vec(edit(), 1..4).prop_map(PipelineChange::Delta),
        1 => Just(PipelineChange::Safe),
    ]
    .prop_map(Box::new)
}
