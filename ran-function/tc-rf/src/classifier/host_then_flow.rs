//! Hash of the destination host, then of the 5-tuple within the host's share.
//!
//! The queues fall into shares of `ways` queues each. The destination's hash picks the share, so
//! that a host with many flows uses no other host's queues; within the share flows are
//! separated as in a set-associative hash. Under deficit round robin and weighted, each share gets one
//! quantum per turn (the dual-host isolation of CAKE, Høiland-Jørgensen et al. 2018 §III-B, on the
//! side of the destinations: downlink packets of a bearer come from anywhere, and go to the UE and
//! the hosts behind it).

use e2sm_tc::v1;

use super::hash::perturbation;
use super::set_associative::{Claim, SetAssociative};
use super::{Arrival, Separation};
use crate::Packet;
use crate::hash::mix;
use crate::queue::Target;
use crate::scheduler::Heads;

/// Host-then-flow classifier.
#[derive(Clone, Debug)]
pub(crate) struct HostThenFlow {
    perturbation: u64,
    separation: Separation,
    shares: SetAssociative,
}

impl HostThenFlow {
    pub(crate) fn new(model: &v1::StochasticHash, target: Target) -> Self {
        Self {
            perturbation: perturbation(model.perturbation),
            separation: Separation::new(model.tunnels, None),
            shares: SetAssociative::new(target, model.ways),
        }
    }

    pub(crate) fn classify<P: Packet>(
        &mut self,
        arrival: &Arrival<'_, P>,
        heads: &impl Heads,
    ) -> u32 {
        let host_hash = arrival.key.hash_host(self.separation.flow(arrival).destination);
        let claim = Claim {
            set_hash: mix(host_hash ^ self.perturbation),
            flow_hash: mix(self.separation.hash(arrival) ^ self.perturbation),
            sequence: arrival.sequence,
        };
        self.shares.classify(claim, heads)
    }

    pub(crate) fn emptied(&mut self) {
        self.shares.emptied();
    }
}
