//! Segmentation offload: the kernel's large TCP segments cut to the MTU on the way in, segments in
//! sequence joined again on the way out.

mod checksum;
mod coalesce;
mod segment;
mod tcp;
mod vnet;

pub(crate) use coalesce::{Coalescer, Frame};
pub(crate) use segment::datagrams;
pub(crate) use vnet::VNET_HEADER_BYTES;
