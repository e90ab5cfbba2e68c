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
//!
//! # Example
//! A ping that comes behind thirty packets of a download is in the first block that the MAC builds:
//! ```
//! use e2sm_tc::v1::{BearerId, FiveTuple, UeId};
//! use tc_rf::{BlockRoom, Ecn, Packet, TrafficControl, templates};
//!
//! struct Sdu { len_bytes: u32, source_port: u16 }
//!
//! impl Packet for Sdu {
//!     fn len_bytes(&self) -> u32 { self.len_bytes }
//!     fn flow(&self) -> FiveTuple {
//!         let (source, destination) = ([192, 0, 2, 1].into(), [10, 0, 0, 2].into());
//!         let source_port = self.source_port;
//!         FiveTuple { source, destination, source_port, destination_port: 5000, protocol: 17 }
//!     }
//!     fn dscp(&self) -> u8 { 0 }
//!     fn qfi(&self) -> Option<u8> { None }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn set_ce(&mut self) {}
//!     fn set_dscp(&mut self, _: u8) {}
//! }
//!
//! let bearer = BearerId { ue: UeId::Rnti(17921), drb: 1 };
//! let pipeline = templates::by_name("low_latency").expect("it is a template");
//! let mut tc = TrafficControl::new(bearer, pipeline, 1)?;
//! for _ in 0..30 {
//!     tc.ingress(Sdu { len_bytes: 1500, source_port: 443 }, 0, &mut ());
//! }
//! tc.ingress(Sdu { len_bytes: 84, source_port: 7 }, 400, &mut ());
//!
//! let mut room = BlockRoom { bytes: 6000, next_block: None };
//! let mut ports = Vec::new();
//! while let Some(sdu) = tc.pull(&room, 500, &mut ()) {
//!     room.bytes = room.bytes.saturating_sub(sdu.len_bytes);
//!     ports.push(sdu.source_port);
//! }
//! assert!(ports.contains(&7), "{ports:?}");
//! # Ok::<(), tc_rf::PipelineError>(())
//! ```

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
