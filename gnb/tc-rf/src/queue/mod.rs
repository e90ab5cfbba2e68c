//! Stage 3: the queues, one algorithm per file.

mod codel;
mod fifo;

pub use codel::{Codel, CodelParams, MTU_BYTES};
pub(crate) use codel::{CodelQueue, Mark};
pub(crate) use fifo::{Room, make_room};

use e2sm_tc::v1::{self, FifoDrop};

/// A queue discipline with its parameters, as compiled from the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First in, first out.
    Fifo {
        /// Which packet a full queue gives up.
        drop: FifoDrop,
    },
    /// CoDel.
    Codel(CodelParams),
}

impl Discipline {
    /// Absent for kinds this RAN function does not have.
    pub(crate) fn compile(model: &v1::QueueDiscipline) -> Option<Self> {
        match model {
            v1::QueueDiscipline::Fifo { drop } => Some(Self::Fifo { drop: *drop }),
            v1::QueueDiscipline::Codel(codel) => Some(Self::Codel(CodelParams::from_model(codel))),
            v1::QueueDiscipline::Pie { .. }
            | v1::QueueDiscipline::Red { .. }
            | v1::QueueDiscipline::Cobalt(_)
            | v1::QueueDiscipline::Bode { .. }
            | v1::QueueDiscipline::L4sMarking { .. }
            | v1::QueueDiscipline::DualPi2 { .. } => None,
        }
    }

    /// Which packet a full queue of this kind gives up: CoDel drops by time, at the head, and
    /// beyond its limit refuses arrivals.
    pub(crate) fn drop_at_limit(&self) -> FifoDrop {
        match self {
            Self::Fifo { drop } => *drop,
            Self::Codel(_) => FifoDrop::Tail,
        }
    }
}

/// Configuration of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Identifier in the service model.
    pub id: v1::QueueId,
    /// What holds for its packets.
    pub rules: QueueRules,
}

/// Discipline and limits of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRules {
    /// Discipline.
    pub discipline: Discipline,
    /// Limit in packets.
    pub limit_packets: u32,
    /// Limit in bytes.
    pub limit_bytes: u32,
}
