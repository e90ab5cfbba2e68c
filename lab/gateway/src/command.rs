//! Commands of the gRPC and metrics tasks to the world's thread.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        mpsc::{SyncSender, TrySendError},
    },
};

use e2sm_tc::v1::BearerForecast;
use lab_world::{
    BearerDelay, BearerSample, CellSample, ControlReply, ControlRequest, FlowSample, GnbCounters,
    Report, RouteError, SubscribeError, SubscriptionRequest,
};
use tokio::sync::oneshot;
use tonic::Status;

use serving::limits::Refused;

use super::{
    limits::NodeAccount,
    outbox::{OutboxStream, Reading},
    slot_lateness::SlotLateness,
};

/// Called with each report of a subscription by the thread that steps the world, one at a time; it
/// must return at once and not call the gateway. `Break` ends its subscription.
pub type ReportCallback = Box<dyn FnMut(&Report) -> ControlFlow<()> + Send>;

/// Capacity of the command queue; further commands are refused.
pub(super) const COMMAND_QUEUE: usize = 1024;

/// One request to the world's thread.
pub(super) enum Command {
    Subscribe {
        request: SubscriptionRequest,
        reading: Reading,
        account: Arc<NodeAccount>,
        reply: oneshot::Sender<Result<OutboxStream, AdmissionError>>,
    },
    AddCallback {
        request: SubscriptionRequest,
        callback: ReportCallback,
        reply: oneshot::Sender<Result<(), AdmissionError>>,
    },
    /// The world's next output is earlier than planned.
    Reschedule,
    Control {
        request: ControlRequest,
        reply: oneshot::Sender<Result<ControlReply, ControlFailure>>,
    },
    Forecasts {
        node_id: String,
        forecasts: Vec<BearerForecast>,
    },
    Measure {
        reply: oneshot::Sender<Scrape>,
    },
}

/// State of the world for a scrape of the metrics.
#[derive(Debug, Default)]
pub(super) struct Scrape {
    pub(super) now_us: u64,
    pub(super) node_id: String,
    pub(super) bearers: Vec<BearerSample>,
    pub(super) bearer_delays: Vec<BearerDelay>,
    pub(super) counters: GnbCounters,
    /// Lateness of a node between real network stacks.
    pub(super) slot_lateness: Option<SlotLateness>,
    pub(super) flows: Vec<FlowSample>,
    /// PRBs of the last full second.
    pub(super) prb_last_second: Option<CellSample>,
    pub(super) subscribers: usize,
}

/// Why a subscriber was not admitted.
#[derive(Debug)]
pub(super) enum AdmissionError {
    World(SubscribeError),
    Limited(Refused),
}

/// Why a control has no answer.
#[derive(Debug)]
pub(super) enum ControlFailure {
    Route(RouteError),
    NodeLost,
}

/// Sender to the world's thread.
#[derive(Clone, Debug)]
pub(super) struct Commands(pub(super) Arc<SyncSender<Command>>);

impl Commands {
    /// Sends without waiting.
    // Every caller returns the error to its client.
    #[allow(clippy::result_large_err)]
    pub(super) fn send(&self, command: Command) -> Result<(), Status> {
        self.0.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => Status::resource_exhausted(format!(
                "{COMMAND_QUEUE} requests are waiting for the node; try again later"
            )),
            TrySendError::Disconnected(_) => stopped(),
        })
    }
}

/// Wakes the world's thread to plan its next step anew.
#[derive(Clone, Debug)]
pub struct Waker(pub(super) Commands);

impl Waker {
    /// Wakes it. With a full queue of commands it is awake.
    pub fn wake(&self) {
        let _ = self.0.send(Command::Reschedule);
    }
}

/// Status of every call once the world has stopped.
pub(super) fn stopped() -> Status {
    Status::unavailable("the gateway stopped")
}
