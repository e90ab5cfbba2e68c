//! A tunnel that carries flows inside one outer 5-tuple.
//!
//! What is on the path sees the outer header alone: addresses and ports of the ends of the tunnel, for
//! all flows inside it. Each inner datagram is one outer datagram; the tunnel does not fragment, so its
//! MTU is what the inner flows may send.

use serde::{Deserialize, Serialize};

use crate::ip::{IpVersion, UDP_IP_HEADER_BYTES};

/// MTU of the path, that of Ethernet.
pub(crate) const PATH_MTU_BYTES: u32 = 1500;

/// Message header (type, receiver, counter) and authentication tag of a WireGuard data message
/// (Donenfeld, "WireGuard", NDSS 2017, §5.4.6).
const WIREGUARD_BYTES: u32 = 16 + 16;
/// What wg-quick(8) leaves of the MTU of the path: room for an outer IPv6 header, whatever is used.
const WIREGUARD_MTU_BYTES: u32 = PATH_MTU_BYTES - 80;
/// A WireGuard payload is padded to a multiple of this (§5.4.6), but not beyond the MTU (Linux).
const WIREGUARD_PADDING_BYTES: u32 = 16;
/// SPI and sequence number (RFC 4303 §2), IV and integrity check value of AES-GCM-16 (RFC 4106).
const ESP_BYTES: u32 = 8 + 8 + 16;
/// Pad length and next header, which end on a multiple of four bytes (RFC 4303 §2.4).
const ESP_TRAILER_BYTES: u32 = 2;
/// Short header with a connection ID of 8 bytes and a packet number of 2 (RFC 9000 §17.3), AEAD tag
/// (RFC 9001 §5.3), and type, quarter stream ID and context ID of an HTTP datagram in a DATAGRAM
/// frame (RFC 9221 §4, RFC 9297 §2.1, RFC 9484 §6), a byte each.
const QUIC_BYTES: u32 = 1 + 8 + 2 + 16 + 3;

/// Protocol of a tunnel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TunnelKind {
    /// WireGuard: 60 bytes a packet over IPv4, payload padded to 16; MTU 1420.
    #[default]
    Wireguard,
    /// IPsec in tunnel mode, ESP with AES-GCM-16 in UDP (RFC 3948): 62 to 65 bytes over IPv4; MTU
    /// 1438.
    Ipsec,
    /// A QUIC proxy, CONNECT-IP (RFC 9484): 58 bytes over IPv4; MTU 1442. Its datagrams are under no
    /// congestion control of the tunnel, as RFC 9298 §6 allows for inner flows that have their own.
    Quic,
}

/// A tunnel between a server behind the core network and a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TunnelConfig {
    /// The protocol.
    pub kind: TunnelKind,
    /// Version of the outer IP, 4 or 6.
    pub ip_version: IpVersion,
    /// Whether the outer DSCP is a copy of the inner one; otherwise 0. The inner DSCP leaves the tunnel as
    /// it entered (pipe model of RFC 2983 §3.1).
    pub copy_dscp: bool,
    /// Whether the outer ECN field is the inner one (normal mode of RFC 6040 §4.1); otherwise it is
    /// Not-ECT (compatibility mode), and no queue on the path marks.
    pub copy_ecn: bool,
}

impl Default for TunnelConfig {
    fn default() -> Self {
        Self {
            kind: TunnelKind::default(),
            ip_version: IpVersion::V4,
            copy_dscp: false,
            copy_ecn: true,
        }
    }
}

impl TunnelConfig {
    fn outer_headers_bytes(self) -> u32 {
        UDP_IP_HEADER_BYTES + self.ip_version.extra_bytes()
    }

    /// The longest inner datagram, headers included.
    pub fn mtu_bytes(self) -> u32 {
        let room = PATH_MTU_BYTES - self.outer_headers_bytes();
        match self.kind {
            TunnelKind::Wireguard => WIREGUARD_MTU_BYTES,
            TunnelKind::Ipsec => (room - ESP_BYTES) / 4 * 4 - ESP_TRAILER_BYTES,
            TunnelKind::Quic => room - QUIC_BYTES,
        }
    }

    /// Length of the outer datagram that carries an inner one of `inner_bytes`.
    pub fn outer_bytes(self, inner_bytes: u32) -> u32 {
        let payload = match self.kind {
            TunnelKind::Wireguard => {
                let padded = inner_bytes.next_multiple_of(WIREGUARD_PADDING_BYTES);
                WIREGUARD_BYTES + padded.min(self.mtu_bytes()).max(inner_bytes)
            }
            TunnelKind::Ipsec => ESP_BYTES + (inner_bytes + ESP_TRAILER_BYTES).next_multiple_of(4),
            TunnelKind::Quic => QUIC_BYTES + inner_bytes,
        };
        self.outer_headers_bytes() + payload
    }

    /// UDP port of its server: WireGuard's usual one, NAT traversal of IKE (RFC 3948), HTTP/3.
    pub fn server_port(self) -> u16 {
        match self.kind {
            TunnelKind::Wireguard => 51_820,
            TunnelKind::Ipsec => 4_500,
            TunnelKind::Quic => 443,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_inner_datagram_fits_the_path() {
        for (kind, mtu_v4, mtu_v6) in [
            (TunnelKind::Wireguard, 1420, 1420),
            (TunnelKind::Ipsec, 1438, 1418),
            (TunnelKind::Quic, 1442, 1422),
        ] {
            for (ip_version, mtu) in [(IpVersion::V4, mtu_v4), (IpVersion::V6, mtu_v6)] {
                let tunnel = TunnelConfig { kind, ip_version, ..TunnelConfig::default() };
                assert_eq!(tunnel.mtu_bytes(), mtu, "{kind:?} {ip_version:?}");
                assert!((1480..=1500).contains(&tunnel.outer_bytes(mtu)), "{kind:?}");
            }
        }
    }

    #[test]
    fn the_overhead_is_that_of_the_protocol() {
        let outer = |kind, inner| {
            TunnelConfig { kind, ..TunnelConfig::default() }.outer_bytes(inner) - inner
        };
        // A G.711 frame of 200 bytes, an acknowledgement of 52 and an echo of 84.
        assert_eq!([200, 52, 84].map(|inner| outer(TunnelKind::Wireguard, inner)), [68, 72, 72]);
        assert_eq!([200, 52, 85].map(|inner| outer(TunnelKind::Ipsec, inner)), [64, 64, 63]);
        assert_eq!([200, 52, 84].map(|inner| outer(TunnelKind::Quic, inner)), [58, 58, 58]);
        assert_eq!(outer(TunnelKind::Wireguard, 1420), 60);
    }
}
