//! The E2 gateway server behind `gnb-lab serve`.
//!
//! One thread (`world_thread`) steps the world (`paced`) to the wall clock (`pacer`); its outputs go to bounded
//! queues, one per subscriber (`hub`, `outbox`); the gRPC service (`server`, `subscriptions`,
//! `controls`) sends commands to that thread through one channel (`command`). The world is an
//! [`E2Node`] (`node`): the lab's, or that of a test. Conversion to gRPC messages is at the edge
//! (`nodes`, `outbox`). What guards the listeners is the crate `serving`.

pub mod cli;
mod clock;
mod command;
mod controls;
mod error;
mod forecasts;
mod health;
mod http;
mod hub;
mod limits;
mod local_client;
mod metrics;
mod node;
mod nodes;
mod options;
mod outbox;
mod paced;
mod pacer;
mod scrapes;
mod serve;
mod server;
mod service;
mod slot_lateness;
mod subscriptions;
mod world_thread;

pub use clock::WallClock;
pub use command::{ReportCallback, Waker};
pub use error::ServeError;
pub use local_client::{LocalClient, LocalClientError};
pub use metrics::MetricsDetail;
pub use node::{E2Node, NodeState, OutputSink, Recording, RecordingError};
pub use options::{ForecastOptions, ServeOptions};
pub use serve::{check_summary_folder, serve, set_nice, write_summary};
pub use server::Gateway;
pub use serving::hosts::HostName;
pub use slot_lateness::SlotLateness;

/// Generated from `interfaces/proto/e2_gateway.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod proto {
    tonic::include_proto!("sojourn.e2.v1");

    /// Encoded `FileDescriptorSet` for the reflection service.
    pub const FILE_DESCRIPTOR_SET: &[u8] =
        tonic::include_file_descriptor_set!("e2_gateway_descriptor");
}

#[cfg(test)]
mod tests;
