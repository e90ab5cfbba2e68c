//! Hash, CoDel and DRR together are FQ-CoDel: scenarios of RFC 8290.

use crate::util::*;
use e2sm_tc::v1::{BufferLimit, FifoDrop, Overflow};
use tc_rf::DropReason;
use tc_rf::queueing::{
    CodelParams, Dequeued, Discipline, Place, QueueConfig, QueueRules, Queues, SchedulerConfig,
};
use tc_rf::templates::FqCodel;

const QUANTUM: u32 = 1514;

fn queues(count: u16, limit_packets: u32) -> Queues<TestPacket> {
    let params = CodelParams {
        target_us: 5_000,
        interval_us: 100_000,
        ecn: false,
        ce_threshold_us: None,
        l4s: false,
        mtu_bytes: 1500,
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
        &(0..count).map(config).collect::<Vec<_>>(),
        &SchedulerConfig::DeficitRoundRobin { quantum_bytes: QUANTUM },
        BufferLimit { packets: limit_packets, bytes: u32::MAX, overflow: Overflow::FattestHead },
    )
}

fn put(queues: &mut Queues<TestPacket>, queue: usize, count: u64, len_bytes: u32, now_us: u64) {
    for number in 0..count {
        let packet = packet(queue as u16, len_bytes, number);
        assert!(queues.enqueue(queue, packet, now_us, &mut ()).is_ok());
    }
}

fn take(queues: &mut Queues<TestPacket>, now_us: u64) -> Option<Dequeued<TestPacket>> {
    queues.dequeue(now_us, &mut ())
}

fn place(queues: &Queues<TestPacket>, queue: usize) -> (Place, i64) {
    let state = queues.state(queue).expect("a queue");
    (state.place, state.deficit)
}

#[test]
fn a_new_queue_goes_before_the_old_ones() {
    let mut q = queues(3, 1000);
    put(&mut q, 0, 20, 1500, 0);
    put(&mut q, 1, 20, 1500, 0);
    for _ in 0..6 {
        take(&mut q, 0);
    }
    put(&mut q, 2, 1, 100, 0);
    assert_eq!(take(&mut q, 0).map(|d| d.queue), Some(2));
}

#[test]
fn quantum_and_deficit_are_accounted_as_in_the_rfc() {
    let mut q = queues(2, 1000);
    put(&mut q, 0, 5, 1500, 0);
    put(&mut q, 1, 5, 1000, 0);
    assert_eq!(place(&q, 0), (Place::New, 1514));
    // Queue 0 sends while its deficit is above 0: 1514, 14, −1486.
    let order: Vec<_> = (0..2).filter_map(|_| take(&mut q, 0)).map(|d| d.queue).collect();
    assert_eq!(order, [0, 0]);
    assert_eq!(place(&q, 0), (Place::New, -1486));
    // The next round gives it a quantum and sends it to the old queues: 28 left.
    assert_eq!(take(&mut q, 0).map(|d| d.queue), Some(1));
    assert_eq!(place(&q, 0), (Place::Old, 28));
    assert_eq!(place(&q, 1), (Place::New, 514));
    assert_eq!(take(&mut q, 0).map(|d| d.queue), Some(1));
    assert_eq!(place(&q, 1), (Place::New, -486));
    assert_eq!(take(&mut q, 0).map(|d| d.queue), Some(0));
    assert_eq!(place(&q, 1), (Place::Old, 1028));
    assert_eq!(place(&q, 0), (Place::Old, -1472));
}

#[test]
fn an_emptied_new_queue_passes_through_the_old_ones() {
    let mut q = queues(2, 1000);
    put(&mut q, 0, 10, 1500, 0);
    for _ in 0..2 {
        take(&mut q, 0);
    }
    put(&mut q, 1, 1, 100, 0);
    assert_eq!(take(&mut q, 0).map(|d| d.queue), Some(1));
    assert_eq!(place(&q, 1), (Place::New, 1414));
    // Found empty: not inactive, but last of the old queues, so that its next packet waits its
    // turn and it cannot starve the others.
    assert_eq!(take(&mut q, 0).map(|d| d.queue), Some(0));
    assert_eq!(place(&q, 1).0, Place::Old);
    put(&mut q, 1, 1, 100, 0);
    assert_eq!(place(&q, 1), (Place::Old, 1414), "no new quantum either");
}

#[test]
fn an_emptied_old_queue_becomes_inactive() {
    let mut q = queues(1, 1000);
    put(&mut q, 0, 1, 1500, 0);
    assert!(take(&mut q, 0).is_some());
    assert!(take(&mut q, 0).is_none());
    assert_eq!(place(&q, 0).0, Place::Inactive);
    put(&mut q, 0, 1, 1500, 0);
    assert_eq!(place(&q, 0), (Place::New, 1514));
}

#[test]
fn flows_share_by_bytes_whatever_their_packet_size() {
    let mut q = queues(3, 100_000);
    put(&mut q, 0, 3_000, 1500, 0);
    put(&mut q, 1, 20_000, 200, 0);
    put(&mut q, 2, 6_000, 700, 0);
    let mut bytes = [0u64; 3];
    for _ in 0..10_000 {
        let dequeued = take(&mut q, 0).expect("a backlog");
        bytes[dequeued.queue] += u64::from(dequeued.packet.len_bytes);
    }
    let (least, most) = (bytes.iter().min().copied(), bytes.iter().max().copied());
    let difference = most.unwrap_or(0) - least.unwrap_or(0);
    assert!(difference <= 2 * u64::from(QUANTUM), "{bytes:?}");
}

#[test]
fn overflow_takes_half_of_the_fattest_queue_from_its_head() {
    let mut q = queues(3, 50);
    put(&mut q, 0, 10, 1500, 0);
    put(&mut q, 1, 40, 1500, 0);
    let mut events = Recorder::default();
    let arriving = packet(2, 100, 0);
    assert!(q.enqueue(2, arriving, 7, &mut events).is_ok());
    assert_eq!(events.drops.len(), 20, "half of 40");
    assert!(
        events
            .drops
            .iter()
            .all(|(p, reason, _)| { p.flow == flow(1) && *reason == DropReason::BufferLimit })
    );
    let numbers: Vec<_> = events.drops.iter().map(|(p, _, _)| p.number).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    assert_eq!(q.backlog_packets(), 31);
    assert_eq!(q.state(1).expect("a queue").codel.count(), 0, "CoDel's state is left alone");
}

#[test]
fn overflow_takes_at_most_64_packets_at_once() {
    let mut q = queues(1, 1000);
    put(&mut q, 0, 1000, 1500, 0);
    let mut events = Recorder::default();
    assert!(q.enqueue(0, packet(0, 1500, 1000), 0, &mut events).is_ok());
    assert_eq!(events.drops.len(), 64);
    assert_eq!(q.backlog_packets(), 937);
}

#[test]
fn tail_overflow_refuses_the_arriving_packet() {
    let config = QueueConfig {
        id: 0,
        rules: QueueRules {
            discipline: Discipline::Fifo { drop: FifoDrop::Tail },
            limit_packets: u32::MAX,
            limit_bytes: u32::MAX,
        },
    };
    let buffer = BufferLimit { packets: 100, bytes: 4_000, overflow: Overflow::Tail };
    let mut q = Queues::new(&[config], &SchedulerConfig::RoundRobin, buffer);
    let mut events = Recorder::default();
    for number in 0..3 {
        assert!(q.enqueue(0, packet(0, 1500, number), 0, &mut events).is_ok());
    }
    let dropped: Vec<_> = events.drops.iter().map(|(p, reason, _)| (p.number, *reason)).collect();
    assert_eq!(dropped, [(2, DropReason::BufferLimit)]);
}

#[test]
fn fifos_give_up_the_end_they_are_told_to() {
    for (drop, lost) in [(FifoDrop::Tail, [3, 4]), (FifoDrop::Head, [0, 1])] {
        let config = QueueConfig {
            id: 0,
            rules: QueueRules {
                discipline: Discipline::Fifo { drop },
                limit_packets: 3,
                limit_bytes: u32::MAX,
            },
        };
        let buffer = BufferLimit { packets: 100, bytes: u32::MAX, overflow: Overflow::Tail };
        let mut q = Queues::new(&[config], &SchedulerConfig::RoundRobin, buffer);
        let mut events = Recorder::default();
        for number in 0..5 {
            assert!(q.enqueue(0, packet(0, 1500, number), 0, &mut events).is_ok());
        }
        let dropped: Vec<_> = events.drops.iter().map(|(p, _, _)| p.number).collect();
        assert_eq!(dropped, lost);
        assert!(events.drops.iter().all(|(_, reason, _)| *reason == DropReason::QueueLimit));
    }
}

#[test]
fn a_packet_that_fits_no_queue_pushes_nobody_out() {
    let config = QueueConfig {
        id: 0,
        rules: QueueRules {
            discipline: Discipline::Fifo { drop: FifoDrop::Head },
            limit_packets: 10,
            limit_bytes: 2_000,
        },
    };
    let buffer = BufferLimit { packets: 100, bytes: u32::MAX, overflow: Overflow::Tail };
    let mut q = Queues::new(&[config], &SchedulerConfig::RoundRobin, buffer);
    let mut events = Recorder::default();
    assert!(q.enqueue(0, packet(0, 1500, 0), 0, &mut events).is_ok());
    assert!(q.enqueue(0, packet(0, 9000, 1), 0, &mut events).is_ok());
    assert_eq!(events.drops.iter().map(|(p, _, _)| p.number).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_queue_that_is_not_there_gives_the_packet_back() {
    let mut q = queues(2, 10);
    assert_eq!(q.enqueue(2, packet(9, 100, 5), 0, &mut ()).map_err(|p| p.number), Err(5));
}

#[test]
fn flows_of_a_bearer_are_told_apart() {
    let mut tc =
        control(FqCodel { pacer: e2sm_tc::v1::Pacer::None, ..FqCodel::default() }.pipeline());
    for number in 0..50 {
        tc.ingress(packet(1, 1500, number), 0, &mut ());
    }
    tc.ingress(packet(2, 100, 99), 0, &mut ());
    let order = numbers(&egress(&mut tc, 1_000));
    assert_eq!(order.iter().position(|&n| n == 99), Some(2), "after one quantum of flow 1");
}
