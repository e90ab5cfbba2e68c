//! RIC control header, message and outcome.

use serde::{Deserialize, Serialize};

use super::{
    BearerId, BufferLimit, Classifier, Filter, FilterId, Pacer, Pipeline, QueueSet, QueueTarget,
    Scheduler,
};

/// RIC control header: style 1 pipeline, 2 lease, 3 forecast feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlHeader {
    /// Control style.
    pub style: u8,
    /// Opaque to the RAN function, echoed in events and logs.
    pub correlation_id: u32,
}

/// RIC control message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlMessage {
    /// Style 1: all of it or nothing of it.
    Transaction(Transaction),
    /// Style 2: keep the current pipeline.
    LeaseRenewal(LeaseRenewal),
    /// Style 3: what the RLC will be.
    ForecastFeed(ForecastFeed),
}

impl ControlMessage {
    /// The control style the message belongs to, which its header must name.
    #[must_use]
    pub fn style(&self) -> u8 {
        match self {
            Self::Transaction(_) => 1,
            Self::LeaseRenewal(_) => 2,
            Self::ForecastFeed(_) => 3,
        }
    }
}

/// An atomic change of one bearer's pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Whose pipeline.
    pub bearer: BearerId,
    /// Refused with `stale_revision` unless this is the current one; unchecked when absent.
    pub expected_revision: Option<u32>,
    /// After this long without renewal the safe pipeline returns; for ever when absent.
    pub lease_ms: Option<u32>,
    /// Check and answer, change nothing.
    pub dry_run: bool,
    /// The change.
    pub change: PipelineChange,
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PipelineChange {
    /// Install this pipeline.
    Replace(Pipeline),
    /// Edit the current one; edits apply in order, all or none.
    Delta(Vec<PipelineEdit>),
    /// Return to the safe pipeline now.
    Safe,
}

/// One edit of a delta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PipelineEdit {
    /// Replace stage 1.
    SetClassifier(Classifier),
    /// Insert a filter before the one at this position of the OSI classifier (0 is first).
    AddFilter {
        /// Position.
        position: u16,
        /// Filter.
        filter: Filter,
    },
    /// Remove a filter of the OSI classifier.
    RemoveFilter(FilterId),
    /// Add queues; their ids must be free.
    AddQueues(QueueSet),
    /// Change discipline, limits, policer and shaper of existing queues; packets stay.
    ModifyQueues(QueueSet),
    /// Remove queues; their packets move, in order, to what the classifier now says.
    RemoveQueues(QueueTarget),
    /// Replace stage 4.
    SetScheduler(Scheduler),
    /// Replace stage 6.
    SetPacer(Pacer),
    /// Replace the buffer limit.
    SetBuffer(BufferLimit),
    /// Rename the composition.
    SetName(String),
}

/// Keeps a leased pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRenewal {
    /// Whose pipeline.
    pub bearer: BearerId,
    /// Must be the current revision.
    pub revision: u32,
    /// New lease, from now.
    pub lease_ms: u32,
}

/// Forecasts of RLC state, for pacers ahead of the DU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForecastFeed {
    /// At most 256 bearers.
    pub bearers: Vec<BearerForecast>,
}

/// Forecast of one bearer: values at `origin + horizon_start + k · step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BearerForecast {
    /// The bearer.
    pub bearer: BearerId,
    /// Time of the newest sample it rests on, µs since the Unix epoch.
    pub origin_us: u64,
    /// From origin to the first point.
    pub horizon_start_us: u32,
    /// Between points.
    pub step_us: u32,
    /// RLC occupancy in bytes, 1..=64 points.
    pub occupancy_bytes: Vec<u32>,
    /// Queue limit in bytes; empty or as many points.
    pub limit_bytes: Vec<u32>,
    /// Bytes drained per step; empty or as many points.
    pub drain_bytes: Vec<u32>,
}

/// RIC control outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlOutcome {
    /// Done (or, in a dry run, would be).
    Accepted {
        /// Revision now in force.
        revision: u32,
        /// Lease in force, ms from now; for ever when absent.
        lease_ms: Option<u32>,
    },
    /// Nothing changed.
    Refused {
        /// Why.
        cause: Cause,
        /// The offending element, as a path such as `queues[2].shaper.rate_kbps`.
        element: String,
        /// What was expected, for people.
        detail: String,
        /// Revision in force; absent when the bearer is unknown.
        revision: Option<u32>,
    },
}

impl ControlOutcome {
    /// A refusal whose texts are clipped to what the wire carries: 255 characters of element,
    /// 1023 of detail.
    #[must_use]
    pub fn refused(
        cause: Cause,
        element: impl AsRef<str>,
        detail: impl AsRef<str>,
        revision: Option<u32>,
    ) -> Self {
        let clip = |text: &str, most: usize| text.chars().take(most).collect();
        Self::Refused {
            cause,
            element: clip(element.as_ref(), 255),
            detail: clip(detail.as_ref(), 1023),
            revision,
        }
    }
}

/// Why a control was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Cause {
    /// No such UE or DRB (any more).
    UnknownBearer,
    /// `expected_revision` is not the current revision.
    StaleRevision,
    /// No such queue.
    UnknownQueue,
    /// No such filter.
    UnknownFilter,
    /// The id is taken.
    DuplicateId,
    /// A value outside its range.
    OutOfRange,
    /// Stages that do not fit together, e.g. a target without queue.
    Inconsistent,
    /// A kind this RAN function does not have.
    Unsupported,
    /// More queues, filters or bearers than this RAN function holds.
    Capacity,
    /// The message could not be decoded.
    Malformed,
}
