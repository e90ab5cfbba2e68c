//! The uplink of a UE: when a packet that the UE sends leaves the gNB.
//!
//! Scheduled: scheduling request, grant, uplink slot. Recorded: the opportunities of a trace, as
//! `mm-link` of Mahimahi has them. In both the time depends on earlier packets only, so it is known when
//! a packet is sent.

mod recorded;
mod scheduled;

pub use recorded::{RecordedUplink, RecordedUplinkConfig};
pub use scheduled::{ScheduledUplink, UplinkConfig};

/// Room for RLC control in a transport block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlGrant {
    /// Time at which the transport block begins, which is when the UE builds its content.
    pub start_us: u64,
    /// Time at which the gNB's RLC receives it.
    pub arrives_us: u64,
    /// Bytes of the transport block, MAC subheader included.
    pub most_bytes: u32,
}

/// The uplink of one UE: a FIFO, RLC control first.
#[derive(Debug, Clone)]
pub(crate) enum Uplink {
    Scheduled(ScheduledUplink),
    Recorded(RecordedUplink),
}

impl Uplink {
    /// Sends a packet of `len_bytes` of the UE's IP layer at `now_us`; returns when it leaves the gNB,
    /// `None` if the UE's queue is full. `now_us` must not decrease between calls.
    pub(crate) fn send(&mut self, len_bytes: u32, now_us: u64) -> Option<u64> {
        match self {
            Self::Scheduled(uplink) => Some(uplink.send(len_bytes, now_us)),
            Self::Recorded(uplink) => uplink.send(len_bytes, now_us),
        }
    }

    /// Room for RLC control that is wanted at `now_us`. `now_us` must not decrease between calls.
    pub(crate) fn grant_control(&mut self, now_us: u64) -> ControlGrant {
        match self {
            Self::Scheduled(uplink) => uplink.grant_control(now_us),
            Self::Recorded(uplink) => uplink.grant_control(now_us),
        }
    }

    /// See [`ScheduledUplink::used_pct`]; `None` for recorded opportunities, whose use tells nothing.
    pub(crate) fn used_pct(&self, now_us: u64) -> Option<f64> {
        match self {
            Self::Scheduled(uplink) => Some(uplink.used_pct(now_us)),
            Self::Recorded(_) => None,
        }
    }

    /// Control takes `bytes` from data.
    pub(crate) fn displace_data(&mut self, bytes: u32) {
        match self {
            Self::Scheduled(uplink) => uplink.displace_data(bytes),
            Self::Recorded(uplink) => uplink.displace_data(bytes),
        }
    }
}
