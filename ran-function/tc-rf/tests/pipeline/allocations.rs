//! Packets cost no allocation in steady state.

use crate::util::aqm::{disciplines, schedulers};
use crate::util::*;
use e2sm_tc::v1::*;
use tc_rf::TrafficControl;
use tc_rf::templates::{FqCodel, NAMES, SegregateGreedy, by_name};

/// Bursts of packets of many flows through the pipeline, with RLC status and reports of drops.
fn traffic(tc: &mut TrafficControl<TestPacket>, rlc: &mut Rlc, from_ms: u64, to_ms: u64) {
    for ms in from_ms..to_ms {
        let now_us = ms * 1000;
        let status = rlc.slot(now_us);
        tc.rlc_status(&status, now_us);
        for n in 0..6u64 {
            let flow = ((ms * 7 + n * 13) % 300) as u16;
            tc.ingress(packet(flow, 1500, ms), now_us, &mut ());
        }
        for poll_us in [0, 200, 400, 600, 800] {
            tc.egress(now_us + poll_us, &mut (), &mut |packet| rlc.push(&packet));
        }
    }
}

fn allocates_nothing(pipeline: Pipeline) {
    let what = format!("{} under {:?}", pipeline.name, pipeline.scheduler);
    let mut tc = control(pipeline);
    let mut rlc = Rlc::fdd(6_000);
    traffic(&mut tc, &mut rlc, 0, 2_000);
    let allocations = allocation_counter::measure(|| {
        traffic(&mut tc, &mut rlc, 2_000, 6_000);
    });
    assert_eq!(allocations.count_total, 0, "{what}");
    assert_eq!(tc.status(6_000_000).ingress_packets, 36_000, "{what}");
}

fn bounded(name: &str) -> Pipeline {
    let mut pipeline = match name {
        "segregate_greedy" => {
            let greedy = vec![flow(1), flow(2)];
            SegregateGreedy { greedy, ..SegregateGreedy::default() }.pipeline()
        }
        _ => by_name(name).expect("a template"),
    };
    if name != "transparent" {
        pipeline.buffer.packets = 1_000;
    }
    pipeline
}

#[test]
fn no_template_allocates_per_packet() {
    for name in NAMES {
        allocates_nothing(bounded(name));
    }
}

#[test]
fn no_classifier_or_scheduler_allocates_per_packet() {
    let fq_codel = bounded("fq_codel");
    let hash = |ways| StochasticHash { ways, ..StochasticHash::plain(target(0, 1024)) };
    for scheduler in schedulers(1024) {
        for classifier in [Classifier::StochasticHash(hash(8)), Classifier::HostThenFlow(hash(8))] {
            let scheduler = scheduler.clone();
            allocates_nothing(Pipeline { classifier, scheduler, ..fq_codel.clone() });
        }
    }
}

#[test]
fn no_discipline_and_no_scheduler_allocates_per_packet() {
    for scheduler in schedulers(8) {
        for (name, discipline) in disciplines() {
            let set = |first| QueueSet { discipline: discipline.clone(), ..fifo(first, 2) };
            let hash = StochasticHash::plain(target(0, 8));
            allocates_nothing(Pipeline {
                name: name.to_owned(),
                classifier: Classifier::StochasticHash(hash),
                queues: (0..4).map(|pair| set(2 * pair)).collect(),
                scheduler: scheduler.clone(),
                pacer: Pacer::Bdp5g,
                buffer: BufferLimit { packets: 500, ..by_port(1).buffer },
            });
        }
    }
}

#[test]
fn no_pacer_allocates_per_packet() {
    for pacer in crate::util::pacers::all() {
        let mut tc = control(FqCodel { pacer, ..FqCodel::default() }.pipeline());
        let mut rlc = Rlc::fdd(6_000);
        traffic(&mut tc, &mut rlc, 0, 2_000);
        let allocations = allocation_counter::measure(|| {
            traffic(&mut tc, &mut rlc, 2_000, 4_000);
        });
        assert_eq!(allocations.count_total, 0, "{pacer:?}");
    }
}

/// Bytes that a bearer with so many queues of a discipline holds before its first packet.
fn bytes_of(queues: u16, discipline: &QueueDiscipline) -> u64 {
    let mut pipeline = FqCodel { queues, pacer: Pacer::None, ..FqCodel::default() }.pipeline();
    for set in &mut pipeline.queues {
        set.discipline = discipline.clone();
    }
    let mut kept = None;
    let allocations = allocation_counter::measure(|| kept = Some(control(pipeline)));
    assert!(kept.is_some());
    allocations.bytes_current.unsigned_abs()
}

/// Most bytes of a queue, by its discipline: the figures of `docs/figures.md`.
fn most_bytes_of_a_queue(discipline: &str) -> u64 {
    match discipline {
        "pie" | "red" | "cobalt" => 256,
        "adaptive_codel" => 304,
        _ => 192,
    }
}

#[test]
fn memory_of_a_queue_and_of_a_bearer_is_what_is_documented() {
    for (name, discipline) in disciplines() {
        if name == "dual_pi2" {
            // Two queues a set.
            continue;
        }
        let (few, many) = (bytes_of(64, &discipline), bytes_of(1024, &discipline));
        let per_queue = (many - few).div_ceil(1024 - 64);
        assert!(per_queue <= most_bytes_of_a_queue(name), "{name}: {per_queue} B");
        let bearer = few - 64 * per_queue;
        assert!(bearer <= 40_000, "{name}: {bearer} B without queues");
    }
}

#[test]
fn memory_of_a_backlog_is_bounded_by_the_limit_of_the_buffer() {
    const PACKETS: u32 = 1_000;
    let mut pipeline = FqCodel { pacer: Pacer::None, ..FqCodel::default() }.pipeline();
    pipeline.buffer.packets = PACKETS;
    let mut tc = control(pipeline);
    let mut offer = |from: u16, to: u16| {
        let allocations = allocation_counter::measure(|| {
            (from..to).for_each(|n| tc.ingress(packet(n % 300, 1500, u64::from(n)), 0, &mut ()));
        });
        allocations.bytes_current.unsigned_abs()
    };
    let full = offer(0, PACKETS as u16);
    let of_packet = (size_of::<TestPacket>() + 96) as u64;
    // The slab grows by doubling.
    assert!(full <= 2 * u64::from(PACKETS) * of_packet, "{full} B");
    let beyond = offer(PACKETS as u16, 20_000);
    assert_eq!(beyond, 0, "packets beyond the limit");
}

#[test]
fn the_counter_counts() {
    let allocations = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(allocations.count_total, 1);
}
