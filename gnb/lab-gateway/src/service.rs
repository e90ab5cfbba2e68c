//! The `E2Gateway` gRPC service of `e2_gateway.proto`.

use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use super::{
    controls::{ControlHandler, ControlResponses},
    nodes::{NodeTable, NodeWatch, to_proto},
    proto::{self, e2_gateway_server::E2Gateway},
    subscriptions::{SubscribeHandler, SubscribeStream},
};

/// The service.
#[derive(Debug)]
pub(super) struct GatewayService {
    pub(super) nodes: watch::Receiver<NodeTable>,
    pub(super) subscriptions: SubscribeHandler,
    pub(super) controls: ControlHandler,
}

#[tonic::async_trait]
impl E2Gateway for GatewayService {
    type WatchNodesStream = NodeWatch;
    type SubscribeStream = SubscribeStream;
    type ControlStream = ControlResponses;

    async fn list_nodes(
        &self,
        _request: Request<proto::ListNodesRequest>,
    ) -> Result<Response<proto::ListNodesResponse>, Status> {
        let nodes = self.nodes.borrow().iter().map(|state| to_proto(&state.node)).collect();
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
        request: Request<Streaming<proto::SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        Ok(Response::new(self.subscriptions.serve(request.into_inner())))
    }

    async fn control(
        &self,
        request: Request<Streaming<proto::ControlRequest>>,
    ) -> Result<Response<Self::ControlStream>, Status> {
        Ok(Response::new(self.controls.serve(request.into_inner())))
    }
}
