//! Policers and shapers hold their rates, and only their own queue back.

use std::collections::BTreeMap;

use crate::util::*;
use e2sm_tc::v1::*;
use tc_rf::{DropReason, TrafficControl};

const SECOND_US: u64 = 1_000_000;

fn shaper(rate_kbps: u32, group: Option<u16>) -> Option<Shaper> {
    Some(Shaper { rate_kbps, burst_bytes: 3_000, group })
}

/// FIFOs with these shapers; flow `n` goes to queue `n`.
fn shaped(shapers: &[Option<Shaper>], scheduler: Scheduler) -> TrafficControl<TestPacket> {
    let mut pipeline = by_port(shapers.len() as u16);
    pipeline.queues =
        (0..).zip(shapers).map(|(id, &shaper)| QueueSet { shaper, ..fifo(id, 1) }).collect();
    pipeline.scheduler = scheduler;
    control(pipeline)
}

/// Bytes per flow that leave in `duration_us` when all flows always have packets and the link
/// takes one packet each `packet_us`.
fn serve(
    tc: &mut TrafficControl<TestPacket>,
    flows: u16,
    packet_us: u64,
    duration_us: u64,
) -> BTreeMap<u16, u64> {
    let mut bytes = BTreeMap::new();
    let mut now_us = 0;
    for n in 0..flows {
        for _ in 0..40 {
            tc.ingress(packet(n, 1500, 0), 0, &mut ());
        }
    }
    while now_us < duration_us {
        for packet in egress(tc, now_us) {
            let n = packet.flow.source_port - 10_000;
            *bytes.entry(n).or_default() += 1500;
            tc.ingress(packet, now_us, &mut ());
        }
        let next = tc.next_deadline_us(now_us).unwrap_or(u64::MAX);
        now_us = next.clamp(now_us + 1, now_us + packet_us);
    }
    bytes
}

#[test]
fn a_shaped_queue_gets_its_rate() {
    for rate_kbps in [128, 1_000, 15_000, 100_000] {
        let mut tc = shaped(&[shaper(rate_kbps, None)], Scheduler::RoundRobin);
        let sent = serve(&mut tc, 1, 1_000_000, 10 * SECOND_US)[&0];
        let expected = u64::from(rate_kbps) * 10 * 1000 / 8 + 3_000;
        assert!(sent <= expected, "{rate_kbps} kbit/s: {sent} of {expected}");
        assert!(sent + 1_500 >= expected, "{rate_kbps} kbit/s: {sent} of {expected}");
    }
}

#[test]
fn queues_of_a_group_share_one_rate() {
    let mut tc = shaped(
        &[shaper(8_000, Some(7)), shaper(8_000, Some(7)), shaper(8_000, None)],
        Scheduler::RoundRobin,
    );
    let bytes = serve(&mut tc, 3, 1_000, 2 * SECOND_US);
    let group = bytes[&0] + bytes[&1];
    assert!((1_998_500..=2_003_000).contains(&group), "{bytes:?}");
    assert!((1_998_500..=2_003_000).contains(&bytes[&2]), "{bytes:?}");
    assert!(bytes[&0].abs_diff(bytes[&1]) <= 3_000, "{bytes:?}");
}

#[test]
fn a_blocked_shaper_blocks_no_other_queue() {
    let order = vec![target(0, 1), target(1, 1)];
    for scheduler in [
        Scheduler::RoundRobin,
        Scheduler::DeficitRoundRobin { quantum_bytes: 1514 },
        Scheduler::StrictPriority { order },
    ] {
        let mut tc = shaped(&[shaper(64, None), None], scheduler.clone());
        for number in 0..100 {
            tc.ingress(packet(0, 1500, 1_000 + number), 0, &mut ());
            tc.ingress(packet(1, 1500, number), 0, &mut ());
        }
        let sent = numbers(&egress(&mut tc, 0));
        let unshaped: Vec<_> = sent.iter().copied().filter(|&n| n < 1_000).collect();
        assert_eq!(unshaped, (0..100).collect::<Vec<_>>(), "{scheduler:?}");
        assert_eq!(sent.len(), 102, "and the burst of the shaped one");
        let status = tc.status(0);
        let held = status.queues.iter().find(|queue| queue.id == 0).expect("queue 0");
        assert!(held.shaped);
        // One packet of 1500 bytes at 64 kbit/s.
        assert_eq!(tc.next_deadline_us(0), Some(187_500));
        assert_eq!(numbers(&egress(&mut tc, 187_499)), [0; 0]);
        assert_eq!(numbers(&egress(&mut tc, 187_500)), [1_002]);
    }
}

#[test]
fn strict_priority_serves_the_listed_order_then_the_rest_by_id() {
    let order = vec![target(3, 1), target(1, 1)];
    let mut tc = shaped(&[None; 4], Scheduler::StrictPriority { order });
    for n in 0..4 {
        for k in 0..2 {
            tc.ingress(packet(n, 100, u64::from(n) * 10 + k), 0, &mut ());
        }
    }
    assert_eq!(numbers(&egress(&mut tc, 0)), [30, 31, 10, 11, 0, 1, 20, 21]);
}

#[test]
fn strict_priority_takes_turns_within_a_target() {
    let order = vec![target(1, 2), target(0, 1)];
    let mut tc = shaped(&[None; 3], Scheduler::StrictPriority { order });
    for n in [0, 1, 2] {
        for k in 0..2 {
            tc.ingress(packet(n, 100, u64::from(n) * 10 + k), 0, &mut ());
        }
    }
    assert_eq!(numbers(&egress(&mut tc, 0)), [10, 20, 11, 21, 0, 1]);
}

fn policed(exceed: ExceedAction) -> TrafficControl<TestPacket> {
    let mut pipeline = by_port(2);
    let policer = Some(Policer { rate_kbps: 8_000, burst_bytes: 15_000, exceed });
    pipeline.queues = vec![QueueSet { policer, ..fifo(0, 1) }, fifo(1, 1)];
    control(pipeline)
}

/// Offers flow 0 twice its rate for ten seconds.
fn offer_double(tc: &mut TrafficControl<TestPacket>, events: &mut Recorder) -> Vec<TestPacket> {
    let mut out = Vec::new();
    for k in 0..13_333 {
        let now_us = k * 750;
        tc.ingress(packet(0, 1500, k), now_us, events);
        out.extend(egress(tc, now_us));
    }
    out
}

#[test]
fn a_policer_drops_what_exceeds_its_rate_in_bits() {
    let mut tc = policed(ExceedAction::Drop);
    let mut events = Recorder::default();
    let passed = offer_double(&mut tc, &mut events).len() * 1500;
    // 8 Mbit/s for ten seconds are 10 MB, and 15 kB of burst.
    assert!((10_010_000..=10_015_000).contains(&passed), "{passed} bytes");
    assert!(events.drops.iter().all(|(_, reason, _)| *reason == DropReason::Policer));
    assert_eq!(events.drops.len() * 1500 + passed, 13_333 * 1500);
    let status = tc.status(10 * SECOND_US);
    assert_eq!(status.queues[0].policed_packets, events.drops.len() as u64);
    assert_eq!(status.dropped_packets, events.drops.len() as u64);
    assert_eq!(status.queues[0].dropped_packets, 0, "not the queue's doing");
}

#[test]
fn a_policer_deviates_what_exceeds_its_rate() {
    let mut tc = policed(ExceedAction::Deviate { queue: 1 });
    let mut events = Recorder::default();
    assert_eq!(offer_double(&mut tc, &mut events).len(), 13_333);
    assert_eq!(events.drops.len(), 0);
    let forwarded: BTreeMap<_, _> = tc
        .status(10 * SECOND_US)
        .queues
        .iter()
        .map(|queue| (queue.id, queue.forwarded_bytes))
        .collect();
    assert!((10_010_000..=10_015_000).contains(&forwarded[&0]), "{forwarded:?}");
    assert_eq!(forwarded[&0] + forwarded[&1], 13_333 * 1500);
}

#[test]
fn a_policer_remarks_what_exceeds_its_rate() {
    let mut tc = policed(ExceedAction::Remark { dscp: 8 });
    let out = offer_double(&mut tc, &mut Recorder::default());
    assert_eq!(out.len(), 13_333);
    let within = out.iter().filter(|packet| packet.dscp == 0).count() * 1500;
    assert!((10_010_000..=10_015_000).contains(&within), "{within} bytes");
    assert!(out.iter().all(|packet| packet.dscp == 0 || packet.dscp == 8));
}
