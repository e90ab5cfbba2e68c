//! Radio link control (38.322).

pub mod am;
pub mod delays;
pub mod ranges;
pub mod report;
pub mod um;

pub use am::{AmConfig, AmSnLength};
pub use delays::SduDelays;
pub use report::RlcReport;
pub use um::{SnLength, UmConfig};

use crate::Sdu;
use crate::error::ConfigError;
use am::AmdPdu;
use um::UmdPdu;

/// Number of a bearer of a cell, and so of its RLC entities; reused only after the bearer has moved to
/// another cell.
pub type BearerIndex = usize;

/// Mode of an RLC entity with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RlcMode {
    /// Unacknowledged.
    Um(UmConfig),
    /// Acknowledged: lost PDUs are retransmitted.
    Am(AmConfig),
}

impl Default for RlcMode {
    fn default() -> Self {
        Self::Um(UmConfig::default())
    }
}

impl RlcMode {
    /// Code of the mode in FlexRIC's RLC report.
    pub fn report_code(self) -> u8 {
        match self {
            Self::Um(_) => 1,
            Self::Am(_) => 0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Um(_) => Ok(()),
            Self::Am(am) => am.validate(),
        }
    }
}

/// A data PDU of either mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RlcPdu<P> {
    /// PDU of a UM bearer.
    Um(UmdPdu<P>),
    /// PDU of an AM bearer.
    Am(AmdPdu),
}

/// An SDU whose delivery the lower layers have not confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconfirmed<P> {
    /// PDCP's COUNT.
    pub count: u64,
    /// Its bytes, with PDCP and SDAP headers.
    pub bytes: u32,
    /// The packet; `None` if the UE has received it and the status report that says so has not
    /// arrived: sent again, it is a duplicate, which the UE's PDCP discards (38.323 §5.2.2.2).
    pub sdu: Option<P>,
}

impl<P: Sdu> Unconfirmed<P> {
    /// A packet that the UE has not received.
    pub fn new(count: u64, sdu: P) -> Self {
        let bytes = sdu.len_bytes().saturating_add(crate::pdcp::HEADER_BYTES);
        Self { count, bytes, sdu: Some(sdu) }
    }
}

impl<P> RlcPdu<P> {
    /// Whether the PDU contains an SDU: in UM the last segment does, in AM the SDU stays in the
    /// transmitter until it is received.
    pub fn carries_payload(&self) -> bool {
        matches!(self, Self::Um(pdu) if pdu.payload.is_some())
    }
}
