//! Web browsing: pages of a main object and embedded objects with reading times between them.
//!
//! The model is 3GPP2 C.R1002-0 "cdma2000 Evaluation Methodology" §4.1.3.2 (HTTP; the same as in
//! NGMN's evaluation methodology and 3GPP R1-070674): sizes are truncated lognormal, the number of
//! embedded objects is a capped Pareto less its least value, reading and parsing times are
//! exponential. Objects are fetched as HTTP/1.1 does with persistent connections: the main object on
//! one, then, once it is parsed, the embedded ones on as many as there are, each connection one at a
//! time. Connections stay open from page to page; their windows restart after the time of reading
//! (RFC 5681 §4.1).
//!
//! A current page has about 2 MB in 70 objects: `scale` multiplies all sizes, and the keys for the
//! number of objects are configurable.

mod client;
mod page;

pub use client::WebClient;
pub use page::Page;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};
use crate::stream::{HttpConfig, HttpKeys};

/// Connections that browsers open to a host.
const HTTP1_CONNECTIONS: u16 = 6;

/// Web browsing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct WebConfig {
    /// Version of HTTP. Versions 2 and 3 fetch all objects as streams of one connection.
    pub http: HttpConfig,
    /// HTTP/1.1: parallel connections, 1..=16; if unset six, as browsers use to a host.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub connections: Option<u16>,
    /// HTTP/2 and 3: a file of this many bytes is downloaded in the same connection, again and again, as a
    /// page or an app of the same site does; at least 1. None if unset.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub download_bytes: Option<NonZeroU32>,
    /// Mean time between a loaded page and the next request, s (C.R1002: 30).
    pub reading_mean_s: f64,
    /// Mean time to parse the main object, s (C.R1002: 0.13).
    pub parsing_mean_s: f64,
    /// α of the number of embedded objects (C.R1002: 1.1).
    pub embedded_alpha: f64,
    /// k: minimum of the Pareto variable, subtracted from it (C.R1002: 2).
    pub embedded_k: f64,
    /// m: the largest value of the Pareto variable; at most m − k objects (C.R1002: 55).
    pub embedded_m: f64,
    /// Multiplies the size of every object.
    pub scale: f64,
    /// Size of a request, bytes (C.R1002: 350).
    pub request_bytes: u32,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            http: HttpConfig::default(),
            connections: None,
            download_bytes: None,
            reading_mean_s: 30.0,
            parsing_mean_s: 0.13,
            embedded_alpha: 1.1,
            embedded_k: 2.0,
            embedded_m: 55.0,
            scale: 1.0,
            request_bytes: 350,
        }
    }
}

impl WebConfig {
    /// Its connections.
    pub(crate) fn connections(&self) -> u16 {
        let default = if self.http.is_multiplexed() { 1 } else { HTTP1_CONNECTIONS };
        self.connections.unwrap_or(default)
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.http.validate(&HttpKeys {
            loss_isolation: "web.http.loss_isolation",
            unsent_bytes: "web.http.unsent_bytes",
        })?;
        if self.http.is_multiplexed() {
            if let Some(connections) = self.connections {
                let expected = "unset with HTTP/2 and 3, which have one";
                return Err(ConfigError::new("web.connections", connections, expected));
            }
        } else {
            check("web.connections", self.connections(), 1..=16, "1 to 16")?;
            if let Some(bytes) = self.download_bytes {
                let expected = "unset with HTTP/1.1, where it is a flow of kind tcp";
                return Err(ConfigError::new("web.download_bytes", bytes, expected));
            }
        }
        check("web.reading_mean_s", self.reading_mean_s, 0.001..=3600.0, "1 ms to 1 h in s")?;
        check("web.parsing_mean_s", self.parsing_mean_s, 0.0..=3600.0, "0 to 1 h in s")?;
        check("web.embedded_alpha", self.embedded_alpha, 0.1..=10.0, "0.1 to 10")?;
        check("web.embedded_k", self.embedded_k, 1e-3..=1000.0, "0.001 to 1000")?;
        check("web.embedded_m", self.embedded_m, self.embedded_k..=1000.0, "k to 1000")?;
        check("web.scale", self.scale, 1e-3..=1000.0, "0.001 to 1000")?;
        check("web.request_bytes", self.request_bytes, 1..=65_536, "1 to 65536 bytes")
    }
}
