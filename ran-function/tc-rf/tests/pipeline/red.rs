//! RED against the formulae of Floyd and Jacobson 1993.

use crate::util::aqm::Bench;
use e2sm_tc::v1::Ecn;
use tc_rf::DropReason;
use tc_rf::queueing::{AqmState, Discipline, RED_WEIGHT, Red, RedParams};

fn params(max_probability_milli: u16, ecn: bool) -> RedParams {
    RedParams { min_bytes: 30_000, max_bytes: 90_000, max_probability_milli, ecn }
}

fn bench(params: RedParams) -> Bench {
    Bench::new(&[Discipline::Red(params)])
}

fn red(bench: &Bench) -> Red {
    match bench.state(0).aqm {
        AqmState::Red(red) => red,
        other => panic!("{other:?}"),
    }
}

/// Keeps `packets` packets of 1500 bytes queued over `arrivals` arrivals, one per ms.
fn steady(bench: &mut Bench, packets: u32, arrivals: u64, ecn: Ecn, from_us: u64) -> u64 {
    let mut now_us = from_us;
    for _ in 0..arrivals {
        now_us += 1_000;
        while bench.state(0).backlog_packets > packets {
            bench.dequeue(now_us).expect("a packet");
        }
        bench.enqueue(0, 1, ecn, now_us);
    }
    now_us
}

#[test]
fn the_average_approaches_a_steady_queue_as_the_weight_says() {
    // Thresholds out of reach, so that every packet gets in.
    let never = RedParams { min_bytes: 1 << 40, max_bytes: 1 << 41, ..params(20, false) };
    let mut bench = bench(never);
    bench.enqueue(0, 20, Ecn::NotEct, 0);
    let start = red(&bench).avg_bytes();
    // avg_n = q − (q − avg_0) (1 − w)ⁿ for a queue of q bytes.
    let mut now_us = 0;
    for n in [1, 10, 100, 1_000] {
        let before = red(&bench).avg_bytes();
        now_us = steady(&mut bench, 20, n, Ecn::NotEct, now_us);
        let q = 30_000.0;
        let expected = q - (q - before) * (1.0 - RED_WEIGHT).powi(n as i32);
        assert!((red(&bench).avg_bytes() - expected).abs() < 1e-6, "{n}");
        assert_eq!(red(&bench).count(), -1);
    }
    assert!(red(&bench).avg_bytes() > start);
}

#[test]
fn an_idle_link_would_have_served_small_averages() {
    let never = RedParams { min_bytes: 1 << 40, max_bytes: 1 << 41, ..params(20, false) };
    let mut bench = bench(never);
    bench.enqueue(0, 20, Ecn::NotEct, 0);
    let mut now_us = steady(&mut bench, 20, 2_000, Ecn::NotEct, 0);
    // It drains at a packet per ms, as it was served all the time: s is 1 ms.
    while bench.dequeue(now_us).is_some() {
        now_us += 1_000;
    }
    let idle_from_us = now_us - 1_000;
    let before = red(&bench).avg_bytes();
    bench.enqueue(0, 1, Ecn::NotEct, idle_from_us + 300_000);
    // m = 300 ms / s packets that were not there: avg (1 − w)^m.
    let expected = before * (1.0 - RED_WEIGHT).powi(300);
    assert!((red(&bench).avg_bytes() / expected - 1.0).abs() < 1e-9);
    bench.dequeue(idle_from_us + 300_000);
    bench.enqueue(0, 1, Ecn::NotEct, u64::MAX);
    assert_eq!(red(&bench).avg_bytes(), 0.0, "forgotten after an age");
}

#[test]
fn signals_come_at_least_every_inverse_of_the_probability() {
    // A queue of 60 000 bytes is halfway between the thresholds: p_b is max_p / 2 = 1/20.
    let mut bench = bench(params(100, true));
    bench.enqueue(0, 40, Ecn::Ect0, 0);
    let mut now_us = steady(&mut bench, 40, 6_000, Ecn::Ect0, 0);
    bench.events.marks.clear();
    now_us = steady(&mut bench, 40, 20_000, Ecn::Ect0, now_us);
    let marks: Vec<u64> = bench.events.marks.iter().map(|(packet, _)| packet.number).collect();
    let gaps: Vec<u64> = marks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Figure 2 with `count`: the gap is uniform on 1..=1/p_b (§7, "uniform random variable").
    assert!(gaps.iter().all(|gap| (1..=20).contains(gap)), "{gaps:?}");
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    // Mean 10.5, standard deviation of one 5.8: five of those of the mean of 1900.
    assert!((mean - 10.5).abs() < 0.7, "{mean}");
    assert!(bench.events.drops.is_empty());
    assert!(red(&bench).count() < 20);
    assert!(now_us > 0);
}

#[test]
fn small_packets_are_signalled_less_often() {
    let marks = |len: u32| {
        let mut bench = bench(params(100, true));
        bench.enqueue(0, 40, Ecn::Ect0, 0);
        let now_us = steady(&mut bench, 40, 6_000, Ecn::Ect0, 0);
        bench.events.marks.clear();
        for n in 0..2_000 {
            bench.enqueue_len(0, 1, len, Ecn::Ect0, now_us + n);
            while bench.state(0).backlog_bytes > 60_000 {
                bench.dequeue(now_us + n);
            }
        }
        bench.events.marks.len()
    };
    let (full, tenth) = (marks(1_500), marks(150));
    assert!(full > 8 * tenth && tenth > 0, "{full} {tenth}");
}

#[test]
fn above_the_maximum_all_is_dropped_even_if_it_could_be_marked() {
    let mut bench = bench(params(20, true));
    bench.enqueue(0, 100, Ecn::Ect0, 0);
    let mut now_us = 0;
    while bench.events.drops.is_empty() {
        now_us = steady(&mut bench, 100, 1, Ecn::Ect0, now_us);
    }
    assert!(red(&bench).avg_bytes() >= 90_000.0);
    bench.events.drops.clear();
    bench.enqueue(0, 50, Ecn::Ect0, now_us);
    assert_eq!(bench.events.drops.len(), 50);
    assert!(
        bench.events.drops.iter().all(|(_, reason, _)| *reason == DropReason::Discipline("red"))
    );
    assert_eq!(red(&bench).count(), 0);
}

#[test]
fn below_the_minimum_a_burst_passes() {
    let mut bench = bench(params(1_000, false));
    // A hundred packets at once lift the average to 14 400 bytes only.
    bench.enqueue(0, 100, Ecn::NotEct, 0);
    assert!(bench.events.drops.is_empty());
    assert!(red(&bench).avg_bytes() < 15_000.0);
}
