//! The E2SM-TC service model: information elements and codecs.

pub mod v1;
