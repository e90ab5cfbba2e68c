//! Stage 1: `Classifier`.

use crate::error::{DecodeError, EncodeError, Problem};
use crate::v1::model::*;
use crate::v1::per::*;

use super::Id;

sequence!(QueueTarget { first: Id, count: Int<1, 4096> });

choice!(Classifier { ...
    0 round_robin => RoundRobin(QueueTarget),
    1 stochastic_hash => StochasticHash(StochasticHash),
    2 osi => Osi(OsiClassifier),
    3 l4s_ecn => L4sEcn(L4sEcnClassifier),
    4 host_then_flow => HostThenFlow(StochasticHash),
});

sequence!(StochasticHash { ...
    target: QueueTarget,
    perturbation: Opt<U32>,
    ways: Int<1, 64>,
});

sequence!(OsiClassifier { ...
    filters: ListOf<Filter, 0, 256>,
    default: QueueTarget,
});

sequence!(L4sEcnClassifier { ... l4s: QueueTarget, classic: QueueTarget });

sequence!(Filter { ... id: Id, rule: FlowMatch, target: QueueTarget });

sequence!(FlowMatch { ...
    source: Opt<Prefix>,
    destination: Opt<Prefix>,
    source_port: Opt<PortRange>,
    destination_port: Opt<PortRange>,
    protocol: Opt<Int<0, 255>>,
    dscp: Opt<Int<0, 63>>,
    qfi: Opt<Int<0, 63>>,
    ecn: Opt<Ecn>,
});
