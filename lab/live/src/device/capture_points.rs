//! All capture points of a run with their devices.

use super::capture_point::CapturePoint;
use super::epoch::Epoch;
use super::packet_in_flight::PacketInFlight;
use super::stack::{PointCounts, Stack};

/// The stacks of the capture points, in the order of [`CapturePoint::ALL`].
#[derive(Debug, Default)]
pub(crate) struct CapturePoints {
    stacks: [Stack; CapturePoint::ALL.len()],
    epoch: Epoch,
}

impl CapturePoints {
    pub(crate) fn stack_mut(&mut self, point: CapturePoint) -> &mut Stack {
        &mut self.stacks[point as usize]
    }

    /// The epoch of the devices of this run.
    pub(crate) fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// Whether packets on the air have to come to their capture point.
    pub(crate) fn watch_air(&self) -> bool {
        !self.stacks[CapturePoint::Air as usize].is_empty()
    }

    /// A packet comes to a capture point; `out` gets those that leave it now.
    pub(crate) fn push(
        &mut self,
        point: CapturePoint,
        packet: PacketInFlight,
        out: &mut dyn FnMut(PacketInFlight),
    ) {
        self.stack_mut(point).push(packet, out);
    }

    /// `out` gets what leaves the capture points of a direction by `now_ns`.
    pub(crate) fn poll(
        &mut self,
        is_inbound: bool,
        now_ns: u64,
        out: &mut dyn FnMut(PacketInFlight),
    ) {
        for point in CapturePoint::ALL.into_iter().filter(|point| point.is_inbound() == is_inbound)
        {
            self.stack_mut(point).poll(now_ns, out);
        }
    }

    /// Time at which something leaves the capture points of a direction that is held now.
    pub(crate) fn next_ns(&self, is_inbound: bool) -> Option<u64> {
        let points = CapturePoint::ALL.into_iter().filter(|point| point.is_inbound() == is_inbound);
        points.filter_map(|point| self.stacks[point as usize].next_ns()).min()
    }

    pub(crate) fn counts(&self, point: CapturePoint) -> PointCounts {
        self.stacks[point as usize].counts()
    }
}
