//! Just-in-time pacer, this project's own: where CU and DU are one, nothing has to stand in the RLC.
//!
//! The MAC asks an RLC entity twice per slot: how much it has to send, before it shares out the slot,
//! and for the bytes of its grant, when it builds the transport block. Whoever passes both questions on
//! ([`asked`](JustInTime::asked), [`may_pull`](JustInTime::may_pull)) gets packets in step with the
//! pull, never before: what waits above counts as if it were in the RLC, and each block is filled with
//! exactly what it can carry. The scheduler of the pipeline so decides at the last moment there is; a
//! packet that comes a microsecond before the pull can still be the first of its block. All other
//! pacers commit the bytes of a TTI before it begins, which costs what comes in between a TTI.
//!
//! - **What is left below**: the rest of the one SDU that did not fit its block whole (38.322 §5.2.2.1.1).
//!   It goes before everything in the next blocks. So when a small packet of a regular flow is due
//!   before the next block ([`Regular`]), an SDU is not begun whose rest would leave it no room there,
//!   unless a good part of it leaves now.
//! - **Nobody asks**: in a DU apart from the CU, or in a gNB that does not pass the questions on. The
//!   pacer then is the [`Forecast`] pacer, which knows what is in flight; with no forecast that is
//!   persistence. So too when the questions stop for longer than a radio frame.

use super::flight::Flight;
use super::forecast::Forecast;
use super::regular::{Regular, SMALL_PACKET_BYTES};
use super::{Algorithm, Heard};
use crate::BlockRoom;

/// A radio frame: the longest TDD pattern (38.331, dl-UL-TransmissionPeriodicity), so that each frame
/// has a slot for which the MAC asks.
const FRAME_US: u64 = 10_000;
/// A packet of which less than this part of a block would leave now may as well be begun in the next. It
/// bounds what the rule costs: a quarter of a block for each small packet of a regular flow.
const LITTLE: u32 = 4;
/// How long a forecast is of use where nobody asks, as in the template `drql_forecast`.
const FORECAST_STALE_US: u32 = 500_000;

#[derive(Clone, Debug)]
pub(super) struct JustInTime {
    /// When the MAC last asked.
    asked_us: Option<u64>,
    /// Room of the last block of which the MAC asked bytes.
    room_bytes: u32,
    is_new_block: bool,
    regular: Regular,
    apart: Forecast,
}

impl JustInTime {
    pub(super) fn new(heard: Option<&Heard>) -> Self {
        Self {
            asked_us: None,
            room_bytes: 0,
            is_new_block: true,
            regular: Regular::default(),
            apart: Forecast::new(FORECAST_STALE_US, heard),
        }
    }

    /// A packet came to be queued.
    pub(super) fn arrived(&mut self, flow_hash: u64, len_bytes: u32, now_us: u64) {
        self.regular.arrived(flow_hash, len_bytes, now_us);
    }

    /// The MAC asks what there is to send.
    pub(super) fn asked(&mut self, now_us: u64) {
        self.asked_us = Some(now_us);
        self.is_new_block = true;
    }

    /// Until when it is taken to ask again.
    pub(super) fn asked_until_us(&self) -> Option<u64> {
        self.asked_us.map(|at_us| at_us.saturating_add(FRAME_US))
    }

    /// Whether a packet of this length goes into the block that is built at `now_us`.
    pub(super) fn may_pull(&mut self, len_bytes: u32, room: &BlockRoom, now_us: u64) -> bool {
        if std::mem::take(&mut self.is_new_block) {
            self.room_bytes = room.bytes;
        }
        let Some(next) = room.next_block else { return true };
        let rest_bytes = len_bytes.saturating_sub(room.bytes);
        if rest_bytes == 0 || room.bytes > next.bytes / LITTLE {
            return true;
        }
        let due_bytes = self.regular.due_packets(now_us, next.at_us) * SMALL_PACKET_BYTES;
        due_bytes == 0 || rest_bytes.saturating_add(due_bytes) <= next.bytes
    }

    /// The forecast pacer it is while nobody asks.
    pub(super) fn fallback_forecast(&mut self) -> &mut Forecast {
        &mut self.apart
    }

    /// The same where it is that now.
    pub(super) fn fallback_forecast_at(&self, now_us: u64) -> Option<&Forecast> {
        let is_asked = self.asked_until_us().is_some_and(|until_us| now_us <= until_us);
        (!is_asked).then_some(&self.apart)
    }
}

impl Algorithm for JustInTime {
    fn status(&mut self, heard: &Heard) {
        self.apart.status(heard);
    }

    fn in_flight(&mut self, flight: &Flight, now_us: u64) {
        self.apart.in_flight(flight, now_us);
    }

    fn sent(&mut self, len_bytes: u64, now_us: u64) {
        self.apart.sent(len_bytes, now_us);
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        let is_asked = self.asked_until_us().is_some_and(|until_us| now_us <= until_us);
        !is_asked && self.apart.may_send(len_bytes, now_us)
    }

    fn grows_until_us(&self) -> u64 {
        self.apart.grows_until_us()
    }

    fn limit_bytes(&self) -> u64 {
        match self.asked_us {
            Some(_) => u64::from(self.room_bytes),
            None => self.apart.limit_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::heard;
    use super::*;
    use crate::NextBlock;

    /// Of a block built at 160 ms and the one a TTI later.
    const NOW_US: u64 = 160_000;

    fn room(bytes: u32, next_bytes: u32) -> BlockRoom {
        let next = NextBlock { at_us: NOW_US + 1_000, bytes: next_bytes };
        BlockRoom { bytes, next_block: Some(next) }
    }

    #[test]
    fn it_gives_nothing_between_the_pulls_of_a_mac_that_asks() {
        let mut pacer = JustInTime::new(None);
        assert!(pacer.may_send(1_500, 0), "nobody asks: an empty RLC gets a packet");
        pacer.asked(1_000);
        assert!(!pacer.may_send(1_500, 1_000));
        assert!(!pacer.may_send(1_500, 1_000 + FRAME_US));
        assert!(pacer.may_send(1_500, 1_001 + FRAME_US), "the MAC stopped asking");
        assert_eq!(pacer.asked_until_us(), Some(1_000 + FRAME_US));
    }

    #[test]
    fn a_packet_is_not_begun_whose_rest_leaves_no_room_for_one_that_is_due() {
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
        let mut pacer = JustInTime::new(Some(&heard(0, 0)));
        pacer.asked(1_000);
        pacer.may_pull(1_500, &room(2_280, 1_569), NOW_US);
        pacer.may_pull(1_500, &room(780, 1_569), NOW_US);
        assert_eq!(pacer.limit_bytes(), 2_280);
        pacer.asked(2_000);
        pacer.may_pull(1_500, &room(1_560, 2_289), NOW_US);
        assert_eq!(pacer.limit_bytes(), 1_560);
    }
}
