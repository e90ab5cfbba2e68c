//! One FIFO.

use e2sm_tc::v1::{BufferLimit, Classifier, Overflow, Pacer, Pipeline, Scheduler};

use super::TemplateParams;
use super::parts::{FIFO, one, queues};

/// One deep FIFO that holds nothing back: what the gNB does without traffic control. The usual
/// safe pipeline.
pub fn transparent() -> Pipeline {
    Pipeline {
        name: "transparent".to_owned(),
        classifier: Classifier::RoundRobin(one(0)),
        queues: vec![queues(one(0), FIFO)],
        scheduler: Scheduler::RoundRobin,
        pacer: Pacer::None,
        buffer: BufferLimit { packets: 65_536, bytes: 64 << 20, overflow: Overflow::Tail },
    }
}

/// One FIFO and a pacer. It moves the queue out of the RLC, where nothing can be done about it;
/// within the bearer every flow still waits for every other.
pub fn bdp_only(params: &TemplateParams) -> Pipeline {
    Pipeline {
        name: "bdp_only".to_owned(),
        pacer: params.pacer,
        buffer: BufferLimit { overflow: Overflow::Tail, ..params.buffer },
        ..transparent()
    }
}
