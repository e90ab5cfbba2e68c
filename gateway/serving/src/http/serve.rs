//! Connections of HTTP/1.1.

use std::{io, pin::pin};

use axum::{Router, body::Body, http::Request};
use futures_util::{Stream, StreamExt};
use hyper::{body, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{sync::watch, task::JoinSet};
use tonic::codegen::Service;

use super::Admission;
use crate::{access::Caller, incoming::Connection, limits::Limit};

/// Request line and header fields of a request.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// What is read of a connection before it is asked for.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// Serves the connections of a listener until `stop` is true; then those that are idle end, and the others
/// once they have their answer. `app` is behind `admission`.
pub async fn serve(
    mut incoming: impl Stream<Item = io::Result<Connection>> + Unpin,
    app: Router,
    admission: Admission,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let stopping = stop.clone();
    let mut stopped = pin!(stop.wait_for(|stop| *stop));
    loop {
        tokio::select! {
            // A dropped sender means that the server was dropped.
            _ = &mut stopped => break,
            Some(Ok(connection)) = incoming.next() => {
                let served = serve_connection(connection, app.clone(), admission.clone(), stopping.clone());
                connections.spawn(served);
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(incoming);
    while connections.join_next().await.is_some() {}
}

async fn serve_connection(
    connection: Connection,
    app: Router,
    admission: Admission,
    mut stop: watch::Receiver<bool>,
) {
    let peer = connection.peer().clone();
    let of_requests = peer.clone();
    let service = service_fn(move |mut request: Request<body::Incoming>| {
        request.extensions_mut().insert(of_requests.clone());
        app.clone().call(request.map(Body::new))
    });
    let mut builder = http1::Builder::new();
    // The table of connections bounds the time of a head, of which a connection that is idle has none.
    builder.header_read_timeout(None);
    builder.max_header_size(MAX_HEAD_BYTES).max_buf_size(MAX_BUFFER_BYTES);
    let mut served = pin!(builder.serve_connection(TokioIo::new(connection), service));
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stopped => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    // hyper has answered with 400 or 431; the log has no line for each.
    if ended.is_err_and(|error| error.is_parse()) {
        let client = Caller::new(&admission.access, peer, None).client_key();
        let account = admission.limits.account(&client);
        account.refused(Limit::MALFORMED, "a request that is no HTTP/1.1");
    }
}
