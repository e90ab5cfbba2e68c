//! A Vivace-like rate controller over UDP: Dong et al., "PCC Vivace: Online-Learning Congestion
//! Control" (NSDI 2018).
//!
//! Here of the paper:
//! - monitor intervals of a round trip, at least ten packets long (§3), whose sending rate, loss and
//!   RTT gradient give a utility ([`utility`], §4.1: t = 0.9, b = 900, c = 11.35);
//! - doubling until the utility falls (§5);
//! - gradient ascent: two intervals at r (1 ± ε) in random order, ε = 5 %, and a step along the
//!   gradient of their utilities with confidence amplifier and dynamic change boundary ([`ascent`],
//!   §4.2), with the swing buffer of the authors' implementation, which keeps the amplifier down
//!   after the direction has swung.
//!
//! Of the authors' later work (PCC Proteus, SIGCOMM 2020, §5) there is the tolerance of the
//! regression error: slots and scheduling requests quantise the RTT of a cell so coarsely that
//! without it every interval shows a gradient, up or down at random, and the rate only wanders.
//!
//! Not here: retransmission, the re-check of surprising results of later versions, and Vivace-Loss.
//! Losses are detected by gaps, since the path keeps the order of a flow.

pub mod ascent;
mod monitor;
mod receiver;
mod sender;
pub mod utility;

pub use receiver::VivaceReceiver;
pub use sender::VivaceSender;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};

/// A bulk transfer with the Vivace-like controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct VivaceConfig {
    /// Rate at the start, bit/s.
    pub start_bps: u64,
    /// Payload of a datagram, bytes.
    pub payload_bytes: u32,
}

impl Default for VivaceConfig {
    fn default() -> Self {
        Self { start_bps: 2_000_000, payload_bytes: 1_472 }
    }
}

impl VivaceConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check(
            "vivace.start_bps",
            self.start_bps,
            100_000..=1_000_000_000,
            "100 kbit/s to 1 Gbit/s",
        )?;
        check("vivace.payload_bytes", self.payload_bytes, 64..=65_507, "64 to 65507 bytes")
    }
}
