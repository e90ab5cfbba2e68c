//! The limits by name, and the refusal of a client that exceeds one.

use std::{fmt, time::Duration};

use tonic::{Status, metadata::MetadataValue};

/// A limit; its name is a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    Calls,
    OpenCalls,
    Procedures,
    Controls,
    Subscriptions,
    ReportLoad,
    QueuedBytes,
    PendingBytes,
    Connections,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::OpenCalls => "open_calls",
            Self::Procedures => "procedures",
            Self::Controls => "controls",
            Self::Subscriptions => "subscriptions",
            Self::ReportLoad => "report_load",
            Self::QueuedBytes => "queued_bytes",
            Self::PendingBytes => "pending_bytes",
            Self::Connections => "connections",
        }
    }

    /// What is refused when it is exceeded.
    pub fn refused(self) -> &'static str {
        match self {
            Self::Calls | Self::OpenCalls => "calls refused",
            Self::Procedures => "procedures refused",
            Self::Controls | Self::PendingBytes => "controls refused",
            Self::Subscriptions | Self::ReportLoad => "subscriptions refused",
            Self::QueuedBytes => "reports dropped",
            Self::Connections => "connections ended",
        }
    }
}

/// What the limit counts.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calls => "calls",
            Self::OpenCalls => "open calls",
            Self::Procedures => "procedures",
            Self::Controls => "controls",
            Self::Subscriptions => "subscriptions",
            Self::ReportLoad => "bytes/s of reports",
            Self::QueuedBytes => "queued bytes",
            Self::PendingBytes => "bytes of controls",
            Self::Connections => "connections",
        })
    }
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
