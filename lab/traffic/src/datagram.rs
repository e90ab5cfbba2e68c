//! A real IP datagram.

use std::net::IpAddr;

use bytes::Bytes;

use crate::ip::Ecn;

/// The bytes of a real IP datagram, with what was read of its headers.
///
/// ECN field and DSCP are those at its sender; what queues made of them is in [`Packet`](crate::Packet).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The IP datagram.
    pub bytes: Bytes,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port; 0 without ports.
    pub source_port: u16,
    /// Destination port; 0 without ports.
    pub destination_port: u16,
    /// Protocol number of the IANA registry.
    pub protocol: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP, 0..=63.
    pub dscp: u8,
    /// Bytes after the headers of IP and TCP, UDP or ICMP.
    pub payload_bytes: u32,
    /// The innermost flow that can be read, if the datagram is of a tunnel or hides its ports.
    pub inner: Option<InnerDatagram>,
}

/// What was read of the innermost header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InnerDatagram {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port; 0 without ports.
    pub source_port: u16,
    /// Destination port; 0 without ports.
    pub destination_port: u16,
    /// Protocol number of the IANA registry.
    pub protocol: u8,
    /// DSCP, 0..=63.
    pub dscp: u8,
    /// Key, TEID, VNI or SPI of the tunnel, and flow label; 0 without.
    pub label: u64,
}
