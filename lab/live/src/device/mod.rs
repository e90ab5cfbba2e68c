//! Devices on the way of packets between the kernels and the gNB: each takes packets and hands packets
//! on, and a stack of devices is one. They know no clock: each packet has the time at which it is at
//! the device, and polling has the present time.
//!
//! `stackable` is the trait, `parcel` the packet, `faults`, `packet_log` and `capture` are the devices,
//! `stack` puts those of a seam behind each other and counts, `seams` has all stacks of a run.

mod capture;
mod counts;
mod epoch;
mod faults;
mod packet_log;
mod parcel;
mod seam;
mod seams;
mod stack;
mod stackable;

pub(crate) use capture::CaptureDevice;
pub(crate) use faults::{FaultInjector, FaultSpec};
pub(crate) use packet_log::LogDevice;
pub(crate) use parcel::{AirTimes, Marks, Parcel};
pub(crate) use seam::{Seam, SeamFile};
pub(crate) use seams::Seams;
pub(crate) use stack::SeamCounts;

#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::parcel::testing::parcel;
}
