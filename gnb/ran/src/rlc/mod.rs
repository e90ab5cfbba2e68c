//! Radio link control, 38.322: the last queue before the radio.

pub mod counters;
pub mod report;
pub mod sojourn;
pub mod um;

pub use report::RlcReport;
pub use um::{SnLength, UmConfig};

/// Mode of an RLC entity and the parameters that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RlcMode {
    /// Unacknowledged: what the air loses stays lost.
    Um(UmConfig),
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
        }
    }
}
