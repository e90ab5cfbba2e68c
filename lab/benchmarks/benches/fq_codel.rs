//! What FQ-CoDel costs per packet: enqueue plus dequeue with 1024 queues, alone and as a whole
//! pipeline from ingress to egress, beside a bare queue.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gnb_benchmarks::reference::BareQueue;
use gnb_benchmarks::{Load, load};

/// Packets per measured round.
const ROUND: u64 = 4096;

#[allow(clippy::expect_used, reason = "a benchmark without its load must not pass in silence")]
fn loads(criterion: &mut Criterion) {
    for (group, name) in [("fq_codel", "fq_codel"), ("pipeline", "six_stages_1024_flows")] {
        let mut load = load(name).expect("a load").expect("a known name");
        let mut group = criterion.benchmark_group(group);
        group.throughput(Throughput::Elements(ROUND));
        let mut bare = BareQueue::default();
        group.bench_function("bare_queue", |bencher| bencher.iter(|| bare.pass(ROUND)));
        group.bench_function(name, |bencher| bencher.iter(|| load.pass(ROUND)));
        group.finish();
    }
}

criterion_group!(benches, loads);
criterion_main!(benches);
