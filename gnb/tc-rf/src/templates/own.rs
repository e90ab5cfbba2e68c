//! This project's own answer.

use e2sm_tc::v1::{
    Classifier, Codel, L4sEcnClassifier, Pacer, Pipeline, QueueDiscipline, Scheduler,
};

use super::TemplateParams;
use super::parts::{FIFO, codel, queues, run};

/// DRR quantum: a packet of a call (200 to 255 bytes) goes in one turn, one of a download takes five.
/// A sparse flow whose queue has not left the list yet then waits for a fifth of a long packet, not for
/// a whole one; at the rates of a bad radio that is the difference. It is what FQ-CoDel is deployed
/// with below 100 Mbit/s.
const QUANTUM_BYTES: u32 = 300;

/// Each flow in a queue of its own, sparse flows first, and nothing handed down before the MAC builds
/// the block that carries it.
///
/// What a download makes of its own queue harms nobody else then, and the queue is what keeps the
/// radio busy while the rate varies more than a sender can follow: it is left alone, unless
/// `bulk_bound_us` says how long a packet may wait. Senders that understand marks (ECT(1)) are marked
/// from `l4s_threshold_us` on.
pub fn sojourn(params: &TemplateParams) -> Pipeline {
    let classic = run(0, params.flow_queues);
    let scalable = run(params.flow_queues, params.flow_queues);
    let step = Codel { ce_threshold_us: Some(params.l4s_threshold_us), l4s: true, ..codel(params) };
    let bulk = match params.bulk_bound_us {
        Some(bound_us) => QueueDiscipline::Bode { bound_us },
        None => FIFO,
    };
    Pipeline {
        name: "sojourn".to_owned(),
        classifier: Classifier::L4sEcn(L4sEcnClassifier { l4s: scalable, classic }),
        queues: vec![queues(classic, bulk), queues(scalable, QueueDiscipline::Codel(step))],
        scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: QUANTUM_BYTES },
        pacer: Pacer::JustInTime,
        buffer: params.buffer,
    }
}
