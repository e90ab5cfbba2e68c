//! The TC RAN function of one bearer: classifier → policer → queue → scheduler → shaper → pacer
//! (irazabal2024 §IV-A).
//!
//! Pure: time in µs and packets in, decisions out; no clock, no I/O, no log. Pipelines are written
//! in the words of the E2SM-TC service model ([`e2sm_tc::v1`]).

mod error;
mod events;
mod pacer;
mod packet;
mod pipeline;
pub mod templates;

pub use error::PipelineError;
pub use events::{DropReason, EventSink};
pub use pacer::RlcStatus;
pub use packet::{Ecn, FiveTuple, Packet};
pub use pipeline::TrafficControl;

use e2sm_tc::v1::Capabilities;

/// What this RAN function declares in its definition.
pub fn capabilities() -> Capabilities {
    Capabilities::default()
}
