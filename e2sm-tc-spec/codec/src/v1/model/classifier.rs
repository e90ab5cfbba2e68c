//! Stage 1: classifiers, filters and what they match.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::{FilterId, QueueId};

/// Where a classifier sends a packet: one queue, or a run of queues chosen by flow hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueTarget {
    /// First queue id.
    pub first: QueueId,
    /// Number of consecutive ids, 1..=4096; with more than 1, the 5-tuple hash picks one.
    pub count: u16,
}

/// Stage 1: which queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Classifier {
    /// Packets in turn over the target's queues.
    RoundRobin(QueueTarget),
    /// Stochastic hash of the 5-tuple (SFQ).
    StochasticHash(StochasticHash),
    /// Ordered filters on L3/L4 fields; the first match wins.
    Osi(OsiClassifier),
    /// ECN field: ECT(1) and CE to `l4s`, the rest to `classic` (RFC 9331 §5.1); CE packets of a
    /// flow whose ECT packets have all been ECT(0) may go to `classic` (§5.3).
    L4sEcn(L4sEcnClassifier),
    /// Hash of the destination host, then of the 5-tuple within the host's share of `ways`
    /// queues. Under deficit round robin and weighted the queues of a share divide one turn.
    HostThenFlow(StochasticHash),
}

/// Parameters of the stochastic hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StochasticHash {
    /// Queues hashed into.
    pub target: QueueTarget,
    /// Hash key; the RAN function derives one when absent.
    pub perturbation: Option<u32>,
    /// Ways of a set-associative hash, 1 for a plain hash; queues of a host's share.
    pub ways: u8,
}

/// OSI classifier: filters in order, then a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OsiClassifier {
    /// At most 256 filters; the first that matches wins.
    pub filters: Vec<Filter>,
    /// For packets no filter matches.
    pub default: QueueTarget,
}

/// L4S classifier by ECN codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L4sEcnClassifier {
    /// Queue of ECT(1) and CE packets.
    pub l4s: QueueTarget,
    /// Queue of everything else.
    pub classic: QueueTarget,
}

/// One rule of the OSI classifier. Absent fields are wildcards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Identifier, unique within the classifier.
    pub id: FilterId,
    /// What to match.
    #[serde(rename = "match")]
    pub rule: FlowMatch,
    /// Where matching packets go.
    pub target: QueueTarget,
}

/// Fields of a packet to match; all given ones must.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowMatch {
    /// Source prefix.
    pub source: Option<Prefix>,
    /// Destination prefix.
    pub destination: Option<Prefix>,
    /// Source port range.
    pub source_port: Option<PortRange>,
    /// Destination port range.
    pub destination_port: Option<PortRange>,
    /// IP protocol number (6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6).
    pub protocol: Option<u8>,
    /// DSCP, 0..=63 (RFC 2474).
    pub dscp: Option<u8>,
    /// QoS flow identifier, 0..=63 (23.501).
    pub qfi: Option<u8>,
    /// ECN codepoint (RFC 3168).
    pub ecn: Option<Ecn>,
}

/// An IP prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Prefix {
    /// IPv4 network and length 0..=32.
    V4 {
        /// Network address.
        address: Ipv4Addr,
        /// Prefix length in bits.
        length: u8,
    },
    /// IPv6 network and length 0..=128.
    V6 {
        /// Network address.
        address: Ipv6Addr,
        /// Prefix length in bits.
        length: u8,
    },
}

/// Inclusive port range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortRange {
    /// Lowest port.
    pub low: u16,
    /// Highest port, not below `low`.
    pub high: u16,
}

/// ECN codepoint of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ecn {
    /// 00.
    #[default]
    NotEct,
    /// 01, L4S (RFC 9331).
    Ect1,
    /// 10.
    Ect0,
    /// 11, congestion experienced.
    Ce,
}
