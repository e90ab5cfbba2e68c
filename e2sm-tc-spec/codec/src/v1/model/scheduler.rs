//! Stages 4 and 6: scheduler and pacer.

use serde::{Deserialize, Serialize};

use super::{QueueId, QueueTarget};

/// Stage 4: which queue next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scheduler {
    /// Packet by packet in turn.
    RoundRobin,
    /// Deficit round robin with new and old lists (RFC 8290 §4).
    DeficitRoundRobin {
        /// Bytes a queue may send per turn.
        quantum_bytes: u32,
    },
    /// Strict priority; queues not listed come last, by id.
    StrictPriority {
        /// Targets from highest to lowest priority.
        order: Vec<QueueTarget>,
    },
    /// Deficit round robin with a weight per queue, or per target whose queues share a turn.
    Weighted {
        /// Bytes per unit of weight and turn.
        quantum_bytes: u32,
        /// Weights, 1..=255; queues not listed weigh 1.
        weights: Vec<QueueWeight>,
    },
    /// The L queue first, unless C has waited `time_shift_us` longer (RFC 9332 §4.2.2); queues
    /// that are neither come after both.
    ConditionalPriority {
        /// L queue.
        l4s: QueueId,
        /// C queue.
        classic: QueueId,
        /// Time shift.
        time_shift_us: u32,
    },
    /// Earliest deadline first: arrival time plus the queue's budget; queues not listed come last.
    EarliestDeadlineFirst {
        /// Delay budget of the queues of each target.
        budgets: Vec<QueueBudget>,
    },
}

/// A weight of the weighted scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueWeight {
    /// Queues.
    pub target: QueueTarget,
    /// Share relative to 1.
    pub weight: u8,
    /// The queues share one turn of this weight, in turn among themselves; otherwise each has a
    /// turn of this weight.
    pub shared: bool,
}

/// A delay budget of the EDF scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueBudget {
    /// Queues.
    pub target: QueueTarget,
    /// Budget.
    pub budget_us: u32,
}

/// Stage 6: how much the RLC buffer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacer {
    /// Everything at once.
    None,
    /// 5G-BDP (reference 24 of irazabal2021, constants of irazabal2024's prototype, its faults mended).
    Bdp5g,
    /// e5G-BDP (irazabal2021, Algorithms 1–3).
    E5gBdp,
    /// DRQL: keep about one MTU in the RLC after each TTI (irazabal2021 §V-D, stolidis2024 §II).
    Drql {
        /// MTU in bytes.
        mtu_bytes: u16,
    },
    /// Dynamic queue limit over a fixed number of bytes in the RLC.
    Dql {
        /// Lowest limit.
        min_bytes: u32,
        /// Highest limit.
        max_bytes: u32,
    },
    /// DynRLC (kumar2018; irazabal2021 §V-D).
    DynRlc {
        /// Update period.
        interval_us: u32,
        /// Delay target.
        target_us: u32,
        /// Fewest SDUs.
        min_sdus: u16,
        /// Most SDUs.
        max_sdus: u16,
        /// α in thousandths.
        alpha_milli: u16,
        /// What is compared with the delay target.
        #[serde(default)]
        metric: DelayMetric,
        /// β in thousandths: the target is β times the mean gap between status PDUs, and
        /// `target_us` until the first gap; `target_us` throughout when absent.
        #[serde(default)]
        status_gap_beta_milli: Option<u32>,
    },
    /// Enhanced bearer buffer, kumar2018's successor.
    Ebb {
        /// Delay target.
        target_us: u32,
    },
    /// Pacing between UPF and SDAP.
    UpfSdap,
    /// By forecast occupancy, limit and drain, minus what is in flight on F1.
    Forecast {
        /// With a forecast that rests on samples older than this, persistence is used.
        stale_us: u32,
    },
    /// 5G-BDP as published in irazabal2024's prototype, bias and all.
    Bdp5gPrototype,
    /// In step with the MAC: packets enter the RLC as each transport block is built.
    JustInTime,
}

/// Delay metric of DynRLC (kumar2018 §III), over the delays of the SDUs that left the RLC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayMetric {
    /// Average since the last update.
    #[default]
    IntervalAverage,
    /// Minimum since the last update.
    IntervalMinimum,
    /// Maximum since the last update.
    IntervalMaximum,
    /// Exponentially weighted moving average of all.
    Ewma,
}
