//! BoDe: what leaves is within the bound, and the last three packets always leave.

use std::collections::VecDeque;

use crate::util::aqm::Bench;
use e2sm_tc::v1::Ecn;
use proptest::prelude::*;
use tc_rf::DropReason;
use tc_rf::queueing::{BodeParams, Discipline};

const BOUND_US: u64 = 20_000;

fn bench() -> Bench {
    Bench::new(&[Discipline::Bode(BodeParams { bound_us: BOUND_US, spare_bytes: 0 })])
}

#[test]
fn late_packets_go_at_egress_and_no_arrival_ever_does() {
    let mut bench = bench();
    bench.enqueue(0, 10, Ecn::NotEct, 0);
    bench.enqueue(0, 10, Ecn::NotEct, 15_000);
    assert_eq!(bench.dequeue(20_000).expect("within the bound").number, 0);
    assert!(bench.events.drops.is_empty());
    assert_eq!(bench.dequeue(20_001).expect("a packet").number, 10, "nine were late");
    let drops: Vec<_> = bench.events.drops.iter().map(|(p, why, _)| (p.number, *why)).collect();
    assert_eq!(drops, (1..10).map(|n| (n, DropReason::Discipline("bode"))).collect::<Vec<_>>());
}

#[test]
fn the_last_three_are_served_however_late() {
    let mut bench = bench();
    bench.enqueue(0, 10, Ecn::NotEct, 0);
    let left: Vec<u64> =
        std::iter::from_fn(|| bench.dequeue(10_000_000)).map(|packet| packet.number).collect();
    assert_eq!(left, [7, 8, 9]);
    assert_eq!(bench.events.drops.len(), 7);
}

#[test]
fn a_queue_with_fewer_bytes_than_spared_loses_nothing_however_late() {
    let spare_bytes = 5 * 1_500;
    let mut bench = Bench::new(&[Discipline::Bode(BodeParams { bound_us: BOUND_US, spare_bytes })]);
    bench.enqueue(0, 10, Ecn::NotEct, 0);
    let left: Vec<u64> =
        std::iter::from_fn(|| bench.dequeue(10_000_000)).map(|packet| packet.number).collect();
    assert_eq!(left, [5, 6, 7, 8, 9], "four behind the first of them are less than five");
}

/// A call of 80 kbit/s (200 B each 20 ms) that gets 60 of them, with the 15 kB of the template `low_latency`:
/// each packet that leaves with its time and its wait, in ms.
fn a_share_below_the_rate(spare_bytes: u64) -> Vec<(u64, u64)> {
    let params = BodeParams { bound_us: 300_000, spare_bytes };
    let mut bench = Bench::new(&[Discipline::Bode(params)]);
    let mut arrived_us = Vec::new();
    let mut left = Vec::new();
    for ms in 1..=30_000 {
        if ms % 20 == 0 {
            bench.enqueue_len(0, 1, 200, Ecn::NotEct, ms * 1_000);
            arrived_us.push(ms * 1_000);
        }
        if ms % 27 == 0
            && let Some(packet) = bench.dequeue(ms * 1_000)
        {
            left.push((ms, ms - arrived_us[packet.number as usize] / 1_000));
        }
    }
    left
}

#[test]
fn few_bytes_spare_a_burst_and_no_standing_queue() {
    let left = a_share_below_the_rate(15_000);
    let longest_ms = left.iter().map(|(_, wait_ms)| *wait_ms).max();
    // Late for one bound: the queue grows by a quarter of that.
    assert!(longest_ms < Some(420), "{longest_ms:?} ms where the bound is 300");
    // The radio is always busy.
    assert_eq!(left.len(), 30_000 / 27);
}

#[test]
fn few_bytes_spare_what_an_outage_left() {
    let params = BodeParams { bound_us: 300_000, spare_bytes: 15_000 };
    let mut bench = Bench::new(&[Discipline::Bode(params)]);
    for outage in 0..3 {
        // 5 s without a radio, of which 74 packets of 200 B are within 15 kB; then 1 a ms.
        let since_us = outage * 10_000_000;
        (0..74).for_each(|n| {
            bench.enqueue_len(0, 1, 200, Ecn::NotEct, since_us + n * 20_000);
        });
        for ms in 5_000..6_000 {
            bench.dequeue(since_us + ms * 1_000);
        }
    }
    assert!(bench.events.drops.is_empty(), "{}", bench.events.drops.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Times between steps up to several bounds, so that the queue is now fresh, now stale.
    #[test]
    fn whatever_leaves_with_three_behind_it_is_within_the_bound(
        steps in prop::collection::vec((0u64..15_000, 0u32..6, 0u32..4), 1..300),
    ) {
        let mut bench = bench();
        let mut queued = VecDeque::new();
        let (mut now_us, mut number) = (0, 0u64);
        for (wait_us, arrivals, departures) in steps {
            now_us += wait_us;
            bench.enqueue(0, arrivals, Ecn::Ect1, now_us);
            for _ in 0..arrivals {
                queued.push_back((number, now_us));
                number += 1;
            }
            for _ in 0..departures {
                let served = bench.dequeue(now_us);
                let mut dropped = std::mem::take(&mut bench.events.drops).into_iter();
                let Some(served) = served else { break };
                loop {
                    let (number, at_us) = queued.pop_front().expect("it was queued");
                    let late = now_us - at_us > BOUND_US;
                    if number == served.number {
                        prop_assert!(!late || queued.len() < 3, "{number} at {now_us}");
                        break;
                    }
                    prop_assert_eq!(dropped.next().map(|(p, ..)| p.number), Some(number));
                    prop_assert!(late && queued.len() >= 3, "{number} at {now_us}");
                }
                prop_assert!(dropped.next().is_none());
            }
            prop_assert!(bench.events.drops.is_empty(), "nothing goes at ingress");
            prop_assert_eq!(bench.state(0).backlog_packets as usize, queued.len());
        }
    }
}
