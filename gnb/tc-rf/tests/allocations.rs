//! In steady state a packet costs no allocation.

mod util;

use tc_rf::TrafficControl;
use tc_rf::templates::{NAMES, TemplateParams, by_name};
use util::*;

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

#[test]
fn no_template_allocates_per_packet() {
    for name in NAMES {
        let params = TemplateParams {
            greedy: vec![flow(1), flow(2)],
            buffer: e2sm_tc::v1::BufferLimit { packets: 1_000, ..TemplateParams::default().buffer },
            ..TemplateParams::default()
        };
        let mut tc = control(by_name(name, &params).expect("a template"));
        let mut rlc = Rlc::fdd(6_000);
        traffic(&mut tc, &mut rlc, 0, 2_000);
        let allocations = allocation_counter::measure(|| {
            traffic(&mut tc, &mut rlc, 2_000, 6_000);
        });
        assert_eq!(allocations.count_total, 0, "{name}");
        assert!(tc.status(6_000_000).ingress_packets == 36_000);
    }
}

#[test]
fn the_counter_counts() {
    let allocations = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(allocations.count_total, 1);
}
