//! Stages 2, 3 and 5: queues with their policer and shaper.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation, ViolationKind, at_least};
use crate::v1::per::*;

use super::QueueId;

/// Delays: up to ten seconds.
const DELAY_US: RangeInclusive<u64> = 1..=10_000_000;
/// Update periods: up to a second.
const UPDATE_US: RangeInclusive<u64> = 1..=1_000_000;
/// Gains of PIE: up to 1000/s (RFC 8033 §4.2: 0.125 and 1.25). α is positive, because only α
/// applies the target.
const ALPHA_MILLI: RangeInclusive<u64> = 1..=1_000_000;
const BETA_MILLI: RangeInclusive<u64> = 0..=1_000_000;
/// Coupling factors: up to 100 (RFC 9332 §2.1: 2). With 0 the L queue would starve C.
const COUPLING_MILLI: RangeInclusive<u64> = 1..=100_000;

sequence! {
    /// `count` equal queues with consecutive ids and the stages bound to each.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueSet { ...
        /// Id of the first queue.
        first: QueueId,
        /// Number of queues, 1..=4096.
        count: u16 as Int<1, 4096>,
        /// Stage 3.
        discipline: QueueDiscipline,
        /// Limit per queue in packets; if absent, only the buffer limit applies.
        limit_packets: Option<u32> where POSITIVE,
        /// Limit per queue in bytes; if absent, only the buffer limit applies.
        limit_bytes: Option<u32> where POSITIVE,
        /// Stage 2, per queue.
        policer: Option<Policer>,
        /// Stage 5, per queue.
        shaper: Option<Shaper>,
    }
    check paired
}

fn paired(set: &QueueSet) -> Result<(), Violation> {
    if matches!(set.discipline, QueueDiscipline::DualPi2 { .. }) && set.count != 2 {
        let expected = "two queues, L then C, for dual_pi2";
        return Err(ViolationKind::Inconsistent.at("count", expected, set.count));
    }
    Ok(())
}

choice! {
    /// Stage 3: queue discipline.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum QueueDiscipline { ...
        /// First in, first out.
        0 fifo => Fifo {
            /// Drop policy at the limit.
            drop: FifoDrop,
        },
        /// CoDel (RFC 8289), optionally marking ECN-capable packets instead of dropping them.
        1 codel => Codel(Codel),
        /// PIE (RFC 8033).
        2 pie => Pie {
            /// Reference delay.
            target_us: u32 where DELAY_US,
            /// Update period.
            update_us: u32 where UPDATE_US,
            /// α in thousandths of 1/s.
            alpha_milli: u32 where ALPHA_MILLI,
            /// β in thousandths of 1/s.
            beta_milli: u32 where BETA_MILLI,
            /// Mark instead of drop.
            ecn: bool,
        },
        /// RED (Floyd and Jacobson 1993), thresholds in bytes.
        3 red => Red {
            /// No drops below this average.
            min_bytes: u32,
            /// All packets are dropped above this average.
            max_bytes: u32,
            /// Drop probability at `max_bytes`, in thousandths.
            max_probability_milli: u16 as Int<0, 1000>,
            /// Mark instead of drop.
            ecn: bool,
        },
        /// COBALT: CoDel with BLUE.
        4 cobalt => Cobalt(Codel),
        /// BoDe (abbasloo2019): bounded delay, drop at egress unless fewer than three are queued.
        5 bode => Bode {
            /// Sojourn bound.
            bound_us: u32 where DELAY_US,
            /// A queue with fewer bytes than this behind the packet keeps it, however late.
            spare_bytes: Option<u32>,
        },
        /// L4S immediate marking (RFC 9332 §2.4), step at `threshold_us` or ramp up to `ramp_us`.
        6 l4s_marking => L4sMarking {
            /// No marks below this sojourn time.
            threshold_us: u32 where 0..=10_000_000,
            /// All packets are marked at this sojourn time; equal to the threshold for a step.
            ramp_us: u32 where 0..=10_000_000,
        },
        /// Coupled DualPI2 (RFC 9332); the set must hold two queues, L then C.
        7 dual_pi2 => DualPi2 {
            /// PI2 target.
            target_us: u32 where DELAY_US,
            /// Update period.
            update_us: u32 where UPDATE_US,
            /// Coupling factor k in thousandths.
            coupling_milli: u32 where COUPLING_MILLI,
        },
        ...
        /// CoDel whose delay and target are those of a radio.
        0 adaptive_codel => AdaptiveCodel(AdaptiveCodel),
    }
    check thresholds_ordered
}

fn thresholds_ordered(discipline: &QueueDiscipline) -> Result<(), Violation> {
    match *discipline {
        QueueDiscipline::Red { min_bytes, max_bytes, .. } => {
            at_least("red.max_bytes", max_bytes, u64::from(min_bytes) + 1)
        }
        QueueDiscipline::L4sMarking { threshold_us, ramp_us } => {
            at_least("l4s_marking.ramp_us", ramp_us, threshold_us)
        }
        _ => Ok(()),
    }
}

enumerated! {
    /// Packet that a full FIFO drops.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum FifoDrop { ...
        /// The arriving one.
        #[default]
        0 "tail" => Tail,
        /// The oldest.
        1 "head" => Head,
    }
}

sequence! {
    /// CoDel parameters (RFC 8289 §4).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Codel { ...
        /// Acceptable standing sojourn time.
        target_us: u32 where DELAY_US,
        /// Sliding window, about a worst-case RTT.
        interval_us: u32 where DELAY_US,
        /// Mark ECN-capable packets instead of dropping them (RFC 8289 §3, RFC 8290 §5.1.3).
        ecn: bool,
        /// Mark ECN-capable packets above this sojourn (RFC 8290 §4.2 ce_threshold). If absent, `l4s`
        /// marks above 2 ms and the longest recent gap between departures from the bearer.
        ce_threshold_us: Option<u32>,
        /// ECT(1) packets are marked by that step alone and not subject to CoDel.
        l4s: bool,
    }
    check codel_parameters
}

sequence! {
    /// CoDel by what a good radio drains, with a target that keeps the radio busy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AdaptiveCodel { ...
        /// Least target of CoDel.
        target_us: u32 where DELAY_US,
        /// Longest target.
        max_target_us: u32 where DELAY_US,
        /// Sliding window, about a worst-case RTT.
        interval_us: u32 where DELAY_US,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool,
        /// Longest wait of senders that do not react; if absent, unlimited.
        bound_us: Option<u32> where DELAY_US,
    }
    check adaptive_codel_parameters
}

fn adaptive_codel_parameters(codel: &AdaptiveCodel) -> Result<(), Violation> {
    at_least("max_target_us", codel.max_target_us, codel.target_us)?;
    at_least("interval_us", codel.interval_us, codel.target_us)?;
    match codel.bound_us {
        Some(bound_us) => at_least("bound_us", bound_us, codel.max_target_us),
        None => Ok(()),
    }
}

fn codel_parameters(codel: &Codel) -> Result<(), Violation> {
    at_least("interval_us", codel.interval_us, codel.target_us)
}

sequence! {
    /// Stage 2: a token bucket in front of a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Policer { ...
        /// Committed rate.
        rate_kbps: u32 where POSITIVE,
        /// Bucket depth.
        burst_bytes: u32 where POSITIVE,
        /// Action on excess packets.
        exceed: ExceedAction,
    }
}

choice! {
    /// Action on a packet above the policer's rate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum ExceedAction { ...
        /// Drop it.
        0 drop => Drop,
        /// Send it to another queue.
        1 deviate => Deviate {
            /// That queue.
            queue: QueueId,
        },
        /// Rewrite its DSCP.
        2 remark => Remark {
            /// New DSCP, 0..=63.
            dscp: u8 as Int<0, 63>,
        },
    }
}

sequence! {
    /// Stage 5: a token bucket behind a queue; queues of one group share a bucket.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Shaper { ...
        /// Rate.
        rate_kbps: u32 where POSITIVE,
        /// Bucket depth.
        burst_bytes: u32 where POSITIVE,
        /// Shapers with the same group share one bucket.
        group: Option<u16>,
    }
}
