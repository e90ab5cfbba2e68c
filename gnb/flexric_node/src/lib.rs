//! The lab as an E2 node of a FlexRIC near-RT RIC.
//!
//! FlexRIC's agent asks for reports from a thread of its own, when its timers say so, and hands over
//! decoded controls. What it gets lies in [`slot`]s that the world's thread fills each millisecond, so
//! neither waits for the other; [`node`] ties them to the gateway's local door. The C boundary is
//! `agent` with the sources in `c/`, built with the feature `flexric` alone; all else is tested
//! without FlexRIC.

#[cfg(feature = "flexric")]
pub mod agent;
pub mod control_log;
pub mod kpm;
pub mod libraries;
pub mod node;
pub mod slot;
pub mod table;
