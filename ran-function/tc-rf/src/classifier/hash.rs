//! Stochastic hash of the 5-tuple (McKenney 1990, RFC 8290 §4.1.1), or of the flow in a tunnel; plain or
//! set-associative.

use e2sm_tc::v1;

use super::set_associative::{Claim, SetAssociative};
use super::{Arrival, Separation};
use crate::Packet;
use crate::hash::mix;
use crate::queue::Target;
use crate::scheduler::Heads;

/// Hash classifier.
#[derive(Clone, Debug)]
pub(crate) struct StochasticHash {
    perturbation: u64,
    separation: Separation,
    queues: Queues,
}

/// Queues that a hash selects from.
#[derive(Clone, Debug)]
pub(super) enum Queues {
    Plain(Target),
    Sets(SetAssociative),
}

impl Queues {
    pub(super) fn new(target: Target, ways: u8) -> Self {
        match ways {
            0 | 1 => Self::Plain(target),
            ways => Self::Sets(SetAssociative::new(target, ways)),
        }
    }

    #[inline]
    pub(super) fn pick(&mut self, hash: u64, sequence: u64, heads: &impl Heads) -> u32 {
        match self {
            Self::Plain(target) => target.pick(hash),
            Self::Sets(sets) => {
                sets.classify(Claim { set_hash: hash, flow_hash: hash, sequence }, heads)
            }
        }
    }

    /// See [`Classifier::emptied`](super::Classifier::emptied).
    pub(super) fn emptied(&mut self) {
        if let Self::Sets(sets) = self {
            sets.emptied();
        }
    }
}

/// The perturbation mixed for the hash; without one the flow hash alone, whose key comes from the
/// seed, decides.
pub(super) fn perturbation(model: Option<u32>) -> u64 {
    model.map_or(0, |perturbation| mix(u64::from(perturbation) + 1))
}

impl StochasticHash {
    pub(crate) fn new(model: &v1::StochasticHash, target: Target) -> Self {
        let queues = Queues::new(target, model.ways);
        let separation = Separation::new(model.tunnels, model.isolation);
        Self { perturbation: perturbation(model.perturbation), separation, queues }
    }

    #[inline]
    pub(crate) fn classify<P: Packet>(
        &mut self,
        arrival: &Arrival<'_, P>,
        heads: &impl Heads,
    ) -> u32 {
        // Flows whose 64-bit hashes differ collide under one perturbation and part under another.
        let hash = mix(self.separation.hash(arrival) ^ self.perturbation);
        self.queues.pick(hash, arrival.sequence, heads)
    }

    pub(super) fn separation(&self) -> &Separation {
        &self.separation
    }

    pub(crate) fn emptied(&mut self) {
        self.queues.emptied();
    }
}
