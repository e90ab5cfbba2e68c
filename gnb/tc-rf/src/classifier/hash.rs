//! Stochastic hash of the 5-tuple (McKenney 1990, RFC 8290 §4.1.1), plain or set-associative.

use e2sm_tc::v1;

use super::Arrival;
use super::set_associative::{Claim, SetAssociative};
use crate::hash::mix;
use crate::queue::Target;
use crate::scheduler::Heads;

/// Hash classifier.
#[derive(Clone, Debug)]
pub(crate) struct StochasticHash {
    perturbation: u64,
    queues: Queues,
}

#[derive(Clone, Debug)]
enum Queues {
    Plain(Target),
    Sets(SetAssociative),
}

/// Without a perturbation the flow hash alone, whose key comes from the seed, decides.
pub(super) fn perturbation(model: Option<u32>) -> u64 {
    model.map_or(0, |perturbation| mix(u64::from(perturbation) + 1))
}

impl StochasticHash {
    pub(crate) fn new(model: &v1::StochasticHash, target: Target) -> Self {
        let queues = match model.ways {
            0 | 1 => Queues::Plain(target),
            ways => Queues::Sets(SetAssociative::new(target, ways)),
        };
        Self { perturbation: perturbation(model.perturbation), queues }
    }

    pub(crate) fn classify<P>(&mut self, arrival: &Arrival<'_, P>, heads: &impl Heads) -> u32 {
        // Flows whose 64-bit hashes differ collide under one perturbation and part under another.
        let hash = mix(arrival.flow_hash ^ self.perturbation);
        match &mut self.queues {
            Queues::Plain(target) => target.pick(hash),
            Queues::Sets(sets) => {
                let sequence = arrival.sequence;
                sets.classify(Claim { set_hash: hash, flow_hash: hash, sequence }, heads)
            }
        }
    }

    pub(crate) fn emptied(&mut self) {
        if let Queues::Sets(sets) = &mut self.queues {
            sets.emptied();
        }
    }
}
