//! What each scheduler promises, against a model of it and as bounds that hold for any traffic.

use std::collections::VecDeque;

use crate::util::*;
use e2sm_tc::v1::{BufferLimit, FifoDrop, Guarantee, Overflow};
use proptest::prelude::*;
use tc_rf::queueing::{Discipline, QueueConfig, QueueRules, Queues, SchedulerConfig};

/// Longest packet of these tests.
const MAX_BYTES: u32 = 1500;

fn fifos(count: u16, scheduler: &SchedulerConfig) -> Queues<TestPacket> {
    let rules = QueueRules {
        discipline: Discipline::Fifo { drop: FifoDrop::Tail },
        limit_packets: u32::MAX,
        limit_bytes: u32::MAX,
    };
    let queues: Vec<_> = (0..count).map(|id| QueueConfig { id, rules }).collect();
    let buffer = BufferLimit { packets: u32::MAX / 2, bytes: u32::MAX, overflow: Overflow::Tail };
    Queues::new(&queues, scheduler, buffer)
}

/// Queues with what they hold: arrival and sequence of each packet.
struct Modelled {
    queues: Queues<TestPacket>,
    held: Vec<VecDeque<(u64, u64)>>,
    sequence: u64,
}

impl Modelled {
    fn new(count: u16, scheduler: &SchedulerConfig) -> Self {
        let held = vec![VecDeque::new(); usize::from(count)];
        Self { queues: fifos(count, scheduler), held, sequence: 0 }
    }

    fn put(&mut self, queue: usize, len_bytes: u32, now_us: u64) {
        let packet = packet(queue as u16, len_bytes, self.sequence);
        assert!(self.queues.enqueue(queue, packet, now_us, &mut ()).is_ok());
        self.held[queue].push_back((now_us, self.sequence));
        self.sequence += 1;
    }

    /// The queue that was served; the model has lost its head.
    fn take(&mut self, now_us: u64) -> Option<usize> {
        let queue = self.queues.dequeue(now_us, &mut ())?.queue;
        self.held[queue].pop_front().expect("the model holds the packet");
        Some(queue)
    }

    fn heads(&self) -> Vec<(usize, u64, u64)> {
        let heads = self.held.iter().enumerate();
        heads.filter_map(|(q, held)| held.front().map(|&(at_us, seq)| (q, at_us, seq))).collect()
    }
}

/// Bytes sent of three shares of 1, 2 and 2 queues, the first two with a guarantee, in 8 s.
fn sent_over_10_mbps(
    weights: &[u8],
    rates_kbps: &[u32; 2],
    burst_ms: u32,
    lengths: &[Vec<u32>],
) -> [u64; 3] {
    let share_of_queue = vec![0, 1, 1, 2, 2];
    let guarantee = |&rate_kbps: &u32| {
        Some(Guarantee { rate_kbps, burst_bytes: (rate_kbps * burst_ms / 8).max(1) })
    };
    let scheduler = SchedulerConfig::Guaranteed {
        quantum_bytes: 300,
        share_of_queue: share_of_queue.clone(),
        weight_of_share: weights.to_vec(),
        guarantee_of_share: rates_kbps.iter().map(guarantee).collect(),
    };
    let mut q = Modelled::new(5, &scheduler);
    let mut lengths: Vec<_> = lengths.iter().map(|each| each.iter().cycle()).collect();
    let mut held: Vec<VecDeque<u32>> = vec![VecDeque::new(); 5];
    let (mut sent, mut free_at_us) = ([0; 3], 0.0);
    while free_at_us < 8e6 {
        let now_us = free_at_us as u64;
        for queue in 0..5 {
            while held[queue].len() < 2 {
                let len_bytes = *lengths[queue].next().expect("a cycle");
                q.put(queue, len_bytes, now_us);
                held[queue].push_back(len_bytes);
            }
        }
        let queue = q.take(now_us).expect("a backlog");
        let len_bytes = held[queue].pop_front().expect("the queue had a packet");
        sent[share_of_queue[queue] as usize] += u64::from(len_bytes);
        free_at_us += f64::from(len_bytes) * 0.8;
    }
    sent
}

/// Serves queues that always have packets, and answers by how much the service of two of them,
/// each in turns of its own quantum, ever ran apart over any interval.
fn largest_lead(
    scheduler: &SchedulerConfig,
    lengths: &[Vec<u32>],
    group_of: &[usize],
    quanta: &[f64],
) -> Vec<(usize, usize, f64)> {
    let mut queues = fifos(lengths.len() as u16, scheduler);
    let mut next = vec![0usize; lengths.len()];
    let mut put = |queues: &mut Queues<TestPacket>, queue: usize| {
        let len_bytes = lengths[queue][next[queue] % lengths[queue].len()];
        next[queue] += 1;
        assert!(queues.enqueue(queue, packet(0, len_bytes, 0), 0, &mut ()).is_ok());
    };
    for queue in 0..lengths.len() {
        for _ in 0..3 {
            put(&mut queues, queue);
        }
    }
    let mut served = vec![0.0; quanta.len()];
    let mut extremes = vec![(0.0f64, 0.0f64); quanta.len() * quanta.len()];
    for _ in 0..2_000 {
        let sent = queues.dequeue(0, &mut ()).expect("always a backlog");
        put(&mut queues, sent.queue);
        let group = group_of[sent.queue];
        served[group] += f64::from(sent.packet.len_bytes) / quanta[group];
        for other in 0..quanta.len() {
            let (i, j) = (group.min(other), group.max(other));
            let lead = served[i] - served[j];
            let extreme = &mut extremes[i * quanta.len() + j];
            *extreme = (extreme.0.min(lead), extreme.1.max(lead));
        }
    }
    let pairs = (0..quanta.len()).flat_map(|i| (i + 1..quanta.len()).map(move |j| (i, j)));
    pairs
        .map(|(i, j)| {
            let (low, high) = extremes[i * quanta.len() + j];
            (i, j, high - low)
        })
        .collect()
}

/// Shreedhar and Varghese 1996, Theorem on fairness, for a DRR that lets a queue overdraw its
/// credits by less than one packet: in any interval in which two queues have packets, one has at
/// most one turn more than the other, and k turns are worth k quanta give or take a packet.
fn bound(quantum_i: f64, quantum_j: f64) -> f64 {
    1.0 + f64::from(MAX_BYTES) / quantum_i + f64::from(MAX_BYTES) / quantum_j
}

fn lengths(queues: usize) -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(1u32..=MAX_BYTES, 1..20), queues)
}

/// Packets of five queues, long enough for seconds of a link to be few of them.
fn long_packets() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(400u32..=MAX_BYTES, 1..20), 5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn weighted_service_stays_within_the_fairness_bound(
        quantum_bytes in 256u32..4_000,
        (weights, lengths) in (2usize..7).prop_flat_map(|n| {
            (prop::collection::vec(1u8..=20, n), lengths(n))
        }),
    ) {
        let scheduler =
            SchedulerConfig::Weighted { quantum_bytes, weight_of_queue: weights.clone() };
        let quanta: Vec<f64> =
            weights.iter().map(|&w| f64::from(w) * f64::from(quantum_bytes)).collect();
        let own: Vec<usize> = (0..weights.len()).collect();
        for (i, j, lead) in largest_lead(&scheduler, &lengths, &own, &quanta) {
            prop_assert!(lead <= bound(quanta[i], quanta[j]), "queues {i} and {j}: {lead}");
        }
    }

    #[test]
    fn unweighted_service_does_too(quantum_bytes in 256u32..4_000, lengths in lengths(5)) {
        let scheduler = SchedulerConfig::DeficitRoundRobin { quantum_bytes };
        let quanta = [f64::from(quantum_bytes); 5];
        for (i, j, lead) in largest_lead(&scheduler, &lengths, &[0, 1, 2, 3, 4], &quanta) {
            prop_assert!(lead <= bound(quanta[i], quanta[j]), "queues {i} and {j}: {lead}");
        }
    }

    /// Shares with 1, 2 and 5 queues: what each gets does not depend on that.
    #[test]
    fn a_share_is_worth_its_weight_however_many_queues_it_has(
        quantum_bytes in 256u32..4_000,
        weights in prop::collection::vec(1u8..=16, 3),
        lengths in lengths(8),
    ) {
        let share_of_queue: Vec<u32> = vec![0, 1, 1, 2, 2, 2, 2, 2];
        let group_of: Vec<usize> = share_of_queue.iter().map(|&share| share as usize).collect();
        let scheduler = SchedulerConfig::Shared {
            quantum_bytes,
            share_of_queue,
            weight_of_share: weights.clone(),
        };
        let quanta: Vec<f64> =
            weights.iter().map(|&w| f64::from(w) * f64::from(quantum_bytes)).collect();
        for (i, j, lead) in largest_lead(&scheduler, &lengths, &group_of, &quanta) {
            prop_assert!(lead <= bound(quanta[i], quanta[j]), "shares {i} and {j}: {lead}");
        }
    }

    /// A link of 10 Mbit/s for 8 s, three shares that always have packets, the third without a
    /// guarantee. Each guarantee is kept, whatever the weights; the bucket starts full.
    #[test]
    fn a_share_gets_its_guarantee_whatever_the_weights(
        weights in prop::collection::vec(1u8..=64, 3),
        guarantees in (100u32..4_500, 100u32..4_500),
        burst_ms in 10u32..200,
        lengths in long_packets(),
    ) {
        let rates = [guarantees.0, guarantees.1];
        let sent = sent_over_10_mbps(&weights, &rates, burst_ms, &lengths);
        let bits = |rate: u32| u64::from(rate) * 8_000;
        for (share, rate) in rates.into_iter().enumerate() {
            // What was sent last may have left the bucket in debt by one packet; another waits for
            // the packet in service.
            prop_assert!(
                sent[share] * 8 + 16 * u64::from(MAX_BYTES) >= bits(rate),
                "share {share}: {} of {} bits", sent[share] * 8, bits(rate)
            );
        }
        // Beyond it a share gets at most what its weight is worth, with a turn and a bucket, full at the
        // start and in debt at the end, as the tolerance.
        let rest = (sent[2] * 8) as f64;
        let turn = 8.0 * 3.0 * 64.0 * 300.0 + 16.0 * f64::from(MAX_BYTES);
        for share in 0..2 {
            let fair = rest * f64::from(weights[share]) / f64::from(weights[2]);
            let scale = (f64::from(weights[share]) / f64::from(weights[2])).max(1.0);
            let burst = 2.0 * f64::from(rates[share] * burst_ms);
            let most = fair + bits(rates[share]) as f64 + turn * scale + burst;
            let bits = (sent[share] * 8) as f64;
            prop_assert!(bits <= most, "share {share} took {bits}, the rest {rest}");
        }
    }

    /// Guarantees of 30 to 60 Mbit/s together on a link of 10: each share gets the same part of its
    /// own, the share without one its floor, a twentieth of the link.
    #[test]
    fn guarantees_beyond_the_link_shrink_by_the_same_factor(
        weights in prop::collection::vec(1u8..=64, 3),
        guarantees in (15_000u32..30_000, 15_000u32..30_000),
        lengths in long_packets(),
    ) {
        let rates = [guarantees.0, guarantees.1];
        let sent = sent_over_10_mbps(&weights, &rates, 100, &lengths);
        let part = |share: usize| sent[share] as f64 / f64::from(rates[share]);
        prop_assert!((part(0) / part(1) - 1.0).abs() < 0.05, "{} and {}", part(0), part(1));
        let floor = sent[2] as f64 / sent.iter().sum::<u64>() as f64;
        prop_assert!((floor - 0.05).abs() < 0.001, "{floor} without a guarantee");
    }

    /// The model of RFC 9332 §4.2.2 in one line, at every dequeue.
    #[test]
    fn conditional_priority_serves_l_until_c_is_older_by_more_than_the_shift(
        // In steps of 10 ms, so that ages differ by exactly the shift now and then.
        time_shift_us in (0u32..6).prop_map(|tens| tens * 10_000),
        steps in prop::collection::vec((0usize..3, 0u64..4, any::<bool>()), 1..300),
    ) {
        let (l4s, classic) = (1, 0);
        let config = SchedulerConfig::ConditionalPriority { l4s, classic, time_shift_us };
        let mut q = Modelled::new(3, &config);
        let mut now_us = 0;
        for (queue, wait_tens, take) in steps {
            now_us += wait_tens * 10_000;
            q.put(queue, 100, now_us);
            if !take {
                continue;
            }
            let heads = q.heads();
            let arrived = |queue| heads.iter().find(|head| head.0 == queue).map(|head| head.1);
            let expected = match (arrived(1), arrived(0)) {
                (Some(l), Some(c)) => usize::from(l <= c + u64::from(time_shift_us)),
                (Some(_), None) => 1,
                (None, Some(_)) => 0,
                (None, None) => 2,
            };
            prop_assert_eq!(q.take(now_us), Some(expected));
        }
    }

    #[test]
    fn earliest_deadline_first_never_inverts_deadlines(
        budgets in prop::collection::vec(proptest::option::of(1u32..100_000), 1..9),
        steps in prop::collection::vec((any::<usize>(), 0u64..20_000, 0u32..3), 1..300),
    ) {
        let count = budgets.len();
        let scheduler = SchedulerConfig::EarliestDeadlineFirst { budget_us: budgets.clone() };
        let mut q = Modelled::new(count as u16, &scheduler);
        let mut now_us = 0;
        for (queue, wait_us, takes) in steps {
            now_us += wait_us;
            q.put(queue % count, 100, now_us);
            for _ in 0..takes {
                let key = |&(queue, at_us, sequence): &(usize, u64, u64)| {
                    let budget_us = budgets[queue];
                    (budget_us.is_none(), at_us + u64::from(budget_us.unwrap_or(0)), sequence)
                };
                let expected = q.heads().iter().min_by_key(|head| key(head)).map(|head| head.0);
                prop_assert_eq!(q.take(now_us), expected);
            }
        }
    }
}

#[test]
fn an_overloaded_l_queue_delays_c_by_the_shift_and_does_not_starve_it() {
    let config = SchedulerConfig::ConditionalPriority { l4s: 0, classic: 1, time_shift_us: 10_000 };
    let mut q = Modelled::new(2, &config);
    let mut c_sojourn_us = Vec::new();
    // Each ms two packets of L and, each fourth, one of C; the link takes two.
    for ms in 0..400u64 {
        let now_us = ms * 1000;
        q.put(0, 1000, now_us);
        q.put(0, 1000, now_us);
        if ms % 4 == 0 {
            q.put(1, 1000, now_us);
        }
        for _ in 0..2 {
            let heads = q.heads();
            if q.take(now_us) == Some(1) {
                let arrived_us = heads.iter().find(|head| head.0 == 1).expect("C had one").1;
                c_sojourn_us.push(now_us - arrived_us);
            }
        }
    }
    assert!(c_sojourn_us.len() > 80, "{} of 100 packets of C", c_sojourn_us.len());
    let l_age_us = q.heads().iter().find(|head| head.0 == 0).map_or(0, |head| 400_000 - head.1);
    let c_worst_us = c_sojourn_us.iter().max().expect("some");
    // The delay of L at the end is its largest: its backlog only grows.
    assert!(*c_worst_us <= 10_000 + l_age_us + 1_000, "C {c_worst_us}, L {l_age_us}");
}

#[test]
fn a_sparse_queue_goes_before_weighty_ones() {
    let config =
        SchedulerConfig::Weighted { quantum_bytes: 1514, weight_of_queue: vec![255, 255, 1] };
    let mut q = Modelled::new(3, &config);
    for _ in 0..600 {
        q.put(0, 1500, 0);
        q.put(1, 1500, 0);
    }
    for _ in 0..520 {
        q.take(0);
    }
    q.put(2, 100, 0);
    assert_eq!(q.take(0), Some(2), "new queues go first (RFC 8290 §4.2)");
}

#[test]
fn queues_without_weight_weigh_one_and_shares_without_queue_cost_nothing() {
    let config = SchedulerConfig::Shared {
        quantum_bytes: 1000,
        share_of_queue: vec![5, 5],
        weight_of_share: vec![],
    };
    let mut q = Modelled::new(3, &config);
    let mut count = [0; 3];
    for queue in 0..3 {
        for _ in 0..100 {
            q.put(queue, 1000, 0);
        }
    }
    for _ in 0..100 {
        count[q.take(0).expect("a backlog")] += 1;
    }
    assert_eq!(count, [25, 25, 50], "one share of two queues, and one queue by itself");
}

/// A share that sent far beyond its guarantee while there was room has the guarantee at once when
/// there is none.
#[test]
fn what_a_share_borrowed_does_not_suspend_its_guarantee() {
    let config = SchedulerConfig::Guaranteed {
        quantum_bytes: 300,
        share_of_queue: vec![0, 1],
        weight_of_share: vec![1, 9],
        guarantee_of_share: vec![Some(Guarantee { rate_kbps: 5_000, burst_bytes: 62_500 }), None],
    };
    let mut q = Modelled::new(2, &config);
    // 10 s alone at 100 Mbit/s, then 2 s at 10 Mbit/s beside another.
    let mut served = |now_us: u64, queues: &[usize]| {
        for &queue in queues {
            q.put(queue, 1_250, now_us);
        }
        q.take(now_us)
    };
    for slot in 0..100_000 {
        assert_eq!(served(slot * 100, &[0]), Some(0));
    }
    let shared = (0..2_000).filter(|slot| served(10_000_000 + slot * 1_000, &[0, 1]) == Some(0));
    // 1000 packets are 5 Mbit/s; 100 ms of them are the debt.
    let packets = shared.count();
    assert!((930..=1_010).contains(&packets), "{packets} packets");
}

/// A share whose part by weight is its guarantee, or more, gets that and no more: the guarantee is no
/// addition to it.
#[test]
fn a_guarantee_below_the_part_by_weight_changes_nothing() {
    let lengths = vec![vec![1_000]; 5];
    // Of 10 Mbit/s in 8 s each share gets a third, 3.33 MB.
    let sent = sent_over_10_mbps(&[1, 1, 1], &[3_000, 1_000], 100, &lengths);
    for share in sent {
        assert!(share.abs_diff(3_333_333) < 100_000, "{sent:?}");
    }
}
