//! The TC RAN function for C: `tc_rf.h`, `libtc_rf_c.a`, `libtc_rf_c.so`.
//!
//! One handle is the RAN function of one gNB (or CU-UP): it holds a pipeline per (UE, DRB) and
//! takes the bytes of E2SM-TC v1. The gNB owns its packets; between ingress and the callback that
//! hands a packet on, the library holds its pointers. `README.md` lists where in a gNB each call
//! belongs.
//!
//! Nothing here panics across the border: a defect inside becomes [`TcRfResult::Internal`]. Any
//! thread may call: calls for one bearer wait for each other, calls for different bearers do not.
//! Calls from callbacks are refused ([`TcRfResult::Busy`]).
#![allow(unsafe_code, reason = "pointers from C; each use states why it is sound")]

mod callbacks;
mod calls;
mod function;
mod handle;
mod packet;
mod types;

pub use callbacks::TcRfCallbacks;
pub use calls::*;
pub use handle::TcRf;
pub use ip_header as ip;
pub use packet::inner_flow;
pub use types::{
    TC_RF_NO_QFI, TcRfBearer, TcRfBearerQos, TcRfBlockRoom, TcRfBytes, TcRfDrop, TcRfEvent,
    TcRfPacket, TcRfResult, TcRfReturned, TcRfRlcStatus,
};
