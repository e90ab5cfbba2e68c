//! Cost of an acknowledgement in each congestion control: the controller alone, with acknowledgements of
//! two segments on a path of 50 Mbit/s and 40 ms, a mark on every hundredth and a loss on every
//! ten-thousandth.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gnb_benchmarks::reference;
use traffic::tcp::congestion::{
    AckEvent, CongestionController, CongestionSignal, DeliveryEvent, LossEvent, RateSample,
};
use traffic::{CongestionControl, CongestionKeys, Form, TcpConfig};

const MSS: u64 = 1448;
const RTT_US: u64 = 40_000;
const RATE_BPS: u64 = 50_000_000;
/// Two segments at that rate.
const ACK_US: u64 = 463;
const ACKS: u64 = 100_000;

/// Processes `ACKS` acknowledgements; returns the window.
fn feed(controller: &mut dyn CongestionController) -> u64 {
    let mut delivered = 0;
    for n in 0..ACKS {
        let now_us = RTT_US + n * ACK_US;
        delivered += 2 * MSS;
        let in_flight = controller.window_bytes().min(400 * MSS);
        let lost = n % 10_000 == 9_999;
        if lost {
            controller.on_loss(&LossEvent {
                now_us,
                seq: delivered,
                len_bytes: MSS,
                in_flight_at_send_bytes: in_flight,
                lost_since_send_bytes: MSS,
                total_delivered_bytes: delivered,
                ..LossEvent::default()
            });
            controller.on_congestion_event(now_us, CongestionSignal::Loss);
        }
        // The queueing delay varies by 10 ms.
        let rtt_us = RTT_US + (n * 37) % 10_000;
        controller.on_delivery(&DeliveryEvent {
            now_us,
            newly_delivered_bytes: 2 * MSS,
            newly_lost_bytes: if lost { MSS } else { 0 },
            newly_ce_bytes: if n % 100 == 0 { MSS } else { 0 },
            total_delivered_bytes: delivered,
            prior_in_flight_bytes: in_flight,
            in_flight_bytes: in_flight,
            rtt_us: Some(rtt_us),
            srtt_us: RTT_US + 5_000,
            rate: Some(RateSample {
                delivery_rate_bps: Some(RATE_BPS + n % 1_000),
                delivered_bytes: in_flight,
                prior_delivered_bytes: delivered.saturating_sub(in_flight),
                in_flight_at_send_bytes: in_flight,
                ..RateSample::default()
            }),
            is_window_limited: true,
            una: delivered,
            next: delivered + in_flight,
            ..DeliveryEvent::default()
        });
        controller.on_ack(&AckEvent {
            now_us,
            delivered_bytes: 2 * MSS,
            rtt_us: Some(rtt_us),
            srtt_us: RTT_US + 5_000,
            una: delivered,
            next: delivered + in_flight,
        });
        black_box(controller.pacing_rate_bps());
    }
    controller.window_bytes()
}

#[allow(clippy::expect_used, reason = "a benchmark without its load must not pass in silence")]
fn per_ack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("congestion_per_ack");
    group.throughput(Throughput::Elements(ACKS)).sample_size(10);
    for congestion in [
        CongestionControl::Reno,
        CongestionControl::Cubic,
        CongestionControl::Westwood,
        CongestionControl::Vegas,
        CongestionControl::Bbr,
        CongestionControl::Bbr3,
        CongestionControl::Prague,
        CongestionControl::C2tcp,
    ] {
        let name = format!("{congestion:?}").to_lowercase();
        let keys = CongestionKeys { congestion_control: congestion, ..CongestionKeys::default() };
        let controls = keys.config(Form::default()).expect("the keys name a control alone");
        let config = TcpConfig { congestion: controls, ecn: Some(true), ..TcpConfig::default() };
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| feed(controls.build(&config.connection(), 1).as_mut()));
        });
    }
    group.finish();
}

/// The reference of the other figures.
fn fixed_loop(criterion: &mut Criterion) {
    criterion.bench_function("fixed_loop_of_1000", |bencher| bencher.iter(reference::fixed_loop));
}

criterion_group!(benches, fixed_loop, per_ack);
criterion_main!(benches);
