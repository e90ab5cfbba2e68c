//! The lab: a scenario becomes a gNB with UEs and traffic on virtual time.
//!
//! Start with [`scenario`] (the YAML model), then [`world`] (the event loop). Around them: the E2
//! gateway server (`gateway`, behind `gnb-lab serve`), AQM conformance vectors (`replay_aqm`), the
//! floor that no scheduler can beat ([`clairvoyant`]), a RIC that forecasts ([`forecast`]) and the
//! command line (`cli`).

pub mod clairvoyant;
#[cfg(all(feature = "cli", feature = "gateway"))]
pub mod cli;
pub mod forecast;
#[cfg(feature = "gateway")]
pub mod gateway;
#[cfg(feature = "cli")]
mod plots;
#[cfg(feature = "cli")]
pub mod recording;
#[cfg(feature = "cli")]
pub mod replay_aqm;
pub mod reports;
#[cfg(feature = "cli")]
pub mod reproduce;
pub mod scenario;
pub mod world;
