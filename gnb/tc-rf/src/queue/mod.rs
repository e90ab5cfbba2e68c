//! Stage 3: the queues, one algorithm per file.

mod aqm;
mod bode;
mod cobalt;
mod codel;
mod dual_pi2;
mod fifo;
mod l4s;
mod pie;
mod red;
mod timer;

pub(crate) use aqm::Aqm;
pub use aqm::AqmState;
pub use bode::BODE_MIN_PACKETS;
pub(crate) use bode::drops as bode_drops;
pub use cobalt::Cobalt;
pub use codel::{Codel, CodelParams, MTU_BYTES};
pub(crate) use codel::{CodelQueue, Mark};
pub use dual_pi2::{DUAL_PI2_RAMP, DualPi2, DualPi2Params, Member, RTT_MAX_S};
pub(crate) use fifo::{Room, make_room};
pub use l4s::{RampParams, Recur};
pub use pie::{MARK_ECNTH, MAX_BURST_US, Pie, PieParams};
pub use red::{RED_WEIGHT, Red, RedParams};

use e2sm_tc::v1::{self, FifoDrop};

use crate::DropReason;

/// A queue discipline with its parameters, as compiled from the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First in, first out.
    Fifo {
        /// Which packet a full queue gives up.
        drop: FifoDrop,
    },
    /// CoDel (RFC 8289).
    Codel(CodelParams),
    /// PIE (RFC 8033).
    Pie(PieParams),
    /// RED (Floyd and Jacobson 1993).
    Red(RedParams),
    /// COBALT (Høiland-Jørgensen et al. 2018).
    Cobalt(CodelParams),
    /// BoDe (abbasloo2019).
    Bode {
        /// `BoundedDelay`.
        bound_us: u64,
    },
    /// Immediate marking by a step or ramp (RFC 9332 appendix A.1).
    L4sMarking(RampParams),
    /// One queue of a coupled pair (RFC 9332). The C queue follows its L queue, with the same
    /// parameters; a queue whose partner is not there is coupled to an empty one.
    DualPi2(DualPi2Params, Member),
}

impl Discipline {
    /// Of the queue at `offset` in a set of this discipline.
    pub(crate) fn compile(model: &v1::QueueDiscipline, offset: u16) -> Self {
        match *model {
            v1::QueueDiscipline::Fifo { drop } => Self::Fifo { drop },
            v1::QueueDiscipline::Codel(ref codel) => Self::Codel(CodelParams::from_model(codel)),
            v1::QueueDiscipline::Pie { target_us, update_us, alpha_milli, beta_milli, ecn } => {
                Self::Pie(PieParams {
                    target_us: u64::from(target_us),
                    update_us: u64::from(update_us),
                    alpha_milli,
                    beta_milli,
                    ecn,
                })
            }
            v1::QueueDiscipline::Red { min_bytes, max_bytes, max_probability_milli, ecn } => {
                Self::Red(RedParams {
                    min_bytes: u64::from(min_bytes),
                    max_bytes: u64::from(max_bytes),
                    max_probability_milli,
                    ecn,
                })
            }
            v1::QueueDiscipline::Cobalt(ref codel) => Self::Cobalt(CodelParams::from_model(codel)),
            v1::QueueDiscipline::Bode { bound_us } => Self::Bode { bound_us: u64::from(bound_us) },
            v1::QueueDiscipline::L4sMarking { threshold_us, ramp_us } => {
                Self::L4sMarking(RampParams {
                    threshold_us: u64::from(threshold_us),
                    ramp_us: u64::from(ramp_us),
                })
            }
            v1::QueueDiscipline::DualPi2 { target_us, update_us, coupling_milli } => {
                let params = DualPi2Params {
                    target_us: u64::from(target_us),
                    update_us: u64::from(update_us),
                    coupling_milli,
                };
                // The service model has L before C.
                let member = if offset == 0 { Member::LowLatency } else { Member::Classic };
                Self::DualPi2(params, member)
            }
        }
    }

    /// Which packet a full queue of this kind gives up: an AQM drops by its own rules, and beyond
    /// its limit refuses arrivals.
    pub(crate) fn drop_at_limit(&self) -> FifoDrop {
        match self {
            Self::Fifo { drop } => *drop,
            _ => FifoDrop::Tail,
        }
    }
}

/// What a discipline says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on with CE.
    Mark,
    /// It is dropped.
    Drop(DropReason),
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
