//! The `E2Gateway` gRPC service: checks what came in, asks the world's thread, maps its answers to
//! the codes that `e2_gateway.proto` documents.

use tokio::sync::{oneshot, watch};
use tonic::{Request, Response, Status, Streaming};

use super::{
    command::{AdmissionError, Command, Commands, stopped},
    controls::{ControlDoor, Responses},
    e2_world::{self, SubscribeError},
    metrics::GatewayMetrics,
    nodes::{NodeTable, NodeWatch},
    outbox::OutboxStream,
    proto::{self, e2_gateway_server::E2Gateway},
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
    pub(super) controls: ControlDoor,
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
}

#[tonic::async_trait]
impl E2Gateway for GatewayService {
    type WatchNodesStream = NodeWatch;
    type SubscribeStream = OutboxStream;
    type ControlsStream = Responses;

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
        self.controls.unary(request.into_inner()).await.map(Response::new)
    }

    async fn controls(
        &self,
        request: Request<Streaming<proto::ControlsRequest>>,
    ) -> Result<Response<Self::ControlsStream>, Status> {
        Ok(Response::new(self.controls.stream(request.into_inner())))
    }
}
