//! What gRPC and metrics tasks ask of the world's thread, and how they reach it.

use std::sync::{
    Arc,
    mpsc::{SyncSender, TrySendError},
};

use e2sm_tc::v1::BearerForecast;
use tokio::sync::oneshot;
use tonic::Status;

use super::{
    e2_world::{CellMeasurement, ControlAnswer, ControlRequest, Measurements, RouteError},
    e2_world::{Report, SubscribeError, SubscriptionRequest},
    outbox::OutboxStream,
};

/// Called with each report of a subscription by the thread that steps the world, one at a time: it
/// must return at once and not use the door.
pub type Listener = Box<dyn FnMut(&Report) + Send>;

/// Commands that may wait for the world's thread; more are refused.
pub(super) const COMMAND_QUEUE: usize = 1024;

/// One request to the world's thread. A requester that is gone is not an error.
pub(super) enum Command {
    Subscribe {
        request: SubscriptionRequest,
        queue_depth: usize,
        reply: oneshot::Sender<Result<OutboxStream, AdmissionError>>,
    },
    Listen {
        request: SubscriptionRequest,
        listener: Listener,
        reply: oneshot::Sender<Result<(), AdmissionError>>,
    },
    /// Something comes out of the world sooner than it was known to.
    Look,
    Control {
        request: ControlRequest,
        reply: oneshot::Sender<Result<ControlAnswer, ControlError>>,
    },
    Forecasts {
        node_id: String,
        forecasts: Vec<BearerForecast>,
    },
    Measure {
        reply: oneshot::Sender<Scrape>,
    },
}

/// What a scrape reads from the world's thread.
#[derive(Debug, Default)]
pub(super) struct Scrape {
    pub(super) now_us: u64,
    pub(super) measurements: Measurements,
    /// Growth of the PRB totals over the last full second.
    pub(super) prb_last_second: Vec<CellMeasurement>,
    pub(super) subscribers: usize,
}

/// Why a subscriber was not admitted.
#[derive(Debug)]
pub(super) enum AdmissionError {
    World(SubscribeError),
    TooManySubscribers { limit: usize },
}

/// Why a control has no answer.
#[derive(Debug)]
pub(super) enum ControlError {
    Route(RouteError),
    NodeLost,
}

/// The way to the world's thread.
#[derive(Clone, Debug)]
pub(super) struct Commands(pub(super) Arc<SyncSender<Command>>);

impl Commands {
    /// Sends without waiting.
    // The error is what every caller hands to its client.
    #[allow(clippy::result_large_err)]
    pub(super) fn send(&self, command: Command) -> Result<(), Status> {
        self.0.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => Status::resource_exhausted(format!(
                "{COMMAND_QUEUE} requests wait for the node already; try again later"
            )),
            TrySendError::Disconnected(_) => stopped(),
        })
    }
}

/// The answer to everything once the world has stopped.
pub(super) fn stopped() -> Status {
    Status::unavailable("the gateway stopped")
}
