//! Kinds of packets whose delays are counted separately, and a value for each.

use serde::Serialize;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Packet of a flow below its fair share of the bearer.
    Sparse,
    /// Packet of a greedy flow.
    Bulk,
    /// Packet of any flow that entered the gNB before the pipeline in force took effect.
    Inherited,
}

impl PacketKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Sparse, Self::Bulk, Self::Inherited];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sparse => "sparse",
            Self::Bulk => "bulk",
            Self::Inherited => "inherited",
        }
    }
}

/// A value for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByKind<T> {
    /// Value of [`PacketKind::Sparse`].
    pub sparse: T,
    /// Value of [`PacketKind::Bulk`].
    pub bulk: T,
    /// Value of [`PacketKind::Inherited`].
    pub inherited: T,
}

impl<T> ByKind<T> {
    /// The value of a kind.
    pub fn of(&self, kind: PacketKind) -> &T {
        match kind {
            PacketKind::Sparse => &self.sparse,
            PacketKind::Bulk => &self.bulk,
            PacketKind::Inherited => &self.inherited,
        }
    }

    pub(crate) fn of_mut(&mut self, kind: PacketKind) -> &mut T {
        match kind {
            PacketKind::Sparse => &mut self.sparse,
            PacketKind::Bulk => &mut self.bulk,
            PacketKind::Inherited => &mut self.inherited,
        }
    }
}
