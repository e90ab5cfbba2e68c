//! Files of packets, each written by a thread of its own.

mod capture;
mod log;
mod pcapng;
mod spool;

pub(crate) use capture::{CaptureFile, CapturedPacket, InterfaceCounts, InterfaceName};
pub(crate) use log::{LogCounts, LogFile, LogLine};
pub(crate) use pcapng::Direction;
pub(crate) use spool::{Inlet, Spool};
