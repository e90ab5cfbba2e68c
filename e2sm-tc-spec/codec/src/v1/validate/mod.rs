//! What the constraints of the ASN.1 types cannot say: how elements fit together.
//!
//! Decoding does not ask this, so that a RAN function can answer a message that decodes but makes
//! no sense with the cause and the offending element.

mod message;
mod pipeline;
mod runs;
mod stage;

use std::fmt::Display;

use super::model::Cause;
use super::per::{Type, Writer};
use crate::error::prepend;

/// An element that does not make sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element}: expected {expected}, found {found}")]
pub struct Invalid {
    /// Path of the element from the value that was validated, such as
    /// `queues[2].shaper.rate_kbps`.
    pub element: String,
    /// The cause to answer a control with.
    pub cause: Cause,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// A value that can be asked whether it makes sense by itself.
pub trait Validate {
    /// Checks every range and every relation between elements.
    ///
    /// # Errors
    /// The first element that does not make sense.
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

    fn within(mut self, component: &str) -> Self {
        prepend(&mut self.element, component);
        self
    }

    fn at_index(mut self, index: usize) -> Self {
        prepend(&mut self.element, &format!("[{index}]"));
        self
    }
}

/// Checks the constraints of the ASN.1 type, for values that never were on the wire.
fn within_constraints<T: Type<T>>(value: &T) -> Result<(), Invalid> {
    T::put(value, &mut Writer::default()).map_err(|error| Invalid {
        element: error.element,
        cause: Cause::OutOfRange,
        expected: "a value within the constraint of its type".to_owned(),
        found: format!("one that is not: {}", error.problem),
    })
}

fn at_least_one(component: &str, value: impl Into<u64>) -> Result<(), Invalid> {
    at_least(component, value, 1u64)
}

fn at_least(component: &str, value: impl Into<u64>, least: impl Into<u64>) -> Result<(), Invalid> {
    let (value, least) = (value.into(), least.into());
    if value >= least {
        return Ok(());
    }
    let expected = format!("at least {least}");
    Err(Invalid::new(Cause::OutOfRange, expected, value).within(component))
}
