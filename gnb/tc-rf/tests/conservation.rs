//! Random traffic under random reconfiguration: no packet is lost or overtakes its flow.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod util;

use std::collections::BTreeMap;

use e2sm_tc::v1::*;
use proptest::prelude::*;
use tc_rf::RlcStatus;
use tc_rf::templates::{Slice, TemplateParams, by_name, exactly};
use util::*;

/// What happens next to the bearer.
#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u16, len_bytes: u32, ecn: bool },
    Wait { us: u64 },
    Egress,
    Status { occupancy_bytes: u32, downlink: bool },
    Apply(Box<PipelineChange>),
    Leased(Box<PipelineChange>, u32),
    TakeBack(usize),
}

fn pacer() -> impl Strategy<Value = Pacer> {
    prop_oneof![
        Just(Pacer::None),
        Just(Pacer::Bdp5g),
        Just(Pacer::E5gBdp),
        (68u16..2000).prop_map(|mtu_bytes| Pacer::Drql { mtu_bytes }),
    ]
}

fn shaper() -> impl Strategy<Value = Option<Shaper>> {
    proptest::option::of((1u32..50_000, 1u32..20_000).prop_map(|(rate_kbps, burst_bytes)| Shaper {
        rate_kbps,
        burst_bytes,
        group: None,
    }))
}

fn scheduler() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        Just(Scheduler::RoundRobin),
        (256u32..4000).prop_map(|quantum_bytes| Scheduler::DeficitRoundRobin { quantum_bytes }),
        Just(Scheduler::StrictPriority { order: vec![target(0, 1)] }),
    ]
}

fn buffer() -> impl Strategy<Value = BufferLimit> {
    (1u32..300, 1_500u32..400_000, any::<bool>()).prop_map(|(packets, bytes, fattest)| {
        let overflow = if fattest { Overflow::FattestHead } else { Overflow::Tail };
        BufferLimit { packets, bytes, overflow }
    })
}

fn template() -> impl Strategy<Value = Pipeline> {
    let names = prop::sample::select(&tc_rf::templates::NAMES[..]);
    (names, pacer(), buffer(), shaper(), 1u16..40, scheduler()).prop_map(
        |(name, pacer, buffer, shaper, flow_queues, scheduler)| {
            let slices = vec![
                Slice { matches: vec![exactly(&flow(0)), exactly(&flow(1))], shaper },
                Slice { matches: vec![exactly(&flow(2))], shaper: None },
            ];
            let params = TemplateParams {
                pacer,
                buffer,
                flow_queues,
                slices,
                greedy: vec![flow(3)],
                ..TemplateParams::default()
            };
            let pipeline = by_name(name, &params).expect("a template");
            Pipeline { scheduler, ..pipeline }
        },
    )
}

fn edit() -> impl Strategy<Value = PipelineEdit> {
    prop_oneof![
        scheduler().prop_map(PipelineEdit::SetScheduler),
        pacer().prop_map(PipelineEdit::SetPacer),
        buffer().prop_map(PipelineEdit::SetBuffer),
        (0u16..20, 1u16..20, shaper()).prop_map(|(first, count, shaper)| {
            PipelineEdit::ModifyQueues(QueueSet { shaper, ..fifo(first, count) })
        }),
        (0u16..60, 1u16..20)
            .prop_map(|(first, count)| { PipelineEdit::AddQueues(fifo(first, count)) }),
        (0u16..60, 1u16..20)
            .prop_map(|(first, count)| { PipelineEdit::RemoveQueues(target(first, count)) }),
        (1u16..40, proptest::option::of(any::<u32>())).prop_map(|(count, perturbation)| {
            let target = target(0, count);
            let hash = StochasticHash { target, perturbation, ways: 1 };
            PipelineEdit::SetClassifier(Classifier::StochasticHash(hash))
        }),
    ]
}

fn change_of_pipeline() -> impl Strategy<Value = Box<PipelineChange>> {
    prop_oneof![
        template().prop_map(PipelineChange::Replace),
        prop::collection::vec(edit(), 1..4).prop_map(PipelineChange::Delta),
        Just(PipelineChange::Safe),
    ]
    .prop_map(Box::new)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0u16..8, 40u32..1501, any::<bool>())
            .prop_map(|(flow, len_bytes, ecn)| Step::Arrive { flow, len_bytes, ecn }),
        4 => (0u64..30_000).prop_map(|us| Step::Wait { us }),
        3 => Just(Step::Egress),
        2 => (0u32..20_000, any::<bool>()).prop_map(|(occupancy_bytes, downlink)| {
            Step::Status { occupancy_bytes, downlink }
        }),
        2 => change_of_pipeline().prop_map(Step::Apply),
        1 => (change_of_pipeline(), 1u32..60).prop_map(|(c, ms)| Step::Leased(c, ms)),
        1 => (0usize..40).prop_map(Step::TakeBack),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn in_is_out_plus_dropped_plus_queued_and_flows_stay_in_order(
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut tc = control(by_port(1));
        let mut events = Recorder::default();
        let mut out = Vec::new();
        let (mut now_us, mut arrived) = (0u64, 0u64);
        let mut arrived_us = Vec::new();
        let mut marked_and_back = std::collections::BTreeSet::new();
        for step in steps {
            let before = (tc.backlog_packets(), events.drops.len());
            match step {
                Step::Arrive { flow, len_bytes, ecn } => {
                    let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
                    let arriving = TestPacket { ecn, ..packet(flow, len_bytes, arrived) };
                    arrived += 1;
                    arrived_us.push(now_us);
                    tc.ingress(arriving, now_us, &mut events);
                }
                Step::Wait { us } => now_us += us,
                Step::Egress => tc.egress(now_us, &mut events, &mut |p| out.push(p)),
                Step::Status { occupancy_bytes, downlink } => {
                    let status = RlcStatus {
                        at_us: now_us,
                        occupancy_bytes,
                        occupancy_packets: 0,
                        capacity_bytes_per_tti: 9000,
                        tti_us: 500,
                        dl_opportunity: downlink,
                    };
                    tc.rlc_status(&status, now_us);
                }
                Step::Apply(c) => {
                    let revision = tc.revision();
                    // A lease may end here as well, which counts one more.
                    let outcome = tc.apply(&change(*c), now_us, &mut events);
                    if let ControlOutcome::Accepted { revision: now, .. } = outcome {
                        prop_assert!(now > revision && now <= revision + 2);
                    }
                    prop_assert_eq!(before, (tc.backlog_packets(), events.drops.len()));
                }
                Step::Leased(c, ms) => {
                    let leased = Transaction { lease_ms: Some(ms), ..change(*c) };
                    tc.apply(&leased, now_us, &mut events);
                    prop_assert_eq!(before, (tc.backlog_packets(), events.drops.len()));
                }
                Step::TakeBack(count) => {
                    // What the RLC has not begun to send is the end of what came out.
                    let unsent = out.split_off(out.len() - count.min(out.len()));
                    let marked = unsent.iter().filter(|p: &&TestPacket| p.ecn == Ecn::Ce);
                    marked_and_back.extend(marked.map(|p| p.number));
                    let back = unsent.into_iter().map(|p: TestPacket| {
                        let at_us = arrived_us[p.number as usize];
                        (p, at_us)
                    });
                    tc.take_back(back, now_us);
                    prop_assert_eq!(before.1, events.drops.len());
                }
            }
            let gone = out.len() + events.drops.len();
            prop_assert_eq!(arrived, gone as u64 + u64::from(tc.backlog_packets()));
            if let Some(deadline_us) = tc.next_deadline_us(now_us) {
                prop_assert!(deadline_us < u64::MAX);
            }
        }
        // What is left comes out under the transparent pipeline.
        tc.apply(&replace(by_port(1)), now_us, &mut events);
        tc.egress(now_us, &mut events, &mut |p| out.push(p));
        prop_assert_eq!(tc.backlog_packets(), 0);
        prop_assert_eq!(tc.backlog_bytes(), 0);
        prop_assert_eq!(arrived, (out.len() + events.drops.len()) as u64);

        let mut last = BTreeMap::new();
        // A packet that was marked before it came back may pass its flow under a classifier by
        // ECN, as any CE packet may (RFC 9331 §5.1).
        for packet in out.iter().filter(|packet| !marked_and_back.contains(&packet.number)) {
            let previous = last.insert(packet.flow, packet.number);
            prop_assert!(previous < Some(packet.number), "{:?} after {:?}", packet, previous);
        }
        let mut seen: Vec<u64> = numbers(&out);
        seen.extend(events.drops.iter().map(|(packet, _, _)| packet.number));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..arrived).collect::<Vec<_>>());
    }
}
