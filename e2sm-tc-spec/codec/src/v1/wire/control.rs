//! RIC control header, message and outcome.

use crate::error::{DecodeError, EncodeError, Problem};
use crate::v1::model::*;
use crate::v1::per::*;

use super::{Id, Name};

sequence!(ControlHeader { ... style: Int<1, 255>, correlation_id: U32 });

choice!(ControlMessage { ...
    0 transaction => Transaction(Transaction),
    1 lease_renewal => LeaseRenewal(LeaseRenewal),
    2 forecast_feed => ForecastFeed(ForecastFeed),
});

sequence!(Transaction { ...
    bearer: BearerId,
    expected_revision: Opt<U32>,
    lease_ms: Opt<LeaseMs>,
    dry_run: Bool,
    change: PipelineChange,
});

choice!(PipelineChange { ...
    0 replace => Replace(Pipeline),
    1 delta => Delta(ListOf<PipelineEdit, 1, 256>),
    2 safe => Safe(),
});

choice!(PipelineEdit { ...
    0 set_classifier => SetClassifier(Classifier),
    1 add_filter => AddFilter { position: Int<0, 255>, filter: Filter },
    2 remove_filter => RemoveFilter(Id),
    3 add_queues => AddQueues(QueueSet),
    4 modify_queues => ModifyQueues(QueueSet),
    5 remove_queues => RemoveQueues(QueueTarget),
    6 set_scheduler => SetScheduler(Scheduler),
    7 set_pacer => SetPacer(Pacer),
    8 set_buffer => SetBuffer(BufferLimit),
    9 set_name => SetName(Name),
});

sequence!(LeaseRenewal { ... bearer: BearerId, revision: U32, lease_ms: LeaseMs });

sequence!(ForecastFeed { ... bearers: ListOf<BearerForecast, 1, 256> });

sequence!(BearerForecast { ...
    bearer: BearerId,
    origin_us: U64,
    horizon_start_us: U32,
    step_us: U32,
    occupancy_bytes: ListOf<U32, 1, 64>,
    limit_bytes: ListOf<U32, 0, 64>,
    drain_bytes: ListOf<U32, 0, 64>,
});

choice!(ControlOutcome { ...
    0 accepted => Accepted { revision: U32, lease_ms: Opt<LeaseMs> },
    1 refused => Refused {
        cause: Cause,
        element: Utf8<255>,
        detail: Utf8<1023>,
        revision: Opt<U32>,
    },
});

enumerated!(Cause { ...
    0 "unknown_bearer" => UnknownBearer,
    1 "stale_revision" => StaleRevision,
    2 "unknown_queue" => UnknownQueue,
    3 "unknown_filter" => UnknownFilter,
    4 "duplicate_id" => DuplicateId,
    5 "out_of_range" => OutOfRange,
    6 "inconsistent" => Inconsistent,
    7 "unsupported" => Unsupported,
    8 "capacity" => Capacity,
    9 "malformed" => Malformed,
});

/// `LeaseDuration`.
type LeaseMs = Int<1, 0xffff_ffff>;
