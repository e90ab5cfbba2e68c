//! The gateway over loopback, with the generated client, against a node on a script.

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
