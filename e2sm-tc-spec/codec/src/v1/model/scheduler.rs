//! Stages 4 and 6: scheduler and pacer.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation, ViolationKind, at_least};
use crate::v1::per::*;

use super::{QueueId, QueueTarget};

/// Below 256 bytes DRR takes too many rounds per packet; Linux has the same bound.
const QUANTUM_BYTES: RangeInclusive<u64> = 256..=1 << 20;
/// RFC 791: every host takes datagrams of 68 bytes; jumbo frames end at 9216.
const MTU_BYTES: RangeInclusive<u64> = 68..=9216;
/// A limit below the smallest MTU never takes a packet.
const LIMIT_BYTES: RangeInclusive<u64> = 68..=0xffff_ffff;
/// Range of the part; it leaves at least a tenth to all others.
const PART_MILLI: RangeInclusive<u64> = 1..=900;
/// Delays from the shortest slot (62.5 µs) to a minute.
const DELAY_US: RangeInclusive<u64> = 63..=60_000_000;
/// α of DynRLC: 0 would never move the limit, more than 1 would move it beyond its bounds.
const ALPHA_MILLI: RangeInclusive<u64> = 1..=1_000;
/// β of DynRLC: a threshold below the gap between status PDUs can never be met (kumar2018 §IV).
const BETA_MILLI: RangeInclusive<u64> = 1_000..=100_000;
/// A quantile: a probability of 0 or 1 has none.
pub(super) const LEVEL_MILLI: RangeInclusive<u64> = 1..=999;
/// The RLC is reported at most once per millisecond.
const STALE_US: RangeInclusive<u64> = 1_000..=60_000_000;

choice! {
    /// Stage 4: selects the next queue.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Scheduler { ...
        /// Packet by packet.
        0 round_robin => RoundRobin,
        /// Deficit round robin with new and old lists (RFC 8290 §4).
        1 deficit_round_robin => DeficitRoundRobin {
            /// Bytes a queue may send per turn.
            quantum_bytes: u32 where QUANTUM_BYTES,
        },
        /// Strict priority; unlisted queues come last, by id.
        2 strict_priority => StrictPriority {
            /// Targets from highest to lowest priority.
            order: Vec<QueueTarget> as ListOf<QueueTarget, 0, 256>,
        },
        /// Deficit round robin with a weight per queue, or per target whose queues share a turn.
        3 weighted => Weighted {
            /// Bytes per unit of weight and turn.
            quantum_bytes: u32 where QUANTUM_BYTES,
            /// Weights, 1..=255; unlisted queues have weight 1.
            weights: Vec<QueueWeight> as ListOf<QueueWeight, 0, 256>,
        },
        /// The L queue first, unless C has waited `time_shift_us` longer (RFC 9332 §4.2.2); other
        /// queues come last.
        4 conditional_priority => ConditionalPriority {
            /// L queue.
            l4s: QueueId,
            /// C queue.
            classic: QueueId,
            /// Time shift.
            time_shift_us: u32,
        },
        /// Earliest deadline first: arrival time plus the queue's budget; unlisted queues come last.
        5 earliest_deadline_first => EarliestDeadlineFirst {
            /// Delay budget of the queues of each target.
            budgets: Vec<QueueBudget> as ListOf<QueueBudget, 0, 256>,
        },
        /// Shares below their guaranteed rate first; the rest as in `weighted`, by the weight of the
        /// shares.
        6 guaranteed => Guaranteed {
            /// Bytes per unit of weight and turn of a share, and per turn of a queue in it.
            quantum_bytes: u32 where QUANTUM_BYTES,
            /// Shares; an unlisted queue is a share of weight 1 without a guarantee.
            shares: Vec<QueueShare> as ListOf<QueueShare, 0, 256>,
        },
        ...
        /// Queues of inelastic flows first, while their rates fit a part of what the bearer drains; the rest
        /// as in `deficit_round_robin`.
        0 inelastic_first => InelasticFirst(InelasticFirst),
    }
    check distinct_queues
}

impl Scheduler {
    /// The listed queues with their paths; each must exist and be listed once.
    pub(crate) fn targets(&self) -> Vec<(String, QueueTarget)> {
        fn listed(
            name: &str,
            targets: impl Iterator<Item = QueueTarget>,
            component: &str,
        ) -> Vec<(String, QueueTarget)> {
            let path = |(index, target)| (format!("{name}[{index}]{component}"), target);
            targets.enumerate().map(path).collect()
        }
        match self {
            Self::RoundRobin | Self::DeficitRoundRobin { .. } | Self::InelasticFirst(_) => {
                Vec::new()
            }
            Self::StrictPriority { order } => listed("order", order.iter().copied(), ""),
            Self::Weighted { weights, .. } => {
                listed("weights", weights.iter().map(|weight| weight.target), ".target")
            }
            Self::Guaranteed { shares, .. } => {
                listed("shares", shares.iter().map(|share| share.target), ".target")
            }
            Self::EarliestDeadlineFirst { budgets } => {
                listed("budgets", budgets.iter().map(|budget| budget.target), ".target")
            }
            Self::ConditionalPriority { l4s, classic, .. } => {
                let one = |first| QueueTarget { first, count: 1 };
                vec![("l4s".to_owned(), one(*l4s)), ("classic".to_owned(), one(*classic))]
            }
        }
    }
}

fn distinct_queues(scheduler: &Scheduler) -> Result<(), Violation> {
    match scheduler {
        Scheduler::ConditionalPriority { l4s, classic, .. } if l4s == classic => {
            let element = "conditional_priority.classic";
            Err(ViolationKind::Inconsistent.at(element, "another queue than l4s", classic))
        }
        _ => Ok(()),
    }
}

sequence! {
    /// Inelastic flows before shares are fair.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct InelasticFirst { ...
        /// Bytes a queue may send per turn.
        quantum_bytes: u32 where QUANTUM_BYTES,
        /// Most of what the bearer drains that goes first, thousandths.
        part_milli: u16 as Int<1, 1000> where PART_MILLI,
        /// QoS flows whose packets count as marked, beside those with the DSCPs of inelastic traffic.
        qfis: Vec<u8> as ListOf<Int<0, 63>, 0, 64>,
    }
}

sequence! {
    /// A weight of the weighted scheduler.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueWeight { ...
        /// Queues.
        target: QueueTarget,
        /// Share relative to 1.
        weight: u8 as Int<1, 255>,
        /// The queues share one turn of this weight by round robin; otherwise each has such a turn.
        shared: bool,
    }
}

sequence! {
    /// A share of the guaranteed scheduler: queues that divide one turn by deficit round robin.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueShare { ...
        /// Queues.
        target: QueueTarget,
        /// Share relative to 1.
        weight: u8 as Int<1, 255>,
        /// Rate up to which the share goes before those without or above theirs; none if absent.
        #[serde(default)]
        guarantee: Option<Guarantee>,
    }
}

sequence! {
    /// A guaranteed rate, as a token bucket.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Guarantee { ...
        /// Rate.
        rate_kbps: u32 where POSITIVE,
        /// Bucket depth: what a share may catch up on with priority after it was not served.
        burst_bytes: u32 where POSITIVE,
    }
}

sequence! {
    /// A delay budget of the EDF scheduler.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueBudget { ...
        /// Queues.
        target: QueueTarget,
        /// Budget.
        budget_us: u32 where POSITIVE,
    }
}

choice! {
    /// Stage 6: limits the bytes in the RLC buffer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Pacer { ...
        /// No pacing.
        0 none => None,
        /// 5G-BDP (reference 24 of irazabal2021; constants of irazabal2024's prototype, without its bias).
        1 bdp5g => Bdp5g,
        /// e5G-BDP (irazabal2021, Algorithms 1–3).
        2 e5g_bdp => E5gBdp,
        /// DRQL: about one MTU remains in the RLC after each TTI (irazabal2021 §V-D, stolidis2024 §II).
        3 drql => Drql {
            /// MTU in bytes.
            mtu_bytes: u16 where MTU_BYTES,
        },
        /// Dynamic queue limit over a fixed number of bytes in the RLC.
        4 dql => Dql {
            /// Lowest limit.
            min_bytes: u32,
            /// Highest limit.
            max_bytes: u32 where LIMIT_BYTES,
        },
        /// DynRLC (kumar2018; irazabal2021 §V-D).
        5 dyn_rlc => DynRlc {
            /// Update period.
            interval_us: u32 where DELAY_US,
            /// Delay target.
            target_us: u32 where DELAY_US,
            /// Fewest SDUs.
            min_sdus: u16 where POSITIVE,
            /// Most SDUs.
            max_sdus: u16,
            /// α in thousandths.
            alpha_milli: u16 where ALPHA_MILLI,
            /// Delay that is compared with the target.
            #[serde(default)]
            metric: DelayMetric,
            /// β in thousandths: the target is β times the mean gap between status PDUs, and
            /// `target_us` before the first gap; always `target_us` if absent.
            #[serde(default)]
            status_gap_beta_milli: Option<u32> where BETA_MILLI,
        },
        /// Enhanced bearer buffer, kumar2018's successor.
        6 ebb => Ebb {
            /// Delay target.
            target_us: u32 where DELAY_US,
        },
        /// Pacing between UPF and SDAP.
        7 upf_sdap => UpfSdap,
        /// Forecasts of occupancy, limit and drain, less the bytes in flight on F1-U.
        8 forecast => Forecast {
            /// Maximum age of a forecast's newest sample; persistence is used beyond.
            stale_us: u32 where STALE_US,
        },
        /// 5G-BDP as published in irazabal2024's prototype, with its bias.
        9 bdp5g_prototype => Bdp5gPrototype,
        /// Packets enter the RLC when the MAC builds a transport block.
        10 just_in_time => JustInTime,
        ...
        /// Base stock: as much in flight and in the RLC as drains, with a given probability, until what is
        /// sent now can drain (Arrow, Harris and Marschak 1951; stolidis2024 §III-B has the control loop).
        0 base_stock => BaseStock {
            /// Maximum age of a forecast's newest sample; 5G-BDP is used beyond.
            stale_us: u32 where STALE_US,
            /// The probability p, in thousandths.
            level_milli: u16 where LEVEL_MILLI,
            /// Time within which what is sent leaves the RLC at the median; unlimited if absent.
            bound_us: Option<u32> where DELAY_US,
        },
    }
    check limits_ordered
}

fn limits_ordered(pacer: &Pacer) -> Result<(), Violation> {
    match *pacer {
        Pacer::Dql { min_bytes, max_bytes } => at_least("dql.max_bytes", max_bytes, min_bytes),
        Pacer::DynRlc { min_sdus, max_sdus, .. } => {
            at_least("dyn_rlc.max_sdus", max_sdus, min_sdus)
        }
        _ => Ok(()),
    }
}

enumerated! {
    /// Delay metric of DynRLC (kumar2018 §III), over the delays of the SDUs that left the RLC.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DelayMetric { ...
        /// Average since the last update.
        #[default]
        0 "interval_average" => IntervalAverage,
        /// Minimum since the last update.
        1 "interval_minimum" => IntervalMinimum,
        /// Maximum since the last update.
        2 "interval_maximum" => IntervalMaximum,
        /// Exponentially weighted moving average of all.
        3 "ewma" => Ewma,
    }
}
