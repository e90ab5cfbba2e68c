//! Sizes of headers, and the ECN field.

use serde::{Deserialize, Serialize};

/// IPv4 header without options, RFC 791.
pub(crate) const IP_HEADER_BYTES: u32 = 20;
/// UDP header, RFC 768.
pub(crate) const UDP_HEADER_BYTES: u32 = 8;
/// ICMP echo header, RFC 792.
pub(crate) const ICMP_HEADER_BYTES: u32 = 8;
/// TCP header, RFC 9293.
pub(crate) const TCP_HEADER_BYTES: u32 = 20;

/// The ECN field of the IP header, RFC 3168 §5 and RFC 9331.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// 00: the transport does not understand ECN.
    #[default]
    NotEct,
    /// 10: ECN-capable, classic.
    Ect0,
    /// 01: ECN-capable, L4S.
    Ect1,
    /// 11: congestion experienced.
    Ce,
}
