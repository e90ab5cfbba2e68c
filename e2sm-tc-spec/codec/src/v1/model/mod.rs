//! E2SM-TC v1: the information elements as Rust types.
//!
//! Names follow the ASN.1 module `asn1/E2SM-TC-v1.asn`; units are in the names.
//! Serde names (snake_case) are the JSON of the CLI and of the Python module.

mod addressing;
mod classifier;
mod control;
mod pipeline;
mod queue;
mod ran_function;
mod report;
mod scheduler;

pub use addressing::*;
pub use classifier::*;
pub use control::*;
pub use pipeline::*;
pub use queue::*;
pub use ran_function::*;
pub use report::*;
pub use scheduler::*;
