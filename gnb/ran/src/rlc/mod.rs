//! Radio link control, 38.322: the last queue before the radio.

pub mod am;
pub mod counters;
pub mod report;
pub mod sojourn;
pub mod um;

pub use am::{AmConfig, AmSnLength};
pub use counters::SduDelays;
pub use report::RlcReport;
pub use um::{SnLength, UmConfig};

use crate::error::ConfigError;
use am::AmdPdu;
use um::UmdPdu;

/// Mode of an RLC entity and the parameters that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RlcMode {
    /// Unacknowledged: what the air loses stays lost.
    Um(UmConfig),
    /// Acknowledged: what the air loses is sent again.
    Am(AmConfig),
}

impl Default for RlcMode {
    fn default() -> Self {
        Self::Um(UmConfig::default())
    }
}

impl RlcMode {
    /// The number FlexRIC's RLC report has for this mode.
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
    /// Of a UM bearer.
    Um(UmdPdu<P>),
    /// Of an AM bearer.
    Am(AmdPdu),
}

impl<P> RlcPdu<P> {
    /// Whether an SDU goes where this PDU goes: that of UM travels with its last segment, that of
    /// AM stays in the transmitter until it has arrived.
    pub fn carries_payload(&self) -> bool {
        matches!(self, Self::Um(pdu) if pdu.payload.is_some())
    }
}
