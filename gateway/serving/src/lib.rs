//! What guards the gRPC and HTTP servers of all programs.
//!
//! Connections come through `incoming` (TLS, bounds); `access` decides what their clients may do and keeps
//! the audit log, `limits` how much of it; `admission` applies both to calls of gRPC, `http` to requests
//! of HTTP, which `hosts` binds to the names of the server. `metrics` counts what was refused.

pub mod access;
pub mod address;
pub mod admission;
mod error;
pub mod hosts;
pub mod http;
pub mod incoming;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod terminal;

pub use error::SetupError;
