//! RLC statuses for the pacers' tests.

use super::flight::InFlight;
use super::{ReceivedStatus, RlcStatus};

/// A status after a TTI of 1 ms with downlink, received without delay.
pub(super) fn received(at_us: u64, occupancy_bytes: u32) -> ReceivedStatus {
    received_tti(at_us, occupancy_bytes, 1_000)
}

pub(super) fn received_tti(at_us: u64, occupancy_bytes: u32, tti_us: u32) -> ReceivedStatus {
    let status = RlcStatus {
        at_us,
        occupancy_bytes,
        occupancy_packets: occupancy_bytes.div_ceil(1500),
        tti_us,
        dl_opportunity: true,
        ..RlcStatus::default()
    };
    ReceivedStatus { status, at_us, in_flight: InFlight::default() }
}

/// The same, SDUs of these delays having left.
pub(super) fn removed(mut received: ReceivedStatus, delays_ms: &[u64]) -> ReceivedStatus {
    delays_ms.iter().for_each(|delay_ms| received.status.removed.add(delay_ms * 1_000));
    received
}
