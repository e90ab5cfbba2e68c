//! RIC controls: one call each, or all over one.

use std::time::Duration;

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{
    command::{Command, Commands, ControlError, stopped},
    e2_world::{self, ControlAnswer},
    metrics::GatewayMetrics,
    proto::{self, control_response, controls_response},
};

/// Controls of one stream that may lack an answer; those behind them wait in the connection.
const MOST_AT_ONCE: usize = 256;

/// What asks the world and says how it answered.
#[derive(Clone, Debug)]
pub(super) struct ControlDoor {
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    pub(super) timeout: Duration,
    /// True once the gateway stops.
    pub(super) stopping: watch::Receiver<bool>,
}

/// A control on its way.
#[derive(Debug)]
struct Asked {
    node_id: String,
    answer: oneshot::Receiver<Result<ControlAnswer, ControlError>>,
    patience: Duration,
}

pub(super) type Responses = ReceiverStream<Result<proto::ControlsResponse, Status>>;

impl ControlDoor {
    /// One control.
    pub(super) async fn unary(
        &self,
        request: proto::ControlRequest,
    ) -> Result<proto::ControlResponse, Status> {
        let answered = match self.ask(request, self.timeout) {
            Ok(asked) => asked.answered().await,
            Err(status) => Err(status),
        };
        self.counted(answered)
    }

    /// Controls as they come; those begun are answered before it ends.
    pub(super) fn stream(&self, requests: Streaming<proto::ControlsRequest>) -> Responses {
        let (responses, stream) = mpsc::channel(MOST_AT_ONCE);
        tokio::spawn(self.clone().serve(requests, responses));
        ReceiverStream::new(stream)
    }

    async fn serve(
        self,
        mut requests: Streaming<proto::ControlsRequest>,
        responses: mpsc::Sender<Result<proto::ControlsResponse, Status>>,
    ) {
        let mut stopping = self.stopping.clone();
        // A place for its answer before a control is read: so many may be on their way.
        while let Ok(place) = responses.clone().reserve_owned().await {
            let request = tokio::select! {
                // A dropped sender means that the gateway was dropped.
                _ = stopping.wait_for(|stop| *stop) => {
                    place.send(Err(stopped()));
                    return;
                }
                request = requests.message() => request,
            };
            let request = match request {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(status) => {
                    place.send(Err(status));
                    return;
                }
            };
            let patience = match request.timeout_ms {
                0 => self.timeout,
                ms => self.timeout.min(Duration::from_millis(ms.into())),
            };
            // Asked here, and not where the answer is waited for: in the order they came.
            let asked = request
                .control
                .ok_or_else(|| Status::invalid_argument("control: absent; expected one"))
                .and_then(|control| self.ask(control, patience));
            let door = self.clone();
            tokio::spawn(async move {
                let answered = match asked {
                    Ok(asked) => asked.answered().await,
                    Err(status) => Err(status),
                };
                let result = door.counted(answered).map_or_else(
                    |status| {
                        controls_response::Result::Error(proto::ControlError {
                            code: (status.code() as i32).cast_unsigned(),
                            detail: status.message().to_owned(),
                        })
                    },
                    controls_response::Result::Answer,
                );
                place.send(Ok(proto::ControlsResponse {
                    request_id: request.request_id,
                    result: Some(result),
                }));
            });
        }
    }

    // The error is what every caller hands to its client.
    #[allow(clippy::result_large_err)]
    fn ask(&self, request: proto::ControlRequest, patience: Duration) -> Result<Asked, Status> {
        let (reply, answer) = oneshot::channel();
        let node_id = request.node_id.clone();
        self.commands.send(Command::Control {
            request: e2_world::ControlRequest {
                node_id: request.node_id,
                ran_function_oid: request.ran_function_oid,
                header: request.header,
                message: request.message,
            },
            reply,
        })?;
        Ok(Asked { node_id, answer, patience })
    }

    #[allow(clippy::result_large_err)]
    fn counted(
        &self,
        answered: Result<ControlAnswer, Status>,
    ) -> Result<proto::ControlResponse, Status> {
        match answered {
            Ok(answer) => {
                self.metrics.control_answered(answer.accepted, answer.cause);
                let status = if answer.accepted {
                    control_response::Status::Acknowledged
                } else {
                    control_response::Status::Failed
                };
                Ok(proto::ControlResponse {
                    status: status.into(),
                    outcome: answer.outcome,
                    detail: answer.detail,
                })
            }
            Err(status) => {
                self.metrics.control_error(status.code());
                Err(status)
            }
        }
    }
}

impl Asked {
    async fn answered(self) -> Result<ControlAnswer, Status> {
        let Self { node_id, answer, patience } = self;
        let answer = timeout(patience, answer).await.map_err(|_| {
            Status::deadline_exceeded(format!(
                "node {node_id:?} has not answered in {} ms",
                patience.as_millis()
            ))
        })?;
        answer.map_err(|_| stopped())?.map_err(|error| match error {
            ControlError::Route(error) => Status::not_found(error.to_string()),
            ControlError::NodeLost => {
                Status::unavailable(format!("node {node_id:?} went away before it answered"))
            }
        })
    }
}
