//! What of a packet separates its flow from others, and which hosts its share is counted against.

use e2sm_tc::v1::{Isolation, Tunnels};

use super::Arrival;
use crate::hash::mix;
use crate::{FiveTuple, Packet};

/// Headers and addresses that a classifier hashes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Separation {
    tunnels: Tunnels,
    isolation: Isolation,
}

impl Separation {
    pub(crate) fn new(tunnels: Option<Tunnels>, isolation: Option<Isolation>) -> Self {
        Self { tunnels: tunnels.unwrap_or_default(), isolation: isolation.unwrap_or_default() }
    }

    /// Whether the scheduler has turns of hosts.
    pub(crate) fn has_turns_of_hosts(&self) -> bool {
        self.isolation.has_turns_of_hosts()
    }

    /// Addresses and ports of the packet in the headers that count.
    pub(crate) fn flow(&self, arrival: &Arrival<'_, impl Packet>) -> FiveTuple {
        match (self.tunnels, arrival.packet.inner()) {
            (Tunnels::Inner, Some(inner)) => inner.flow,
            _ => arrival.packet.flow(),
        }
    }

    /// Keyed hash of what shares a queue.
    #[inline]
    pub(crate) fn hash(&self, arrival: &Arrival<'_, impl Packet>) -> u64 {
        let key = arrival.key;
        match self.isolation {
            Isolation::SrcHost => key.hash_host(self.flow(arrival).source),
            Isolation::DstHost => key.hash_host(self.flow(arrival).destination),
            Isolation::Hosts => key.hash_pair(&self.flow(arrival)),
            _ => match (self.tunnels, arrival.packet.inner()) {
                (Tunnels::Inner, Some(inner)) => key.hash_inner(&inner),
                _ => arrival.flow_hash,
            },
        }
    }

    /// Keyed hashes of the hosts whose turns its flow shares, the same twice where it is one.
    pub(crate) fn hosts(&self, arrival: &Arrival<'_, impl Packet>) -> [u64; 2] {
        let (key, flow) = (arrival.key, self.flow(arrival));
        let source = key.hash_host(flow.source);
        // An address is another host as a destination than it is as a source.
        let destination = mix(key.hash_host(flow.destination));
        match self.isolation {
            Isolation::DualSrcHost => [source; 2],
            Isolation::DualDstHost => [destination; 2],
            Isolation::Triple => [source, destination],
            _ => [key.hash_pair(&flow); 2],
        }
    }
}
