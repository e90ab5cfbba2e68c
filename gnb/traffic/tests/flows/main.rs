//! Flows over virtual links: the laws they must obey and the accidents they must survive.

// Clippy knows functions marked as tests; the helpers beside them may fail a test as well.
#![allow(clippy::unwrap_used, clippy::panic)]

mod acks;
mod apps;
mod delivery;
mod ecn;
mod laws;
mod link;
mod pair;
mod recovery;
mod sender;
