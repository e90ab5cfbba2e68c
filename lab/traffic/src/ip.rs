//! IP: versions, header sizes, and the ECN field.

use serde::{Deserialize, Serialize};

/// IPv4 header without options, RFC 791.
pub(crate) const IP_HEADER_BYTES: u32 = 20;
/// UDP header, RFC 768.
const UDP_HEADER_BYTES: u32 = 8;
/// Headers of a UDP datagram over IPv4.
pub(crate) const UDP_IP_HEADER_BYTES: u32 = UDP_HEADER_BYTES + IP_HEADER_BYTES;
/// ICMP echo header, RFC 792.
pub(crate) const ICMP_HEADER_BYTES: u32 = 8;
/// TCP header, RFC 9293.
pub(crate) const TCP_HEADER_BYTES: u32 = 20;

/// Version of IP; the number 4 or 6 in a scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum IpVersion {
    /// RFC 791.
    #[default]
    V4,
    /// RFC 8200.
    V6,
}

impl IpVersion {
    /// Bytes that its header (IPv6: 40, RFC 8200 §3) has more than that of IPv4. Packets of this
    /// crate have the length of IPv4; who sends them over IPv6 adds this.
    pub const fn extra_bytes(self) -> u32 {
        match self {
            Self::V4 => 0,
            Self::V6 => 20,
        }
    }
}

impl TryFrom<u8> for IpVersion {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, String> {
        match version {
            4 => Ok(Self::V4),
            6 => Ok(Self::V6),
            other => Err(format!("{other}; expected 4 or 6")),
        }
    }
}

impl From<IpVersion> for u8 {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for IpVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IpVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": [4, 6] })
    }
}

/// The ECN field of the IP header, RFC 3168 §5 and RFC 9331.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ecn {
    /// 00: not ECN-capable.
    #[default]
    NotEct,
    /// 10: ECN-capable, classic.
    Ect0,
    /// 01: ECN-capable, L4S.
    Ect1,
    /// 11: congestion experienced; set by queues, never by a sender.
    #[serde(skip)]
    Ce,
}

impl Ecn {
    /// The two bits of the field.
    pub const fn codepoint(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
}
