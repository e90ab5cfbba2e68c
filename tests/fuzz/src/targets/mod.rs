//! A file per target: what is parsed and what must hold.

pub(crate) mod e2sm_tc_json;
pub(crate) mod e2sm_tc_v0;
pub(crate) mod e2sm_tc_v1;
pub(crate) mod rlc_native;
pub(crate) mod tc_rf_calls;
pub(crate) mod templates;
