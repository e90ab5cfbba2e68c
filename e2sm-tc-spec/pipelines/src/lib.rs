//! The semantics of E2SM-TC pipelines, annexes A and B of the E2SM-TC document: one definition for
//! the RAN function, the simulator, the gateways and the controller.
//!
//! - [`templates`]: a name and parameters → a pipeline.
//! - [`candidate()`]: a pipeline and a transaction's change → the pipeline after it.
//! - [`limits`]: whether a pipeline can be installed on a node of given capabilities.
//! - [`v0`]: E2SM-TC version 0 in terms of version 1 and back.
//! - [`GreedyFlows`]: which flows of an inventory are greedy.
//! - [`owners`]: which client of a RIC each owner of a node is.
//!
//! All of it is pure. Errors are [`PipelineError`]s, which a control outcome carries as they are.

mod candidate;
mod error;
mod greedy;
pub mod limits;
pub mod owners;
pub mod templates;
pub mod v0;

pub use candidate::candidate;
pub use error::PipelineError;
pub use greedy::{FlowLoad, GreedyFlows};
