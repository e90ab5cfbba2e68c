//! The `E2Gateway` gRPC service of `e2_gateway.proto`: rights of the caller, then the handlers.

use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use serving::{access::Right, admission::Client};

use super::{
    controls::{ControlHandler, ControlResponses},
    nodes::{NodeTable, NodeWatch, to_proto},
    proto::{self, e2_gateway_server::E2Gateway},
    subscriptions::{SubscribeHandler, SubscribeStream},
};

/// The client of a call, which has the right; `what` is the procedure, for the audit log.
// The error is the status of the call.
#[allow(clippy::result_large_err)]
pub(super) fn require<T>(request: &Request<T>, right: Right, what: &str) -> Result<Client, Status> {
    let client = request.extensions().get::<Client>().cloned();
    let client = client.ok_or_else(|| Status::internal("the call was not admitted"))?;
    client.caller.require(right, None, what)?;
    Ok(client)
}

/// The service over the handlers of its calls.
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
        request: Request<proto::ListNodesRequest>,
    ) -> Result<Response<proto::ListNodesResponse>, Status> {
        let Client { caller, .. } = require(&request, Right::Read, "ListNodes")?;
        let table = self.nodes.borrow();
        let visible = table.iter().filter(|state| caller.may(Right::Read, Some(&state.node.id)));
        let nodes = visible.map(|state| to_proto(&state.node)).collect();
        Ok(Response::new(proto::ListNodesResponse { nodes }))
    }

    async fn watch_nodes(
        &self,
        request: Request<proto::WatchNodesRequest>,
    ) -> Result<Response<Self::WatchNodesStream>, Status> {
        let Client { caller, .. } = require(&request, Right::Read, "WatchNodes")?;
        Ok(Response::new(NodeWatch::new(self.nodes.clone(), caller)))
    }

    async fn subscribe(
        &self,
        request: Request<Streaming<proto::SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let client = require(&request, Right::Subscribe, "Subscribe")?;
        Ok(Response::new(self.subscriptions.serve(request.into_inner(), client)))
    }

    async fn control(
        &self,
        request: Request<Streaming<proto::ControlRequest>>,
    ) -> Result<Response<Self::ControlStream>, Status> {
        let client = require(&request, Right::Control, "Control")?;
        Ok(Response::new(self.controls.serve(request.into_inner(), client)))
    }
}
