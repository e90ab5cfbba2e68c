//! The lab as an E2 node of a FlexRIC near-RT RIC.
//!
//! FlexRIC's agent requests reports from its own thread, by its timers, and passes decoded controls.
//! [`node`] gets each report from the world's thread at the request, through the gateway's local
//! interface, and passes it the controls. The C boundary is `agent` with the sources in `c/`, built
//! with the feature `flexric` only; everything else is tested without FlexRIC.

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
pub mod tc_v1;
