//! The `E2Gateway` gRPC service of `e2_gateway.proto`: rights of the caller, then the handlers.

use std::sync::Arc;

use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use super::{
    access::{AccessControl, Caller, Right},
    controls::{ControlHandler, ControlResponses},
    door::Peer,
    nodes::{NodeTable, NodeWatch, to_proto},
    proto::{self, e2_gateway_server::E2Gateway},
    subscriptions::{SubscribeHandler, SubscribeStream},
};

/// The client of a call.
// The error is the status of the call.
#[allow(clippy::result_large_err)]
pub(super) fn caller<T>(
    access: &Arc<AccessControl>,
    request: &Request<T>,
) -> Result<Caller, Status> {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.ok_or_else(|| Status::internal("the call has no connection"))?;
    let authorization = request.metadata().get("authorization");
    let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
    Ok(Caller::new(access, peer.clone(), authorization))
}

/// The service over the handlers of its calls.
#[derive(Debug)]
pub(super) struct GatewayService {
    pub(super) access: Arc<AccessControl>,
    pub(super) nodes: watch::Receiver<NodeTable>,
    pub(super) subscriptions: SubscribeHandler,
    pub(super) controls: ControlHandler,
}

impl GatewayService {
    /// The client of a call, which has the right.
    // The error is the status of the call.
    #[allow(clippy::result_large_err)]
    fn require<T>(&self, request: &Request<T>, right: Right) -> Result<Caller, Status> {
        let caller = caller(&self.access, request)?;
        caller.require(right, None)?;
        Ok(caller)
    }
}

#[tonic::async_trait]
impl E2Gateway for GatewayService {
    type WatchNodesStream = NodeWatch;
    type SubscribeStream = SubscribeStream;
    type ControlStream = ControlResponses;

    async fn list_nodes(
        &self,
        request: Request<proto::ListNodesRequest>,
    ) -> Result<Response<proto::ListNodesResponse>, Status> {
        let caller = self.require(&request, Right::Read)?;
        let table = self.nodes.borrow();
        let visible = table.iter().filter(|state| caller.may(Right::Read, Some(&state.node.id)));
        let nodes = visible.map(|state| to_proto(&state.node)).collect();
        Ok(Response::new(proto::ListNodesResponse { nodes }))
    }

    async fn watch_nodes(
        &self,
        request: Request<proto::WatchNodesRequest>,
    ) -> Result<Response<Self::WatchNodesStream>, Status> {
        let caller = self.require(&request, Right::Read)?;
        Ok(Response::new(NodeWatch::new(self.nodes.clone(), caller)))
    }

    async fn subscribe(
        &self,
        request: Request<Streaming<proto::SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let caller = self.require(&request, Right::Subscribe)?;
        Ok(Response::new(self.subscriptions.serve(request.into_inner(), caller)))
    }

    async fn control(
        &self,
        request: Request<Streaming<proto::ControlRequest>>,
    ) -> Result<Response<Self::ControlStream>, Status> {
        let caller = self.require(&request, Right::Control)?;
        Ok(Response::new(self.controls.serve(request.into_inner(), caller)))
    }
}
