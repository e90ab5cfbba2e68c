//! Flows over virtual links: the laws they must obey and the accidents they must survive.

// Clippy knows functions marked as tests; the helpers beside them may fail a test as well.
#![allow(clippy::unwrap_used, clippy::panic)]

mod acks;
mod apps;
mod bursts;
mod controllers;
mod delay_based;
mod delivery;
mod ecn;
mod fairness;
mod interactive;
mod laws;
mod link;
mod models;
mod pair;
mod recovery;
mod sender;
mod shared;
mod stream;
mod streaming;
