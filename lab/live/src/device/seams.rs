//! All seams of a run with their devices.

use super::epoch::Epoch;
use super::parcel::Parcel;
use super::seam::Seam;
use super::stack::{SeamCounts, Stack};

/// The stacks of the seams, in the order of [`Seam::ALL`].
#[derive(Debug, Default)]
pub(crate) struct Seams {
    stacks: [Stack; Seam::ALL.len()],
    epoch: Epoch,
}

impl Seams {
    pub(crate) fn stack_mut(&mut self, seam: Seam) -> &mut Stack {
        &mut self.stacks[seam as usize]
    }

    /// The epoch of the devices of this run.
    pub(crate) fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// Whether packets on the air have to come to their seam.
    pub(crate) fn watch_air(&self) -> bool {
        !self.stacks[Seam::Air as usize].is_empty()
    }

    /// A packet comes to a seam; `out` gets those that leave it now.
    pub(crate) fn push(&mut self, seam: Seam, parcel: Parcel, out: &mut dyn FnMut(Parcel)) {
        self.stack_mut(seam).push(parcel, out);
    }

    /// `out` gets what leaves the seams of a direction by `now_ns`.
    pub(crate) fn poll(&mut self, is_inbound: bool, now_ns: u64, out: &mut dyn FnMut(Parcel)) {
        for seam in Seam::ALL.into_iter().filter(|seam| seam.is_inbound() == is_inbound) {
            self.stack_mut(seam).poll(now_ns, out);
        }
    }

    /// When something leaves the seams of a direction that is held now.
    pub(crate) fn next_ns(&self, is_inbound: bool) -> Option<u64> {
        let seams = Seam::ALL.into_iter().filter(|seam| seam.is_inbound() == is_inbound);
        seams.filter_map(|seam| self.stacks[seam as usize].next_ns()).min()
    }

    pub(crate) fn counts(&self, seam: Seam) -> SeamCounts {
        self.stacks[seam as usize].counts()
    }
}
