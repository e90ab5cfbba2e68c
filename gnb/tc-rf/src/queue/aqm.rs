//! State of a queue's discipline.

use crate::rng::Rng;

use super::{Cobalt, Codel, Discipline, DualPi2, Pie, Recur, Red};

/// What a queue carries from packet to packet. The larger states are boxed so that a CoDel queue
/// stays within a cache line; they are made when the pipeline is, not per packet.
#[derive(Clone, Debug, Default)]
pub(crate) enum Aqm {
    /// FIFO and BoDe remember nothing.
    #[default]
    Stateless,
    Codel(Codel),
    Pie(Box<Pie>),
    Red(Box<Red>),
    Cobalt(Box<Cobalt>),
    L4sMarking(Recur),
    /// Index of its pair.
    DualPi2(u32),
}

impl Aqm {
    /// The state a queue starts with. `pair` is its pair's index, for those that have one; `stream`
    /// tells its random numbers from those of other queues.
    pub(crate) fn new(discipline: &Discipline, pair: u32, seed: u64, stream: u64) -> Self {
        let rng = || Rng::new(seed, stream);
        match discipline {
            Discipline::Fifo { .. } | Discipline::Bode { .. } => Self::Stateless,
            Discipline::Codel(_) => Self::Codel(Codel::default()),
            Discipline::Pie(_) => Self::Pie(Box::new(Pie::new(rng()))),
            Discipline::Red(_) => Self::Red(Box::new(Red::new(rng()))),
            Discipline::Cobalt(_) => Self::Cobalt(Box::new(Cobalt::new(rng()))),
            Discipline::L4sMarking(_) => Self::L4sMarking(Recur::default()),
            Discipline::DualPi2(..) => Self::DualPi2(pair),
        }
    }

    /// Takes over the state of the queue that was here before, if it was of the same kind.
    pub(crate) fn inherit(&mut self, previous: Self) {
        let same = std::mem::discriminant(self) == std::mem::discriminant(&previous);
        // Pairs have their own indices; what they know is taken over pair by pair.
        if same && !matches!(self, Self::DualPi2(_)) {
            *self = previous;
        }
    }
}

/// Inner state of a queue's discipline, for conformance runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AqmState {
    /// FIFO and BoDe remember nothing.
    Stateless,
    /// CoDel.
    Codel(Codel),
    /// PIE.
    Pie(Pie),
    /// RED.
    Red(Red),
    /// COBALT.
    Cobalt(Cobalt),
    /// Immediate marking.
    L4sMarking(Recur),
    /// DualPI2; the same for both queues of a pair.
    DualPi2(DualPi2),
}
