//! `gnb-lab live`: the lab between real network stacks.
//!
//! A server side and a side per UE, each a network namespace with a TUN device (`net`). One thread
//! reads what the kernels send (`reader`), cuts their large segments to the MTU (`offload`) and puts
//! the datagrams into an inbox; the gateway's thread steps the world to the wall clock, and
//! [`LiveNode`] brings the datagrams in at the times they were read, takes out what arrived and writes
//! it to the devices (`writer`). The world, its queues and its radio are those of virtual time.
//!
//! Between inbox and world, and between world and writer, packets pass the devices of `device`: faults,
//! logs, captures; `files` are what these write, `packets` makes both from the options. `account` proves
//! that every packet is somewhere.
//!
//! `link` makes a scenario of two traces.
//!
//! `hosts` runs the user's commands (`process`) on the sides, `session` ties all together; `relay` is the
//! run without a gNB.

mod account;
mod args;
mod crossing;
mod datapath;
mod device;
mod error;
mod files;
mod hosts;
mod inbox;
mod lateness;
mod link;
mod net;
mod node;
mod offload;
mod packets;
mod process;
mod reader;
mod relay;
mod session;
mod summary;
mod table;
mod writer;

pub use args::{LiveArgs, LiveOptions};
pub use error::LiveError;
pub use link::LinkArgs;
pub use node::LiveNode;
pub use session::run;
pub use summary::{HostSummary, LiveSummary};
