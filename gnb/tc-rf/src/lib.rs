//! The TC RAN function of one bearer: classifier → policer → queue → scheduler → shaper → pacer
//! (irazabal2024 §IV-A).
//!
//! Pure: time in µs and packets in, decisions out; no clock, no I/O, no log. Pipelines are written
//! in the words of the E2SM-TC service model ([`e2sm_tc::v1`]).
//!
//! Start with [`TrafficControl`]: it takes packets in, forwards what may go down to the RLC, and
//! applies transactions. Each stage has a module, each algorithm a file: `classifier/`, `policer.rs`,
//! `queue/`, `scheduler/`, `shaper.rs`, `pacer/`. `stage.rs` holds the queues with scheduler and
//! shapers, `plan/` compiles a pipeline. [`queueing`] offers stages 3 and 4 alone. What a pipeline is
//! beside that is [`tc_pipelines`]: its templates, the changes of a transaction and the checks.

mod arena;
mod block_room;
mod capabilities;
mod classifier;
pub mod control;
mod events;
mod flow_inventory;
mod hash;
mod heads;
mod lease;
mod ledger;
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

pub use block_room::{BlockRoom, NextBlock, Waiting};
pub use capabilities::{MAX_FILTERS, MAX_QUEUES, capabilities};
pub use events::{DropReason, EventSink};
pub use pacer::{RlcStatus, SduDelays};
pub use packet::{Ecn, FiveTuple, Packet};
pub use pipeline::TrafficControl;
pub use status::ReportCursor;
pub use tc_pipelines::{PipelineError, templates};
