//! Stages 4 and 6: `Scheduler` and `Pacer`.

use crate::error::{DecodeError, EncodeError, Problem};
use crate::v1::model::*;
use crate::v1::per::*;

use super::Id;

choice!(Scheduler { ...
    0 round_robin => RoundRobin(),
    1 deficit_round_robin => DeficitRoundRobin { quantum_bytes: U32 },
    2 strict_priority => StrictPriority { order: ListOf<QueueTarget, 0, 256> },
    3 weighted => Weighted { quantum_bytes: U32, weights: ListOf<QueueWeight, 0, 256> },
    4 conditional_priority => ConditionalPriority { l4s: Id, classic: Id, time_shift_us: U32 },
    5 earliest_deadline_first => EarliestDeadlineFirst { budgets: ListOf<QueueBudget, 0, 256> },
});

sequence!(QueueWeight { ... target: QueueTarget, weight: Int<1, 255>, shared: Bool });

sequence!(QueueBudget { ... target: QueueTarget, budget_us: U32 });

choice!(Pacer { ...
    0 none => None(),
    1 bdp5g => Bdp5g(),
    2 e5g_bdp => E5gBdp(),
    3 drql => Drql { mtu_bytes: U16 },
    4 dql => Dql { min_bytes: U32, max_bytes: U32 },
    5 dyn_rlc => DynRlc {
        interval_us: U32,
        target_us: U32,
        min_sdus: U16,
        max_sdus: U16,
        alpha_milli: U16,
        metric: DelayMetric,
        status_gap_beta_milli: Opt<U32>,
    },
    6 ebb => Ebb { target_us: U32 },
    7 upf_sdap => UpfSdap(),
    8 forecast => Forecast { stale_us: U32 },
    9 bdp5g_prototype => Bdp5gPrototype(),
    10 just_in_time => JustInTime(),
});

enumerated!(DelayMetric { ...
    0 "interval_average" => IntervalAverage,
    1 "interval_minimum" => IntervalMinimum,
    2 "interval_maximum" => IntervalMaximum,
    3 "ewma" => Ewma,
});
