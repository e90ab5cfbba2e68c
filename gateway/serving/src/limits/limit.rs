//! The limits by name, and the refusal of a client that exceeds one.

use std::time::Duration;

use tonic::{Status, metadata::MetadataValue};

use super::bucket::Rate;

/// A limit by its name and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Limit {
    /// Value of the label `limit` of metrics.
    pub name: &'static str,
    /// What it counts, in the plural.
    pub counts: &'static str,
}

impl Limit {
    pub(super) const CALLS: Self = Self { name: "calls", counts: "calls" };
    pub(super) const OPEN_CALLS: Self = Self { name: "open_calls", counts: "open calls" };
    pub(super) const CONNECTIONS: Self = Self { name: "connections", counts: "connections" };
    pub(super) const CONNECTS: Self = Self { name: "connects", counts: "new connections" };
    pub(super) const STREAMS: Self = Self { name: "streams", counts: "streams" };
    /// Requests that are no HTTP.
    pub(crate) const MALFORMED: Self = Self { name: "malformed", counts: "requests" };
}

/// What a client may do in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// What is limited.
    pub limit: Limit,
    /// How much of it.
    pub rate: Rate,
}

/// A client exceeded a limit: what, which, and when to come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    message: String,
    retry_after: Option<Duration>,
}

impl Refused {
    /// Refusal by a rate; in `wait_us` the call is admitted.
    pub fn later(client: &str, detail: String, wait_us: u64) -> Self {
        let wait_ms = wait_us.div_ceil(1_000);
        Self {
            message: format!("client {client}: {detail}; again in {wait_ms} ms"),
            retry_after: Some(Duration::from_millis(wait_ms)),
        }
    }

    /// Refusal by a share of a pool.
    pub fn until_freed(client: &str, detail: String) -> Self {
        Self { message: format!("client {client}: {detail}; end others first"), retry_after: None }
    }

    /// The sentence for the client.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The wait after which the call would be admitted; `None` if others have to end first.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl From<Refused> for Status {
    /// The status with the wait in the trailer that gRPC's retry policy reads (gRFC A6,
    /// "Pushback").
    fn from(refused: Refused) -> Self {
        let mut status = Self::resource_exhausted(refused.message);
        if let Some(wait) = refused.retry_after
            && let Ok(wait) = MetadataValue::try_from(wait.as_millis().to_string())
        {
            status.metadata_mut().insert("grpc-retry-pushback-ms", wait);
        }
        status
    }
}
