//! Versions of HTTP: how requests and responses share connections.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};

/// Streams that a client has open at once: the least that RFC 9113 §6.5.2 recommends to allow.
pub(super) const MAX_STREAMS: usize = 100;

/// Version of HTTP; the number 1, 2 or 3 in a scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112) without pipelining: one response at a time on a TCP connection.
    #[default]
    V1,
    /// HTTP/2 (RFC 9113): streams in one TCP connection, all of which wait for a lost segment.
    V2,
    /// HTTP/3 (RFC 9114): streams in one QUIC connection.
    V3,
}

impl TryFrom<u8> for HttpVersion {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, String> {
        match version {
            1 => Ok(Self::V1),
            2 => Ok(Self::V2),
            3 => Ok(Self::V3),
            other => Err(format!("{other}; expected 1, 2 or 3")),
        }
    }
}

impl From<HttpVersion> for u8 {
    fn from(version: HttpVersion) -> Self {
        match version {
            HttpVersion::V1 => 1,
            HttpVersion::V2 => 2,
            HttpVersion::V3 => 3,
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for HttpVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HttpVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": [1, 2, 3] })
    }
}

/// HTTP of an application.
///
/// The server of versions 2 and 3 serves its streams round robin, as incremental responses of equal
/// urgency (RFC 9218 §10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// The version, 1, 2 or 3.
    pub version: HttpVersion,
    /// Version 3: whether a stream is delivered while a packet of another one is missing; true if
    /// unset, as RFC 9000 §2.2 has it. With false only the sender knows of streams.
    pub loss_isolation: Option<bool>,
    /// Version 2: bytes that the server writes to its socket ahead of what TCP has sent, and behind
    /// which a new response waits (`TCP_NOTSENT_LOWAT`), 1..=1073741824; if unset one congestion
    /// window, which Linux' socket buffer of two windows leaves (`tcp_sndbuf_expand`).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_073_741_824)))]
    pub unsent_bytes: Option<u32>,
}

/// Names of its keys in the section of an application, for errors.
pub(crate) struct HttpKeys {
    pub(crate) loss_isolation: &'static str,
    pub(crate) unsent_bytes: &'static str,
}

impl HttpConfig {
    /// Whether streams share one connection.
    pub fn is_multiplexed(&self) -> bool {
        self.version != HttpVersion::V1
    }

    pub(crate) fn validate(&self, keys: &HttpKeys) -> Result<(), ConfigError> {
        if let Some(isolation) = self.loss_isolation
            && self.version != HttpVersion::V3
        {
            let expected = "unset unless the version is 3";
            return Err(ConfigError::new(keys.loss_isolation, isolation, expected));
        }
        let Some(unsent) = self.unsent_bytes else { return Ok(()) };
        if self.version != HttpVersion::V2 {
            return Err(ConfigError::new(
                keys.unsent_bytes,
                unsent,
                "unset unless the version is 2",
            ));
        }
        check(keys.unsent_bytes, unsent, 1..=1 << 30, "1 byte to 1 GiB")
    }
}
