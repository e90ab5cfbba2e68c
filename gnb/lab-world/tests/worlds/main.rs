//! Simulated worlds: what happens in them, what is asked of them, what is written down of them.

// Clippy knows functions marked as tests; the helpers beside them may fail a test as well.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod apps;
mod clairvoyant;
mod common;
mod e2;
mod experiments;
mod faults;
mod radio;
mod recorded_radio;
mod rlc;
mod world;
