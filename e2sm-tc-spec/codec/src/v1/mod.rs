//! E2SM-TC v1.

mod model;
pub use model::*;
