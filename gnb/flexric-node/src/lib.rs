//! The lab as an E2 node of a FlexRIC near-RT RIC.
//!
//! FlexRIC's agent asks for reports from a thread of its own, when its timers say so, and hands over
//! decoded controls. [`node`] has the world's thread make each report when it is asked for, through
//! the gateway's local door, and hands it the controls. The C boundary is `agent` with the sources in
//! `c/`, built with the feature `flexric` alone; all else is tested without FlexRIC.

#[cfg(feature = "flexric")]
pub mod agent;
#[cfg(feature = "flexric")]
pub mod build_id;
pub mod cli;
pub mod kpm;
pub mod libraries;
pub mod message_log;
pub mod node;
pub mod recording;
pub mod table;
