//! `Control`: all RIC controls of a client over one call.

use std::time::Duration;

use lab_world::ControlReply;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{
    command::{Command, Commands, ControlFailure, stopped},
    metrics::GatewayMetrics,
    proto::{self, control_answer, control_response},
};

/// Unanswered controls of one call; further ones wait in the connection.
const MAX_PENDING: usize = 256;

/// Sends controls to the world and counts their answers.
#[derive(Clone, Debug)]
pub(super) struct ControlHandler {
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    pub(super) timeout: Duration,
    /// True once the gateway stops.
    pub(super) stopping: watch::Receiver<bool>,
}

/// A control sent to the world.
#[derive(Debug)]
struct Pending {
    node_id: String,
    answer: oneshot::Receiver<Result<ControlReply, ControlFailure>>,
    limit: Duration,
}

pub(super) type ControlResponses = ReceiverStream<Result<proto::ControlResponse, Status>>;

impl ControlHandler {
    /// Serves one `Control` call; controls that began are answered before it ends.
    pub(super) fn serve(&self, requests: Streaming<proto::ControlRequest>) -> ControlResponses {
        let (responses, stream) = mpsc::channel(MAX_PENDING);
        tokio::spawn(self.clone().answer_all(requests, responses));
        ReceiverStream::new(stream)
    }

    async fn answer_all(
        self,
        mut requests: Streaming<proto::ControlRequest>,
        responses: mpsc::Sender<Result<proto::ControlResponse, Status>>,
    ) {
        let mut stopping = self.stopping.clone();
        // The place for the answer is reserved before the control is read: it bounds the pending ones.
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
            let request_id = request.request_id;
            // Sent to the world here and not in the task, which keeps the order of the requests.
            let sent = self.send(request);
            let handler = self.clone();
            tokio::spawn(async move {
                let answer = match sent {
                    Ok(pending) => pending.answer().await,
                    Err(status) => Err(status),
                };
                let result = Some(handler.result(answer));
                place.send(Ok(proto::ControlResponse { request_id, result }));
            });
        }
    }

    // The error becomes the control's.
    #[allow(clippy::result_large_err)]
    fn send(&self, request: proto::ControlRequest) -> Result<Pending, Status> {
        let limit = match request.timeout_ms {
            0 => self.timeout,
            ms => self.timeout.min(Duration::from_millis(ms.into())),
        };
        let (reply, answer) = oneshot::channel();
        let node_id = request.node_id.clone();
        self.commands.send(Command::Control {
            request: lab_world::ControlRequest {
                node_id: request.node_id,
                ran_function_oid: request.ran_function_oid,
                header: request.header,
                message: request.message,
            },
            reply,
        })?;
        Ok(Pending { node_id, answer, limit })
    }

    /// Counts the answer and converts it.
    fn result(&self, answer: Result<ControlReply, Status>) -> control_response::Result {
        match answer {
            Ok(answer) => {
                self.metrics.control_answered(&answer);
                let status = if answer.acknowledged {
                    control_answer::Status::Acknowledged
                } else {
                    control_answer::Status::Failed
                };
                control_response::Result::Answer(proto::ControlAnswer {
                    status: status.into(),
                    outcome: answer.outcome,
                    detail: answer.detail,
                })
            }
            Err(status) => {
                self.metrics.control_error(status.code());
                control_response::Result::Error(proto::ControlError {
                    code: (status.code() as i32).cast_unsigned(),
                    detail: status.message().to_owned(),
                })
            }
        }
    }
}

impl Pending {
    async fn answer(self) -> Result<ControlReply, Status> {
        let Self { node_id, answer, limit } = self;
        let answer = timeout(limit, answer).await.map_err(|_| {
            Status::deadline_exceeded(format!(
                "node {node_id:?} has not answered in {} ms",
                limit.as_millis()
            ))
        })?;
        answer.map_err(|_| stopped())?.map_err(|error| match error {
            ControlFailure::Route(error) => Status::not_found(error.to_string()),
            ControlFailure::NodeLost => {
                Status::unavailable(format!("node {node_id:?} disconnected before it answered"))
            }
        })
    }
}
