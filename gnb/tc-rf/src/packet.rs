//! The interface of packets.

pub use e2sm_tc::v1::{Ecn, FiveTuple};

/// A packet as it crosses the pipeline. The pipeline owns it from ingress until it is forwarded or
/// dropped and never reads its payload.
pub trait Packet {
    /// Length in bytes, IP header included.
    fn len_bytes(&self) -> u32;
    /// Addresses, ports and protocol.
    fn flow(&self) -> FiveTuple;
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
