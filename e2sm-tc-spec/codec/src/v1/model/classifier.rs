//! Stage 1: classifiers and filters.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation, ViolationKind, at_least};
use crate::v1::per::*;

use super::{FilterId, QueueId};

sequence! {
    /// Target of a classifier: one queue, or consecutive queues selected by the flow hash.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueTarget {
        /// First queue id.
        first: QueueId,
        /// Number of consecutive ids, 1..=4096; the 5-tuple hash selects one of several.
        count: u16 as Int<1, 4096>,
    }
}

choice! {
    /// Stage 1: selects the queue.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Classifier { ...
        /// Packet by packet over the target's queues.
        0 round_robin => RoundRobin(QueueTarget),
        /// Stochastic hash of the 5-tuple (SFQ).
        1 stochastic_hash => StochasticHash(StochasticHash),
        /// Ordered filters on L3/L4 fields; the first match wins.
        2 osi => Osi(OsiClassifier),
        /// ECN field: ECT(1) and CE to `l4s`, the rest to `classic` (RFC 9331 §5.1); CE packets of a
        /// flow whose ECT packets have all been ECT(0) may go to `classic` (§5.3).
        3 l4s_ecn => L4sEcn(L4sEcnClassifier),
        /// Hash of the destination host, then of the 5-tuple within the host's share of `ways`
        /// queues. Under deficit round robin and weighted the queues of a share divide one turn.
        4 host_then_flow => HostThenFlow(StochasticHash),
    }
}

sequence! {
    /// Parameters of the stochastic hash.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct StochasticHash { ...
        /// Queues of the hash.
        target: QueueTarget,
        /// Hash key; derived by the RAN function if absent.
        perturbation: Option<u32>,
        /// Ways of a set-associative hash, 1 for a plain hash; or queues of a host's share.
        ways: u8 as Int<1, 64>,
        ...
        /// Which headers of a packet in a tunnel are hashed; the inner ones if absent.
        tunnels: Option<Tunnels>,
        /// Between whom shares are fair; between flows if absent. For nodes that declare
        /// `host_isolation`.
        isolation: Option<Isolation>,
    }
    check whole_sets_of_hash
}

impl StochasticHash {
    /// A plain hash, whose key the RAN function derives.
    pub fn plain(target: QueueTarget) -> Self {
        Self { target, perturbation: None, ways: 1, tunnels: None, isolation: None }
    }
}

enumerated! {
    /// Headers by which flows in a tunnel are distinguished.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Tunnels { ...
        /// The innermost that can be read.
        #[default]
        0 "inner" => Inner,
        /// The outermost: a tunnel is one flow.
        1 "outer" => Outer,
    }
}

fn whole_sets_of_hash(hash: &StochasticHash) -> Result<(), Violation> {
    whole_sets(&hash.target, hash.ways)
}

fn whole_sets(target: &QueueTarget, ways: u8) -> Result<(), Violation> {
    if target.count.is_multiple_of(u16::from(ways.max(1))) {
        return Ok(());
    }
    let expected = format!("a divisor of the {} queues hashed into", target.count);
    Err(ViolationKind::Inconsistent.at("ways", expected, ways))
}

enumerated! {
    /// Between whom shares are fair, as CAKE has it (`tc-cake(8)`, flow isolation).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Isolation { ...
        /// Flows, each in its queue (CAKE's `flows`).
        #[default]
        0 "flows" => Flows,
        /// Source hosts, each in one queue (`srchost`).
        1 "src_host" => SrcHost,
        /// Destination hosts, each in one queue (`dsthost`).
        2 "dst_host" => DstHost,
        /// Pairs of source and destination, each in one queue (`hosts`).
        3 "hosts" => Hosts,
        /// Source hosts, and then the flows of each (`dual-srchost`).
        4 "dual_src_host" => DualSrcHost,
        /// Destination hosts, and then the flows of each (`dual-dsthost`).
        5 "dual_dst_host" => DualDstHost,
        /// Pairs of source and destination, and then the flows of each.
        6 "dual_hosts" => DualHosts,
        /// Source and destination hosts, whichever has more flows, and then flows
        /// (`triple-isolate`).
        7 "triple" => Triple,
    }
}

impl Isolation {
    /// Whether the scheduler gives turns to hosts, rather than the hash one queue to each.
    pub fn has_turns_of_hosts(self) -> bool {
        matches!(self, Self::DualSrcHost | Self::DualDstHost | Self::DualHosts | Self::Triple)
    }
}

impl Classifier {
    /// Between whom its queues are shared out.
    pub fn isolation(&self) -> Isolation {
        match self {
            Self::StochasticHash(hash) | Self::HostThenFlow(hash) => hash.isolation,
            Self::L4sEcn(l4s) => l4s.isolation,
            Self::RoundRobin(_) | Self::Osi(_) => None,
        }
        .unwrap_or_default()
    }
}

sequence! {
    /// OSI classifier: filters in order, then a default.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct OsiClassifier { ...
        /// Filters, 256 at most; the first that matches wins.
        filters: Vec<Filter> as ListOf<Filter, 0, 256>,
        /// Target of packets that match no filter.
        default: QueueTarget,
        ...
        /// Which headers of a packet in a tunnel are hashed for targets of several queues; the inner
        /// ones if absent. What filters match is in each.
        tunnels: Option<Tunnels>,
    }
    check filter_ids_once
}

impl OsiClassifier {
    /// A classifier with these filters in this order.
    pub fn new(filters: Vec<Filter>, default: QueueTarget) -> Self {
        Self { filters, default, tunnels: None }
    }
}

fn filter_ids_once(classifier: &OsiClassifier) -> Result<(), Violation> {
    let mut ids = HashSet::new();
    for (index, filter) in classifier.filters.iter().enumerate() {
        if !ids.insert(filter.id) {
            let violation =
                ViolationKind::DuplicateId.at("id", "an id no other filter has", filter.id);
            return Err(violation.at_index(index).within("filters"));
        }
    }
    Ok(())
}

sequence! {
    /// L4S classifier by ECN codepoint.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct L4sEcnClassifier { ...
        /// Queue of ECT(1) and CE packets.
        l4s: QueueTarget,
        /// Queue of everything else.
        classic: QueueTarget,
        /// Ways of a set-associative hash within each target; a plain hash if absent.
        ways: Option<u8> as Option<Int<1, 64>>,
        ...
        /// Which headers of a packet in a tunnel are hashed; the inner ones if absent.
        tunnels: Option<Tunnels>,
        /// Between whom shares are fair; between flows if absent. For nodes that declare
        /// `host_isolation`.
        isolation: Option<Isolation>,
    }
    check whole_sets_of_both
}

impl L4sEcnClassifier {
    /// A classifier with as many ways, or with a plain hash.
    pub fn new(l4s: QueueTarget, classic: QueueTarget, ways: Option<u8>) -> Self {
        Self { l4s, classic, ways, tunnels: None, isolation: None }
    }
}

fn whole_sets_of_both(classifier: &L4sEcnClassifier) -> Result<(), Violation> {
    let ways = classifier.ways.unwrap_or(1);
    whole_sets(&classifier.l4s, ways).and_then(|()| whole_sets(&classifier.classic, ways))
}

sequence! {
    /// One rule of the OSI classifier. Absent fields are wildcards.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Filter { ...
        /// Identifier, unique within the classifier.
        id: FilterId,
        /// What to match.
        #[serde(rename = "match")]
        rule: FlowMatch,
        /// Target of matching packets.
        target: QueueTarget,
    }
}

sequence! {
    /// Packet fields to match; all given fields must match.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct FlowMatch { ...
        /// Source prefix.
        source: Option<Prefix>,
        /// Destination prefix.
        destination: Option<Prefix>,
        /// Source port range.
        source_port: Option<PortRange>,
        /// Destination port range.
        destination_port: Option<PortRange>,
        /// IP protocol number (6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6).
        protocol: Option<u8>,
        /// DSCP, 0..=63 (RFC 2474).
        dscp: Option<u8> as Option<Int<0, 63>>,
        /// QoS flow identifier, 0..=63 (23.501).
        qfi: Option<u8> as Option<Int<0, 63>>,
        /// ECN codepoint (RFC 3168).
        ecn: Option<Ecn>,
        ...
        /// Whether addresses, ports, protocol and DSCP are those of the innermost header that can be
        /// read, where a packet is in a tunnel; of the outermost if absent. QFI and ECN are the
        /// packet's either way. For nodes that declare `inner_headers`.
        inner: Option<bool>,
    }
    check one_ip_version
}

fn one_ip_version(rule: &FlowMatch) -> Result<(), Violation> {
    match (rule.source, rule.destination) {
        (Some(Prefix::V4 { .. }), Some(Prefix::V6 { .. }))
        | (Some(Prefix::V6 { .. }), Some(Prefix::V4 { .. })) => Err(ViolationKind::Inconsistent
            .at("destination", "a prefix of the source's IP version", "one of the other")),
        _ => Ok(()),
    }
}

choice! {
    /// An IP prefix.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Prefix {
        /// IPv4 network and length 0..=32.
        0 v4 => V4 {
            /// Network address.
            address: Ipv4Addr,
            /// Prefix length in bits.
            length: u8 as Int<0, 32>,
        },
        /// IPv6 network and length 0..=128.
        1 v6 => V6 {
            /// Network address.
            address: Ipv6Addr,
            /// Prefix length in bits.
            length: u8 as Int<0, 128>,
        },
    }
}

sequence! {
    /// Inclusive port range.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PortRange {
        /// Lowest port.
        low: u16,
        /// Highest port, not below `low`.
        high: u16,
    }
    check ordered
}

fn ordered(ports: &PortRange) -> Result<(), Violation> {
    at_least("high", ports.high, ports.low)
}

enumerated! {
    /// ECN codepoint of the IP header (RFC 3168 §5).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub enum Ecn {
        /// 00.
        #[default]
        0 "not-ect" => NotEct,
        /// 01, L4S (RFC 9331).
        1 "ect1" => Ect1,
        /// 10.
        2 "ect0" => Ect0,
        /// 11, congestion experienced.
        3 "ce" => Ce,
    }
}
