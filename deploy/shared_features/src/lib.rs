//! The features that the manifest of this crate names, and nothing else.
