//! A cell on virtual time: what it carries, when, and what becomes of the rest.

// Clippy knows functions marked as tests; the helpers beside them may fail a test as well.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod acknowledged;
mod am_cell;
mod behaviour;
mod capacity;
mod channels;
mod common;
mod f1u;
mod harq;
mod proportional_fair;
mod reassembly;
mod slices;
mod upper_layer;
