//! What the pacers' tests say an RLC told.

use super::{Heard, InFlight, RlcStatus};

/// After a TTI of 1 ms with downlink, heard at once.
pub(super) fn heard(at_us: u64, occupancy_bytes: u32) -> Heard {
    heard_tti(at_us, occupancy_bytes, 1_000)
}

pub(super) fn heard_tti(at_us: u64, occupancy_bytes: u32, tti_us: u32) -> Heard {
    let status = RlcStatus {
        at_us,
        occupancy_bytes,
        occupancy_packets: occupancy_bytes.div_ceil(1500),
        tti_us,
        dl_opportunity: true,
        ..RlcStatus::default()
    };
    Heard { status, at_us, in_flight: InFlight::default() }
}

/// The same, SDUs of these delays having left.
pub(super) fn removed(mut heard: Heard, delays_ms: &[u64]) -> Heard {
    delays_ms.iter().for_each(|delay_ms| heard.status.removed.add(delay_ms * 1_000));
    heard
}
