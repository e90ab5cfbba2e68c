//! A Sprout-like rate controller over UDP: Winstein, Sivaraman and Balakrishnan, "Stochastic
//! Forecasts Achieve High Throughput and Low Delay over Cellular Networks" (NSDI 2013).
//!
//! Here of the paper:
//! - the model (§3.1): packets leave the link as a Poisson process whose rate is a Brownian motion of
//!   200 packets/s/√s over 256 values up to 1000 packets/s, with sticky outages that are left at
//!   rate 1/s;
//! - the inference (§3.2): each tick of 20 ms the distribution of the rate evolves and is multiplied
//!   by the likelihood of what arrived ([`model`]);
//! - the forecast (§3.3): how many packets will have been delivered by the end of each of the next
//!   eight ticks with a probability of 95 %, exactly for this model: the counts are mixed over rates
//!   *and* their paths ([`forecast`]);
//! - the protocol (§3.4, §3.5): byte numbers, the throwaway number, the time to the next packet that
//!   keeps a pause of the sender from being taken for one of the link, heartbeats; the sender's
//!   estimate of the queue and its window of what will have drained within 100 ms.
//!
//! Beyond the paper: in a tick that ends in a pause announced by the sender, the count is a lower bound
//! of what the link could carry, and has the likelihood of one. Taken as exact, as in the authors'
//! implementation, a flow that sends little would infer a slow link and keep sending little.
//!
//! Not here: the tunnel of §4, traffic of the reverse direction (a forecast is a packet of its own,
//! each tick), and adaptation of the model's parameters, which the paper has neither. The cap of
//! 1000 packets/s is the paper's too: on a link that is much faster than 12 Mbit/s a flow gets what
//! the window of at most 100 packets lets through in a round trip and a tick.

pub mod forecast;
pub mod model;
mod receiver;
mod sender;

pub use receiver::SproutReceiver;
pub use sender::SproutSender;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};
use crate::ip::UDP_IP_HEADER_BYTES;

/// A tick (§3.2).
pub const TICK_US: u64 = 20_000;
/// Ticks that a forecast covers (§3.3).
pub const FORECAST_TICKS: usize = 8;
/// The packet the model counts in.
pub const PACKET_BYTES: u32 = 1_500;
/// Headers of Sprout's datagrams: numbers, times, and the forecast.
const HEADER_BYTES: u32 = 24;
/// Payload of a heartbeat and of a forecast.
const HEARTBEAT_BYTES: u32 = HEADER_BYTES + 16;

/// A bulk transfer with the Sprout-like controller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SproutConfig {
    /// How far ahead the window looks, ticks of 20 ms; 5 if unset (§3.5: 100 ms).
    pub lookahead_ticks: Option<u8>,
}

impl SproutConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("sprout.lookahead_ticks", self.lookahead(), 1..=FORECAST_TICKS, "1 to 8 ticks")
    }

    fn lookahead(&self) -> usize {
        usize::from(self.lookahead_ticks.unwrap_or(5))
    }
}

/// A data packet or heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SproutData {
    /// Bytes sent before this packet, headers included.
    pub seq_bytes: u64,
    /// What was sent more than 10 ms ago ends here: it has arrived by now or is lost (§3.4).
    pub throwaway_bytes: u64,
    /// Time at which to expect the next packet: until then silence says nothing about the link.
    pub time_to_next_us: u32,
}

/// What the receiver forecasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SproutForecast {
    /// Packets that will have been delivered by the end of each tick from now, with 95 %.
    pub packets: [u16; FORECAST_TICKS],
    /// Bytes that have arrived or will not arrive any more.
    pub received_or_lost_bytes: u64,
}

/// Length of a datagram with this payload.
fn datagram_bytes(payload_bytes: u32) -> u32 {
    payload_bytes + UDP_IP_HEADER_BYTES
}
