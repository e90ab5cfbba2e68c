//! Ordered filters on L3 and L4 fields; the first match wins.
//!
//! For filters by ECN, CE packets of a flow all ECT packets of which have been ECT(0) count as ECT(0):
//! RFC 9331 §5.3 allows it, and the flow stays in order.

use std::net::IpAddr;

use e2sm_tc::v1::{Ecn, FlowMatch, OsiClassifier, PortRange, Prefix, QueueTarget};

use super::{Arrival, Separation};
use crate::queue::Target;
use crate::{FiveTuple, Packet};

/// OSI classifier.
#[derive(Clone, Debug)]
pub(crate) struct Osi {
    filters: Vec<Filter>,
    default: Target,
    separation: Separation,
}

/// Addresses, ports, protocol and DSCP of one of a packet's headers.
#[derive(Clone, Copy, Debug)]
struct Fields {
    flow: FiveTuple,
    dscp: u8,
}

#[derive(Clone, Debug)]
struct Filter {
    rule: Rule,
    target: Target,
}

/// A [`FlowMatch`] with its prefixes as masks.
#[derive(Clone, Debug)]
struct Rule {
    source: Option<Mask>,
    destination: Option<Mask>,
    source_port: Option<PortRange>,
    destination_port: Option<PortRange>,
    protocol: Option<u8>,
    dscp: Option<u8>,
    qfi: Option<u8>,
    ecn: Option<Ecn>,
    is_of_inner: bool,
}

#[derive(Clone, Copy, Debug)]
enum Mask {
    V4 { network: u32, mask: u32 },
    V6 { network: u128, mask: u128 },
}

impl Mask {
    fn new(prefix: Prefix) -> Self {
        match prefix {
            Prefix::V4 { address, length } => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
                Self::V4 { network: address.to_bits() & mask, mask }
            }
            Prefix::V6 { address, length } => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
                Self::V6 { network: address.to_bits() & mask, mask }
            }
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4 { network, mask }, IpAddr::V4(v4)) => v4.to_bits() & mask == network,
            (Self::V6 { network, mask }, IpAddr::V6(v6)) => v6.to_bits() & mask == network,
            _ => false,
        }
    }
}

impl Rule {
    fn new(model: &FlowMatch) -> Self {
        Self {
            source: model.source.map(Mask::new),
            destination: model.destination.map(Mask::new),
            source_port: model.source_port,
            destination_port: model.destination_port,
            protocol: model.protocol,
            dscp: model.dscp,
            qfi: model.qfi,
            ecn: model.ecn,
            is_of_inner: model.inner == Some(true),
        }
    }

    fn matches<P: Packet>(
        &self,
        arrival: &Arrival<'_, P>,
        outer: &Fields,
        inner: Option<&Fields>,
    ) -> bool {
        let Fields { flow, dscp: found } = inner.filter(|_| self.is_of_inner).unwrap_or(outer);
        self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && self.source_port.is_none_or(|range| within(range, flow.source_port))
            && self.destination_port.is_none_or(|range| within(range, flow.destination_port))
            && self.source.is_none_or(|mask| mask.contains(flow.source))
            && self.destination.is_none_or(|mask| mask.contains(flow.destination))
            && self.dscp.is_none_or(|dscp| dscp == *found)
            && self.qfi.is_none_or(|qfi| Some(qfi) == arrival.packet.qfi())
            && self.ecn.is_none_or(|ecn| {
                ecn == if arrival.flow_is_classic { Ecn::Ect0 } else { arrival.header.ecn }
            })
    }
}

fn within(range: PortRange, port: u16) -> bool {
    (range.low..=range.high).contains(&port)
}

impl Osi {
    pub(crate) fn compile(
        model: &OsiClassifier,
        resolve: impl Fn(&QueueTarget) -> Option<Target>,
    ) -> Option<Self> {
        let filters = model
            .filters
            .iter()
            .map(|f| Some(Filter { rule: Rule::new(&f.rule), target: resolve(&f.target)? }))
            .collect::<Option<_>>()?;
        let separation = Separation::new(model.tunnels, None);
        Some(Self { filters, default: resolve(&model.default)?, separation })
    }

    pub(crate) fn classify<P: Packet>(&self, arrival: &Arrival<'_, P>) -> u32 {
        let outer = Fields { flow: arrival.packet.flow(), dscp: arrival.header.dscp };
        let inner =
            arrival.packet.inner().map(|inner| Fields { flow: inner.flow, dscp: inner.dscp });
        self.filters
            .iter()
            .find(|filter| filter.rule.matches(arrival, &outer, inner.as_ref()))
            .map_or(self.default, |filter| filter.target)
            .pick(self.separation.hash(arrival))
    }
}
