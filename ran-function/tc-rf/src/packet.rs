//! The interface of packets.

pub use e2sm_tc::v1::{Ecn, FiveTuple};

/// The innermost flow of a packet that can be read, where its 5-tuple does not tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerFlow {
    /// Addresses, ports and protocol of the innermost header.
    pub flow: FiveTuple,
    /// DSCP of that header.
    pub dscp: u8,
    /// What else tells flows apart, such as key, TEID, VNI or SPI, and the IPv6 flow label; 0 without.
    pub label: u64,
}

/// A packet as it crosses the pipeline. The pipeline owns it from ingress until it is forwarded or
/// dropped and never reads its payload.
pub trait Packet {
    /// Length in bytes, IP header included.
    fn len_bytes(&self) -> u32;
    /// Addresses, ports and protocol.
    fn flow(&self) -> FiveTuple;
    /// The flow inside a tunnel, or the label of one whose ports are hidden. The same for all packets
    /// of a flow and as long as the packet is in the pipeline.
    fn inner(&self) -> Option<InnerFlow> {
        None
    }
    /// DSCP, 0..=63 (RFC 2474).
    fn dscp(&self) -> u8;
    /// QoS flow identifier, 0..=63 (23.501), if known.
    fn qfi(&self) -> Option<u8>;
    /// ECN codepoint (RFC 3168 §5).
    fn ecn(&self) -> Ecn;
    /// Sets the ECN codepoint to CE; the implementation updates the IPv4 header checksum.
    /// Called only while the codepoint is ECT(0) or ECT(1), so at most once.
    fn set_ce(&mut self);
    /// Rewrites the DSCP; the implementation updates the IPv4 header checksum.
    fn set_dscp(&mut self, dscp: u8);
}
