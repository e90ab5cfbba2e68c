//! The interface of a pacing algorithm and what it learns from an RLC status.

use dyn_clone::DynClone;

use super::feed::Feed;
use super::flight::{Flight, InFlight};
use super::rlc_status::{BlockRoom, RlcStatus};

/// Age of the RLC status from which on a pacer forwards everything: a bearer without feedback falls
/// back to a gNB without traffic control instead of stalling.
pub(crate) const STATUS_STALE_US: u64 = 100_000;

/// A pacing algorithm. The default methods are those of an algorithm that forwards packets ahead of
/// the MAC's pull and takes no forecasts.
pub(super) trait Algorithm: std::fmt::Debug + DynClone + Send + Sync {
    /// The CU received an RLC status.
    fn status(&mut self, received: &ReceivedStatus);

    /// The packets on F1-U, after [`status`](Self::status); for algorithms that use the arrival time
    /// of each packet.
    fn in_flight(&mut self, _flight: &Flight, _now_us: u64) {}

    /// A packet was forwarded.
    fn sent(&mut self, len_bytes: u64, now_us: u64);

    /// Whether a packet of this length may be forwarded now.
    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool;

    /// Time until which time alone may change [`may_send`](Self::may_send) from false to true.
    fn grows_until_us(&self) -> u64 {
        0
    }

    /// Bytes that the algorithm allows in the RLC buffer for a whole TTI.
    fn limit_bytes(&self) -> u64;

    /// A packet entered the pipeline.
    fn arrived(&mut self, _flow_hash: u64, _len_bytes: u32, _now_us: u64) {}

    /// The MAC queries the buffer status before it schedules a slot. True if this algorithm then
    /// releases packets per transport block, through [`may_pull`](Self::may_pull).
    fn buffer_status_queried(&mut self, _now_us: u64) -> bool {
        false
    }

    /// The MAC's last query counts as one of `at_us`, if that is later.
    fn query_counts_from(&mut self, _at_us: u64) {}

    /// Time until which packets are released to the MAC's pulls alone.
    fn pulled_until_us(&self) -> Option<u64> {
        None
    }

    /// Whether a packet of this length goes into the transport block that the MAC builds.
    fn may_pull(&mut self, _len_bytes: u32, _room: &BlockRoom, _now_us: u64) -> bool {
        false
    }

    /// Takes in a forecast, its times in the pacer's clock. True if it does for a status: the pacer has
    /// then heard of the RLC.
    fn forecast(&mut self, _feed: &Feed, _flight: &Flight) -> bool {
        false
    }

    /// Whether a forecast decides now, as opposed to the algorithm's own measurements; `None` for an
    /// algorithm that uses no forecasts.
    fn by_forecast(&self, _now_us: u64) -> Option<bool> {
        None
    }
}

dyn_clone::clone_trait_object!(Algorithm);

/// An RLC status as the CU received it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedStatus {
    pub(super) status: RlcStatus,
    /// Time at which the CU received it.
    pub(super) at_us: u64,
    /// What was on F1-U when the DU took the status.
    pub(super) in_flight: InFlight,
}

impl ReceivedStatus {
    /// Bytes in the RLC buffer or on F1-U.
    pub(super) fn held_bytes(&self) -> u64 {
        u64::from(self.status.occupancy_bytes) + self.in_flight.bytes
    }

    /// SDUs in the RLC, unacknowledged ones included, or on F1-U.
    pub(super) fn held_packets(&self) -> u64 {
        u64::from(self.status.occupancy_packets)
            + u64::from(self.status.unacknowledged_packets)
            + self.in_flight.packets
    }

    pub(super) fn tti_us(&self) -> u64 {
        u64::from(self.status.tti_us.max(1))
    }

    /// CU to DU and back, assuming that a packet takes as long down as the status took up.
    pub(super) fn round_trip_us(&self) -> u64 {
        2 * self.one_way_us().min(STATUS_STALE_US)
    }

    /// How long the status took from the DU to the CU.
    pub(super) fn one_way_us(&self) -> u64 {
        self.at_us.saturating_sub(self.status.at_us)
    }
}
