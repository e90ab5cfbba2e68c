//! Which flows a bearer carries, as reported.

use crate::util::*;
use e2sm_tc::v1::*;
use tc_rf::templates::{FqCodel, transparent};

const SECOND_US: u64 = 1_000_000;

#[test]
fn rates_sizes_and_codepoints_are_those_of_the_last_second() {
    let mut tc = control(transparent());
    for ms in 0..3_000 {
        let now_us = ms * 1000;
        // 12 Mbit/s of 1500-byte packets, and 200-byte packets each 20 ms: 80 kbit/s.
        let bulk = TestPacket { ecn: Ecn::Ect0, dscp: 8, qfi: Some(5), ..packet(1, 1500, 0) };
        tc.ingress(bulk, now_us, &mut ());
        if ms % 20 == 0 {
            let voice = TestPacket { flow: flow_v6(2), dscp: 46, ..packet(2, 200, 0) };
            tc.ingress(voice, now_us, &mut ());
        }
        egress(&mut tc, now_us);
    }
    let report = tc.flow_inventory(16, 3 * SECOND_US);
    assert_eq!((report.bearer, report.active_flows, report.window_ms), (BEARER, 2, 1000));
    let [bulk, voice] = report.flows.as_slice() else { panic!("two flows") };
    assert_eq!(bulk.flow, flow(1));
    assert!((11_900..=12_100).contains(&bulk.rate_kbps), "{}", bulk.rate_kbps);
    assert_eq!((bulk.mean_packet_bytes, bulk.backlog_bytes), (1500, 0));
    assert_eq!((bulk.ecn, bulk.dscp, bulk.qfi), (Ecn::Ect0, 8, Some(5)));
    assert_eq!(voice.flow, flow_v6(2));
    assert!((78..=84).contains(&voice.rate_kbps), "{}", voice.rate_kbps);
    assert_eq!((voice.mean_packet_bytes, voice.dscp, voice.qfi), (200, 46, None));
    assert_eq!(tc.flow_inventory(1, 3 * SECOND_US).flows.len(), 1);
}

#[test]
fn backlog_and_queue_are_those_of_the_flow() {
    let mut tc = control(by_port(3));
    let mut pipeline = by_port(3);
    pipeline.queues = vec![
        fifo(0, 2),
        QueueSet {
            shaper: Some(Shaper { rate_kbps: 8, burst_bytes: 1, group: None }),
            ..fifo(2, 1)
        },
    ];
    tc.apply(&replace(pipeline), 0, &mut ());
    for number in 0..10 {
        tc.ingress(packet(1, 1000, number), 0, &mut ());
        tc.ingress(packet(2, 500, number), 0, &mut ());
    }
    egress(&mut tc, 0);
    let report = tc.flow_inventory(16, 0);
    let of = |n| report.flows.iter().find(|f| f.flow == flow(n)).expect("the flow");
    assert_eq!((of(1).queue, of(1).backlog_bytes), (1, 0));
    assert_eq!((of(2).queue, of(2).backlog_bytes), (2, 4_500));
}

#[test]
fn dropped_packets_are_no_backlog() {
    let mut pipeline = by_port(1);
    pipeline.buffer.packets = 4;
    let mut tc = control(pipeline);
    for number in 0..100 {
        tc.ingress(packet(0, 1000, number), 0, &mut ());
    }
    assert_eq!(tc.flow_inventory(1, 0).flows[0].backlog_bytes, 4_000);
}

#[test]
fn a_flow_that_fell_silent_goes_after_a_second() {
    let mut tc = control(transparent());
    tc.ingress(packet(1, 1500, 0), 500_000, &mut ());
    egress(&mut tc, 500_000);
    assert_eq!(tc.flow_inventory(16, 1_400_000).active_flows, 1);
    assert_eq!(tc.flow_inventory(16, 1_600_000).active_flows, 0);
}

#[test]
fn a_heavy_flow_is_not_pushed_out_by_many_light_ones() {
    let mut tc = control(FqCodel { pacer: Pacer::None, ..FqCodel::default() }.pipeline());
    for n in 0..5_000u16 {
        let now_us = u64::from(n) * 200;
        tc.ingress(packet(0, 1500, 0), now_us, &mut ());
        tc.ingress(packet(1 + n, 60, 0), now_us, &mut ());
        egress(&mut tc, now_us);
    }
    let report = tc.flow_inventory(300, SECOND_US);
    assert_eq!(report.flows[0].flow, flow(0));
    assert!((58_000..=62_000).contains(&report.flows[0].rate_kbps));
    assert!(report.flows.len() <= 256, "the table is bounded");
}
