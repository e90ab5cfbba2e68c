//! Client within the gateway's process, for E2 transports other than gRPC such as FlexRIC's agent.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use lab_world::{ControlReply, ControlRequest, Report, SubscribeError, SubscriptionRequest};
use tokio::{runtime::Handle, sync::oneshot, time::timeout};

use super::{
    command::{AdmissionError, Command, Commands, ControlFailure, ReportCallback},
    metrics::GatewayMetrics,
    paced::{DirectAccess, Done},
};

/// Steps and reads the world on the calling thread.
///
/// Methods block, and panic within an async task as Tokio's `block_on` does.
#[derive(Clone)]
pub struct LocalClient {
    /// Dropped with the thread that paces it.
    pub(super) world: Weak<dyn DirectAccess>,
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    pub(super) runtime: Handle,
}

impl fmt::Debug for LocalClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalClient").finish_non_exhaustive()
    }
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum LocalClientError {
    /// Unknown node or RAN function, or refused by the RAN function.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// Unknown node or RAN function, or the node disconnected.
    #[error("{0}")]
    Control(String),
    /// No answer within the timeout.
    #[error("the node has not answered in {} ms", .0.as_millis())]
    Late(Duration),
    /// The gateway stopped, or its command queue is full.
    #[error("{0}")]
    Gateway(String),
}

impl LocalClient {
    /// Calls `callback` with each report until it breaks off or the world ends.
    ///
    /// # Errors
    /// When the subscription is refused or the gateway ended.
    pub fn subscribe(
        &self,
        request: SubscriptionRequest,
        callback: ReportCallback,
    ) -> Result<(), LocalClientError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::AddCallback { request, callback, reply })?;
        self.runtime.block_on(answer).map_err(|_| ended())?.map_err(|error| match error {
            AdmissionError::World(error) => LocalClientError::Subscribe(error),
            AdmissionError::Limited(refused) => {
                LocalClientError::Gateway(refused.message().to_owned())
            }
        })
    }

    /// A report of the present state of a RAN function, for a transport with its own timers: the latest
    /// report of a subscription is up to a period old.
    ///
    /// # Errors
    /// When there is no such report or none arrives within `limit`.
    pub fn report_now(
        &self,
        node_id: &str,
        oid: &str,
        limit: Duration,
    ) -> Result<Report, LocalClientError> {
        Ok(self.done(self.world()?.report_now(node_id, oid, limit), limit)??)
    }

    /// One RIC control procedure. A refusal by the RAN function is an answer.
    ///
    /// # Errors
    /// When no RAN function accepts it or no answer arrives within `limit`.
    pub fn control(
        &self,
        request: ControlRequest,
        limit: Duration,
    ) -> Result<ControlReply, LocalClientError> {
        let (reply, mut answer) = oneshot::channel();
        self.done(self.world()?.control(request, reply, limit), limit)?;
        // With E2 delays the answer comes later, from the world's thread.
        let answered = match answer.try_recv() {
            Ok(answered) => answered,
            Err(_) => self
                .runtime
                .block_on(async { timeout(limit, answer).await })
                .map_err(|_| LocalClientError::Late(limit))?
                .map_err(|_| ended())?,
        };
        let answer = answered.map_err(|error| match error {
            ControlFailure::Route(error) => LocalClientError::Control(error.to_string()),
            ControlFailure::NodeLost => {
                LocalClientError::Control("the node disconnected before it answered".to_owned())
            }
        })?;
        self.metrics.control_answered(&answer);
        Ok(answer)
    }

    fn world(&self) -> Result<Arc<dyn DirectAccess>, LocalClientError> {
        self.world.upgrade().ok_or_else(ended)
    }

    fn done<T>(&self, done: Option<Done<T>>, limit: Duration) -> Result<T, LocalClientError> {
        let Done { result, reschedule } = done.ok_or(LocalClientError::Late(limit))?;
        if reschedule {
            self.send(Command::Reschedule)?;
        }
        Ok(result)
    }

    fn send(&self, command: Command) -> Result<(), LocalClientError> {
        self.commands
            .send(command)
            .map_err(|status| LocalClientError::Gateway(status.message().to_owned()))
    }
}

fn ended() -> LocalClientError {
    LocalClientError::Gateway("the gateway stopped".to_owned())
}
