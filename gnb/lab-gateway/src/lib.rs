//! The E2 gateway server behind `gnb-lab serve`.
//!
//! One thread steps the world (`paced`) to the wall clock (`pacer`); its outputs go to bounded
//! queues, one per subscriber (`hub`, `outbox`); the gRPC service (`service`, `subscriptions`,
//! `controls`) talks to that thread through one channel (`command`) and never touches the world. What it needs of a world
//! is the trait [`E2World`]; `world_adapter` implements it for the lab's world.

pub mod cli;
mod clock;
mod command;
mod controls;
mod e2_world;
mod error;
mod forecasts;
mod hub;
mod local;
mod metrics;
mod nodes;
mod options;
mod outbox;
mod paced;
mod pacer;
mod recorded;
mod serve;
mod server;
mod service;
mod subscriptions;
mod tls;
mod world_adapter;

pub use command::Listener;
pub use e2_world::{
    Admitted, BearerMeasurement, CellMeasurement, ControlAnswer, ControlRefusal, ControlRequest,
    ControlTicket, E2World, FlowMeasurement, Measurements, NodeState, PacingChange, Report,
    ReportPayload, RouteError, SubscribeError, SubscriptionId, SubscriptionRequest, WorldSink,
};
pub use error::ServeError;
pub use forecasts::ForecastOutcome;
pub use local::{LocalDoor, LocalError};
pub use options::{LogFormat, ServeOptions};
pub use recorded::{Recorded, Recording};
pub use serve::{serve, serve_beside};
pub use server::Gateway;

/// Generated from `interfaces/proto/e2_gateway.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod proto {
    tonic::include_proto!("sojourn.e2.v1");

    /// Encoded `FileDescriptorSet` of the door, for the reflection service.
    pub const FILE_DESCRIPTOR_SET: &[u8] =
        tonic::include_file_descriptor_set!("e2_gateway_descriptor");
}

#[cfg(test)]
mod tests;
