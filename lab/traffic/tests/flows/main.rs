//! Flows over virtual links: throughput, fairness, recovery and delivery.

// Clippy allows these in test functions only; shared functions of tests need them too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod apps;
mod bursts;
mod controllers;
mod delay_based;
mod delivery;
mod ecn;
mod interactive;
mod laws;
mod link;
mod models;
mod multiplexed;
mod pair;
mod quic;
mod realtime;
mod recovery;
mod responsiveness;
mod sender;
mod shared;
mod stream;
mod streaming;
