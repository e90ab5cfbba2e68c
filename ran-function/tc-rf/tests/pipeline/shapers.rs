//! Shapers and policers against a token bucket written down a second time: they conform over every
//! window, hold nothing back longer than they must, and never hold back a queue but their own.

use std::collections::VecDeque;

use crate::util::*;
use e2sm_tc::v1::*;
use proptest::prelude::*;
use tc_rf::TrafficControl;

/// Tokens per byte, when a rate of one kbit/s is worth one token per µs.
const TOKENS: i64 = 8_000;

/// Queue `n` gets what comes from port 10000 + `n`; some have a shaper by themselves, some share
/// one of two.
fn shapers() -> impl Strategy<Value = Vec<Option<Shaper>>> {
    let rate = 64u32..20_000;
    let burst = 100u32..6_000;
    let groups = [(rate.clone(), burst.clone()), (rate.clone(), burst.clone())];
    let member = prop_oneof![
        Just(None),
        (rate, burst).prop_map(|(rate_kbps, burst_bytes)| {
            Some(Shaper { rate_kbps, burst_bytes, group: None })
        }),
        Just(Some(Shaper { rate_kbps: 0, burst_bytes: 0, group: Some(0) })),
        Just(Some(Shaper { rate_kbps: 0, burst_bytes: 0, group: Some(1) })),
    ];
    (groups, prop::collection::vec(member, 2..8)).prop_map(|(groups, members)| {
        let in_group = |shaper: Shaper| match shaper.group {
            Some(group) => {
                let (rate_kbps, burst_bytes) = groups[usize::from(group)];
                Shaper { rate_kbps, burst_bytes, ..shaper }
            }
            None => shaper,
        };
        members.into_iter().map(|shaper| shaper.map(in_group)).collect()
    })
}

/// A bucket as the test sees it.
struct Bucket {
    shaper: Shaper,
    level: i64,
    at_us: u64,
    sent: Vec<(u64, u32)>,
}

impl Bucket {
    fn depth(&self) -> i64 {
        i64::from(self.shaper.burst_bytes) * TOKENS
    }

    fn level_at(&self, now_us: u64) -> i64 {
        let gained = i64::from(self.shaper.rate_kbps) * (now_us - self.at_us) as i64;
        (self.level + gained).min(self.depth())
    }

    fn lets_go(&self, len_bytes: u32, now_us: u64) -> bool {
        self.level_at(now_us) >= (i64::from(len_bytes) * TOKENS).min(self.depth())
    }

    fn spend(&mut self, len_bytes: u32, now_us: u64) {
        self.level = self.level_at(now_us) - i64::from(len_bytes) * TOKENS;
        self.at_us = now_us;
        self.sent.push((now_us, len_bytes));
    }

    /// RFC 2697 §3 over every window that begins and ends with a packet: no more than rate times
    /// duration and a bucket full, or one packet where that is longer.
    fn check_windows(&self) -> Result<(), TestCaseError> {
        let longest = self.sent.iter().map(|&(_, len)| i64::from(len) * TOKENS).max().unwrap_or(0);
        for (first, &(from_us, _)) in self.sent.iter().enumerate() {
            let mut sum = 0;
            for &(to_us, len_bytes) in &self.sent[first..] {
                sum += i64::from(len_bytes) * TOKENS;
                let most = i64::from(self.shaper.rate_kbps) * (to_us - from_us) as i64
                    + self.depth().max(longest);
                prop_assert!(sum <= most, "{sum} tokens in {from_us}..={to_us}, at most {most}");
            }
        }
        Ok(())
    }
}

struct Run {
    tc: TrafficControl<TestPacket>,
    now_us: u64,
    buckets: Vec<Bucket>,
    bucket_of: Vec<Option<usize>>,
    held: Vec<VecDeque<u32>>,
}

impl Run {
    fn new(shapers: &[Option<Shaper>], scheduler: Scheduler) -> Self {
        let mut pipeline = by_port(shapers.len() as u16);
        pipeline.queues =
            (0..).zip(shapers).map(|(id, &shaper)| QueueSet { shaper, ..fifo(id, 1) }).collect();
        pipeline.scheduler = scheduler;
        let mut buckets: Vec<Bucket> = Vec::new();
        let bucket_of = shapers.iter().map(|shaper| {
            let shaper = (*shaper)?;
            let shared = buckets
                .iter()
                .position(|b| shaper.group.is_some() && b.shaper.group == shaper.group);
            Some(shared.unwrap_or_else(|| {
                let level = i64::from(shaper.burst_bytes) * TOKENS;
                buckets.push(Bucket { shaper, level, at_us: 0, sent: Vec::new() });
                buckets.len() - 1
            }))
        });
        let bucket_of = bucket_of.collect();
        let held = vec![VecDeque::new(); shapers.len()];
        Self { tc: control(pipeline), now_us: 0, buckets, bucket_of, held }
    }

    fn arrive(&mut self, queue: usize, len_bytes: u32) {
        self.tc.ingress(packet(queue as u16, len_bytes, 0), self.now_us, &mut ());
        self.held[queue].push_back(len_bytes);
    }

    fn egress(&mut self) -> Result<(), TestCaseError> {
        for sent in egress(&mut self.tc, self.now_us) {
            let queue = usize::from(sent.flow.source_port - 10_000);
            prop_assert_eq!(self.held[queue].pop_front(), Some(sent.len_bytes));
            if let Some(bucket) = self.bucket_of[queue] {
                prop_assert!(self.buckets[bucket].lets_go(sent.len_bytes, self.now_us));
                self.buckets[bucket].spend(sent.len_bytes, self.now_us);
            }
        }
        // What stays is held back by its own bucket, and by no other queue's.
        let mut free = Vec::new();
        for (queue, held) in self.held.iter().enumerate() {
            let Some(&head) = held.front() else { continue };
            let bucket = self.bucket_of[queue].map(|index| &self.buckets[index]);
            free.push(bucket.is_none_or(|bucket| bucket.lets_go(head, self.now_us)));
        }
        // A bucket of all queues waits for the packet whose turn it is, not for the shortest.
        let all = self.buckets.len() == 1 && self.bucket_of.iter().all(Option::is_some);
        let could = if all { free.iter().all(|free| *free) } else { free.contains(&true) };
        prop_assert!(free.is_empty() || !could, "could send at {}: {free:?}", self.now_us);
        Ok(())
    }

    /// Lets time pass, with egress whenever it is due.
    fn pass(&mut self, until_us: u64) -> Result<(), TestCaseError> {
        loop {
            self.egress()?;
            let due_us = self.tc.next_deadline_us(self.now_us);
            prop_assert!(due_us.is_none_or(|at_us| at_us > self.now_us));
            prop_assert_eq!(due_us.is_some(), self.tc.backlog_packets() > 0);
            match due_us {
                Some(at_us) if at_us <= until_us => self.now_us = at_us,
                _ => break,
            }
        }
        self.now_us = until_us;
        self.egress()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn shapers_conform_conserve_work_and_hold_back_only_their_own(
        shapers in shapers(),
        scheduler in crate::util::random::scheduler(),
        steps in prop::collection::vec((any::<usize>(), 40u32..1501, 1usize..6, 0u64..20_000), 1..60),
    ) {
        let mut run = Run::new(&shapers, scheduler);
        for (queue, len_bytes, count, wait_us) in steps {
            for _ in 0..count {
                run.arrive(queue % shapers.len(), len_bytes);
            }
            run.pass(run.now_us + wait_us)?;
        }
        run.pass(run.now_us + 1_000_000_000)?;
        prop_assert_eq!(run.tc.backlog_packets(), 0);
        for bucket in &run.buckets {
            bucket.check_windows()?;
        }
    }

    /// What a policer lets pass conforms over every window, and nothing that conforms is refused.
    #[test]
    fn policers_let_pass_what_conforms_and_nothing_else(
        rate_kbps in 64u32..20_000,
        burst_bytes in 100u32..6_000,
        arrivals in prop::collection::vec((40u32..1501, 0u64..3_000), 1..200),
    ) {
        let mut pipeline = by_port(1);
        let policer = Policer { rate_kbps, burst_bytes, exceed: ExceedAction::Remark { dscp: 8 } };
        pipeline.queues[0].policer = Some(policer);
        let mut tc = control(pipeline);
        let shaper = Shaper { rate_kbps, burst_bytes, group: None };
        let level = i64::from(burst_bytes) * TOKENS;
        let mut bucket = Bucket { shaper, level, at_us: 0, sent: Vec::new() };
        let mut now_us = 0;
        for (len_bytes, wait_us) in arrivals {
            now_us += wait_us;
            tc.ingress(packet(0, len_bytes, 0), now_us, &mut ());
            let out = egress(&mut tc, now_us);
            // A packet longer than the bucket never conforms.
            let conforms = len_bytes <= burst_bytes && bucket.lets_go(len_bytes, now_us);
            prop_assert_eq!(out[0].dscp == 0, conforms);
            if conforms {
                bucket.spend(len_bytes, now_us);
            }
        }
        bucket.check_windows()?;
    }
}

#[test]
fn a_reconfiguration_in_between_gives_a_group_no_fresh_burst() {
    let shared = Some(Shaper { rate_kbps: 800, burst_bytes: 3_000, group: Some(7) });
    let mut run = Run::new(&[shared, shared, None], Scheduler::RoundRobin);
    for _ in 0..20 {
        run.arrive(0, 1_000);
        run.arrive(1, 1_000);
    }
    // 800 kbit/s are 100 bytes per ms, and three packets of burst.
    let mut sent = 0;
    for ms in 0..100 {
        sent += egress(&mut run.tc, ms * 1_000).len();
        let renamed = PipelineEdit::SetName(format!("at {ms} ms"));
        run.tc.apply(&delta(vec![renamed]), ms * 1_000, &mut ());
    }
    assert_eq!(sent, 3 + 9);
}

/// Queues of one shaper share its rate as the scheduler says.
#[test]
fn weights_count_under_a_shaper_of_all_queues() {
    let shared = Some(Shaper { rate_kbps: 8_000, burst_bytes: 3_000, group: Some(0) });
    let weight = |queue, weight| QueueWeight { target: target(queue, 1), weight, shared: false };
    let weights = vec![weight(0, 3), weight(1, 1)];
    let mut run = Run::new(&[shared, shared], Scheduler::Weighted { quantum_bytes: 300, weights });
    let mut sent = [0; 2];
    for ms in 0..2_000 {
        for queue in 0..2 {
            run.arrive(queue, 1_000);
        }
        for packet in egress(&mut run.tc, ms * 1_000) {
            sent[usize::from(packet.flow.source_port - 10_000)] += 1;
        }
    }
    // A packet per ms and the burst, three quarters of one queue.
    let total = sent[0] + sent[1];
    assert_eq!(total, 2_000 + 2);
    assert!((1_495..=1_510).contains(&sent[0]), "{sent:?}");
}
