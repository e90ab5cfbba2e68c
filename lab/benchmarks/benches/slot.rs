//! Time per slot and packet: one UE at full load, and many bearers, in UM and AM.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gnb_benchmarks::reference;
use ran::{
    AmConfig, BearerConfig, BearerIndex, BlockErrors, Cell, CellConfig, Channel, Delivery,
    HarqConfig, Sdu, UeConfig,
};

#[derive(Debug, Clone)]
struct Packet(u32);

impl Sdu for Packet {
    fn len_bytes(&self) -> u32 {
        self.0
    }
}

/// A cell with `n` UEs, each with `queued_bytes` waiting.
#[allow(clippy::expect_used, reason = "a benchmark without its load must not pass in silence")]
fn loaded(config: CellConfig, mcs: u8, n: u16, queued_bytes: u32, bearer: &BearerConfig) -> Loaded {
    let mut cell = Cell::new(config).expect("a preset");
    let mut bearers = Vec::new();
    for rnti in 1..=n {
        let channel = Channel::FixedMcs(mcs);
        cell.add_ue(UeConfig {
            rnti,
            channel,
            slice: 0,
            errors: None,
            uplink: None,
            recorded_uplink: None,
            drx: None,
        })
        .expect("a new RNTI");
        bearers.push(cell.add_bearer(rnti, bearer.clone()).expect("a new DRB"));
    }
    for bearer in &bearers {
        for _ in 0..queued_bytes / 1500 {
            cell.enqueue(*bearer, Packet(1500), 0).expect("room in the buffer");
        }
    }
    Loaded { cell, bearers, out: Vec::new() }
}

struct Loaded {
    cell: Cell<Packet>,
    bearers: Vec<BearerIndex>,
    out: Vec<Delivery<Packet>>,
}

impl Loaded {
    /// One slot; delivered packets are enqueued again to keep the load constant.
    fn slot(&mut self) -> usize {
        let now_us = self.cell.next_slot_us();
        self.cell.slot(now_us, &mut self.out);
        let delivered = self.out.len();
        for delivery in self.out.drain(..) {
            let _dropped = self.cell.enqueue(delivery.bearer, delivery.sdu, now_us);
        }
        delivered
    }

    fn reports(&mut self) {
        let now_us = self.cell.next_slot_us();
        for bearer in &self.bearers {
            black_box(self.cell.rlc_report(*bearer, now_us));
        }
    }
}

fn slots(c: &mut Criterion) {
    let mut group = c.benchmark_group("slot");
    group.throughput(Throughput::Elements(1));
    let cells = [
        ("lte_25_prb_mcs_28", CellConfig::lte_5mhz(), 28, 1, 9_000_000),
        ("nr_106_prb_mcs_10", CellConfig::nr_n78_106prb(), 10, 1, 9_000_000),
        ("nr_106_prb_100_ues", CellConfig::nr_n78_106prb(), 10, 100, 100_000),
        ("nr_106_prb_1000_ues", CellConfig::nr_n78_106prb(), 10, 1000, 100_000),
    ];
    let modes = [("um", BearerConfig::um(1)), ("am", BearerConfig::am(1, AmConfig::default()))];
    for (name, config, mcs, n, queued_bytes) in cells {
        for (mode, bearer) in &modes {
            let mut loaded = loaded(config.clone(), mcs, n, queued_bytes, bearer);
            group.bench_function(format!("{name}/{mode}"), |b| b.iter(|| loaded.slot()));
        }
    }
    // One block in ten fails, and one in a hundred again.
    let harq = HarqConfig {
        errors: BlockErrors { bler: 0.1, combining_gain: 0.1 },
        ..HarqConfig::default()
    };
    let config = CellConfig { harq, ..CellConfig::nr_n78_106prb() };
    for (mode, bearer) in &modes {
        let mut loaded = loaded(config.clone(), 10, 1, 9_000_000, bearer);
        group.bench_function(format!("nr_106_prb_bler_10/{mode}"), |b| b.iter(|| loaded.slot()));
    }
    group.finish();
}

fn reports(c: &mut Criterion) {
    let mut group = c.benchmark_group("rlc_reports");
    group.throughput(Throughput::Elements(1000));
    let mut loaded = loaded(CellConfig::nr_n78_106prb(), 10, 1000, 30_000, &BearerConfig::um(1));
    group.bench_function("1000_bearers", |b| b.iter(|| loaded.reports()));
    group.finish();
}

/// The reference of the other figures.
fn fixed_loop(criterion: &mut Criterion) {
    criterion.bench_function("fixed_loop_of_1000", |bencher| bencher.iter(reference::fixed_loop));
}

criterion_group!(benches, fixed_loop, slots, reports);
criterion_main!(benches);
