//! Responsiveness under working conditions, in round trips per minute (RPM):
//! draft-ietf-ippm-responsiveness-09.
//!
//! Connections that download without end fill the path, one more each interval. Meanwhile the UE
//! probes in two ways, equally often and in turn. A *foreign* probe opens a new connection: a round
//! trip for TCP, one for TLS 1.3, one for an HTTP request of one byte. A *self* probe is the same
//! request in one of the loading connections, chosen at random; its response is queued behind what
//! that connection has in the sender, in the network, and in the receiver that waits for a lost
//! segment. Delays are trimmed means over the last four intervals:
//!
//! foreign = 60000 / mean(tcp, tls, http), loaded = 60000 / http in the loading connection, in ms;
//! RPM is the mean of both.
//!
//! Where a choice is the implementer's: a probe without response counts as old as it is once it is older
//! than the mean of those with one, for a network that answers nothing must not be called fast. The
//! server keeps at most one HTTP/2 frame in the sender of a loading connection (TCP_NOTSENT_LOWAT),
//! so that the delay is that of the network. Segments of the handshake are modelled as messages of the
//! same length. The score is that of the end of the flow, whether it was stable before or not; its
//! confidence says which.

mod client;
mod probe;
mod score;
mod server;

pub use client::ResponsivenessClient;
pub use score::{Confidence, Half, Score};
pub use server::ResponsivenessServer;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};

/// A test of responsiveness under working conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ResponsivenessConfig {
    /// Most loading connections, 1..=16 (MNP, 16). The first starts with the flow, one more with each
    /// interval.
    pub connections: u16,
    /// Interval, 500..=60000 ms (ID, 5 s). The score is over the last four.
    pub interval_ms: u32,
    /// Most pairs of probes per second, 1..=100 (MPS, 100). Beyond this they take at most 5 % of what the
    /// loading connections carry (PTC).
    pub probes_per_s: u32,
    /// Foreign probes open TLS. Without it they have two round trips.
    pub tls: bool,
}

impl Default for ResponsivenessConfig {
    fn default() -> Self {
        Self { connections: 16, interval_ms: 5_000, probes_per_s: 100, tls: true }
    }
}

impl ResponsivenessConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("responsiveness.connections", self.connections, 1..=16, "1 to 16")?;
        let interval_ms = self.interval_ms;
        check("responsiveness.interval_ms", interval_ms, 500..=60_000, "500 to 60000 ms")?;
        check("responsiveness.probes_per_s", self.probes_per_s, 1..=100, "1 to 100")
    }

    /// Numbers of connections that it takes: those that load, then those of foreign probes.
    pub(crate) fn flow_numbers(&self) -> u16 {
        self.connections + PROBE_CONNECTIONS
    }
}

/// Connections of foreign probes that are open at a time. The numbers, hence ports, are used again in
/// turn.
const PROBE_CONNECTIONS: u16 = 256;
/// Request of an object of one byte, with headers in HPACK and the record of TLS. All requests of a
/// loading connection have this length, so that they can be counted.
const REQUEST_BYTES: u32 = 150;
/// Response to it: headers, one byte, records.
const RESPONSE_BYTES: u32 = 150;

/// A round trip of a foreign probe: payload of the request and of the response.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    request_bytes: u32,
    response_bytes: u32,
}

/// SYN and SYN-ACK: 60 bytes with their options, of which the header of a segment has 52.
const TCP: Exchange = Exchange { request_bytes: 8, response_bytes: 8 };
/// ClientHello, padded to 512 bytes (RFC 7685 §4) in a record; ServerHello to Finished with a chain of
/// two certificates.
const TLS: Exchange = Exchange { request_bytes: 517, response_bytes: 3_000 };
/// Finished, preface and settings of HTTP/2, and the request.
const HTTP: Exchange =
    Exchange { request_bytes: 64 + 60 + REQUEST_BYTES, response_bytes: RESPONSE_BYTES };

/// The round trips of a foreign probe, in order.
fn exchanges(tls: bool) -> &'static [Exchange] {
    if tls { &[TCP, TLS, HTTP] } else { &[TCP, HTTP] }
}
