//! The just-in-time pacer above a MAC that queries the buffer status: what is in a block, what is left, and what happens
//! when the MAC stops asking.

use crate::util::*;
use e2sm_tc::v1::{FifoDrop, Pacer, Pipeline, QueueDiscipline, Shaper};
use tc_rf::templates::{BdpOnly, LowLatency};
use tc_rf::{BlockRoom, NextBlock, RlcStatus, TrafficControl};

const TTI_US: u64 = 1_000;

/// An RLC-UM below the pipeline, as a MAC sees it: the rest of a packet that did not fit, headers left
/// out.
#[derive(Default)]
struct Rlc {
    rest_bytes: u32,
}

impl Rlc {
    /// Builds a block of these bytes; answers the numbers of the packets that ended in it.
    fn build(
        &mut self,
        tc: &mut TrafficControl<TestPacket>,
        block_bytes: u32,
        now_us: u64,
    ) -> (u32, Vec<u64>) {
        let mut left = block_bytes - self.rest_bytes.min(block_bytes);
        let mut ended = Vec::new();
        if self.rest_bytes > 0 {
            self.rest_bytes -= block_bytes.min(self.rest_bytes);
            if self.rest_bytes == 0 {
                ended.push(u64::MAX);
            }
        }
        let next_block = Some(NextBlock { at_us: now_us + TTI_US, bytes: block_bytes });
        while left > 0
            && let Some(packet) = tc.pull(&BlockRoom { bytes: left, next_block }, now_us, &mut ())
        {
            if packet.len_bytes <= left {
                left -= packet.len_bytes;
                ended.push(packet.number);
            } else {
                self.rest_bytes = packet.len_bytes - left;
                left = 0;
            }
        }
        (block_bytes - left, ended)
    }
}

/// The template without its queue discipline.
fn fifos() -> Pipeline {
    let mut pipeline = LowLatency::default().pipeline();
    pipeline.queues[0].discipline = QueueDiscipline::Fifo { drop: FifoDrop::Tail };
    pipeline
}

fn pipeline() -> TrafficControl<TestPacket> {
    control(fifos())
}

#[test]
fn a_packet_that_comes_right_before_the_pull_is_first_in_the_block() {
    let mut tc = pipeline();
    (0..100).for_each(|_| tc.ingress(packet(1, 1_500, 0), 0, &mut ()));
    let mut rlc = Rlc::default();
    for tti in 1..20u64 {
        let now_us = tti * TTI_US;
        assert!(egress(&mut tc, now_us - 500).is_empty() || tti == 1, "nothing between pulls");
        tc.ingress(packet(2, 200, 2), now_us, &mut ());
        let waiting = tc.buffer_status(now_us, &mut ());
        assert_eq!(waiting.bytes, tc.backlog_bytes());
        assert_eq!(waiting.packets, tc.backlog_packets());
        let (used_bytes, ended) = rlc.build(&mut tc, 2_289, now_us);
        assert_eq!(used_bytes, 2_289, "the block is full");
        let first = ended.iter().find(|number| **number != u64::MAX);
        assert_eq!(first, Some(&2), "TTI {tti}: {ended:?}");
        assert!(rlc.rest_bytes < 1_500);
    }
}

#[test]
fn every_byte_of_a_backlog_goes_down_in_order_and_none_twice() {
    let mut tc = pipeline();
    for n in 0..500u16 {
        let len_bytes = 40 + u32::from(n) * 131 % 1_461;
        tc.ingress(packet(n % 7, len_bytes, 0), u64::from(n), &mut ());
    }
    let all_bytes = tc.backlog_bytes();
    let mut rlc = Rlc::default();
    let (mut used_bytes, mut packets) = (0, 0);
    for tti in 1..2_000u64 {
        tc.buffer_status(tti * TTI_US, &mut ());
        let (used, ended) = rlc.build(&mut tc, 700, tti * TTI_US);
        used_bytes += u64::from(used);
        packets += ended.len();
    }
    assert_eq!((used_bytes, packets), (all_bytes, 500));
    assert_eq!(tc.buffer_status(2_000 * TTI_US, &mut ()).packets, 0);
}

#[test]
fn a_mac_that_stops_asking_gets_packets_as_from_the_forecast_pacer() {
    let mut tc = pipeline();
    (0..100).for_each(|_| tc.ingress(packet(1, 1_500, 0), 0, &mut ()));
    tc.buffer_status(TTI_US, &mut ());
    let status = |at_us| RlcStatus {
        at_us,
        tti_us: 1_000,
        capacity_bytes_per_tti: 2_289,
        dl_opportunity: true,
        ..RlcStatus::default()
    };
    for tti in 1..=11u64 {
        tc.rlc_status(&status(tti * TTI_US), tti * TTI_US);
        assert!(egress(&mut tc, tti * TTI_US).is_empty(), "a radio frame may pass, TTI {tti}");
    }
    let deadline_us = tc.next_deadline_us(11 * TTI_US).expect("there is a backlog");
    assert_eq!(deadline_us, 11 * TTI_US + 1);
    assert!(!egress(&mut tc, deadline_us).is_empty(), "it goes on by itself");
}

#[test]
fn other_pacers_have_nothing_for_a_mac_that_asks() {
    let mut tc = control(BdpOnly { pacer: Pacer::Bdp5g, ..BdpOnly::default() }.pipeline());
    tc.ingress(packet(1, 1_500, 0), 0, &mut ());
    let room = BlockRoom { bytes: 9_000, next_block: None };
    assert_eq!(tc.buffer_status(0, &mut ()).packets, 0);
    assert!(tc.pull(&room, 0, &mut ()).is_none());
    assert_eq!(tc.backlog_packets(), 1);
}

#[test]
fn what_a_shaper_holds_back_is_no_demand() {
    let mut pipeline = fifos();
    // 1500 bytes at once, then 1 Mbit/s: the next after 12 ms.
    let shaper = Shaper { rate_kbps: 1_000, burst_bytes: 1_500, group: None };
    pipeline.queues.iter_mut().for_each(|set| set.shaper = Some(shaper));
    let mut tc = control(pipeline);
    (0..3).for_each(|_| tc.ingress(packet(1, 1_500, 0), 0, &mut ()));
    let room = BlockRoom { bytes: 9_000, next_block: None };
    assert_eq!(tc.buffer_status(0, &mut ()).packets, 3);
    assert!(tc.pull(&room, 0, &mut ()).is_some());
    assert!(tc.pull(&room, 0, &mut ()).is_none());
    assert_eq!(tc.buffer_status(1_000, &mut ()).packets, 0);
    assert_eq!(tc.buffer_status(12_000, &mut ()).packets, 2);
}
