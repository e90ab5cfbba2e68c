//! Just-in-time pacer, this project's own: in a monolithic gNB, nothing has to wait in
//! the RLC.
//!
//! The MAC calls an RLC entity twice per slot: for its buffer status, before it schedules the slot,
//! and for the bytes of its grant, when it builds the transport block. A gNB that forwards both calls
//! ([`buffer_status_queried`](Algorithm::buffer_status_queried), [`may_pull`](Algorithm::may_pull))
//! gets packets at the pull and not before: what waits above counts as RLC buffer, and each block is
//! filled with exactly what it can carry. The pipeline's scheduler decides at the last possible
//! moment; a packet that arrives a microsecond before the pull can still be the first of its block.
//! All other pacers commit the bytes of a TTI before it begins, which costs later packets a TTI.
//!
//! - **Rest in the RLC**: the one SDU that did not fit its block whole is segmented (38.322
//!   §5.2.2.1.1), and its rest precedes everything in the next blocks. If a small packet of a regular
//!   flow is due before the next block ([`Regular`]), an SDU is not started whose rest would leave no
//!   room for that packet, unless a good part of the SDU leaves now.
//! - **No queries**: with a separate DU, or in a gNB that does not forward the calls, the [`Forecast`]
//!   pacer decides, which counts what is in flight; without a forecast that is persistence. The same
//!   holds when no query came for a radio frame, in the time of the radio where the gNB knows that it
//!   lags behind the clock ([`query_counts_from`](Algorithm::query_counts_from)).

use super::feed::Feed;
use super::flight::Flight;
use super::forecast::Forecast;
use super::regular::{Regular, SMALL_PACKET_BYTES};
use super::{Algorithm, BlockRoom, ReceivedStatus};

/// A radio frame: the longest TDD pattern (38.331, dl-UL-TransmissionPeriodicity), so each frame has a
/// slot for which the MAC queries the buffer status.
const FRAME_US: u64 = 10_000;
/// A packet of which less than this part of a block (a quarter) would leave now may as well start in
/// the next block. It bounds the cost of the rule: a quarter of a block per small packet.
const SMALL_PART: u32 = 4;
/// Age limit of forecasts without queries, as in the template `drql_forecast`.
const FORECAST_STALE_US: u32 = 500_000;

#[derive(Clone, Debug)]
pub(super) struct JustInTime {
    /// Time at which the MAC last queried the buffer status.
    queried_us: Option<u64>,
    /// Room of the last block that the MAC built.
    room_bytes: u32,
    is_new_block: bool,
    regular: Regular,
    fallback: Forecast,
}

impl JustInTime {
    pub(super) fn new(received: Option<&ReceivedStatus>) -> Self {
        Self {
            queried_us: None,
            room_bytes: 0,
            is_new_block: true,
            regular: Regular::default(),
            fallback: Forecast::new(FORECAST_STALE_US, received),
        }
    }

    fn is_pulled(&self, now_us: u64) -> bool {
        self.pulled_until_us().is_some_and(|until_us| now_us <= until_us)
    }
}

impl Algorithm for JustInTime {
    fn status(&mut self, received: &ReceivedStatus) {
        self.fallback.status(received);
    }

    fn in_flight(&mut self, flight: &Flight, now_us: u64) {
        self.fallback.in_flight(flight, now_us);
    }

    fn sent(&mut self, len_bytes: u64, now_us: u64) {
        self.fallback.sent(len_bytes, now_us);
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        !self.is_pulled(now_us) && self.fallback.may_send(len_bytes, now_us)
    }

    fn grows_until_us(&self) -> u64 {
        self.fallback.grows_until_us()
    }

    fn limit_bytes(&self) -> u64 {
        match self.queried_us {
            Some(_) => u64::from(self.room_bytes),
            None => self.fallback.limit_bytes(),
        }
    }

    fn arrived(&mut self, flow_hash: u64, len_bytes: u32, now_us: u64) {
        self.regular.arrived(flow_hash, len_bytes, now_us);
    }

    fn buffer_status_queried(&mut self, now_us: u64) -> bool {
        self.queried_us = Some(now_us);
        self.is_new_block = true;
        true
    }

    fn query_counts_from(&mut self, at_us: u64) {
        self.queried_us = self.queried_us.map(|queried_us| queried_us.max(at_us));
    }

    fn pulled_until_us(&self) -> Option<u64> {
        self.queried_us.map(|at_us| at_us.saturating_add(FRAME_US))
    }

    fn may_pull(&mut self, len_bytes: u32, room: &BlockRoom, now_us: u64) -> bool {
        if std::mem::take(&mut self.is_new_block) {
            self.room_bytes = room.bytes;
        }
        let Some(next) = room.next_block else { return true };
        let rest_bytes = len_bytes.saturating_sub(room.bytes);
        if rest_bytes == 0 || room.bytes > next.bytes / SMALL_PART {
            return true;
        }
        let due_bytes = self.regular.due_packets(now_us, next.at_us) * SMALL_PACKET_BYTES;
        due_bytes == 0 || rest_bytes.saturating_add(due_bytes) <= next.bytes
    }

    fn forecast(&mut self, feed: &Feed, flight: &Flight) -> bool {
        self.fallback.forecast(feed, flight)
    }

    fn by_forecast(&self, now_us: u64) -> Option<bool> {
        if self.is_pulled(now_us) { None } else { self.fallback.by_forecast(now_us) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;
    use crate::NextBlock;

    /// Time at which a block is built; the next one is built a TTI later.
    const NOW_US: u64 = 160_000;

    fn room(bytes: u32, next_bytes: u32) -> BlockRoom {
        let next = NextBlock { at_us: NOW_US + 1_000, bytes: next_bytes };
        BlockRoom { bytes, next_block: Some(next) }
    }

    #[test]
    fn nothing_is_released_between_the_pulls_of_a_mac_that_queries() {
        let mut pacer = JustInTime::new(None);
        assert!(pacer.may_send(1_500, 0), "no query yet: an empty RLC gets a packet");
        pacer.buffer_status_queried(1_000);
        assert!(!pacer.may_send(1_500, 1_000));
        assert!(!pacer.may_send(1_500, 1_000 + FRAME_US));
        assert!(pacer.may_send(1_500, 1_001 + FRAME_US), "the MAC stopped querying");
        assert_eq!(pacer.pulled_until_us(), Some(1_000 + FRAME_US));
    }

    #[test]
    fn a_query_counts_from_a_later_time_where_the_radio_lags_behind() {
        let mut pacer = JustInTime::new(None);
        pacer.query_counts_from(500_000);
        assert_eq!(pacer.pulled_until_us(), None, "no query yet");
        pacer.buffer_status_queried(1_000);
        pacer.query_counts_from(500_000);
        assert_eq!(pacer.pulled_until_us(), Some(500_000 + FRAME_US));
        pacer.query_counts_from(400_000);
        assert_eq!(pacer.pulled_until_us(), Some(500_000 + FRAME_US));
    }

    #[test]
    fn an_sdu_is_not_started_whose_rest_leaves_no_room_for_a_due_packet() {
        let mut pacer = JustInTime::new(None);
        let mut may = |room: &BlockRoom| pacer.may_pull(1_500, room, NOW_US);
        assert!(may(&room(185, 1_569)), "nothing is due");
        // A call whose next packet is due within the TTI.
        (0..8).for_each(|n| pacer.arrived(7, 200, n * 20_000 + 500));
        let mut may = |room: &BlockRoom| pacer.may_pull(1_500, room, NOW_US);
        // irazabal2021: subframes of 2289 B, two in ten of 1569 B.
        assert!(may(&room(1_500, 1_569)), "whole");
        assert!(may(&room(186, 1_569)), "leaves 1314 and 255 of 1569");
        assert!(!may(&room(185, 1_569)));
        assert!(may(&room(1, 2_289)), "the next block has room for both");
        assert!(!may(&room(100, 400)) && may(&room(101, 400)), "a quarter of a block");
        assert!(may(&BlockRoom { bytes: 0, next_block: None }), "nothing is known");
        assert!(!pacer.may_pull(u32::MAX, &room(0, u32::MAX - 1), NOW_US), "no overflow");
        let later = NOW_US + 5_000;
        let next = NextBlock { at_us: later + 1_000, bytes: 1_569 };
        let room = BlockRoom { bytes: 0, next_block: Some(next) };
        assert!(pacer.may_pull(1_500, &room, later), "the next is due in 15 ms");
    }

    #[test]
    fn its_limit_is_the_room_of_a_block() {
        let mut pacer = JustInTime::new(Some(&received(0, 0)));
        pacer.buffer_status_queried(1_000);
        pacer.may_pull(1_500, &room(2_280, 1_569), NOW_US);
        pacer.may_pull(1_500, &room(780, 1_569), NOW_US);
        assert_eq!(pacer.limit_bytes(), 2_280);
        pacer.buffer_status_queried(2_000);
        pacer.may_pull(1_500, &room(1_560, 2_289), NOW_US);
        assert_eq!(pacer.limit_bytes(), 1_560);
    }
}
