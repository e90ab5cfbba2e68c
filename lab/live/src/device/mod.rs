//! Devices on the way of packets between the kernels and the gNB: each takes packets and hands packets
//! on, and a stack of devices is one. They know no clock: each packet has the time at which it is at
//! the device, and polling has the present time.
//!
//! `stackable` is the trait, `packet_in_flight` the packet, `faults`, `packet_log` and `capture` are the devices,
//! `stack` puts those of a capture point behind each other and counts, `capture_points` has all stacks of a run.

mod capture;
mod capture_point;
mod capture_points;
mod counts;
mod epoch;
mod faults;
mod packet_in_flight;
mod packet_log;
mod stack;
mod stackable;

pub(crate) use capture::CaptureDevice;
pub(crate) use capture_point::{CapturePoint, PointFile};
pub(crate) use capture_points::CapturePoints;
pub(crate) use faults::{FaultInjector, FaultSpec};
pub(crate) use packet_in_flight::{AirTimes, Marks, PacketInFlight};
pub(crate) use packet_log::LogDevice;
pub(crate) use stack::PointCounts;

#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::packet_in_flight::testing::packet_in_flight;
}
