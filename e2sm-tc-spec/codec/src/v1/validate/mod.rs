//! Validation beyond the constraints of the ASN.1 types: narrower ranges and relations between
//! elements. Rules within one type are part of its declaration; relations between the stages of a
//! pipeline are here.
//!
//! Decoding does not validate, so that a RAN function can answer a message that decodes but is invalid
//! with the cause and the offending element.

mod pipeline;
mod runs;

use std::fmt::Display;

use super::model::{
    ActionDefinition, BearerForecast, Cause, ControlMessage, CumulatedDrain, EventTrigger,
    ForecastFeed, LeaseRenewal, NodeDefault, NodeDefaultChange, NodeLease, PipelineChange,
    PipelineEdit, QosFlowMapping, Transaction,
};
use super::per::{Type, Writer};
use crate::error::{Violation, ViolationKind, element_path};
use runs::QueueIds;

/// An invalid element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element}: expected {expected}, found {found}")]
pub struct Invalid {
    /// Path of the element from the value that was validated, such as
    /// `queues[2].shaper.rate_kbps`.
    pub element: String,
    /// The cause for the control outcome.
    pub cause: Cause,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// Values that can be validated.
pub trait Validate {
    /// Checks every range and every relation between elements.
    ///
    /// # Errors
    /// The first invalid element.
    fn validate(&self) -> Result<(), Invalid>;
}

impl Invalid {
    fn new(cause: Cause, expected: impl Display, found: impl Display) -> Self {
        Self {
            element: String::new(),
            cause,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

element_path!(Invalid);

impl From<Violation> for Invalid {
    fn from(violation: Violation) -> Self {
        let Violation { element, kind, expected, found } = violation;
        let cause = match kind {
            ViolationKind::OutOfRange => Cause::OutOfRange,
            ViolationKind::Inconsistent => Cause::Inconsistent,
            ViolationKind::DuplicateId => Cause::DuplicateId,
        };
        Self { element, cause, expected, found }
    }
}

/// Checks the constraints of the ASN.1 types, for values that were not decoded, and the rules of
/// their declarations.
fn declared<T: Type<T>>(value: &T) -> Result<(), Invalid> {
    T::put(value, &mut Writer::default()).map_err(|error| Invalid {
        element: error.element,
        cause: Cause::OutOfRange,
        expected: "a value within the constraint of its type".to_owned(),
        found: format!("one that is not: {}", error.problem),
    })?;
    Ok(T::check(value)?)
}

macro_rules! validated_as_declared {
    ($($name:ident),*) => {
        $(
            impl Validate for $name {
                fn validate(&self) -> Result<(), Invalid> {
                    declared(self)
                }
            }
        )*
    };
}

validated_as_declared!(
    ActionDefinition,
    BearerForecast,
    CumulatedDrain,
    EventTrigger,
    ForecastFeed,
    LeaseRenewal,
    NodeLease,
    QosFlowMapping
);

impl Validate for ControlMessage {
    fn validate(&self) -> Result<(), Invalid> {
        match self {
            Self::Transaction(transaction) => transaction.validate(),
            Self::LeaseRenewal(renewal) => renewal.validate(),
            Self::ForecastFeed(feed) => feed.validate(),
            Self::NodeLease(lease) => lease.validate(),
            Self::NodeDefault(default) => default.validate(),
            Self::QosFlowMapping(mapping) => mapping.validate(),
        }
    }
}

/// Element paths of a rule's pipeline are such as `change.set[2].pipeline.queues[0].count`.
impl Validate for NodeDefault {
    fn validate(&self) -> Result<(), Invalid> {
        if let NodeDefaultChange::Set(rules) = &self.change {
            for (index, rule) in rules.iter().enumerate() {
                let Some(pipeline) = &rule.pipeline else { continue };
                pipeline
                    .validate()
                    .map_err(|it| it.within("pipeline").at_index(index).within("change.set"))?;
            }
        }
        declared(self)
    }
}

/// Element paths of a whole pipeline start at the pipeline, those of a delta at the edit's
/// position, such as `delta[3].add_queues.count`.
impl Validate for Transaction {
    fn validate(&self) -> Result<(), Invalid> {
        match &self.change {
            // Before `declared`, whose path is longer.
            PipelineChange::Replace(pipeline) => pipeline.validate()?,
            PipelineChange::Delta(edits) => {
                for (index, edit) in edits.iter().enumerate() {
                    edit.validate().map_err(|invalid| invalid.at_index(index).within("delta"))?;
                }
            }
            PipelineChange::Safe | PipelineChange::Initial => {}
        }
        declared(self)
    }
}

/// Checks that do not need the pipeline to which the edit is applied.
impl Validate for PipelineEdit {
    fn validate(&self) -> Result<(), Invalid> {
        if let Self::AddQueues(set) | Self::ModifyQueues(set) = self {
            QueueIds::default()
                .add(set.first, set.count)
                .map_err(|invalid| invalid.within(self.kind()))?;
        }
        declared(self)
    }
}
