//! The `E2Gateway` gRPC service of `e2_gateway.proto`.

use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use super::{
    controls::{ControlDoor, Responses},
    nodes::{NodeTable, NodeWatch},
    outbox::OutboxStream,
    proto::{self, e2_gateway_server::E2Gateway},
    subscriptions::{SubscriptionDoor, Subscriptions},
};

/// The service.
#[derive(Debug)]
pub(super) struct GatewayService {
    pub(super) nodes: watch::Receiver<NodeTable>,
    pub(super) subscriptions: SubscriptionDoor,
    pub(super) controls: ControlDoor,
}

#[tonic::async_trait]
impl E2Gateway for GatewayService {
    type WatchNodesStream = NodeWatch;
    type SubscribeStream = OutboxStream;
    type SubscriptionsStream = Subscriptions;
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
        self.subscriptions.one(request.into_inner()).await.map(Response::new)
    }

    async fn subscriptions(
        &self,
        request: Request<Streaming<proto::SubscriptionsRequest>>,
    ) -> Result<Response<Self::SubscriptionsStream>, Status> {
        Ok(Response::new(self.subscriptions.stream(request.into_inner())))
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
