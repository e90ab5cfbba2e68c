//! What a packet costs, enqueue plus dequeue: every queue discipline over up to 1024 queues beside
//! FQ-CoDel, and the whole pipeline over 1 to 1000 bearers.
//! `cargo bench -p gnb-benchmarks --bench disciplines`.
#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use e2sm_tc::v1::{
    AdaptiveCodel, BearerId, Classifier, Codel, FifoDrop, Pacer, Pipeline, QueueDiscipline,
    QueueSet, QueueTarget, UeId,
};
use tc_rf::queueing::Queues;
use tc_rf::templates::FqCodel;
use tc_rf::{Ecn, TrafficControl};

mod packet;
use packet::{BenchPacket, QUEUES, STANDING, spread};

/// Packets per measured round.
const ROUND: u64 = 1 << 14;
/// Each figure is the best of so many rounds: the others were disturbed.
const ROUNDS: usize = 50;

fn packet(n: u64) -> BenchPacket {
    packet::packet(n, if n.is_multiple_of(2) { Ecn::Ect1 } else { Ecn::NotEct })
}

fn disciplines() -> Vec<(&'static str, QueueDiscipline)> {
    let codel = Codel {
        target_us: 5_000,
        interval_us: 100_000,
        ecn: true,
        ce_threshold_us: None,
        l4s: false,
    };
    vec![
        ("fq_codel", QueueDiscipline::Codel(codel)),
        ("fifo", QueueDiscipline::Fifo { drop: FifoDrop::Tail }),
        (
            "pie",
            QueueDiscipline::Pie {
                target_us: 15_000,
                update_us: 15_000,
                alpha_milli: 125,
                beta_milli: 1_250,
                ecn: true,
            },
        ),
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
                target_us: 15_000,
                max_target_us: 100_000,
                interval_us: 150_000,
                ecn: true,
                bound_us: Some(300_000),
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

/// FQ-CoDel's pipeline with another discipline in its queues.
fn with(discipline: &QueueDiscipline) -> Pipeline {
    let pipeline = FqCodel { pacer: Pacer::None, ..FqCodel::default() }.pipeline();
    // DualPI2 couples two queues a set, of which a pipeline has at most 256; all others are one.
    let (count, sets) = match discipline {
        QueueDiscipline::DualPi2 { .. } => (2, 256),
        _ => (QUEUES, 1),
    };
    let set = |first| QueueSet {
        first,
        count,
        discipline: discipline.clone(),
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    };
    let queues: Vec<QueueSet> = (0..sets).map(|n| set(n * count)).collect();
    let one = QueueTarget { first: 0, count: 1 };
    Pipeline { queues, classifier: Classifier::RoundRobin(one), ..pipeline }
}

/// The least that `round` takes per packet, in ns.
fn best_ns(mut round: impl FnMut()) -> f64 {
    round();
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            round();
            begun.elapsed().as_secs_f64() * 1e9 / ROUND as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// One packet in, one packet out, 1 µs apart.
fn discipline_ns(discipline: &QueueDiscipline) -> Result<f64, Box<dyn Error>> {
    let mut queues = Queues::from_model(&with(discipline), 1)?;
    let queue_count = queues.len();
    let packets: Vec<BenchPacket> = (0..4096).map(packet).collect();
    let mut now_us = 0;
    let queue_of = |n: u64| spread(n) as usize % queue_count;
    for n in 0..STANDING {
        let _ = queues.enqueue(queue_of(n), packet(n), now_us, &mut ());
    }
    Ok(best_ns(|| {
        for n in 0..ROUND {
            now_us += 1;
            let next = packets[n as usize % packets.len()].clone();
            let _ = queues.enqueue(queue_of(n), next, now_us, &mut ());
            black_box(queues.dequeue(now_us, &mut ()));
        }
    }))
}

/// Ingress and egress through all stages, bursts of 16 packets to one bearer after the other, over
/// `flows` flows that each bearer has for itself.
fn bearers_ns(bearers: usize, flows: u64) -> Result<f64, Box<dyn Error>> {
    let params = FqCodel { pacer: Pacer::None, queues: 64, ..FqCodel::default() };
    let mut all = (0..bearers)
        .map(|n| {
            let bearer = BearerId { ue: UeId::Rnti(n as u16), drb: 1 };
            TrafficControl::new(bearer, params.pipeline(), n as u64)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let packets: Vec<BenchPacket> = (0..16).map(|n| packet(n % flows)).collect();
    let (mut now_us, mut next) = (0, 0);
    Ok(best_ns(|| {
        for _ in 0..ROUND / 16 {
            now_us += 16;
            let tc = &mut all[next];
            next = (next + 1) % bearers;
            for packet in &packets {
                tc.ingress(packet.clone(), now_us, &mut ());
            }
            tc.egress(now_us, &mut (), &mut |packet| {
                black_box(packet);
            });
        }
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:14} {:>10} {:>14}   1024 queues (dual_pi2 512) under DRR",
        "discipline", "ns/packet", "of fq_codel"
    );
    let mut base = None;
    for (name, discipline) in disciplines() {
        let ns = discipline_ns(&discipline)?;
        let base = *base.get_or_insert(ns);
        println!("{name:14} {ns:>10.1} {:>14.2}", ns / base);
    }
    for flows in [2, 16] {
        println!(
            "{:14} {:>10} {:>14}   six stages, {flows} flows each",
            "bearers", "ns/packet", "of one bearer"
        );
        let mut base = None;
        for bearers in [1, 10, 100, 1_000] {
            let ns = bearers_ns(bearers, flows)?;
            let base = *base.get_or_insert(ns);
            println!("{bearers:<14} {ns:>10.1} {:>14.2}", ns / base);
        }
    }
    Ok(())
}
