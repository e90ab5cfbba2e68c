//! Stage 1: which queue. Compiled from the service model's words to queue indices.

mod hash;
mod osi;
mod round_robin;

use e2sm_tc::v1::{self, QueueTarget};

use crate::Packet;
use hash::StochasticHash;
use osi::Osi;
use round_robin::RoundRobin;

/// A run of queues by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Target {
    /// The queue of this run that a flow hash picks.
    fn pick(self, hash: u64) -> u32 {
        self.first + crate::hash::scale(hash, self.count)
    }
}

/// A classifier in force.
#[derive(Clone, Debug)]
pub(crate) enum Classifier {
    RoundRobin(RoundRobin),
    StochasticHash(StochasticHash),
    Osi(Osi),
}

impl Classifier {
    /// `resolve` turns a target into queue indices; the pipeline has been validated, so `None`
    /// comes only for kinds that are refused.
    pub(crate) fn compile(
        model: &v1::Classifier,
        resolve: impl Fn(&QueueTarget) -> Option<Target>,
    ) -> Option<Self> {
        Some(match model {
            v1::Classifier::RoundRobin(target) => {
                Self::RoundRobin(RoundRobin::new(resolve(target)?))
            }
            v1::Classifier::StochasticHash(hash) => {
                Self::StochasticHash(StochasticHash::new(resolve(&hash.target)?, hash.perturbation))
            }
            v1::Classifier::Osi(osi) => Self::Osi(Osi::compile(osi, resolve)?),
            v1::Classifier::L4sEcn(_) | v1::Classifier::HostThenFlow(_) => return None,
        })
    }

    /// Index of the packet's queue. `flow_hash` is the keyed hash of its 5-tuple.
    pub(crate) fn classify(&mut self, packet: &impl Packet, flow_hash: u64) -> u32 {
        match self {
            Self::RoundRobin(round_robin) => round_robin.classify(),
            Self::StochasticHash(hash) => hash.classify(flow_hash),
            Self::Osi(osi) => osi.classify(packet, flow_hash),
        }
    }
}
