//! The TC RAN function of one bearer: classifier → policer → queue → scheduler → shaper → pacer
//! (irazabal2024 §IV-A).
//!
//! Pure: time in µs and packets in, decisions out; no clock, no I/O, no log. Pipelines are those of the
//! E2SM-TC service model ([`e2sm_tc::v1`]).
//!
//! Start with [`TrafficControl`] (`pipeline.rs`): it takes packets in, forwards them to the RLC, and
//! applies transactions. Each stage has a module, each algorithm a file: `classifier/`, `policer.rs`,
//! `queue/`, `scheduler/`, `shaper.rs`, `pacer/`. `stage.rs` holds the queues with scheduler and
//! shapers, `plan/` compiles a pipeline. [`queueing`] exposes stages 3 and 4 alone. Templates,
//! transactions and checks of pipelines are in [`tc_pipelines`].

mod arena;
mod classifier;
pub mod control;
mod events;
mod flow_inventory;
mod hash;
mod lease;
mod node_default;
mod node_lease;
mod pacer;
mod packet;
mod pipeline;
mod plan;
mod policer;
mod queue;
pub mod queueing;
mod rng;
mod scheduler;
mod shaper;
mod stage;
mod stats;
mod status;
mod token_bucket;

pub use events::{DropReason, EventSink};
pub use node_default::{DefaultStart, MAX_DEFAULT_BYTES, NodeDefaultState};
pub use node_lease::NodeLeaseState;
pub use pacer::{BlockRoom, BufferStatus, NextBlock, RlcStatus, SduDelays};
pub use packet::{Ecn, FiveTuple, InnerFlow, Packet};
pub use pipeline::TrafficControl;
pub use plan::{MAX_FILTERS, MAX_QUEUES, capabilities};
pub use status::ReportCursor;
pub use tc_pipelines::{PipelineError, templates};
