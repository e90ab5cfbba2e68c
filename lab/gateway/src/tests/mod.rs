//! The gateway over loopback, with the generated client, against a node on a script.

use std::sync::Arc;

use serving::{
    access::{AccessControl, Audit, Caller},
    incoming::{Peer, Protocol, Terms},
    metrics::ServingMetrics,
};

mod access;
mod double;
mod faults;
mod forecasts;
mod harness;
mod http;
mod lab_world;
mod laws;
mod limits;
mod local_client;
mod owners;
mod pki;
mod rpc;
mod stop;
mod strangers;
mod streams;
mod subscriptions;
mod tls;

/// A client on loopback without an access file.
pub(crate) fn local_caller() -> Caller {
    let metrics = ServingMetrics::default();
    let audit = Audit::new(None, false, metrics.clone()).expect("no file");
    let access = AccessControl::new(None, audit, metrics).expect("no file");
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1)).into();
    let terms = Terms { protocol: Protocol::Grpc, has_client_ca: false, is_insecure: false };
    let peer = Peer { terms, address, is_encrypted: true, certificate: None, slot: None };
    Caller::new(&Arc::new(access), peer, None)
}
