//! The lab: a scenario becomes a gNB with UEs and traffic on virtual time.
//!
//! Start with [`scenario`] (the YAML model), then [`world`] (the event loop). Around them: the E2
//! gateway server (`gateway`, behind `gnb-lab serve`), AQM conformance vectors (`replay_aqm`) and
//! the command line (`cli`).

#[cfg(all(feature = "cli", feature = "gateway"))]
pub mod cli;
pub mod experiments;
#[cfg(feature = "gateway")]
pub mod gateway;
#[cfg(feature = "cli")]
pub mod recording;
#[cfg(feature = "cli")]
pub mod replay_aqm;
pub mod reports;
pub mod scenario;
pub mod world;
