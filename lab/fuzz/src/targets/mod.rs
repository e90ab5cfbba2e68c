//! A file per target: what is parsed and what must hold.

pub(crate) mod access_file;
pub(crate) mod certificates;
pub(crate) mod gateway_requests;
pub(crate) mod radio_pdus;
pub(crate) mod replay_aqm;
pub(crate) mod scenario;
pub(crate) mod traces;
pub(crate) mod world;
