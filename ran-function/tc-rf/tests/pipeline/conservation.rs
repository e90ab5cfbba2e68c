//! Random traffic under random reconfiguration between all kinds of pipelines: no packet is lost or
//! overtakes its flow, and nothing idles.

use std::collections::{BTreeMap, BTreeSet};

use crate::util::random::*;
use crate::util::*;
use e2sm_tc::v1::*;
use proptest::prelude::*;
use tc_rf::{RlcStatus, TrafficControl};

/// What happens next to the bearer.
#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u16, len_bytes: u32, variant: bool },
    Wait { us: u64 },
    Egress,
    Status { occupancy_bytes: u32, downlink: bool },
    Apply(Box<PipelineChange>),
    Leased(Box<PipelineChange>, u32),
    RecallUnsent(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0u16..8, prop_oneof![3 => 40u32..1501, 1 => 1u32..9001], any::<bool>())
            .prop_map(|(flow, len_bytes, variant)| Step::Arrive { flow, len_bytes, variant }),
        4 => (0u64..30_000).prop_map(|us| Step::Wait { us }),
        3 => Just(Step::Egress),
        2 => (0u32..20_000, any::<bool>()).prop_map(|(occupancy_bytes, downlink)| {
            Step::Status { occupancy_bytes, downlink }
        }),
        2 => change_of_pipeline().prop_map(Step::Apply),
        1 => (change_of_pipeline(), 1u32..60).prop_map(|(c, ms)| Step::Leased(c, ms)),
        1 => (0usize..40).prop_map(Step::RecallUnsent),
    ]
}

/// Flows by their use of ECN: none at all; classic, whose handshake is Not-ECT; classic that
/// was marked before it came here; L4S that was.
fn ecn_of(flow: u16, variant: bool, seen_ect0: bool) -> Ecn {
    match (flow % 4, variant) {
        (0, _) | (1, true) => Ecn::NotEct,
        (1, false) => Ecn::Ect0,
        (2, true) if seen_ect0 => Ecn::Ce,
        (2, _) => Ecn::Ect0,
        (_, true) => Ecn::Ce,
        (_, false) => Ecn::Ect1,
    }
}

/// Packets above a policer's rate so far, where the policer deviates them.
fn deviated(tc: &TrafficControl<TestPacket>, now_us: u64) -> u64 {
    let deviates = |id: QueueId| {
        let sets = &tc.pipeline().queues;
        let set = sets.iter().find(|set| (set.first..set.first + set.count).contains(&id));
        set.and_then(|set| set.policer)
            .is_some_and(|policer| matches!(policer.exceed, ExceedAction::Deviate { .. }))
    };
    let queues = tc.status(now_us).queues;
    queues.iter().filter(|queue| deviates(queue.id)).map(|queue| queue.policed_packets).sum()
}

fn filters_by_dscp(pipeline: &Pipeline) -> bool {
    match &pipeline.classifier {
        Classifier::Osi(osi) => osi.filters.iter().any(|filter| filter.rule.dscp.is_some()),
        _ => false,
    }
}

/// The bearer with the test's record of its packets.
struct Run {
    tc: TrafficControl<TestPacket>,
    events: Recorder,
    out: Vec<TestPacket>,
    now_us: u64,
    arrived_us: Vec<u64>,
    arrived_bytes: u64,
    seen_ect0: BTreeSet<u16>,
    /// Packets that came back from the RLC with a DSCP that a policer had rewritten.
    back_remarked: BTreeSet<u64>,
    /// Packets that may pass others of their flow.
    exempt: BTreeSet<u64>,
}

impl Run {
    fn new() -> Self {
        Self {
            tc: control(by_port(1)),
            events: Recorder::default(),
            out: Vec::new(),
            now_us: 0,
            arrived_us: Vec::new(),
            arrived_bytes: 0,
            seen_ect0: BTreeSet::new(),
            back_remarked: BTreeSet::new(),
            exempt: BTreeSet::new(),
        }
    }

    fn arrive(&mut self, n: u16, len_bytes: u32, variant: bool) {
        let ecn = ecn_of(n, variant, self.seen_ect0.contains(&n));
        if ecn == Ecn::Ect0 {
            self.seen_ect0.insert(n);
        }
        let number = self.arrived_us.len() as u64;
        let flow = arriving(n);
        let packet = TestPacket { flow, ecn, dscp: dscp_of(n), ..packet(n, len_bytes, number) };
        self.arrived_us.push(self.now_us);
        self.arrived_bytes += u64::from(len_bytes);
        self.tc.tick(self.now_us, &mut self.events);
        let before = deviated(&self.tc, self.now_us);
        self.tc.ingress(packet, self.now_us, &mut self.events);
        if deviated(&self.tc, self.now_us) > before {
            self.exempt.insert(number);
        }
    }

    fn egress(&mut self) {
        let out = &mut self.out;
        self.tc.egress(self.now_us, &mut self.events, &mut |packet| out.push(packet));
    }

    /// Checks that without a pacer whatever is left after egress is held back by a shaper.
    fn check_that_nothing_idles(&self) -> Result<(), TestCaseError> {
        if self.tc.pipeline().pacer != Pacer::None {
            return Ok(());
        }
        for queue in self.tc.status(self.now_us).queues {
            prop_assert!(queue.backlog_packets == 0 || queue.shaped, "{queue:?}");
        }
        let deadline_us = self.tc.next_deadline_us(self.now_us);
        if self.tc.backlog_packets() > 0 {
            prop_assert!(deadline_us.is_some_and(|at_us| at_us > self.now_us), "{deadline_us:?}");
        }
        Ok(())
    }

    /// What the RLC has not begun to send is the end of what came out.
    fn recall_unsent(&mut self, count: usize) {
        let unsent = self.out.split_off(self.out.len() - count.min(self.out.len()));
        let remarked = unsent.iter().filter(|p| p.dscp != dscp_of(p.flow.source_port - 10_000));
        self.back_remarked.extend(remarked.map(|p| p.number));
        let arrived_us = &self.arrived_us;
        let back = unsent.into_iter().map(|p| {
            let at_us = arrived_us[p.number as usize];
            (p, at_us)
        });
        self.tc.recall_unsent(back, self.now_us);
    }

    fn rlc_status(&mut self, occupancy_bytes: u32, downlink: bool) {
        let status = RlcStatus {
            at_us: self.now_us,
            occupancy_bytes,
            occupancy_packets: 0,
            capacity_bytes_per_tti: 9000,
            tti_us: 500,
            dl_opportunity: downlink,
            ..RlcStatus::default()
        };
        self.tc.rlc_status(&status, self.now_us);
    }

    fn check_conservation(&self) -> Result<(), TestCaseError> {
        let gone = self.out.len() + self.events.drops.len();
        let queued = u64::from(self.tc.backlog_packets());
        prop_assert_eq!(self.arrived_us.len() as u64, gone as u64 + queued);
        let dropped = self.events.drops.iter().map(|(packet, _, _)| packet);
        let gone_bytes: u64 = self.out.iter().chain(dropped).map(|p| u64::from(p.len_bytes)).sum();
        prop_assert_eq!(self.arrived_bytes, gone_bytes + self.tc.backlog_bytes());
        Ok(())
    }

    /// A flow's packets left in the order of arrival, with two exceptions that no pipeline can
    /// help:
    /// - what a policer deviated, which is what deviation is;
    /// - what came back from the RLC with a DSCP that a policer had rewritten, if a filter by DSCP
    ///   was in force from then on: the old DSCP is not known.
    ///
    /// CE marks are no exception: neither those of the pipeline's own AQMs, whether or not the
    /// packet came back, nor those of others.
    fn check_order(&self) -> Result<(), TestCaseError> {
        let mut last = BTreeMap::new();
        for packet in self.out.iter().filter(|packet| !self.exempt.contains(&packet.number)) {
            let previous = last.insert(packet.flow, packet.number);
            prop_assert!(previous < Some(packet.number), "{:?} after {:?}", packet, previous);
        }
        let mut seen: Vec<u64> = numbers(&self.out);
        seen.extend(self.events.drops.iter().map(|(packet, _, _)| packet.number));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..self.arrived_us.len() as u64).collect::<Vec<_>>());
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let before = (self.tc.backlog_packets(), self.events.drops.len());
        match step {
            Step::Arrive { flow, len_bytes, variant } => self.arrive(flow, len_bytes, variant),
            Step::Wait { us } => self.now_us += us,
            Step::Egress => {
                self.egress();
                self.check_that_nothing_idles()?;
            }
            Step::Status { occupancy_bytes, downlink } => {
                self.rlc_status(occupancy_bytes, downlink);
            }
            Step::Apply(c) => {
                let revision = self.tc.revision();
                // A lease may end here as well, which counts one more.
                let outcome = self.tc.apply(&change(*c), self.now_us, &mut self.events);
                if let ControlOutcome::Accepted { revision: now, .. } = outcome {
                    prop_assert!(now > revision && now <= revision + 2);
                }
                prop_assert_eq!(before, (self.tc.backlog_packets(), self.events.drops.len()));
            }
            Step::Leased(c, ms) => {
                let leased = Transaction { lease_ms: Some(ms), ..change(*c) };
                self.tc.apply(&leased, self.now_us, &mut self.events);
                prop_assert_eq!(before, (self.tc.backlog_packets(), self.events.drops.len()));
            }
            Step::RecallUnsent(count) => {
                self.recall_unsent(count);
                prop_assert_eq!(before.1, self.events.drops.len());
            }
        }
        if filters_by_dscp(self.tc.pipeline()) {
            self.exempt.append(&mut self.back_remarked);
        }
        self.check_conservation()?;
        if let Some(deadline_us) = self.tc.next_deadline_us(self.now_us) {
            prop_assert!(deadline_us < u64::MAX);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn in_is_out_plus_dropped_plus_queued_and_flows_stay_in_order(
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut run = Run::new();
        for step in steps {
            run.step(step)?;
        }
        // What is left comes out under the transparent pipeline.
        run.tc.apply(&replace(by_port(1)), run.now_us, &mut run.events);
        run.egress();
        prop_assert_eq!(run.tc.backlog_packets(), 0);
        prop_assert_eq!(run.tc.backlog_bytes(), 0);
        run.check_conservation()?;
        run.check_order()?;
    }
}
