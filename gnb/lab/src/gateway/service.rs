//! The `E2Gateway` gRPC service: checks what came in, asks the world's thread, maps its answers to
//! the codes that `e2_gateway.proto` documents.

use std::time::Duration;

use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};
use tonic::{Request, Response, Status};

use super::{
    command::{AdmissionError, Command, Commands, ControlError, stopped},
    e2_world::{self, ControlAnswer, SubscribeError},
    metrics::GatewayMetrics,
    nodes::{NodeTable, NodeWatch},
    outbox::OutboxStream,
    proto::{self, control_response, e2_gateway_server::E2Gateway},
};

/// Queue depth when a subscriber asks for none.
const DEFAULT_QUEUE_DEPTH: u32 = 64;
/// Deepest queue: four seconds of 1 ms reports.
const MAX_QUEUE_DEPTH: u32 = 4096;

/// The service.
#[derive(Debug)]
pub(super) struct GatewayService {
    pub(super) commands: Commands,
    pub(super) nodes: watch::Receiver<NodeTable>,
    pub(super) metrics: GatewayMetrics,
    pub(super) control_timeout: Duration,
}

impl GatewayService {
    async fn admit(&self, request: proto::SubscribeRequest) -> Result<OutboxStream, Status> {
        let queue_depth = match request.queue_depth {
            0 => DEFAULT_QUEUE_DEPTH,
            depth if depth <= MAX_QUEUE_DEPTH => depth,
            depth => {
                return Err(Status::invalid_argument(format!(
                    "queue_depth: {depth}; expected at most {MAX_QUEUE_DEPTH}"
                )));
            }
        };
        let max_batch = usize::try_from(request.max_batch).unwrap_or(usize::MAX);
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Subscribe {
            request: e2_world::SubscriptionRequest {
                node_id: request.node_id,
                ran_function_oid: request.ran_function_oid,
                event_trigger: request.event_trigger,
                action_definitions: request.action_definitions,
                kpm_measurements: request.kpm_measurements,
            },
            queue_depth: usize::try_from(queue_depth).unwrap_or(usize::MAX),
            reply,
        })?;
        let admitted = answer.await.map_err(|_| stopped())?;
        let stream = admitted.map_err(|error| match error {
            AdmissionError::World(SubscribeError::Route(error)) => {
                Status::not_found(error.to_string())
            }
            AdmissionError::World(SubscribeError::Refused(detail)) => {
                Status::invalid_argument(detail)
            }
            AdmissionError::TooManySubscribers { limit } => Status::resource_exhausted(format!(
                "{limit} indication streams are open already, the most this gateway serves"
            )),
        })?;
        Ok(stream.in_batches_of(max_batch))
    }

    async fn ask(&self, request: proto::ControlRequest) -> Result<ControlAnswer, Status> {
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
        let answer = timeout(self.control_timeout, answer).await.map_err(|_| {
            Status::deadline_exceeded(format!(
                "node {node_id:?} has not answered in {} ms",
                self.control_timeout.as_millis()
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

#[tonic::async_trait]
impl E2Gateway for GatewayService {
    type WatchNodesStream = NodeWatch;
    type SubscribeStream = OutboxStream;

    async fn list_nodes(
        &self,
        _request: Request<proto::ListNodesRequest>,
    ) -> Result<Response<proto::ListNodesResponse>, Status> {
        let nodes = self.nodes.borrow().iter().map(|state| state.node.clone()).collect();
        Ok(Response::new(proto::ListNodesResponse { nodes }))
    }

    async fn watch_nodes(
        &self,
        _request: Request<proto::WatchNodesRequest>,
    ) -> Result<Response<Self::WatchNodesStream>, Status> {
        Ok(Response::new(NodeWatch::new(self.nodes.clone())))
    }

    async fn subscribe(
        &self,
        request: Request<proto::SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let admitted = self.admit(request.into_inner()).await;
        self.metrics.subscription(admitted.as_ref().map_or_else(Status::code, |_| tonic::Code::Ok));
        admitted.map(Response::new)
    }

    async fn control(
        &self,
        request: Request<proto::ControlRequest>,
    ) -> Result<Response<proto::ControlResponse>, Status> {
        match self.ask(request.into_inner()).await {
            Ok(answer) => {
                self.metrics.control_answered(answer.accepted, answer.cause);
                let status = if answer.accepted {
                    control_response::Status::Acknowledged
                } else {
                    control_response::Status::Failed
                };
                Ok(Response::new(proto::ControlResponse {
                    status: status.into(),
                    outcome: answer.outcome,
                    detail: answer.detail,
                }))
            }
            Err(status) => {
                self.metrics.control_error(status.code());
                Err(status)
            }
        }
    }
}
