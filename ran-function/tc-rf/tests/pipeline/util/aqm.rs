//! Queues of one discipline under a recorder.

use e2sm_tc::v1::*;
use tc_rf::queueing::{
    AqmState, Discipline, QueueConfig, QueueRules, QueueState, Queues, SchedulerConfig,
};

use super::{Recorder, TestPacket, packet};

/// Queues `0..n` in turn, with limits that are never reached.
pub(crate) struct Bench {
    pub(crate) queues: Queues<TestPacket>,
    pub(crate) events: Recorder,
    next: u64,
}

impl Bench {
    pub(crate) fn new(disciplines: &[Discipline]) -> Self {
        Self::with_limit(disciplines, 100_000, 1)
    }

    pub(crate) fn with_limit(disciplines: &[Discipline], limit_packets: u32, seed: u64) -> Self {
        let configs: Vec<_> = (0..)
            .zip(disciplines)
            .map(|(id, &discipline)| QueueConfig {
                id,
                rules: QueueRules { discipline, limit_packets, limit_bytes: u32::MAX },
            })
            .collect();
        let buffer = BufferLimit { packets: 1 << 20, bytes: u32::MAX, overflow: Overflow::Tail };
        let queues = Queues::with_seed(&configs, &SchedulerConfig::RoundRobin, buffer, seed);
        Self { queues, events: Recorder::default(), next: 0 }
    }

    /// Packets of 1500 bytes for a queue.
    pub(crate) fn enqueue(&mut self, queue: usize, count: u32, ecn: Ecn, now_us: u64) {
        self.enqueue_len(queue, count, 1500, ecn, now_us);
    }

    pub(crate) fn enqueue_len(
        &mut self,
        queue: usize,
        count: u32,
        len: u32,
        ecn: Ecn,
        now_us: u64,
    ) {
        for _ in 0..count {
            let packet = TestPacket { ecn, ..packet(queue as u16, len, self.next) };
            self.next += 1;
            assert!(self.queues.enqueue(queue, packet, now_us, &mut self.events).is_ok());
        }
    }

    pub(crate) fn dequeue(&mut self, now_us: u64) -> Option<TestPacket> {
        self.queues.dequeue(now_us, &mut self.events).map(|dequeued| dequeued.packet)
    }

    pub(crate) fn state(&self, queue: usize) -> QueueState {
        self.queues.state(queue).expect("the queue")
    }

    /// Inner state after the updates that are due.
    pub(crate) fn aqm(&mut self, queue: usize, now_us: u64) -> AqmState {
        self.queues.advance(now_us);
        self.state(queue).aqm
    }
}

/// One discipline of every kind, as an operator may set it.
pub(crate) fn disciplines() -> Vec<(&'static str, QueueDiscipline)> {
    let codel = Codel {
        target_us: 5_000,
        interval_us: 100_000,
        ecn: true,
        ce_threshold_us: Some(20_000),
        l4s: false,
    };
    vec![
        ("fifo", QueueDiscipline::Fifo { drop: FifoDrop::Tail }),
        ("fifo_head", QueueDiscipline::Fifo { drop: FifoDrop::Head }),
        ("codel", QueueDiscipline::Codel(codel)),
        ("pie", pie(true)),
        (
            "red",
            QueueDiscipline::Red {
                min_bytes: 15_000,
                max_bytes: 45_000,
                max_probability_milli: 100,
                ecn: true,
            },
        ),
        ("cobalt", QueueDiscipline::Cobalt(codel)),
        ("bode", QueueDiscipline::Bode { bound_us: 20_000, spare_bytes: None }),
        ("l4s_marking", QueueDiscipline::L4sMarking { threshold_us: 800, ramp_us: 1_200 }),
        (
            "adaptive_codel",
            QueueDiscipline::AdaptiveCodel(AdaptiveCodel {
                target_us: 5_000,
                max_target_us: 20_000,
                interval_us: 20_000,
                ecn: true,
                bound_us: Some(40_000),
            }),
        ),
        (
            "dual_pi2",
            QueueDiscipline::DualPi2 {
                target_us: 15_000,
                update_us: 16_000,
                coupling_milli: 2_000,
            },
        ),
    ]
}

/// PIE with the parameters of RFC 8033 §4.2.
pub(crate) fn pie(ecn: bool) -> QueueDiscipline {
    let (target_us, update_us) = (15_000, 15_000);
    QueueDiscipline::Pie { target_us, update_us, alpha_milli: 125, beta_milli: 1_250, ecn }
}

/// Every scheduler this RAN function declares, over queues `0..count` of which there are at
/// least two.
pub(crate) fn schedulers(count: u16) -> Vec<Scheduler> {
    let one = |first| QueueTarget { first, count: 1 };
    let rest = QueueTarget { first: 1, count: count - 1 };
    let all = [
        ("round_robin", Scheduler::RoundRobin),
        ("deficit_round_robin", Scheduler::DeficitRoundRobin { quantum_bytes: 1514 }),
        ("strict_priority", Scheduler::StrictPriority { order: vec![one(0)] }),
        (
            "weighted",
            Scheduler::Weighted {
                quantum_bytes: 1514,
                weights: vec![QueueWeight { target: one(0), weight: 3, shared: false }],
            },
        ),
        (
            "guaranteed",
            Scheduler::Guaranteed {
                quantum_bytes: 1514,
                shares: vec![
                    QueueShare {
                        target: one(0),
                        weight: 1,
                        guarantee: Some(Guarantee { rate_kbps: 2_000, burst_bytes: 20_000 }),
                    },
                    QueueShare { target: rest, weight: 2, guarantee: None },
                ],
            },
        ),
        (
            "conditional_priority",
            Scheduler::ConditionalPriority { l4s: 0, classic: 1, time_shift_us: 30_000 },
        ),
        (
            "earliest_deadline_first",
            Scheduler::EarliestDeadlineFirst {
                budgets: vec![
                    QueueBudget { target: one(0), budget_us: 5_000 },
                    QueueBudget { target: rest, budget_us: 50_000 },
                ],
            },
        ),
        (
            "inelastic_first",
            Scheduler::InelasticFirst(InelasticFirst {
                quantum_bytes: 1514,
                part_milli: 400,
                qfis: vec![1],
            }),
        ),
    ];
    let declared = tc_rf::capabilities().schedulers;
    let known = |name: &str| declared.iter().any(|declared| declared == name);
    all.into_iter().filter(|(name, _)| known(name)).map(|(_, scheduler)| scheduler).collect()
}
