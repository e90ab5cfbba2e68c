//! Capacity of a slot as a gNB knows it.

/// What a gNB can send to a UE in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Radio {
    /// Transport block sizes of this MCS.
    Mcs(u8),
    /// This many bytes over all PRBs of the slot.
    Bytes(u32),
    /// CQI 0: nothing can be sent.
    OutOfRange,
}

impl Radio {
    /// Bytes over all PRBs, with the transport block sizes `of_mcs`.
    pub(crate) fn bytes(self, of_mcs: impl FnOnce(u8) -> u32) -> u32 {
        match self {
            Self::Mcs(mcs) => of_mcs(mcs),
            Self::Bytes(bytes) => bytes,
            Self::OutOfRange => 0,
        }
    }
}
