//! The uplink of a UE: when a packet that the UE sends leaves the gNB.
//!
//! Scheduled: the UEs of a cell share the PRBs of its uplink slots, by scheduling requests, buffer status
//! reports and grants. Recorded: the opportunities of a trace, as `mm-link` of Mahimahi has them.

mod access;
mod bsr;
mod queues;
mod recorded;

pub(crate) use access::{Block, KeptPacket, SMALLEST_BLOCK_BYTES, ScheduledUplink, Status, Wanted};
pub use access::{UplinkArrival, UplinkConfig};
pub use recorded::{RecordedUplink, RecordedUplinkConfig};

/// Room for RLC control in a recorded uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlGrant {
    /// Time of the opportunity, which is when the UE builds its content.
    pub start_us: u64,
    /// Time at which the gNB's RLC receives it.
    pub arrives_us: u64,
    /// Bytes of the transport block, MAC subheader included.
    pub most_bytes: u32,
}

/// The uplink of one UE, RLC control first: a queue a bearer, by their priority, or one for all on a record.
#[derive(Debug, Clone)]
pub(crate) enum Uplink {
    Scheduled(Box<ScheduledUplink>),
    Recorded(RecordedUplink),
}
