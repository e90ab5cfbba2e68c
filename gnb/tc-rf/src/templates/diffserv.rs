//! Classes by DSCP.

use e2sm_tc::v1::{Pipeline, QueueDiscipline, QueueSet, QueueWeight, Scheduler};

use super::TemplateParams;
use super::parts::{FIFO, codel, marked, one, osi, queues, run};
use crate::queue::MTU_BYTES;

/// A class of `cake_diffserv`.
struct Tin {
    dscps: &'static [u8],
    weight: u8,
}

/// The four tins of CAKE's `diffserv4` (tc-cake(8)) with the weights they share an unshaped link
/// by: 1, 1/16, 1/2 and 1/4 of best effort. Of the codepoint that `diffserv4` reads as TOS1 or LE,
/// LE stays (RFC 8622).
const TINS: [Tin; 4] = [
    // Best effort: all that no other tin names.
    Tin { dscps: &[], weight: 16 },
    // Bulk: CS1, LE.
    Tin { dscps: &[8, 1], weight: 1 },
    // Video: AF4x, AF3x, CS3, AF2x, CS2, TOS4.
    Tin { dscps: &[34, 36, 38, 26, 28, 30, 24, 18, 20, 22, 16, 4], weight: 8 },
    // Voice: CS7, CS6, EF, VOICE-ADMIT, CS5, CS4.
    Tin { dscps: &[56, 48, 46, 44, 40, 32], weight: 4 },
];

/// Bytes per unit of weight. Small, since a round of all tins is 29 of them, and that is how long
/// a packet may wait for the other tins; 256 is the least that is taken.
const TIN_QUANTUM_BYTES: u32 = 256;

/// CAKE's way with DiffServ (Høiland-Jørgensen et al. 2018 §III): four tins by DSCP that share by
/// weight, in each of them flows by hash and COBALT queues. Unlike CAKE's, the hash within a tin is
/// plain and hosts are not told apart; the shaper's part is the pacer's.
pub fn cake_diffserv(params: &TemplateParams) -> Pipeline {
    let flows = params.flow_queues.div_ceil(TINS.len() as u16).max(1);
    let target = |tin: u16| run(tin * flows, flows);
    let tins = || (0u16..).zip(&TINS).map(|(id, tin)| (target(id), tin));
    let rules =
        tins().flat_map(|(target, tin)| tin.dscps.iter().map(move |&dscp| (marked(dscp), target)));
    let weights =
        tins().map(|(target, tin)| QueueWeight { target, weight: tin.weight, shared: true });
    Pipeline {
        name: "cake_diffserv".to_owned(),
        classifier: osi(rules, target(0)),
        queues: tins()
            .map(|(target, _)| queues(target, QueueDiscipline::Cobalt(codel(params))))
            .collect(),
        scheduler: Scheduler::Weighted {
            quantum_bytes: TIN_QUANTUM_BYTES,
            weights: weights.collect(),
        },
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// DiffServ with bounded delay (abbasloo2019 §VII-C): a BoDe queue per class, in strict priority,
/// and a tail-drop FIFO for what has no delay requirement.
pub fn bode_diffserv(params: &TemplateParams) -> Pipeline {
    let rest = params.bounded.len() as u16;
    let classes = || (0u16..).zip(&params.bounded);
    let rules = classes()
        .flat_map(|(id, class)| class.dscps.iter().map(move |&dscp| (marked(dscp), one(id))));
    let mut sets: Vec<_> = classes()
        .map(|(id, class)| queues(one(id), QueueDiscipline::Bode { bound_us: class.bound_us }))
        .collect();
    // Tail drop at half the buffer, so that the rest cannot take the room of the classes.
    sets.push(QueueSet {
        limit_packets: Some((params.buffer.packets / 2).max(1)),
        limit_bytes: Some((params.buffer.bytes / 2).max(MTU_BYTES)),
        ..queues(one(rest), FIFO)
    });
    Pipeline {
        name: "bode_diffserv".to_owned(),
        classifier: osi(rules, one(rest)),
        queues: sets,
        scheduler: Scheduler::StrictPriority { order: (0..=rest).map(one).collect() },
        pacer: params.pacer,
        buffer: params.buffer,
    }
}
