//! CoDel on virtual time, against timelines computed by hand from RFC 8289 §5.

use crate::util::*;
use e2sm_tc::v1::{BufferLimit, Ecn, Overflow};
use tc_rf::DropReason;
use tc_rf::queueing::{
    CodelParams, Discipline, QueueConfig, QueueRules, QueueState, Queues, SchedulerConfig,
};

fn params() -> CodelParams {
    CodelParams {
        target_us: 5_000,
        interval_us: 100_000,
        ecn: false,
        ce_threshold_us: None,
        l4s: false,
        mtu_bytes: 1500,
    }
}

struct Bench {
    queues: Queues<TestPacket>,
    events: Recorder,
    next: u64,
}

impl Bench {
    fn new(params: CodelParams) -> Self {
        let config = QueueConfig {
            id: 0,
            rules: QueueRules {
                discipline: Discipline::Codel(params),
                limit_packets: 100_000,
                limit_bytes: u32::MAX,
            },
        };
        let buffer = BufferLimit { packets: 100_000, bytes: u32::MAX, overflow: Overflow::Tail };
        let queues = Queues::new(&[config], &SchedulerConfig::RoundRobin, buffer);
        Self { queues, events: Recorder::default(), next: 0 }
    }

    fn enqueue(&mut self, count: u32, ecn: Ecn, now_us: u64) {
        for _ in 0..count {
            let packet = TestPacket { ecn, ..packet(1, 1500, self.next) };
            self.next += 1;
            assert!(self.queues.enqueue(0, packet, now_us, &mut self.events).is_ok());
        }
    }

    fn dequeue(&mut self, now_us: u64) -> Option<TestPacket> {
        self.queues.dequeue(now_us, &mut self.events).map(|dequeued| dequeued.packet)
    }

    /// One dequeue per ms from `from_us` up to, not including, `to_us`.
    fn drain(&mut self, from_us: u64, to_us: u64) {
        for now_us in (from_us..to_us).step_by(1000) {
            self.dequeue(now_us);
        }
    }

    fn state(&self) -> QueueState {
        self.queues.state(0).expect("the queue")
    }

    fn drop_times(&self) -> Vec<u64> {
        self.events.drops.iter().map(|(_, _, at_us)| *at_us).collect()
    }
}

#[test]
fn drops_follow_the_control_law() {
    let mut bench = Bench::new(params());
    bench.enqueue(2000, Ecn::NotEct, 0);
    bench.drain(5_000, 430_000);
    // Above target from 5 ms on, so dropping starts at 105 ms; then the intervals shrink as
    // 100/√n: due at 205.000, 275.711, 333.446, 383.446 and 428.167 ms, done at the next dequeue.
    assert_eq!(bench.drop_times(), [105_000, 205_000, 276_000, 334_000, 384_000, 429_000]);
    assert!(
        bench.events.drops.iter().all(|(_, reason, _)| *reason == DropReason::Discipline("codel"))
    );
    let codel = bench.state().codel;
    assert!(codel.dropping());
    assert_eq!(codel.count(), 6);
    assert_eq!(codel.drop_next_us(), 428_167 + 40_825);
}

#[test]
fn a_burst_shorter_than_an_interval_loses_nothing() {
    let mut bench = Bench::new(params());
    bench.enqueue(99, Ecn::NotEct, 0);
    bench.drain(5_000, 200_000);
    assert!(bench.drop_times().is_empty());
    assert_eq!(bench.state().stats.forwarded_packets, 99);
}

#[test]
fn one_packet_below_target_starts_the_interval_anew() {
    let mut bench = Bench::new(params());
    bench.enqueue(100, Ecn::NotEct, 0);
    bench.drain(5_000, 104_000);
    // The queue ends with a packet of the old burst and begins a new one, which is young.
    bench.enqueue(1000, Ecn::NotEct, 104_000);
    bench.drain(104_000, 108_000);
    bench.drain(108_000, 208_000);
    assert!(bench.drop_times().is_empty(), "below target at 105 ms, above again from 109 ms");
    bench.drain(208_000, 211_000);
    assert_eq!(bench.drop_times(), [209_000]);
}

#[test]
fn no_more_than_an_mtu_left_is_never_too_much() {
    let mut bench = Bench::new(params());
    for ms in 0..400 {
        // Always exactly one packet of an MTU stays behind, each with a sojourn of 50 ms.
        bench.enqueue(if ms == 0 { 2 } else { 1 }, Ecn::NotEct, ms * 50_000);
        assert!(bench.dequeue(ms * 50_000 + 49_999).is_some());
    }
    assert!(bench.drop_times().is_empty());
}

#[test]
fn resumes_at_the_rate_that_worked_within_sixteen_intervals() {
    let mut bench = Bench::new(params());
    bench.enqueue(432, Ecn::NotEct, 0);
    bench.drain(5_000, 600_000);
    let count = bench.state().codel.count();
    assert_eq!(count, 6, "the queue drained soon after the sixth drop");
    assert!(!bench.state().codel.dropping());

    let mut late = Bench { queues: bench.queues.clone(), events: Recorder::default(), next: 0 };
    bench.events.drops.clear();
    bench.enqueue(2000, Ecn::NotEct, 1_000_000);
    bench.drain(1_005_000, 1_110_000);
    assert_eq!(bench.drop_times(), [1_105_000]);
    // count was 6 and lastcount 1: the new cycle starts at 5.
    assert_eq!(bench.state().codel.count(), 5);
    assert_eq!(bench.state().codel.drop_next_us(), 1_105_000 + 44_721);

    // The last drop was due at 428.167 ms; 16 intervals later all is forgotten.
    late.enqueue(2000, Ecn::NotEct, 2_000_000);
    late.drain(2_005_000, 2_110_000);
    assert_eq!(late.state().codel.count(), 1);
    assert_eq!(late.state().codel.drop_next_us(), 2_205_000);
}

#[test]
fn a_late_dequeue_makes_up_for_all_drops_that_are_due() {
    let mut bench = Bench::new(params());
    bench.enqueue(1000, Ecn::NotEct, 0);
    bench.drain(5_000, 106_000);
    assert_eq!(bench.drop_times(), [105_000]);
    // Due at 205.000, 275.711, 333.446, 383.446: four at once, then a packet.
    let packet = bench.dequeue(400_000).expect("a packet");
    assert_eq!(bench.drop_times(), [105_000, 400_000, 400_000, 400_000, 400_000]);
    assert_eq!(packet.number, 101 + 1 + 4, "the packets before it were forwarded or dropped");
    assert_eq!(bench.state().codel.drop_next_us(), 428_167);
}

#[test]
fn ecn_capable_packets_are_marked_instead() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let mut bench = Bench::new(CodelParams { ecn: true, ..params() });
        bench.enqueue(2000, ecn, 0);
        bench.drain(5_000, 280_000);
        assert!(bench.drop_times().is_empty());
        let marks: Vec<_> = bench.events.marks.iter().map(|(_, at_us)| *at_us).collect();
        assert_eq!(marks, [105_000, 205_000, 276_000]);
        assert!(bench.events.marks.iter().all(|(packet, _)| packet.ecn == Ecn::Ce));
        assert_eq!(bench.state().codel.drop_next_us(), 333_446, "as drops would have it");
    }
}

#[test]
fn ect_is_dropped_when_ecn_is_off_and_not_ect_when_it_is_on() {
    for (ecn, codepoint) in [(false, Ecn::Ect0), (true, Ecn::NotEct)] {
        let mut bench = Bench::new(CodelParams { ecn, ..params() });
        bench.enqueue(500, codepoint, 0);
        bench.drain(5_000, 210_000);
        assert_eq!(bench.drop_times(), [105_000, 205_000]);
        assert_eq!(bench.events.marks.len(), 0);
    }
}

#[test]
fn ce_is_left_alone_and_counts_as_marked() {
    let mut bench = Bench::new(CodelParams { ecn: true, ..params() });
    bench.enqueue(500, Ecn::Ce, 0);
    bench.drain(5_000, 210_000);
    assert!(bench.drop_times().is_empty());
    assert_eq!(bench.events.marks.len(), 0, "nothing is marked twice");
    assert_eq!(bench.state().stats.marked_packets, 2);
}

#[test]
fn the_threshold_marks_at_once_but_never_what_codel_marked() {
    let mut bench = Bench::new(CodelParams { ecn: true, ce_threshold_us: Some(6_000), ..params() });
    bench.enqueue(300, Ecn::Ect0, 0);
    bench.enqueue(1, Ecn::NotEct, 0);
    assert_eq!(bench.dequeue(6_000).expect("a packet").ecn, Ecn::Ect0, "not above");
    assert_eq!(bench.dequeue(6_001).expect("a packet").ecn, Ecn::Ce);
    bench.drain(7_000, 210_000);
    let stats = bench.state().stats;
    assert_eq!(stats.marked_packets, 2, "106 and 206 ms");
    assert_eq!(stats.threshold_marked_packets, stats.forwarded_packets - 1 - 2);
    assert_eq!(bench.events.marks.len() as u64, stats.forwarded_packets - 1);
}

#[test]
fn l4s_packets_obey_the_threshold_alone() {
    let l4s = CodelParams { ecn: true, ce_threshold_us: Some(1_000), l4s: true, ..params() };
    let mut bench = Bench::new(l4s);
    bench.enqueue(400, Ecn::Ect1, 0);
    assert_eq!(bench.dequeue(1_000).expect("a packet").ecn, Ecn::Ect1);
    bench.drain(2_000, 390_000);
    let state = bench.state();
    assert_eq!(state.stats.threshold_marked_packets, 388);
    assert_eq!(state.stats.marked_packets, 0);
    assert!(!state.codel.dropping(), "CoDel learns nothing from them");
    assert_eq!(state.codel.count(), 0);

    let mut classic = Bench::new(l4s);
    classic.enqueue(400, Ecn::Ect0, 0);
    classic.drain(2_000, 210_000);
    let stats = classic.state().stats;
    assert_eq!((stats.marked_packets, stats.threshold_marked_packets), (2, 0));
}

/// A packet each ms; all leave when the radio serves, each `period_us`.
fn serve_each(bench: &mut Bench, period_us: u64, span_us: std::ops::Range<u64>) {
    for now_us in span_us.step_by(1_000) {
        bench.enqueue(1, Ecn::Ect1, now_us);
        if (now_us + 1_000) % period_us == 0 {
            while bench.dequeue(now_us + 1_000).is_some() {}
        }
    }
}

#[test]
fn l4s_without_a_threshold_does_not_mark_what_waits_for_a_slot() {
    let l4s = CodelParams { l4s: true, ..params() };
    let mut bench = Bench::new(l4s);
    serve_each(&mut bench, 10_000, 0..200_000);
    let stats = bench.state().stats;
    assert_eq!((stats.forwarded_packets, stats.threshold_marked_packets), (200, 0));

    let fixed = CodelParams { ce_threshold_us: Some(2_000), ..l4s };
    let mut bench = Bench::new(fixed);
    serve_each(&mut bench, 10_000, 0..200_000);
    assert_eq!(bench.state().stats.threshold_marked_packets, 8 * 20, "aged 3 to 10 ms");
}

#[test]
fn l4s_without_a_threshold_marks_above_2_ms_and_the_longest_gap() {
    let mut bench = Bench::new(CodelParams { l4s: true, ..params() });
    serve_each(&mut bench, 10_000, 0..100_000);
    bench.enqueue(13, Ecn::Ect1, 100_000);
    bench.drain(101_000, 114_000);
    let marks: Vec<_> = bench.events.marks.iter().map(|mark| mark.1).collect();
    assert_eq!(marks, [113_000], "the only one older than 12 ms");
}

#[test]
fn l4s_without_a_threshold_forgets_gaps_and_takes_an_outage_for_20_ms() {
    let mut bench = Bench::new(CodelParams { l4s: true, ..params() });
    bench.enqueue(2, Ecn::Ect1, 0);
    let ecn = |packet: Option<TestPacket>| packet.expect("a packet").ecn;
    assert_eq!(ecn(bench.dequeue(22_000)), Ecn::Ect1);
    assert_eq!(ecn(bench.dequeue(22_001)), Ecn::Ce);
    serve_each(&mut bench, 1_000, 30_000..300_000);
    bench.enqueue(4, Ecn::Ect1, 300_000);
    bench.drain(301_000, 304_000);
    assert_eq!(ecn(bench.dequeue(303_001)), Ecn::Ce, "2 ms and a gap of 1 ms");
}

#[test]
fn an_l4s_packet_behind_a_drop_is_forwarded() {
    let l4s = CodelParams { ce_threshold_us: Some(1_000), l4s: true, ..params() };
    let mut bench = Bench::new(l4s);
    bench.enqueue(101, Ecn::NotEct, 0);
    bench.enqueue(1, Ecn::Ect1, 0);
    bench.enqueue(300, Ecn::NotEct, 0);
    bench.drain(5_000, 105_000);
    let packet = bench.dequeue(105_000).expect("a packet");
    assert_eq!((packet.number, packet.ecn), (101, Ecn::Ce));
    assert_eq!(bench.drop_times(), [105_000]);
    assert_eq!(bench.state().codel.drop_next_us(), 205_000);
}

#[test]
fn an_empty_queue_ends_the_dropping_state() {
    let mut bench = Bench::new(params());
    bench.enqueue(110, Ecn::NotEct, 0);
    bench.drain(5_000, 107_000);
    assert!(bench.state().codel.dropping());
    bench.drain(107_000, 120_000);
    assert!(bench.dequeue(120_000).is_none());
    assert!(!bench.state().codel.dropping());
}

#[test]
fn does_not_panic_on_bad_instants() {
    let mut bench = Bench::new(CodelParams { interval_us: u64::MAX, ..params() });
    bench.enqueue(100, Ecn::NotEct, 1_000_000);
    assert!(bench.dequeue(0).is_some(), "before it was enqueued");
    assert!(bench.dequeue(u64::MAX).is_some());
    assert!(bench.dequeue(u64::MAX).is_some());
}
