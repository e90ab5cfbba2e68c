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

use crate::error::ConfigError;
use am::AmdPdu;
use um::UmdPdu;

/// Number of a bearer of a cell, and so of its RLC entities; never reused.
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

impl<P> RlcPdu<P> {
    /// Whether the PDU contains an SDU: in UM the last segment does, in AM the SDU stays in the
    /// transmitter until it is received.
    pub fn carries_payload(&self) -> bool {
        matches!(self, Self::Um(pdu) if pdu.payload.is_some())
    }
}
