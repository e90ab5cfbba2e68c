//! Simulated worlds.

// clippy.toml exempts test functions only, not the functions they call.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod account;
mod apps;
mod clairvoyant;
mod common;
mod counters;
mod e2;
mod faults;
mod handover;
mod hosts;
mod inelastic;
mod leases;
mod qos_flows;
mod radio;
mod recorded_radio;
mod rlc;
mod setup;
mod tunnel;
mod uplink;
mod world;
