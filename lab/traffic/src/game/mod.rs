//! A networked game in real time: small packets both ways at fixed ticks.
//!
//! The UE sends the player's actions, the server sends the state of the world. Sizes and times are
//! the fits of Färber, "Network game traffic modelling" (NetGames 2002, Counter-Strike), with the
//! uplink size that 3GPP R1-070674 and NGMN's evaluation methodology (2008, Annex A) took from it:
//! uplink each 40 ms, extreme-value size (45, 5.7) B; downlink extreme-value interval (55, 6) ms and
//! size (120, 36) B. slither.io, which irazabal2024 §V-C plays, is of the same kind; its own packet
//! sizes were not published. It runs over WebSocket, hence TCP; here a lost state is not repeated,
//! because the next one replaces it.
//!
//! The response time is that from an action to the first state that reflects it, including the wait
//! for the server's tick. The round trip of the network is measured as well, without that wait.

mod client;
mod server;

pub use client::GameClient;
pub use server::GameServer;

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::{ConfigError, check};
use crate::ip::UDP_IP_HEADER_BYTES;
use crate::rng::Rng;

/// Payload of the largest datagram: a packet fits an MTU of 1500.
const MAX_PAYLOAD_BYTES: f64 = (1500 - UDP_IP_HEADER_BYTES) as f64;
/// Both ends start within this time (R1-070674: uniform in 0..40 ms).
const INITIAL_US: u64 = 40_000;
/// Shortest time between two states.
const MIN_INTERVAL_US: f64 = 1_000.0;

/// A networked game. A size or time "(a, b)" has the largest extreme value distribution
/// a − b ln(−ln U); with b = 0 it is a constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GameConfig {
    /// Time between two actions, µs.
    pub action_interval_us: u64,
    /// Payload of an action: a, bytes.
    pub action_bytes_a: f64,
    /// Payload of an action: b, bytes.
    pub action_bytes_b: f64,
    /// Time between two states: a, µs.
    pub state_interval_a_us: f64,
    /// Time between two states: b, µs.
    pub state_interval_b_us: f64,
    /// Payload of a state: a, bytes.
    pub state_bytes_a: f64,
    /// Payload of a state: b, bytes.
    pub state_bytes_b: f64,
}

impl Default for GameConfig {
    fn default() -> Self {
        Self {
            action_interval_us: 40_000,
            action_bytes_a: 45.0,
            action_bytes_b: 5.7,
            state_interval_a_us: 55_000.0,
            state_interval_b_us: 6_000.0,
            state_bytes_a: 120.0,
            state_bytes_b: 36.0,
        }
    }
}

impl GameConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        const A_SIZE: &str = "1 to 1472 bytes";
        const A_TIME: &str = "1 ms to 10 s in µs";
        const A_SPREAD: &str = "0 to a";
        let interval_us = self.action_interval_us;
        check("game.action_interval_us", interval_us, 1_000..=10_000_000, A_TIME)?;
        let pairs = [
            ("game.action_bytes_a", self.action_bytes_a, 1.0..=MAX_PAYLOAD_BYTES, A_SIZE),
            ("game.action_bytes_b", self.action_bytes_b, 0.0..=self.action_bytes_a, A_SPREAD),
            ("game.state_interval_a_us", self.state_interval_a_us, 1e3..=1e7, A_TIME),
            (
                "game.state_interval_b_us",
                self.state_interval_b_us,
                0.0..=self.state_interval_a_us,
                A_SPREAD,
            ),
            ("game.state_bytes_a", self.state_bytes_a, 1.0..=MAX_PAYLOAD_BYTES, A_SIZE),
            ("game.state_bytes_b", self.state_bytes_b, 0.0..=self.state_bytes_a, A_SPREAD),
        ];
        pairs
            .into_iter()
            .try_for_each(|(field, value, range, expected)| check(field, value, range, expected))
    }
}

/// A value of "(a, b)" of at most `most_bytes`, what a datagram carries.
fn payload(a: f64, b: f64, most_bytes: u32, random: &mut Rng) -> u32 {
    let drawn = Distribution::LargestExtreme { a, b }.draw(random);
    drawn.round().clamp(1.0, f64::from(most_bytes)) as u32
}

/// A datagram of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameMessage {
    /// An action of the player.
    Action {
        /// Counts from 0.
        seq: u64,
        /// Time of the action.
        acted_us: u64,
    },
    /// The state of the world.
    State {
        /// Counts from 0.
        seq: u64,
        /// Number and time of the newest action it reflects.
        newest: Option<(u64, u64)>,
        /// How long that action waited at the server for this state.
        held_us: u64,
    },
}
