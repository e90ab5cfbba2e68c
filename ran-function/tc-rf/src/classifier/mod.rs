//! Stage 1: the queue of a packet. Targets of the service model are compiled to queue indices.

mod hash;
mod host_then_flow;
mod l4s;
mod osi;
mod round_robin;
mod separation;
mod set_associative;

use e2sm_tc::v1::{self, QueueTarget};

use crate::hash::HashKey;
use crate::queue::Target;
use crate::scheduler::Heads;
use crate::{Ecn, Packet};
use hash::StochasticHash;
use host_then_flow::HostThenFlow;
use l4s::L4sEcn;
use osi::Osi;
use round_robin::RoundRobin;
use separation::Separation;

/// The fields of the IP header that the pipeline itself may rewrite, as they were when the packet
/// arrived. Packets are classified by these, so that a mark or a remark does not separate a packet
/// from its flow when the pipeline changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
}

impl Header {
    #[inline]
    pub(crate) fn of(packet: &impl Packet) -> Self {
        Self { ecn: packet.ecn(), dscp: packet.dscp() }
    }
}

/// A packet to be classified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a, P> {
    pub(crate) packet: &'a P,
    pub(crate) header: Header,
    /// Keyed hash of its 5-tuple.
    pub(crate) flow_hash: u64,
    pub(crate) key: HashKey,
    /// Position among all packets that ever entered the pipeline.
    pub(crate) sequence: u64,
    /// Whether all ECT packets of its flow have been ECT(0), and there was one.
    pub(crate) flow_is_classic: bool,
}

/// A classifier in force.
#[derive(Clone, Debug)]
pub(crate) enum Classifier {
    RoundRobin(RoundRobin),
    StochasticHash(StochasticHash),
    Osi(Osi),
    L4sEcn(L4sEcn),
    HostThenFlow(HostThenFlow),
}

impl Classifier {
    /// `resolve` turns a target into queue indices; the pipeline has been validated, so all are
    /// there.
    pub(crate) fn compile(
        model: &v1::Classifier,
        resolve: impl Fn(&QueueTarget) -> Option<Target>,
    ) -> Option<Self> {
        Some(match model {
            v1::Classifier::RoundRobin(target) => {
                Self::RoundRobin(RoundRobin::new(resolve(target)?))
            }
            v1::Classifier::StochasticHash(hash) => {
                Self::StochasticHash(StochasticHash::new(hash, resolve(&hash.target)?))
            }
            v1::Classifier::Osi(osi) => Self::Osi(Osi::compile(osi, resolve)?),
            v1::Classifier::L4sEcn(l4s) => {
                Self::L4sEcn(L4sEcn::new(l4s, resolve(&l4s.l4s)?, resolve(&l4s.classic)?))
            }
            v1::Classifier::HostThenFlow(hash) => {
                Self::HostThenFlow(HostThenFlow::new(hash, resolve(&hash.target)?))
            }
        })
    }

    /// Index of the packet's queue; `heads` are the queues as they are.
    #[inline]
    pub(crate) fn classify<P: Packet>(
        &mut self,
        arrival: &Arrival<'_, P>,
        heads: &impl Heads,
    ) -> u32 {
        match self {
            Self::RoundRobin(round_robin) => round_robin.classify(),
            Self::StochasticHash(hash) => hash.classify(arrival, heads),
            Self::Osi(osi) => osi.classify(arrival),
            Self::L4sEcn(l4s) => l4s.classify(arrival, heads),
            Self::HostThenFlow(host) => host.classify(arrival, heads),
        }
    }

    /// Keyed hashes of the hosts in whose turns the queue of a packet is served; `None` if hosts have
    /// no turns.
    pub(crate) fn hosts<P: Packet>(&self, arrival: &Arrival<'_, P>) -> Option<[u64; 2]> {
        let separation = match self {
            Self::StochasticHash(hash) => hash.separation(),
            Self::L4sEcn(l4s) => l4s.separation(),
            Self::RoundRobin(_) | Self::Osi(_) | Self::HostThenFlow(_) => return None,
        };
        separation.has_turns_of_hosts().then(|| separation.hosts(arrival))
    }

    /// All queues have been emptied, for packets older than those they held.
    pub(crate) fn emptied(&mut self) {
        match self {
            Self::StochasticHash(hash) => hash.emptied(),
            Self::HostThenFlow(host) => host.emptied(),
            Self::L4sEcn(l4s) => l4s.emptied(),
            Self::RoundRobin(_) | Self::Osi(_) => {}
        }
    }
}
