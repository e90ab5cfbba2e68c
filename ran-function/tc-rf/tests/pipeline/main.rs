//! Traffic control on virtual time: timelines, properties, refusals.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod adaptive_codel;
mod allocations;
mod base_stock;
mod bode;
mod classifier;
mod cobalt;
mod codel;
mod conservation;
mod disciplines;
mod dual_pi2;
mod forecast_pacer;
mod fq_codel;
mod inelastic;
mod inventory;
mod just_in_time;
mod leases;
mod node_default;
mod pacers;
mod pacing;
mod pie;
mod rates;
mod red;
mod refusals;
mod schedulers;
mod shapers;
mod snapshots;
mod takeover;
mod transactions;
mod util;
