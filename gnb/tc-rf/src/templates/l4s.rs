//! L4S traffic in queues of its own.

use e2sm_tc::v1::{
    Classifier, Codel, L4sEcnClassifier, Pipeline, QueueDiscipline, QueueTarget, Scheduler,
};

use super::TemplateParams;
use super::parts::{codel, drr, one, queues, run};

fn by_ecn(l4s: QueueTarget, classic: QueueTarget) -> Classifier {
    Classifier::L4sEcn(L4sEcnClassifier { l4s, classic })
}

/// The DualQ of L4S as irazabal2024 §IV-B composes it: a classifier by ECN (RFC 9331 §5.1), two
/// queues under coupled DualPI2 (RFC 9332), conditional priority and a pacer.
pub fn l4s(params: &TemplateParams) -> Pipeline {
    let pair = QueueDiscipline::DualPi2 {
        target_us: params.classic_target_us,
        update_us: params.classic_update_us,
        coupling_milli: params.coupling_milli,
    };
    Pipeline {
        name: "l4s".to_owned(),
        classifier: by_ecn(one(0), one(1)),
        queues: vec![queues(run(0, 2), pair)],
        scheduler: Scheduler::ConditionalPriority {
            l4s: 0,
            classic: 1,
            time_shift_us: params.time_shift_us,
        },
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// L4S with a queue per flow: ECT(1) and CE packets in queues marked by a step at
/// `l4s_threshold_us`, the rest as in `fq_codel`; all flows of both kinds share by DRR, which does
/// what the coupling does in `l4s`.
pub fn fq_l4s(params: &TemplateParams) -> Pipeline {
    let classic = run(0, params.flow_queues);
    let scalable = run(params.flow_queues, params.flow_queues);
    let step = Codel { ce_threshold_us: Some(params.l4s_threshold_us), l4s: true, ..codel(params) };
    Pipeline {
        name: "fq_l4s".to_owned(),
        classifier: by_ecn(scalable, classic),
        queues: vec![
            queues(classic, QueueDiscipline::Codel(codel(params))),
            queues(scalable, QueueDiscipline::Codel(step)),
        ],
        scheduler: drr(params),
        pacer: params.pacer,
        buffer: params.buffer,
    }
}
