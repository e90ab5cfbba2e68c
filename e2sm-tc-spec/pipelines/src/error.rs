//! Why a pipeline or a transaction is refused.

use e2sm_tc::v1::{Cause, ControlOutcome};

/// A pipeline, or a change to one, that a RAN function does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element}: {detail}")]
pub struct PipelineError {
    /// Why, in the service model's terms.
    pub cause: Cause,
    /// The offending element as a path, e.g. `queues[2].shaper.rate_kbps`.
    pub element: String,
    /// The value found and what was expected.
    pub detail: String,
}

impl PipelineError {
    /// An error about an element.
    pub fn new(cause: Cause, element: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { cause, element: element.into(), detail: detail.into() }
    }

    /// The refusal to answer a control with; `revision` is the one in force.
    pub fn into_outcome(self, revision: u32) -> ControlOutcome {
        ControlOutcome::Refused {
            cause: self.cause,
            element: self.element,
            detail: self.detail,
            revision: Some(revision),
            holder: None,
        }
    }
}
