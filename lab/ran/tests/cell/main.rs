//! Cells and RLC entities on virtual time.

// clippy.toml allows these in test functions; shared functions of tests need them as well.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod acknowledged;
mod adaptation;
mod am_cell;
mod behaviour;
mod capacity;
mod channels;
mod common;
mod drx;
mod f1u;
mod handover;
mod harq;
mod proportional_fair;
mod reassembly;
mod slices;
mod subband;
mod uplink;
mod upper_layer;
