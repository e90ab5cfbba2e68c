//! Flows that somebody named, apart from the rest.

use e2sm_tc::v1::{Pipeline, QueueDiscipline, QueueSet, Scheduler};

use super::parts::{FIFO, codel, drr, exactly, one, osi, queues, run};
use super::{Slice, TemplateParams};

/// The greedy flows in a second CoDel queue (irazabal2024 §V-C, the game case). The queues are
/// served by DRR where the paper has packet round robin, which favours the longer packets.
pub fn segregate_greedy(params: &TemplateParams) -> Pipeline {
    let filters = params.greedy.iter().map(exactly);
    Pipeline {
        name: "segregate_greedy".to_owned(),
        classifier: osi(filters.map(|rule| (rule, one(1))), one(0)),
        queues: vec![queues(run(0, 2), QueueDiscipline::Codel(codel(params)))],
        scheduler: drr(params),
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// A FIFO per slice, in turn, each with its shaper (irazabal2024 §V-B); queue 0 has the rest.
/// Where there are greedy flows but no slices, the greedy flows are the slice.
pub fn flow_slicing(params: &TemplateParams) -> Pipeline {
    let greedy = Slice { matches: params.greedy.iter().map(exactly).collect(), shaper: None };
    let slices = match params.slices.as_slice() {
        [] if !params.greedy.is_empty() => std::slice::from_ref(&greedy),
        slices => slices,
    };
    let rules = (1..)
        .zip(slices)
        .flat_map(|(id, slice)| slice.matches.iter().map(move |rule| (rule.clone(), one(id))));
    let mut sets = vec![queues(one(0), FIFO)];
    sets.extend(
        (1..)
            .zip(slices)
            .map(|(id, slice)| QueueSet { shaper: slice.shaper, ..queues(one(id), FIFO) }),
    );
    Pipeline {
        name: "flow_slicing".to_owned(),
        classifier: osi(rules, one(0)),
        queues: sets,
        scheduler: Scheduler::RoundRobin,
        pacer: params.pacer,
        buffer: params.buffer,
    }
}
