//! The gateway's door for a program that lives in the same process: another E2 transport beside
//! gRPC, such as the agent of a near-RT RIC.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot, time::timeout};

use super::{
    command::{AdmissionError, Command, Commands, ControlError, Listener},
    e2_world::{ControlAnswer, ControlRequest, Report, SubscribeError, SubscriptionRequest},
    metrics::GatewayMetrics,
    paced::{Direct, Done},
};

/// Uses the world from a thread that may block: what is asked for is done on that thread.
///
/// Its methods block the calling thread and panic within an async task, as Tokio's `block_on` does.
#[derive(Clone)]
pub struct LocalDoor {
    /// It goes with the thread that paces it.
    pub(super) world: Weak<dyn Direct>,
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    pub(super) runtime: Handle,
}

impl fmt::Debug for LocalDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalDoor").finish_non_exhaustive()
    }
}

/// Why a request through the local door has no answer.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The node, its RAN function, or what the RAN function says to the subscription.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// Node or RAN function is not there, or the node went away.
    #[error("{0}")]
    Control(String),
    /// The world was busy for too long, or did not answer in time.
    #[error("the node has not answered in {} ms", .0.as_millis())]
    Late(Duration),
    /// The gateway ended, or has too much to do.
    #[error("{0}")]
    Gateway(String),
}

impl LocalDoor {
    /// Has `listener` called with each report until the world ends.
    ///
    /// # Errors
    /// When the subscription is refused or the gateway ended.
    pub fn listen(
        &self,
        request: SubscriptionRequest,
        listener: Listener,
    ) -> Result<(), LocalError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Listen { request, listener, reply })?;
        self.runtime.block_on(answer).map_err(|_| ended())?.map_err(|error| match error {
            AdmissionError::World(error) => LocalError::Subscribe(error),
            AdmissionError::TooManySubscribers { limit } => {
                LocalError::Gateway(format!("{limit} subscribers are served already"))
            }
        })
    }

    /// A report of a RAN function as it is now, for a transport with a clock of its own: what the
    /// world reports by its own is up to a period old when another clock asks for it.
    ///
    /// # Errors
    /// When there is no such report or none comes within `patience`.
    pub fn read(&self, node_id: &str, oid: &str, patience: Duration) -> Result<Report, LocalError> {
        Ok(self.done(self.world()?.read(node_id, oid, patience), patience)??)
    }

    /// One RIC control procedure. A refusal by the RAN function is an answer.
    ///
    /// # Errors
    /// When nothing takes it or no answer comes within `patience`.
    pub fn control(
        &self,
        request: ControlRequest,
        patience: Duration,
    ) -> Result<ControlAnswer, LocalError> {
        let (reply, mut answer) = oneshot::channel();
        self.done(self.world()?.control(request, reply, patience), patience)?;
        // Where E2 takes time, the answer comes from the world's own thread.
        let answered = match answer.try_recv() {
            Ok(answered) => answered,
            Err(_) => self
                .runtime
                .block_on(async { timeout(patience, answer).await })
                .map_err(|_| LocalError::Late(patience))?
                .map_err(|_| ended())?,
        };
        let answer = answered.map_err(|error| match error {
            ControlError::Route(error) => LocalError::Control(error.to_string()),
            ControlError::NodeLost => {
                LocalError::Control("the node went away before it answered".to_owned())
            }
        })?;
        self.metrics.control_answered(answer.accepted, answer.cause);
        Ok(answer)
    }

    fn world(&self) -> Result<Arc<dyn Direct>, LocalError> {
        self.world.upgrade().ok_or_else(ended)
    }

    fn done<T>(&self, done: Option<Done<T>>, patience: Duration) -> Result<T, LocalError> {
        let Done { result, look } = done.ok_or(LocalError::Late(patience))?;
        if look {
            self.send(Command::Look)?;
        }
        Ok(result)
    }

    fn send(&self, command: Command) -> Result<(), LocalError> {
        self.commands
            .send(command)
            .map_err(|status| LocalError::Gateway(status.message().to_owned()))
    }
}

fn ended() -> LocalError {
    LocalError::Gateway("the gateway stopped".to_owned())
}
