//! Each fault as it is asked for, the same with the same seed.

use super::super::packet_in_flight::testing::packet_in_flight;
use super::testing::injector;
use super::*;

/// What an injector hands on of packets 0 to `packets`, one each ms.
fn passed(spec: &str, seed: u64, packets: u64) -> (Vec<PacketInFlight>, FaultCounts) {
    let mut injector = injector(spec, seed, 0);
    let mut left = Vec::new();
    for number in 0..packets {
        let at_ns = number * 1_000_000;
        injector.poll(at_ns, &mut |packet| left.push(packet));
        injector
            .push(packet_in_flight(at_ns, &number.to_be_bytes()), &mut |packet| left.push(packet));
    }
    injector.poll(u64::MAX, &mut |packet| left.push(packet));
    (left, injector.faults())
}

/// The number in the payload of a packet.
fn number(packet: &PacketInFlight) -> u64 {
    u64::from_be_bytes(packet.bytes()[28..36].try_into().unwrap())
}

fn numbers(packets: &[PacketInFlight]) -> Vec<u64> {
    packets.iter().filter(|packet| packet.dropped.is_none()).map(number).collect()
}

#[test]
fn losses_are_as_many_as_asked_for_and_dropped_packets_say_why() {
    let (left, counts) = passed("server-in:loss=0.1", 3, 20_000);
    assert!((1_850..=2_150).contains(&counts.lost_packets), "{counts:?}");
    assert_eq!(left.len(), 20_000, "a dropped packet goes on, for logs");
    let dropped = left.iter().filter(|packet| packet.dropped == Some(DropCause::Loss)).count();
    assert_eq!(dropped as u64, counts.lost_packets);
    let (_, counts) = passed("server-in:loss=1", 3, 100);
    assert_eq!(counts.lost_packets, 100);
    let (_, counts) = passed("server-in:loss=0", 3, 100);
    assert_eq!(counts.dropped_packets(), 0);
}

/// Stationary loss start/(start+end), mean burst 1/end (Gilbert 1960).
#[test]
fn bursts_have_the_mean_length_of_the_model() {
    let (left, counts) = passed("server-in:burst_start=0.01,burst_end=0.25", 5, 100_000);
    let share = counts.burst_lost_packets as f64 / 1e5;
    assert!((share - 0.01 / 0.26).abs() < 0.005, "{share}");
    let lost: Vec<bool> = left.iter().map(|packet| packet.dropped.is_some()).collect();
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let mean = counts.burst_lost_packets as f64 / bursts as f64;
    assert!((mean - 4.0).abs() < 0.4, "{mean}");
    let (_, half) = passed("server-in:burst_start=0.01,burst_end=0.25,burst_loss=0.5", 5, 100_000);
    let ratio = half.burst_lost_packets as f64 / counts.burst_lost_packets as f64;
    assert!((ratio - 0.5).abs() < 0.05, "{ratio}");
}

#[test]
fn the_same_seed_decides_the_same_and_another_differently() {
    let spec = "ue-in:loss=0.1,duplicate=0.1,corrupt=0.1,reorder=0.1";
    let run = |seed| {
        let (left, counts) = passed(spec, seed, 2_000);
        let seen: Vec<_> =
            left.iter().map(|p| (p.at_ns, p.dropped, p.marks, p.bytes().clone())).collect();
        (seen, counts)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// One more fault leaves the decisions about the others as they were.
#[test]
fn faults_do_not_move_each_other() {
    let lost = |spec| {
        let (left, _) = passed(spec, 9, 2_000);
        left.iter().filter(|p| p.dropped.is_some()).map(number).collect::<Vec<_>>()
    };
    assert_eq!(lost("ue-in:loss=0.05"), lost("ue-in:loss=0.05,duplicate=0.3,corrupt=0.5"));
}

#[test]
fn a_corrupted_packet_differs_in_one_bit_of_its_payload() {
    let (left, counts) = passed("ue-out:corrupt=1", 4, 500);
    assert_eq!(counts.corrupted_packets, 500);
    for (sent, packet) in (0_u64..).zip(&left) {
        let original =
            super::super::packet_in_flight::testing::packet_in_flight(0, &sent.to_be_bytes());
        assert_eq!(packet.bytes()[..28], original.bytes()[..28], "headers and checksum stay");
        assert_eq!((number(packet) ^ sent).count_ones(), 1);
        assert!(packet.marks.is_corrupted);
    }
    let mut empty = injector("ue-out:corrupt=1", 4, 0);
    empty.push(packet_in_flight(0, &[]), &mut |packet| assert!(!packet.marks.is_corrupted));
    assert_eq!(empty.faults().corrupted_packets, 0, "nothing to change");
}

#[test]
fn a_duplicate_follows_its_original() {
    let (left, counts) = passed("ue-in:duplicate=1", 1, 3);
    assert_eq!(numbers(&left), [0, 0, 1, 1, 2, 2]);
    assert_eq!(counts.duplicated_packets, 3);
    assert_eq!(left.iter().filter(|packet| packet.marks.is_duplicate).count(), 3);
}

#[test]
fn a_delay_keeps_the_order_and_the_time_is_that_of_leaving() {
    let (left, counts) = passed("ue-in:delay_ms=7.5", 1, 50);
    assert_eq!(numbers(&left), (0..50).collect::<Vec<_>>());
    assert!(left.iter().all(|p| p.at_ns == number(p) * 1_000_000 + 7_500_000));
    assert_eq!((counts.delayed_packets, counts.held_packets), (50, 0));
}

#[test]
fn a_reordered_packet_is_passed_by_those_behind_it() {
    let (left, counts) = passed("ue-in:reorder=0.2,reorder_ms=2.5", 2, 1_000);
    let order = numbers(&left);
    assert_eq!(order.len(), 1_000);
    let late = left.iter().filter(|p| p.marks.is_reordered).count() as u64;
    assert!(late == counts.reordered_packets && (150..250).contains(&late), "{counts:?}");
    let overtaken = order.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(overtaken > 100, "{overtaken}");
    assert!(left.iter().all(|p| p.at_ns <= number(p) * 1_000_000 + 2_500_000));
}

#[test]
fn an_outage_loses_all_of_its_time_and_nothing_else() {
    let (left, counts) = passed("ue-in:outage_at_s=0.1,outage_s=0.05,outage_every_s=0.2", 2, 400);
    assert_eq!(counts.outage_packets, 100, "50 from 100 ms, 50 from 300 ms");
    let expected = (0..400).filter(|ms| !(100..150).contains(&(ms % 200)));
    assert_eq!(numbers(&left), expected.collect::<Vec<_>>());
}

#[test]
fn what_is_held_is_bounded() {
    let mut injector = injector("ue-in:delay_ms=1000", 1, 0);
    let payload = vec![0; 60_000];
    let mut dropped = 0_u64;
    for _ in 0..1_200 {
        injector.push(packet_in_flight(0, &payload), &mut |packet| {
            assert_eq!(packet.dropped, Some(DropCause::Overflow));
            dropped += 1;
        });
    }
    let counts = injector.faults();
    assert!(dropped > 0 && counts.overflow_packets == dropped);
    assert_eq!(counts.held_packets + dropped, 1_200);
    assert!(counts.held_packets <= (MAX_HELD_BYTES / 60_000) as u64);
}
