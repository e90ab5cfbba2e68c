//! What a simulated segment costs: a bulk flow over a 16 Mbit/s link with a deep buffer, both ends
//! and all acknowledgements included, the link reduced to two queues.

use std::collections::VecDeque;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gnb_benchmarks::reference;
use traffic::{AppConfig, Endpoint, Flow, FlowConfig, Packet, TcpConfig};

const RATE_BPS: u64 = 16_000_000;
const DELAY_US: u64 = 15_000;
const END_US: u64 = 60_000_000;

fn pop_due(queue: &mut VecDeque<(u64, Packet)>, now_us: u64) -> Option<Packet> {
    if queue.front()?.0 > now_us {
        return None;
    }
    queue.pop_front().map(|(_, packet)| packet)
}

/// Sixty seconds; gives the segments that arrived.
fn sixty_seconds(buffer_packets: usize, drop_every: u64) -> u64 {
    let config = FlowConfig::new(AppConfig::Tcp(TcpConfig::default()));
    let Ok(mut flow) = Flow::new(0, &config, 0) else { return 0 };
    let mut down: VecDeque<(u64, Packet)> = VecDeque::new();
    let mut up: VecDeque<(u64, Packet)> = VecDeque::new();
    let mut out = Vec::new();
    let (mut busy_until_us, mut offered) = (0_u64, 0_u64);
    let mut now_us = 0;
    while now_us < END_US {
        let next_us = [
            down.front().map(|&(at_us, _)| at_us),
            up.front().map(|&(at_us, _)| at_us),
            flow.server.next_deadline_us(),
            flow.ue.next_deadline_us(),
        ];
        let Some(next_us) = next_us.into_iter().flatten().min() else { break };
        now_us = next_us;
        while let Some(packet) = pop_due(&mut down, now_us) {
            flow.ue.on_packet(&packet, now_us, &mut out);
        }
        flow.ue.poll(now_us, &mut out);
        up.extend(out.drain(..).map(|packet| (now_us + DELAY_US, packet)));
        while let Some(packet) = pop_due(&mut up, now_us) {
            flow.server.on_packet(&packet, now_us, &mut out);
        }
        flow.server.poll(now_us, &mut out);
        for packet in out.drain(..) {
            offered += 1;
            if down.len() >= buffer_packets || offered % drop_every == 0 {
                continue;
            }
            busy_until_us =
                busy_until_us.max(now_us) + u64::from(packet.len_bytes) * 8_000_000 / RATE_BPS;
            down.push_back((busy_until_us + DELAY_US, packet));
        }
    }
    flow.stats().received_packets
}

fn bulk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tcp_60s_16mbps");
    group.sample_size(10);
    for (name, buffer_packets, drop_every) in [
        ("deep_buffer_no_loss", 7_000, u64::MAX),
        ("buffer_500", 500, u64::MAX),
        ("deep_buffer_loss_1e-3", 7_000, 1_000),
    ] {
        group.throughput(Throughput::Elements(sixty_seconds(buffer_packets, drop_every)));
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| black_box(sixty_seconds(black_box(buffer_packets), drop_every)));
        });
    }
    group.finish();
}

/// The reference of the other figures.
fn fixed_loop(criterion: &mut Criterion) {
    criterion.bench_function("fixed_loop_of_1000", |bencher| bencher.iter(reference::fixed_loop));
}

criterion_group!(benches, fixed_loop, bulk);
criterion_main!(benches);
