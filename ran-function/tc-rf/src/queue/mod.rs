//! Stage 3: the queues, one algorithm per file. An algorithm implements [`Aqm`] and has a line in the
//! table below.

mod adaptive_codel;
mod aqm;
mod bode;
mod cobalt;
mod codel;
mod dual_pi2;
mod fifo;
mod l4s;
mod pie;
mod red;
mod target;
mod timer;

pub use adaptive_codel::{AdaptiveCodel, AdaptiveCodelParams};
pub use aqm::StateValue;
pub(crate) use aqm::{Aqm, AqmQueue, Arrival, Head, Mark, Verdict};
pub use bode::{BODE_MIN_PACKETS, Bode, BodeParams};
pub use cobalt::Cobalt;
pub use codel::{Codel, CodelParams, MTU_BYTES};
pub(crate) use dual_pi2::Served;
pub use dual_pi2::{DualPi2, DualPi2Params, Member, RTT_MAX_S};
pub(crate) use fifo::{Room, fits, make_room};
pub use l4s::{RampParams, Recur};
pub use pie::{MARK_ECNTH, MAX_BURST_US, Pie, PieParams};
pub use red::{RED_WEIGHT, Red, RedParams};
pub(crate) use target::{Target, index_of};

use e2sm_tc::v1::{self, FifoDrop};

use crate::Ecn;
use crate::rng::Rng;

/// A line per discipline: `kind of E2SM-TC => Variant(Parameters): Algorithm as State`. Algorithms with
/// a large state are boxed so that a CoDel queue stays within a cache line; they are allocated when a
/// pipeline is installed, not per packet. FIFO has no state, and the queues of DualPI2 share one that
/// the stage holds.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:ident => $kind:ident($params:ty): $aqm:ident as $state:ty),* $(,)?) => {
        /// A queue discipline with its parameters, as compiled from the service model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Discipline {
            /// First in, first out.
            Fifo {
                /// Which packet a full queue drops.
                drop: FifoDrop,
            },
            $($(#[$doc])* $kind($params),)*
            /// One queue of a coupled pair (RFC 9332). The C queue follows its L queue, with the same
            /// parameters; a queue without a partner is coupled to an empty one.
            DualPi2(DualPi2Params, Member),
        }

        impl Discipline {
            /// Name of the kind in the service model.
            pub fn name(&self) -> &'static str {
                match self {
                    Self::Fifo { .. } => "fifo",
                    $(Self::$kind(_) => stringify!($name),)*
                    Self::DualPi2(..) => "dual_pi2",
                }
            }

            /// Whether it queues every packet that fits.
            pub(crate) fn admits(&self) -> bool {
                match self {
                    Self::Fifo { .. } => true,
                    $(Self::$kind(_) => <$aqm as Aqm>::ADMITS,)*
                    Self::DualPi2(..) => false,
                }
            }
        }

        /// State of a queue's discipline.
        #[derive(Clone, Debug, Default)]
        pub(crate) enum State {
            #[default]
            Stateless,
            $($kind($state),)*
            /// Index of its pair.
            DualPi2(u32),
        }

        impl State {
            /// The state of a new queue. `pair` is the index of its pair, if it has one; `stream`
            /// separates its random numbers from those of other queues.
            pub(crate) fn new(discipline: &Discipline, pair: u32, seed: u64, stream: u64) -> Self {
                match discipline {
                    Discipline::Fifo { .. } => Self::Stateless,
                    $(Discipline::$kind(_) => {
                        Self::$kind(<$aqm as Aqm>::new(Rng::new(seed, stream)).into())
                    })*
                    Discipline::DualPi2(..) => Self::DualPi2(pair),
                }
            }

            /// See [`Aqm::advance`].
            #[inline]
            pub(crate) fn advance(&mut self, discipline: &Discipline, now_us: u64) {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => {
                        <$aqm as Aqm>::advance(aqm, params, now_us);
                    })*
                    _ => {}
                }
            }

            /// See [`Aqm::arrives`].
            #[inline]
            pub(crate) fn arrives(
                &mut self,
                discipline: &Discipline,
                arrival: impl FnOnce() -> Arrival,
                now_us: u64,
            ) -> Verdict {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => {
                        <$aqm as Aqm>::arrives(aqm, params, arrival, now_us)
                    })*
                    _ => Verdict::Pass,
                }
            }

            /// See [`Aqm::passes`].
            #[inline]
            pub(crate) fn passes(
                &mut self,
                discipline: &Discipline,
                head: impl Fn() -> Head,
                now_us: u64,
            ) -> bool {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => {
                        <$aqm as Aqm>::passes(aqm, params, &head(), now_us)
                    })*
                    (Discipline::Fifo { .. }, _) => true,
                    _ => false,
                }
            }

            /// See [`Aqm::dequeue`].
            #[inline]
            pub(crate) fn dequeue<Q: AqmQueue>(
                &mut self,
                discipline: &Discipline,
                now_us: u64,
                queue: &mut Q,
            ) -> Option<Q::Item> {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => {
                        <$aqm as Aqm>::dequeue(aqm, params, now_us, queue)
                    })*
                    _ => queue.pop(),
                }
            }

            /// See [`Aqm::arrives_without_room`].
            #[inline]
            pub(crate) fn arrives_without_room(&mut self, backlog_bytes: u64, now_us: u64) {
                match self {
                    $(Self::$kind(aqm) => {
                        <$aqm as Aqm>::arrives_without_room(aqm, backlog_bytes, now_us);
                    })*
                    Self::Stateless | Self::DualPi2(_) => {}
                }
            }

            /// See [`Aqm::overflowed`].
            #[inline]
            pub(crate) fn overflowed(&mut self, discipline: &Discipline, now_us: u64) {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => {
                        <$aqm as Aqm>::overflowed(aqm, params, now_us);
                    })*
                    _ => {}
                }
            }

            /// See [`Aqm::found_empty`].
            #[inline]
            pub(crate) fn found_empty(&mut self, discipline: &Discipline, now_us: u64) {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => {
                        <$aqm as Aqm>::found_empty(aqm, params, now_us);
                    })*
                    _ => {}
                }
            }

            /// A copy for conformance runs, with the state of its pair.
            pub(crate) fn snapshot(&self, pair: impl FnOnce(u32) -> DualPi2) -> AqmState {
                match self {
                    Self::Stateless => AqmState::Stateless,
                    $(Self::$kind(aqm) => AqmState::$kind(<$aqm>::clone(aqm)),)*
                    Self::DualPi2(index) => AqmState::DualPi2(pair(*index)),
                }
            }

            /// Takes over the state of the queue that was here before, if it was of the same kind.
            pub(crate) fn inherit(&mut self, previous: Self) {
                let same = std::mem::discriminant(self) == std::mem::discriminant(&previous);
                // Pairs have their own indices; their state is taken over pair by pair.
                if same && !matches!(self, Self::DualPi2(_)) {
                    *self = previous;
                }
            }
        }

        /// State of a queue's discipline, for conformance runs.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AqmState {
            /// FIFO.
            Stateless,
            $($(#[$doc])* $kind($aqm),)*
            /// DualPI2; the same for both queues of a pair.
            DualPi2(DualPi2),
        }

        impl AqmState {
            /// The state under the names of the discipline's RFC or paper.
            pub fn report(&self, discipline: &Discipline) -> Vec<(&'static str, StateValue)> {
                match (discipline, self) {
                    $((Discipline::$kind(params), Self::$kind(aqm)) => aqm.report(params),)*
                    (Discipline::DualPi2(params, _), Self::DualPi2(pair)) => pair.report(params),
                    _ => Vec::new(),
                }
            }
        }
    };
}

disciplines! {
    /// CoDel (RFC 8289).
    codel => Codel(CodelParams): Codel as Codel,
    /// PIE (RFC 8033).
    pie => Pie(PieParams): Pie as Box<Pie>,
    /// RED (Floyd and Jacobson 1993).
    red => Red(RedParams): Red as Box<Red>,
    /// COBALT (Høiland-Jørgensen et al. 2018).
    cobalt => Cobalt(CodelParams): Cobalt as Box<Cobalt>,
    /// BoDe (abbasloo2019).
    bode => Bode(BodeParams): Bode as Bode,
    /// Immediate marking by a step or ramp (RFC 9332 appendix A.1).
    l4s_marking => L4sMarking(RampParams): Recur as Recur,
    /// CoDel whose delay and target are those of a radio.
    adaptive_codel => AdaptiveCodel(AdaptiveCodelParams): AdaptiveCodel as Box<AdaptiveCodel>,
}

impl Discipline {
    /// The discipline of the queue at `offset` in a set.
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
            v1::QueueDiscipline::Bode { bound_us, spare_bytes } => Self::Bode(BodeParams {
                bound_us: u64::from(bound_us),
                spare_bytes: spare_bytes.map_or(0, u64::from),
            }),
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
            v1::QueueDiscipline::AdaptiveCodel(ref model) => {
                Self::AdaptiveCodel(AdaptiveCodelParams::from_model(model))
            }
        }
    }

    /// Longest wait in a standing queue that a discipline which drops at departure tolerates, µs: the
    /// bound of BoDe, the interval of CoDel (RFC 8289 §4.3). `None` for other kinds.
    pub(crate) fn tolerated_us(&self) -> Option<u64> {
        match self {
            Self::Codel(params) | Self::Cobalt(params) => Some(params.interval_us),
            Self::AdaptiveCodel(params) => Some(params.codel.interval_us),
            Self::Bode(params) => Some(params.bound_us),
            _ => None,
        }
    }

    /// Whether a kind of CoDel signals congestion to this packet's sender by marks.
    pub(crate) fn marks(&self, ecn: Ecn) -> bool {
        match self {
            Self::Codel(params) | Self::Cobalt(params) => {
                (params.ecn && ecn != Ecn::NotEct) || params.is_l4s(ecn)
            }
            Self::AdaptiveCodel(params) => params.codel.ecn && ecn != Ecn::NotEct,
            _ => false,
        }
    }

    /// Which packet a full queue of this kind drops: an AQM drops by its own rules, and refuses
    /// arrivals beyond its limit.
    pub(crate) fn drop_at_limit(&self) -> FifoDrop {
        match self {
            Self::Fifo { drop } => *drop,
            _ => FifoDrop::Tail,
        }
    }
}

/// Configuration of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Identifier in the service model.
    pub id: v1::QueueId,
    /// Discipline and limits.
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
