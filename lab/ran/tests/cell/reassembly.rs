//! RLC-UM end to end: no SDU is damaged or duplicated, whatever the grants and losses.

use std::collections::BTreeMap;

use crate::common::{Step, steps};
use proptest::prelude::*;
use ran::rlc::um::{SnLength, UmConfig, UmReceiver, UmTransmitter, UmdPdu};

#[derive(Debug, Default)]
struct Outcome {
    /// COUNTs in the order of delivery.
    delivered: Vec<u64>,
    /// Length of each SDU by COUNT.
    sizes: Vec<u32>,
    /// Bytes of each SDU that reached the receiver.
    arrived: BTreeMap<u64, u32>,
    pulled_bytes: u64,
    queued_bytes: u64,
    payloads_lost: u64,
    payloads_sent: u64,
    payloads_held: u64,
}

fn run(steps: &[Step], config: UmConfig) -> Outcome {
    let sn_length = config.sn_length;
    let mut tx = UmTransmitter::new(sn_length, u32::MAX, u32::MAX);
    let mut rx = UmReceiver::new(config);
    let mut outcome = Outcome::default();
    let mut air: Vec<(u64, UmdPdu<u64>)> = Vec::new();
    for slot in 0..steps.len() as u64 + 100 {
        let now_us = slot * 1000;
        if let Some(step) = steps.get(slot as usize) {
            for size in &step.sdus {
                tx.enqueue(outcome.sizes.len() as u64, *size, now_us).unwrap();
                outcome.sizes.push(*size);
            }
            let mut in_block = 0;
            let used = tx.pull(
                step.grant,
                now_us,
                |_| {},
                |pdu, pdu_bytes| {
                    in_block += pdu_bytes;
                    outcome.pulled_bytes += u64::from(pdu.data_bytes);
                    outcome.payloads_sent += u64::from(pdu.payload.is_some());
                    if step.lost {
                        outcome.payloads_lost += u64::from(pdu.payload.is_some());
                    } else {
                        air.push((slot + step.late_slots, pdu));
                    }
                },
            );
            assert!(in_block <= used && used <= step.grant);
        }
        let mut later = Vec::new();
        for (due, pdu) in air.drain(..) {
            if due > slot {
                later.push((due, pdu));
                continue;
            }
            *outcome.arrived.entry(pdu.count).or_default() += pdu.data_bytes;
            rx.receive(pdu, now_us, |count, payload| {
                assert_eq!(payload.sdu, count, "the payload matches its COUNT");
                outcome.delivered.push(count);
            });
        }
        air = later;
        rx.expire(now_us);
    }
    outcome.queued_bytes = u64::from(tx.occupancy_bytes());
    outcome.payloads_held = rx.held_payloads() as u64;
    outcome.payloads_lost += rx.lost_payloads();
    outcome
}

fn check(outcome: &Outcome) {
    let mut seen = outcome.delivered.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), outcome.delivered.len(), "an SDU was delivered twice");
    for count in &outcome.delivered {
        let arrived = outcome.arrived.get(count).copied().unwrap_or(0);
        assert_eq!(arrived, outcome.sizes[*count as usize], "SDU {count} with bytes missing");
    }
    let enqueued: u64 = outcome.sizes.iter().map(|size| u64::from(*size)).sum();
    assert_eq!(enqueued, outcome.pulled_bytes + outcome.queued_bytes, "bytes in = bytes out");
    let accounted = outcome.delivered.len() as u64 + outcome.payloads_lost + outcome.payloads_held;
    assert_eq!(accounted, outcome.payloads_sent, "every SDU sent is delivered, lost or held");
}

fn um(long: bool, t_reassembly_us: u32) -> UmConfig {
    let sn_length = if long { SnLength::Twelve } else { SnLength::Six };
    UmConfig { sn_length, t_reassembly_us }
}

proptest! {
    #[test]
    fn without_loss_every_sdu_arrives_in_order(
        steps in steps(0.0, 0),
        long in any::<bool>(),
    ) {
        let outcome = run(&steps, um(long, 15_000));
        check(&outcome);
        prop_assert!(outcome.delivered.is_sorted());
        prop_assert_eq!(outcome.delivered.len() as u64, outcome.payloads_sent);
    }

    #[test]
    fn loss_damages_and_duplicates_no_sdu(steps in steps(0.3, 0), long in any::<bool>()) {
        check(&run(&steps, um(long, 15_000)));
    }

    #[test]
    fn reordering_within_t_reassembly_loses_no_sdu(steps in steps(0.0, 8)) {
        // The timer does not restart for each gap, so it has to outlast a run of them.
        let outcome = run(&steps, um(true, 10_000_000));
        check(&outcome);
        prop_assert_eq!(outcome.delivered.len() as u64, outcome.payloads_sent);
    }

    #[test]
    fn loss_and_reordering_together_damage_no_sdu(
        steps in steps(0.2, 30),
        long in any::<bool>(),
    ) {
        check(&run(&steps, um(long, 15_000)));
    }
}

fn segment(sn: u16, so: u32, data_bytes: u32, last: bool) -> UmdPdu<u64> {
    let payload = last.then_some(ran::rlc::um::Payload {
        sdu: u64::from(sn),
        enqueued_us: 0,
        dequeued_us: 0,
    });
    UmdPdu { sn, count: u64::from(sn), so, data_bytes, last, payload }
}

#[test]
fn a_missing_segment_is_discarded_after_t_reassembly() {
    let mut rx = UmReceiver::new(UmConfig::default());
    let mut delivered = Vec::new();
    // SDU 0 lacks its middle; SDU 1 is whole.
    for pdu in [segment(0, 0, 10, false), segment(0, 20, 10, true)] {
        rx.receive(pdu, 1000, |count, _| delivered.push(count));
    }
    for pdu in [segment(1, 0, 10, false), segment(1, 10, 10, true)] {
        rx.receive(pdu, 2000, |count, _| delivered.push(count));
    }
    assert_eq!(delivered, [1], "a later SDU does not wait for an earlier one");
    assert_eq!(rx.deadline_us(), Some(16_000));
    rx.expire(15_999);
    assert_eq!((rx.discarded_sdus(), rx.partial_sdus()), (0, 1));
    rx.expire(16_000);
    assert_eq!((rx.discarded_sdus(), rx.partial_sdus()), (1, 0));
    assert_eq!(rx.deadline_us(), None);
    rx.receive(segment(0, 10, 10, false), 16_001, |count, _| delivered.push(count));
    assert_eq!((delivered, rx.discarded_pdus()), (vec![1], 1), "a late segment is refused");
}

#[test]
fn segments_of_two_sdus_with_one_number_are_not_combined() {
    // 64 segmented SDUs are lost in a row, so that number 0 comes again before t-Reassembly.
    let config = UmConfig { sn_length: SnLength::Six, t_reassembly_us: 1_000_000 };
    let mut rx = UmReceiver::new(config);
    let mut delivered = Vec::new();
    rx.receive(segment(0, 0, 10, false), 0, |count, _| delivered.push(count));
    let again = UmdPdu { count: 64, ..segment(0, 10, 10, true) };
    rx.receive(again, 1000, |count, _| delivered.push(count));
    assert!(delivered.is_empty());
    assert_eq!(rx.discarded_sdus(), 1);
}

#[test]
fn t_reassembly_restarts_for_segments_still_missing() {
    let mut rx = UmReceiver::new(UmConfig::default());
    for (sn, at_us) in [(0, 1000), (1, 5000)] {
        rx.receive(segment(sn, 0, 10, false), at_us, |_, _| {});
        rx.receive(segment(sn, 20, 10, true), at_us, |_, _| {});
    }
    rx.expire(16_000);
    assert_eq!((rx.discarded_sdus(), rx.deadline_us()), (1, Some(31_000)));
    rx.expire(31_000);
    assert_eq!((rx.discarded_sdus(), rx.lost_payloads(), rx.deadline_us()), (2, 2, None));
}

#[test]
fn an_sdu_that_leaves_the_window_is_discarded() {
    let config = UmConfig { sn_length: SnLength::Six, t_reassembly_us: 1_000_000 };
    let mut rx = UmReceiver::new(config);
    rx.receive(segment(0, 0, 10, false), 0, |_, _| {});
    rx.receive(segment(31, 0, 10, false), 0, |_, _| {});
    assert_eq!((rx.discarded_sdus(), rx.partial_sdus()), (0, 2));
    rx.receive(segment(32, 0, 10, false), 0, |_, _| {});
    assert_eq!((rx.discarded_sdus(), rx.partial_sdus()), (1, 2));
}
