//! How much a UE's radio carries, slot by slot.

pub mod mahimahi;
pub mod series;

pub use mahimahi::{MahimahiTrace, TraceError};
pub use series::{AtEnd, McsSeries};

use crate::config::ConfigError;

/// The channel of one UE.
#[derive(Debug, Clone, PartialEq)]
pub enum Channel {
    /// Always the same MCS.
    FixedMcs(u8),
    /// An MCS that changes with time.
    McsSeries(McsSeries),
    /// Delivery opportunities recorded from a cellular link.
    Mahimahi(MahimahiTrace),
}

/// What a channel offers in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Radio {
    /// Transport block sizes of this MCS.
    Mcs(u8),
    /// This many bytes over all PRBs of the slot.
    Bytes(u32),
}

impl Channel {
    pub(crate) fn validate(&self, max_mcs: u8) -> Result<(), ConfigError> {
        let check = |path: &str, mcs: u8| {
            if mcs > max_mcs {
                return Err(ConfigError::new(path, mcs, format!("MCS 0 to {max_mcs}")));
            }
            Ok(())
        };
        match self {
            Self::FixedMcs(mcs) => check("channel.mcs", *mcs),
            Self::McsSeries(series) => series
                .values()
                .iter()
                .enumerate()
                .try_for_each(|(at, mcs)| check(&format!("channel.values[{at}]"), *mcs)),
            Self::Mahimahi(_) => Ok(()),
        }
    }

    /// What a slot that begins at `now_us` offers; opportunities count from `since_us`, the end of
    /// the last downlink slot, until `until_us`, the end of this one.
    pub(crate) fn radio(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match self {
            Self::FixedMcs(mcs) => Radio::Mcs(*mcs),
            Self::McsSeries(series) => Radio::Mcs(series.at(now_us)),
            Self::Mahimahi(trace) => Radio::Bytes(trace.bytes_between(since_us, until_us)),
        }
    }

    pub(crate) fn is_trace(&self) -> bool {
        matches!(self, Self::Mahimahi(_))
    }
}
