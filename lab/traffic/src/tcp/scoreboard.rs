//! State of each segment between `una` and `next`.
//!
//! Seconds of queue mean thousands of segments in flight, so no step per acknowledgement walks all of
//! them: a SACK block visits the segments it newly covers, loss detection the front of the queue of
//! transmissions, retransmission the heap of lost segments. Each visits a segment a constant number of
//! times per transmission. Only the retransmission time-out walks all segments.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::ranges::RangeSet;

/// State of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentState {
    InFlight,
    /// Lost and not retransmitted.
    Lost,
    Sacked,
}

/// Base of a delivery-rate sample: counters of the connection when a segment was last sent
/// (draft-cheng-iccrg-delivery-rate-estimation-00, "P.").
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    pub(super) delivered_bytes: u64,
    pub(super) delivered_us: u64,
    pub(super) first_sent_us: u64,
    pub(super) lost_bytes: u64,
    pub(super) ce_bytes: u64,
    pub(super) in_flight_bytes: u64,
    /// The application had run out of data.
    pub(crate) is_app_limited: bool,
}

/// A segment that was sent and not cumulatively acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// First byte.
    pub(super) seq: u64,
    /// Length.
    pub(super) len: u32,
    state: SegmentState,
    /// First transmission.
    pub(super) first_sent_us: u64,
    /// Latest transmission.
    pub(super) sent_us: u64,
    pub(super) retransmitted: bool,
    pub(super) snapshot: Snapshot,
}

impl Segment {
    /// First byte after it.
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// One transmission. Stale once its segment is sent again, SACKed, marked lost or acknowledged.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    id: u64,
    sent_us: u64,
}

/// Stale transmissions that a detection may meet before it removes them.
const STALE_KEPT: usize = 8;

/// The segments between `una` and `next`.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Number of the first segment; numbers follow the sequence.
    first_id: u64,
    /// Transmissions in order of time.
    transmissions: VecDeque<Transmission>,
    /// Numbers of lost segments, lowest first; entries may be stale.
    lost: BinaryHeap<Reverse<u64>>,
    lost_segments: u64,
    sacked: RangeSet,
    sacked_segments: u64,
    in_flight_bytes: u64,
    /// Segments marked lost since [`Scoreboard::drain_newly_lost`] was last called.
    newly_lost: Vec<Segment>,
    una: u64,
    next: u64,
}

impl Scoreboard {
    /// First byte not acknowledged.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// First byte never sent.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes in flight: the `pipe` of RFC 6675 §4.
    pub(super) fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Segments selectively acknowledged.
    pub(super) fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Bytes selectively acknowledged.
    pub(super) fn sacked_bytes(&self) -> u64 {
        self.sacked.covered_bytes()
    }

    /// Segments sent and not cumulatively acknowledged.
    pub(super) fn outstanding_segments(&self) -> usize {
        self.segments.len()
    }

    /// A lost segment waits for retransmission.
    pub(super) fn has_lost(&self) -> bool {
        self.lost_segments > 0
    }

    /// Records `len` new bytes sent; returns their first byte.
    pub(super) fn on_new_sent(&mut self, len: u32, now_us: u64) -> u64 {
        let seq = self.next;
        self.next += u64::from(len);
        self.in_flight_bytes += u64::from(len);
        let id = self.first_id + self.segments.len() as u64;
        self.segments.push_back(Segment {
            seq,
            len,
            state: SegmentState::InFlight,
            first_sent_us: now_us,
            sent_us: now_us,
            retransmitted: false,
            snapshot: Snapshot::default(),
        });
        self.transmissions.push_back(Transmission { id, sent_us: now_us });
        seq
    }

    /// Stores `snapshot` with the segment of the latest transmission.
    pub(super) fn set_snapshot(&mut self, snapshot: Snapshot) {
        let Some(id) = self.transmissions.back().map(|last| last.id) else { return };
        if let Some(index) = self.index(id) {
            self.segments[index].snapshot = snapshot;
        }
    }

    /// Calls `lost` with each segment marked lost since the last call, in order of marking.
    pub(super) fn drain_newly_lost(&mut self, mut lost: impl FnMut(&Segment)) {
        self.newly_lost.drain(..).for_each(|segment| lost(&segment));
    }

    /// The lowest lost segment: `(number, length)`.
    pub(super) fn next_lost(&mut self) -> Option<(u64, u32)> {
        while let Some(&Reverse(id)) = self.lost.peek() {
            match self.segment(id) {
                Some(segment) if segment.state == SegmentState::Lost => {
                    return Some((id, segment.len));
                }
                _ => self.lost.pop(),
            };
        }
        None
    }

    /// The highest segment unless SACKed: a tail loss probe sends it.
    pub(super) fn tail(&self) -> Option<u64> {
        let last = self.segments.back()?;
        (last.state != SegmentState::Sacked).then(|| self.first_id + self.segments.len() as u64 - 1)
    }

    /// Records that segment `id` is sent again; returns its first byte, its length and the time since
    /// its first transmission.
    pub(super) fn on_retransmitted(&mut self, id: u64, now_us: u64) -> Option<(u64, u32, u64)> {
        let index = self.index(id)?;
        let segment = self.segments.get_mut(index)?;
        match segment.state {
            SegmentState::Sacked => return None,
            SegmentState::Lost => {
                self.lost_segments -= 1;
                self.in_flight_bytes += u64::from(segment.len);
            }
            // A probe repeats a segment that is not known to be lost; it counts once.
            SegmentState::InFlight => {}
        }
        segment.state = SegmentState::InFlight;
        segment.sent_us = now_us;
        segment.retransmitted = true;
        self.transmissions.push_back(Transmission { id, sent_us: now_us });
        Some((segment.seq, segment.len, now_us.saturating_sub(segment.first_sent_us)))
    }

    /// Advances to the cumulative acknowledgement `ack`. Calls `delivered` with each newly delivered
    /// segment; returns the bytes of these.
    pub(super) fn on_cumulative_ack(
        &mut self,
        ack: u64,
        mut delivered: impl FnMut(&Segment),
    ) -> u64 {
        let mut delivered_bytes = 0;
        while let Some(segment) = self.segments.front().filter(|segment| segment.end() <= ack) {
            match segment.state {
                SegmentState::Sacked => self.sacked_segments -= 1,
                SegmentState::Lost => self.lost_segments -= 1,
                SegmentState::InFlight => self.in_flight_bytes -= u64::from(segment.len),
            }
            if segment.state != SegmentState::Sacked {
                delivered_bytes += u64::from(segment.len);
                delivered(segment);
            }
            self.segments.pop_front();
            self.first_id += 1;
        }
        self.una = self.una.max(ack);
        self.sacked.remove_below(self.una);
        self.drop_stale_front();
        delivered_bytes
    }

    /// Processes the part of a SACK block `[start, end)` within `una..=next`; otherwise as
    /// [`Scoreboard::on_cumulative_ack`].
    pub(super) fn on_sack(
        &mut self,
        start: u64,
        end: u64,
        mut delivered: impl FnMut(&Segment),
    ) -> u64 {
        let (start, end) = (start.max(self.una), end.min(self.next));
        if start >= end || self.sacked.contains(start, end) {
            return 0;
        }
        // Only whole segments count as received.
        let first = self.first_at_or_after(start);
        let last = self.segments.get(self.first_at_or_after(end)).map_or(self.next, |s| s.seq);
        let Some(start) = self.segments.get(first).map(|segment| segment.seq) else { return 0 };
        let last = if last > end { self.floor(end) } else { last };

        let Self { sacked, segments, .. } = self;
        let (mut delivered_bytes, mut left_flight, mut newly_sacked, mut were_lost) = (0, 0, 0, 0);
        let mut index = first;
        sacked.insert(start, last, |from, to| {
            index += segments.range(index..).position(|s| s.seq >= from).unwrap_or(0);
            while let Some(segment) = segments.get_mut(index).filter(|s| s.end() <= to) {
                match segment.state {
                    SegmentState::Lost => were_lost += 1,
                    SegmentState::InFlight => left_flight += u64::from(segment.len),
                    SegmentState::Sacked => {}
                }
                segment.state = SegmentState::Sacked;
                newly_sacked += 1;
                delivered_bytes += u64::from(segment.len);
                delivered(segment);
                index += 1;
            }
        });
        self.sacked_segments += newly_sacked;
        self.lost_segments -= were_lost;
        self.in_flight_bytes -= left_flight;
        delivered_bytes
    }

    /// Classifies the transmissions in flight, oldest first, until [`Verdict::Stop`]. Returns the number
    /// of segments marked lost.
    pub(super) fn detect_lost(&mut self, mut classify: impl FnMut(&Segment) -> Verdict) -> u64 {
        let mut marked = 0;
        self.drop_stale_front();
        let (mut position, mut stale) = (0, 0);
        while let Some(&transmission) = self.transmissions.get(position) {
            let segment = live(&self.segments, self.first_id, transmission);
            stale += usize::from(segment.is_none());
            if let Some(segment) = segment {
                match classify(segment) {
                    Verdict::Lost => {
                        let index = (transmission.id - self.first_id) as usize;
                        self.mark_lost(index);
                        marked += 1;
                    }
                    Verdict::Wait => {}
                    Verdict::Stop => break,
                }
            }
            position += 1;
        }
        // Behind a segment that may be late stand those that were SACKed since.
        if stale > STALE_KEPT && stale > position / 2 {
            self.drop_stale_before(position);
        }
        self.drop_stale_front();
        marked
    }

    /// Marks every segment in flight lost that satisfies `lost`, for a time-out. Returns the number
    /// marked.
    pub(super) fn mark_all_lost(&mut self, mut lost: impl FnMut(&Segment) -> bool) -> u64 {
        let mut marked = 0;
        for index in 0..self.segments.len() {
            let segment = &self.segments[index];
            if segment.state == SegmentState::InFlight && lost(segment) {
                self.mark_lost(index);
                marked += 1;
            }
        }
        self.drop_stale_front();
        marked
    }

    /// Returns lost segments that were not retransmitted to flight; returns their number.
    pub(super) fn undo_lost(&mut self) -> u64 {
        let mut undone = 0;
        while let Some(Reverse(id)) = self.lost.pop() {
            let Some(index) = self.index(id) else { continue };
            let segment = &mut self.segments[index];
            if segment.state == SegmentState::Lost {
                segment.state = SegmentState::InFlight;
                self.in_flight_bytes += u64::from(segment.len);
                undone += 1;
                // Marking removed its transmission from the queue; a later detection needs it again,
                // with the actual time.
                self.transmissions.push_front(Transmission { id, sent_us: segment.sent_us });
            }
        }
        self.transmissions.make_contiguous().sort_by_key(|it| it.sent_us);
        self.lost_segments = 0;
        undone
    }

    fn mark_lost(&mut self, index: usize) {
        let Some(segment) = self.segments.get_mut(index) else { return };
        segment.state = SegmentState::Lost;
        self.in_flight_bytes -= u64::from(segment.len);
        self.lost_segments += 1;
        self.newly_lost.push(segment.clone());
        self.lost.push(Reverse(self.first_id + index as u64));
    }

    fn index(&self, id: u64) -> Option<usize> {
        let index = usize::try_from(id.checked_sub(self.first_id)?).ok()?;
        (index < self.segments.len()).then_some(index)
    }

    fn segment(&self, id: u64) -> Option<&Segment> {
        self.segments.get(self.index(id)?)
    }

    /// Index of the first segment that starts at or after `offset`.
    fn first_at_or_after(&self, offset: u64) -> usize {
        // The segments of a bulk sender have one size, so the guess is nearly always right.
        if let Some(front) = self.segments.front() {
            let guess = (offset.saturating_sub(front.seq) / u64::from(front.len.max(1))) as usize;
            if self.segments.get(guess).is_some_and(|segment| segment.seq == offset) {
                return guess;
            }
        }
        self.segments.partition_point(|segment| segment.seq < offset)
    }

    /// Highest segment boundary at or below `offset`.
    fn floor(&self, offset: u64) -> u64 {
        let index = self.segments.partition_point(|segment| segment.end() <= offset);
        self.segments.get(index).map_or(self.next, |segment| segment.seq)
    }

    /// Removes stale transmissions among the first `position`.
    fn drop_stale_before(&mut self, position: usize) {
        let mut first_kept = position;
        for at in (0..position).rev() {
            let transmission = self.transmissions[at];
            if live(&self.segments, self.first_id, transmission).is_some() {
                first_kept -= 1;
                self.transmissions[first_kept] = transmission;
            }
        }
        self.transmissions.drain(..first_kept);
    }

    fn drop_stale_front(&mut self) {
        while let Some(&front) = self.transmissions.front() {
            if live(&self.segments, self.first_id, front).is_some() {
                break;
            }
            self.transmissions.pop_front();
        }
    }
}

/// Classification of a segment in [`Scoreboard::detect_lost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Mark it lost.
    Lost,
    /// It may be late; continue with the next.
    Wait,
    /// Neither it nor any segment sent later is lost.
    Stop,
}

/// The segment of a transmission that is not stale.
fn live(
    segments: &VecDeque<Segment>,
    first_id: u64,
    transmission: Transmission,
) -> Option<&Segment> {
    let index = usize::try_from(transmission.id.checked_sub(first_id)?).ok()?;
    segments.get(index).filter(|segment| {
        segment.state == SegmentState::InFlight && segment.sent_us == transmission.sent_us
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEN: u32 = 100;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..segments {
            board.on_new_sent(LEN, i);
        }
        board
    }

    #[test]
    fn a_sack_block_delivers_each_segment_once() {
        let mut board = board(10);
        let mut seen = Vec::new();
        assert_eq!(board.on_sack(300, 500, |segment| seen.push(segment.seq)), 200);
        assert_eq!(board.on_sack(200, 700, |segment| seen.push(segment.seq)), 300);
        assert_eq!(board.on_sack(200, 700, |_| unreachable!()), 0);
        seen.sort_unstable();
        assert_eq!(seen, [200, 300, 400, 500, 600]);
        assert_eq!(board.in_flight_bytes(), 500);
        assert_eq!(board.on_cumulative_ack(800, |segment| seen.push(segment.seq)), 300);
        assert_eq!(board.sacked_segments(), 0);
        assert_eq!(board.in_flight_bytes(), 200);
    }

    #[test]
    fn a_block_that_cuts_segments_counts_whole_ones_only() {
        let mut board = board(10);
        assert_eq!(board.on_sack(250, 450, |_| {}), 100);
        assert_eq!(board.on_sack(200, 500, |_| {}), 200);
        assert_eq!(board.on_sack(950, 5_000, |_| {}), 0, "no whole segment");
        assert_eq!(board.on_sack(900, 5_000, |_| {}), 100, "beyond what was sent is ignored");
    }

    #[test]
    fn lost_segments_are_retransmitted_lowest_first() {
        let mut board = board(6);
        board.on_sack(500, 600, |_| {});
        let marked = board
            .detect_lost(|segment| if segment.seq < 300 { Verdict::Lost } else { Verdict::Stop });
        assert_eq!(marked, 3);
        assert_eq!(board.in_flight_bytes(), 200);
        let mut again = Vec::new();
        while let Some((id, _)) = board.next_lost() {
            again.push(board.on_retransmitted(id, 100).unwrap().0);
        }
        assert_eq!(again, [0, 100, 200]);
        assert_eq!(board.in_flight_bytes(), 500);
        assert!(!board.has_lost());
    }

    #[test]
    fn a_retransmission_is_classified_by_its_own_time() {
        let mut board = board(3);
        board.detect_lost(|segment| if segment.seq == 0 { Verdict::Lost } else { Verdict::Stop });
        let (id, _) = board.next_lost().unwrap();
        board.on_retransmitted(id, 50);
        let mut order = Vec::new();
        board.detect_lost(|segment| {
            order.push((segment.seq, segment.sent_us));
            Verdict::Wait
        });
        assert_eq!(order, [(100, 1), (200, 2), (0, 50)]);
    }

    #[test]
    fn sacked_segments_behind_one_that_may_be_late_are_visited_once() {
        let mut board = board(100);
        let classify = |segment: &Segment| match segment.seq {
            seq if seq < 9_000 => Verdict::Wait,
            _ => Verdict::Stop,
        };
        board.on_sack(100, 8_000, |_| {});
        board.detect_lost(classify);
        let mut left = Vec::new();
        board.detect_lost(|segment| {
            left.push(segment.seq);
            classify(segment)
        });
        assert_eq!(
            left,
            [0, 8_000, 8_100, 8_200, 8_300, 8_400, 8_500, 8_600, 8_700, 8_800, 8_900, 9_000]
        );
        assert_eq!(board.transmissions.len(), 1 + 20);
        assert_eq!(board.detect_lost(|_| Verdict::Lost), 21);
    }

    #[test]
    fn a_segment_sent_again_is_as_old_as_its_first_transmission() {
        let mut board = board(3);
        assert_eq!(board.on_retransmitted(2, 50), Some((2 * u64::from(LEN), LEN, 48)));
        assert_eq!(board.on_retransmitted(2, 80), Some((2 * u64::from(LEN), LEN, 78)));
        assert_eq!(board.on_retransmitted(2, 0).map(|sent| sent.2), Some(0), "the clock went back");
    }

    #[test]
    fn an_undone_loss_is_in_flight_again_and_can_be_detected_again() {
        let mut board = board(4);
        board.mark_all_lost(|_| true);
        assert_eq!(board.in_flight_bytes(), 0);
        let (id, _) = board.next_lost().unwrap();
        board.on_retransmitted(id, 50);
        assert_eq!(board.undo_lost(), 3);
        assert_eq!(board.in_flight_bytes(), 400);
        let mut order = Vec::new();
        board.detect_lost(|segment| {
            order.push(segment.seq);
            Verdict::Lost
        });
        assert_eq!(order, [100, 200, 300, 0]);
    }

    /// Recounts everything and compares with the running counts.
    fn check(board: &Scoreboard) -> Result<(), TestCaseError> {
        let count = |state| board.segments.iter().filter(move |it| it.state == state);
        let in_flight: u64 = count(SegmentState::InFlight).map(|it| u64::from(it.len)).sum();
        prop_assert_eq!(board.in_flight_bytes, in_flight);
        prop_assert_eq!(board.lost_segments, count(SegmentState::Lost).count() as u64);
        prop_assert_eq!(board.sacked_segments, count(SegmentState::Sacked).count() as u64);
        prop_assert_eq!(
            board.sacked.covered_bytes(),
            count(SegmentState::Sacked).map(|it| u64::from(it.len)).sum::<u64>()
        );
        for (index, segment) in board.segments.iter().enumerate() {
            let id = board.first_id + index as u64;
            if segment.state == SegmentState::InFlight {
                prop_assert!(
                    board
                        .transmissions
                        .iter()
                        .any(|it| { it.id == id && it.sent_us == segment.sent_us }),
                    "{segment:?} has no transmission"
                );
            }
        }
        let times: Vec<u64> = board.transmissions.iter().map(|it| it.sent_us).collect();
        prop_assert!(times.is_sorted(), "{times:?}");
        Ok(())
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Send(u32),
        Ack(u64),
        Sack(u64, u64),
        Detect(u64),
        Retransmit,
        TimeOut,
        Undo,
        Probe,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            6 => prop_oneof![9 => Just(100), 1 => 1_u32..100].prop_map(Operation::Send),
            2 => (0_u64..8).prop_map(Operation::Ack),
            4 => (0_u64..3_000, 0_u64..500).prop_map(|(a, n)| Operation::Sack(a, a + n)),
            2 => (0_u64..60).prop_map(Operation::Detect),
            3 => Just(Operation::Retransmit),
            1 => Just(Operation::TimeOut),
            1 => Just(Operation::Undo),
            1 => Just(Operation::Probe),
        ]
    }

    proptest! {
        #[test]
        fn the_running_counts_equal_a_recount(
            operations in prop::collection::vec(operation(), 1..120)
        ) {
            let mut board = Scoreboard::default();
            for (time, operation) in operations.into_iter().enumerate() {
                let now_us = time as u64 * 10;
                match operation {
                    Operation::Send(len) => {
                        board.on_new_sent(len, now_us);
                    }
                    Operation::Ack(segments) => {
                        let ack = board.segments.get(segments as usize).map(Segment::end);
                        let before = board.una();
                        board.on_cumulative_ack(ack.unwrap_or(before), |_| {});
                    }
                    Operation::Sack(start, end) => {
                        let base = board.una();
                        board.on_sack(base + start, base + end, |_| {});
                    }
                    Operation::Detect(age_us) => {
                        board.detect_lost(|it| match it.sent_us + age_us <= now_us {
                            true if it.seq % 300 == 0 => Verdict::Wait,
                            true => Verdict::Lost,
                            false => Verdict::Stop,
                        });
                    }
                    Operation::Retransmit => {
                        if let Some((id, _)) = board.next_lost() {
                            prop_assert!(board.on_retransmitted(id, now_us).is_some());
                        }
                    }
                    Operation::TimeOut => {
                        board.mark_all_lost(|_| true);
                    }
                    Operation::Undo => {
                        board.undo_lost();
                    }
                    Operation::Probe => {
                        if let Some(tail) = board.tail() {
                            prop_assert!(board.on_retransmitted(tail, now_us).is_some());
                        }
                    }
                }
                check(&board)?;
                prop_assert_eq!(board.has_lost(), board.next_lost().is_some());
            }
        }
    }
}
