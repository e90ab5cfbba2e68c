//! `Pipeline` and stages 2, 3 and 5.

use crate::error::{DecodeError, EncodeError, Problem};
use crate::v1::model::*;
use crate::v1::per::*;

use super::{Id, Name};

sequence!(Pipeline { ...
    name: Name,
    classifier: Classifier,
    queues: ListOf<QueueSet, 1, 256>,
    scheduler: Scheduler,
    pacer: Pacer,
    buffer: BufferLimit,
});

sequence!(QueueSet { ...
    first: Id,
    count: Int<1, 4096>,
    discipline: QueueDiscipline,
    limit_packets: Opt<U32>,
    limit_bytes: Opt<U32>,
    policer: Opt<Policer>,
    shaper: Opt<Shaper>,
});

choice!(QueueDiscipline { ...
    0 fifo => Fifo { drop: FifoDrop },
    1 codel => Codel(Codel),
    2 pie => Pie { target_us: U32, update_us: U32, alpha_milli: U32, beta_milli: U32, ecn: Bool },
    3 red => Red {
        min_bytes: U32,
        max_bytes: U32,
        max_probability_milli: Int<0, 1000>,
        ecn: Bool,
    },
    4 cobalt => Cobalt(Codel),
    5 bode => Bode { bound_us: U32 },
    6 l4s_marking => L4sMarking { threshold_us: U32, ramp_us: U32 },
    7 dual_pi2 => DualPi2 { target_us: U32, update_us: U32, coupling_milli: U32 },
});

enumerated!(FifoDrop { ...
    0 "tail" => Tail,
    1 "head" => Head,
});

sequence!(Codel { ...
    target_us: U32,
    interval_us: U32,
    ecn: Bool,
    ce_threshold_us: Opt<U32>,
    l4s: Bool,
});

sequence!(BufferLimit { ... packets: U32, bytes: U32, overflow: Overflow });

enumerated!(Overflow { ...
    0 "tail" => Tail,
    1 "fattest_head" => FattestHead,
});

sequence!(Policer { ... rate_kbps: U32, burst_bytes: U32, exceed: ExceedAction });

choice!(ExceedAction { ...
    0 drop => Drop(),
    1 deviate => Deviate { queue: Id },
    2 remark => Remark { dscp: Int<0, 63> },
});

sequence!(Shaper { ... rate_kbps: U32, burst_bytes: U32, group: Opt<U16> });
