//! Stages 2, 3 and 5: queues with their policer and shaper.

use serde::{Deserialize, Serialize};

use super::QueueId;

/// `count` equal queues with consecutive ids and the stages bound to each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSet {
    /// Id of the first queue.
    pub first: QueueId,
    /// Number of queues, 1..=4096.
    pub count: u16,
    /// Stage 3.
    pub discipline: QueueDiscipline,
    /// Limit per queue in packets; the buffer limit alone when absent.
    pub limit_packets: Option<u32>,
    /// Limit per queue in bytes; the buffer limit alone when absent.
    pub limit_bytes: Option<u32>,
    /// Stage 2, per queue.
    pub policer: Option<Policer>,
    /// Stage 5, per queue.
    pub shaper: Option<Shaper>,
}

/// Stage 3: queue discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueDiscipline {
    /// First in, first out; which end loses a packet when full.
    Fifo {
        /// Drop policy at the limit.
        drop: FifoDrop,
    },
    /// CoDel (RFC 8289), optionally marking ECN-capable packets instead of dropping them.
    Codel(Codel),
    /// PIE (RFC 8033).
    Pie {
        /// Reference delay.
        target_us: u32,
        /// Update period.
        update_us: u32,
        /// α in thousandths of 1/s.
        alpha_milli: u32,
        /// β in thousandths of 1/s.
        beta_milli: u32,
        /// Mark instead of drop.
        ecn: bool,
    },
    /// RED (Floyd and Jacobson 1993), thresholds in bytes.
    Red {
        /// No drops below.
        min_bytes: u32,
        /// All dropped above.
        max_bytes: u32,
        /// Drop probability at `max_bytes`, in thousandths.
        max_probability_milli: u16,
        /// Mark instead of drop.
        ecn: bool,
    },
    /// COBALT: CoDel with BLUE.
    Cobalt(Codel),
    /// BoDe (abbasloo2019): bounded delay, drop at egress unless fewer than three are queued.
    Bode {
        /// Sojourn bound.
        bound_us: u32,
    },
    /// L4S immediate marking (RFC 9332 §2.4), step at `threshold_us` or ramp up to `ramp_us`.
    L4sMarking {
        /// Marking starts here.
        threshold_us: u32,
        /// Marking is certain here; equal to the threshold for a step.
        ramp_us: u32,
    },
    /// Coupled DualPI2 (RFC 9332); the set must hold two queues, L then C.
    DualPi2 {
        /// PI2 target.
        target_us: u32,
        /// Update period.
        update_us: u32,
        /// Coupling factor k in thousandths.
        coupling_milli: u32,
    },
}

/// Which packet a full FIFO gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FifoDrop {
    /// The arriving one.
    #[default]
    Tail,
    /// The oldest.
    Head,
}

/// CoDel parameters (RFC 8289 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Acceptable standing sojourn time.
    pub target_us: u32,
    /// Sliding window, about a worst-case RTT.
    pub interval_us: u32,
    /// Mark ECN-capable packets instead of dropping them (RFC 8289 §3, RFC 8290 §5.1.3).
    pub ecn: bool,
    /// Mark ECN-capable packets above this sojourn (RFC 8290 §4.2 ce_threshold).
    pub ce_threshold_us: Option<u32>,
    /// ECT(1) packets are marked by `ce_threshold_us` alone and not subject to CoDel.
    pub l4s: bool,
}

/// Stage 2: a token bucket in front of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Committed rate.
    pub rate_kbps: u32,
    /// Bucket depth.
    pub burst_bytes: u32,
    /// What happens to excess packets.
    pub exceed: ExceedAction,
}

/// What a policer does with a packet above the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExceedAction {
    /// Drop it.
    Drop,
    /// Send it to another queue.
    Deviate {
        /// That queue.
        queue: QueueId,
    },
    /// Rewrite its DSCP.
    Remark {
        /// New DSCP, 0..=63.
        dscp: u8,
    },
}

/// Stage 5: a token bucket behind a queue; queues of one group share a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Rate.
    pub rate_kbps: u32,
    /// Bucket depth.
    pub burst_bytes: u32,
    /// Shapers with the same group share one bucket.
    pub group: Option<u16>,
}
