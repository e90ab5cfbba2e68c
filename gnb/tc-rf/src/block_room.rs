//! What a MAC that builds transport blocks asks of the packets above the RLC.

/// Room that a transport block has left for a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRoom {
    /// The longest IP packet that would leave whole in it, in bytes; headers of PDCP, RLC and MAC are
    /// taken off.
    pub bytes: u32,
    /// The block after it, as far as it is known.
    pub next_block: Option<NextBlock>,
}

/// A transport block to come: that of the next downlink slot, at the present MCS and with the same share
/// of PRBs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextBlock {
    /// When the MAC will build it.
    pub at_us: u64,
    /// The longest IP packet that would leave whole in it, in bytes.
    pub bytes: u32,
}

/// Packets that can be had at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Bytes of IP packets.
    pub bytes: u64,
    /// Packets.
    pub packets: u32,
}
