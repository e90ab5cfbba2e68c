//! What FQ-CoDel costs per packet: enqueue plus dequeue with 1024 queues, alone and as a whole
//! pipeline from ingress to egress.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use e2sm_tc::v1::{BearerId, BufferLimit, Overflow, Pacer, UeId};
use tc_rf::queueing::{
    CodelParams, Discipline, MTU_BYTES, QueueConfig, QueueRules, Queues, SchedulerConfig,
};
use tc_rf::templates::FqCodel;
use tc_rf::{Ecn, TrafficControl};

mod packet;
use packet::{BenchPacket, QUEUES, STANDING, spread};

/// Packets per measured round.
const ROUND: u64 = 4096;

fn packet(n: u64) -> BenchPacket {
    packet::packet(n, Ecn::NotEct)
}

fn queues() -> Queues<BenchPacket> {
    let params = CodelParams {
        target_us: 5_000,
        interval_us: 100_000,
        ecn: true,
        ce_threshold_us: None,
        l4s: false,
        mtu_bytes: u64::from(MTU_BYTES),
    };
    let config = |id| QueueConfig {
        id,
        rules: QueueRules {
            discipline: Discipline::Codel(params),
            limit_packets: u32::MAX,
            limit_bytes: u32::MAX,
        },
    };
    Queues::new(
        &(0..QUEUES).map(config).collect::<Vec<_>>(),
        &SchedulerConfig::DeficitRoundRobin { quantum_bytes: 1514 },
        BufferLimit { packets: 10_240, bytes: 32 << 20, overflow: Overflow::FattestHead },
    )
}

/// One packet in, one packet out, `STANDING` in the queues, 1 µs apart.
fn queueing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fq_codel");
    group.throughput(Throughput::Elements(ROUND));
    group.bench_function("enqueue_dequeue_1024_queues", |bencher| {
        let mut queues = queues();
        let packets: Vec<BenchPacket> = (0..ROUND).map(packet).collect();
        let queue_of: Vec<usize> = (0..ROUND).map(|n| spread(n) as usize).collect();
        let mut now_us = 0;
        for n in 0..STANDING {
            let _ = queues.enqueue(queue_of[n as usize], packet(n), now_us, &mut ());
        }
        bencher.iter(|| {
            for (packet, &queue) in packets.iter().zip(&queue_of) {
                now_us += 1;
                let _ = queues.enqueue(queue, packet.clone(), now_us, &mut ());
                black_box(queues.dequeue(now_us, &mut ()));
            }
        });
    });
    group.finish();
}

/// The same through the six stages: 5-tuple hash, flow inventory and pacer included.
fn pipeline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Elements(ROUND));
    group.bench_function("fq_codel_ingress_egress", |bencher| {
        let bearer = BearerId { ue: UeId::Rnti(1), drb: 1 };
        let params = FqCodel { pacer: Pacer::None, ..FqCodel::default() };
        let Ok(mut tc) = TrafficControl::new(bearer, params.pipeline(), 1) else { return };
        let packets: Vec<BenchPacket> = (0..ROUND).map(packet).collect();
        let mut now_us = 0;
        bencher.iter(|| {
            for burst in packets.chunks(16) {
                now_us += 16;
                for packet in burst {
                    tc.ingress(packet.clone(), now_us, &mut ());
                }
                tc.egress(now_us, &mut (), &mut |packet| {
                    black_box(packet);
                });
            }
        });
    });
    group.finish();
}

criterion_group!(benches, queueing, pipeline);
criterion_main!(benches);
