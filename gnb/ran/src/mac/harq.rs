//! What happens below the MAC: a fixed delay, errors and retransmissions.

use std::collections::VecDeque;

use crate::config::ConfigError;
use crate::numerology::SlotKind;
use crate::rlc::um::UmdPdu;

/// Transmissions of a transport block at most, and rounds the MAC report has room for.
pub const MAX_TRANSMISSIONS: u8 = 4;

/// PHY and HARQ of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HarqConfig {
    /// From the start of a slot until the UE's RLC has the transport block.
    pub phy_delay_us: u32,
    /// Chance that a first transmission fails. Trace channels never fail: a trace records what
    /// was delivered.
    pub bler: f64,
    /// Chance that a retransmission fails; lower than `bler` where the UE combines.
    pub retx_bler: f64,
    /// From a failed transmission until the block is sent again.
    pub rtt_us: u32,
    /// Transmissions of a block, the first included, before it is given up; 1 to 4.
    pub max_transmissions: u8,
}

impl Default for HarqConfig {
    /// One slot of 0.5 ms and as much again for decoding and the way up; no errors.
    fn default() -> Self {
        Self {
            phy_delay_us: 1500,
            bler: 0.0,
            retx_bler: 0.0,
            rtt_us: 5000,
            max_transmissions: MAX_TRANSMISSIONS,
        }
    }
}

impl HarqConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        for (path, chance) in [("harq.bler", self.bler), ("harq.retx_bler", self.retx_bler)] {
            if !(0.0..=1.0).contains(&chance) {
                return Err(ConfigError::new(path, chance, "0 to 1"));
            }
        }
        if !(1..=MAX_TRANSMISSIONS).contains(&self.max_transmissions) {
            let path = "harq.max_transmissions";
            return Err(ConfigError::new(path, self.max_transmissions, "1 to 4"));
        }
        if self.rtt_us == 0 {
            return Err(ConfigError::new("harq.rtt_us", 0, "1 or more"));
        }
        Ok(())
    }
}

/// A transport block that waits to be sent again.
#[derive(Debug, Clone)]
pub(crate) struct PendingBlock<P> {
    pub(crate) ue: usize,
    pub(crate) due_us: u64,
    pub(crate) n_prb: u16,
    /// The kind of slot it was sized for.
    pub(crate) kind: SlotKind,
    pub(crate) transmissions: u8,
    /// PDUs with the bearer each belongs to.
    pub(crate) pdus: Vec<(usize, UmdPdu<P>)>,
}

/// All blocks of a cell that wait to be sent again, in the order they are due.
pub(crate) type PendingBlocks<P> = VecDeque<PendingBlock<P>>;
