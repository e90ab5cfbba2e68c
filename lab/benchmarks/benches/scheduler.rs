//! Time per scheduling decision: EQP's segmentation avoidance, linear in packets and RBs (irazabal2021
//! §IV-B: O(N·C)), and a slot of ten UEs on 100 RBs by each scheduler.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gnb_benchmarks::reference;
use ran::mac::eqp::seg_avoid::{PrbSum, Queue, SegAvoid};
use ran::{
    BearerConfig, Cell, CellConfig, Channel, EqpConfig, Numerology, PfConfig, SchedulerConfig, Sdu,
    SliceShare, UeConfig,
};

/// Packets in a queue.
const DEPTH: usize = 8;

/// `n` packets of one to five RBs in queues of [`DEPTH`], in four slices.
fn queues(n: usize) -> (Vec<Queue>, Vec<PrbSum>) {
    let mut sums = Vec::new();
    let mut queues = Vec::new();
    while sums.len() < n {
        let start = sums.len();
        let mut sum = 0;
        for packet in 0..DEPTH {
            sum += 1 + ((start + packet * 7) % 5) as PrbSum;
            sums.push(sum);
        }
        let quantum_prb = (start as i64 / 8 % 4) * 20 - 30;
        queues.push(Queue { packets: start..sums.len(), quantum_prb });
    }
    (queues, sums)
}

/// Time per packet and RB: constant if the whole is O(N·C).
fn seg_avoid(c: &mut Criterion) {
    let mut group = c.benchmark_group("eqp_seg_avoid_per_packet_and_rb");
    for n in [64, 512, 4096] {
        let (queues, sums) = queues(n);
        for total_prb in [25u16, 100, 275] {
            let mut solver = SegAvoid::default();
            let mut taken = Vec::new();
            group.throughput(Throughput::Elements(n as u64 * u64::from(total_prb)));
            let id = BenchmarkId::new(format!("{n}_packets"), format!("{total_prb}_rbs"));
            group.bench_function(id, |b| {
                b.iter(|| {
                    solver.solve(black_box(total_prb), 1, &queues, &sums, &mut taken);
                    black_box(taken.len())
                });
            });
        }
    }
    group.finish();
}

#[derive(Debug, Clone)]
struct Packet(u32);

impl Sdu for Packet {
    fn len_bytes(&self) -> u32 {
        self.0
    }
}

/// Ten UEs in two slices, each with 100 kB waiting, on 100 RBs of 180 kHz.
#[allow(clippy::expect_used, reason = "a benchmark without its load must not pass in silence")]
fn ten_ues(scheduler: SchedulerConfig) -> (Cell<Packet>, Vec<usize>) {
    let config = CellConfig {
        n_prb: 100,
        numerology: Numerology::LTE,
        duplexing: ran::Duplexing::Fdd,
        scheduler,
        rbg_size_prb: 4,
        reserved: None,
        max_ues_per_slot: 10,
        ..CellConfig::nr_n78_106prb()
    };
    let mut cell = Cell::new(config).expect("a valid cell");
    let mut bearers = Vec::new();
    for rnti in 1..=10u16 {
        let channel = Channel::FixedMcs(10 + rnti as u8);
        let slice = 1 + (rnti % 2) as u8;
        let config = UeConfig {
            rnti,
            channel,
            slice,
            errors: None,
            uplink: None,
            recorded_uplink: None,
            drx: None,
        };
        cell.add_ue(config).expect("a new RNTI");
        let bearer = cell.add_bearer(rnti, BearerConfig::um(1)).expect("a new DRB");
        for at in 0..120 {
            let len = if at % 4 == 0 { 200 } else { 1500 };
            cell.enqueue(bearer, Packet(len), 0).expect("room in the buffer");
        }
        bearers.push(bearer);
    }
    (cell, bearers)
}

fn slot_of_ten_ues(c: &mut Criterion) {
    let mut group = c.benchmark_group("slot_10_ues_100_rbs");
    let slices = || vec![SliceShare::new(1, 25), SliceShare::new(2, 75)];
    for (name, scheduler) in [
        ("rr", SchedulerConfig::RoundRobin),
        ("pf", SchedulerConfig::ProportionalFair(PfConfig::default())),
        ("fp", SchedulerConfig::FixedPartition(slices())),
        ("eqp", SchedulerConfig::ElasticQuantumPartition(EqpConfig::new(slices()))),
    ] {
        let (mut cell, _) = ten_ues(scheduler);
        let mut out = Vec::new();
        group.bench_function(name, |b| {
            b.iter(|| {
                let now_us = cell.next_slot_us();
                cell.slot(now_us, &mut out);
                // Delivered packets are enqueued again to keep the load constant.
                for delivery in out.drain(..) {
                    let _full = cell.enqueue(delivery.bearer, delivery.sdu, now_us);
                }
            });
        });
    }
    group.finish();
}

/// The reference of the other figures.
fn fixed_loop(criterion: &mut Criterion) {
    criterion.bench_function("fixed_loop_of_1000", |bencher| bencher.iter(reference::fixed_loop));
}

criterion_group!(benches, fixed_loop, seg_avoid, slot_of_ten_ues);
criterion_main!(benches);
