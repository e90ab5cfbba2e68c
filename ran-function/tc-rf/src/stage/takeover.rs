//! Taking over a backlog that no discipline limited.
//!
//! Drops from the head of a backlog of seconds starve its flow: each lost packet is repaired behind
//! the rest of the backlog, and CoDel's control law, meant to find the rate of drops that keeps a
//! queue short, goes on to raise it all that while (RFC 8289 §5.4: it assumes that the sender reacts
//! within an interval). So a queue is taken over in three steps, by the arrival of the packet at its
//! head:
//! 1. *Inherited*: it was queued when the pipeline took effect. It is forwarded, however late.
//! 2. *Unsignalled*: it arrived while inherited packets were ahead of it, so its sender had no signal
//!    from this pipeline. All of these that are later than an interval are dropped at once, as a
//!    queue beyond its limit is cut (RFC 8290 §4.1): one loss event, repaired behind a short queue. The
//!    last three stay, for duplicate acknowledgements (as in abbasloo2019 §V-C).
//! 3. From there on the discipline decides alone.
//!
//! BoDe keeps an inherited queue in step 1 until a packet at its head is within the bound. A window of
//! seconds comes down to the bound by some five losses, each of which stalls the flow for as long as
//! its queue is; the wait that this avoids is the flow's own, in a queue of its own. So a bound holds
//! at once for flows that begin, and for others when they have been within it.
//!
//! Flows that the discipline signals by marks need none of this: a mark leaves nothing to repair.
//! Packets that are not late are left to the discipline in every step.

use super::{Stage, StageSink};
use crate::arena::Slot;
use crate::queue::{BODE_MIN_PACKETS, Discipline, QueueConfig};
use crate::{DropReason, Packet};

/// Longest wait that step 2 leaves in a queue: the default interval of CoDel, about a round trip
/// (RFC 8289 §4.3). The repair then finds a short queue, and the radio does not run dry before it.
const REPAIR_US: u64 = 100_000;

/// Progress of a takeover, while any queue is in steps 1 or 2.
#[derive(Clone, Debug)]
pub(super) struct Takeover {
    /// What had arrived by this time is inherited.
    since_us: u64,
    queues: Vec<Progress>,
    /// Queues that are not done.
    left: usize,
}

/// Progress of one queue.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// No inherited packet was late so far.
    Begun,
    /// An inherited packet was late; the last such one was forwarded at this time.
    Late {
        forwarded_us: u64,
    },
    Done,
}

impl<P: Packet> Stage<P> {
    /// Whether the disciplines in force tolerate a longer wait of what is queued than new ones.
    pub(crate) fn tolerates_more_than(&self, new: &[QueueConfig]) -> bool {
        let tolerated = new.iter().filter_map(|config| config.rules.discipline.tolerated_us());
        let Some(new_us) = tolerated.min() else { return false };
        let mut backlogged = self.queues.iter().filter(|queue| !queue.backlog.is_empty());
        backlogged.any(|queue| {
            self.rules(queue).discipline.tolerated_us().is_none_or(|old_us| old_us > new_us)
        })
    }

    /// Whether a backlog is being taken over.
    pub(crate) fn is_taking_over(&self) -> bool {
        self.takeover.is_some()
    }

    /// Begins to take over what is queued now.
    pub(crate) fn take_over(&mut self, now_us: u64) {
        let progress = self.queues.iter().map(|queue| match queue.backlog.is_empty() {
            true => Progress::Done,
            false => Progress::Begun,
        });
        let queues: Vec<_> = progress.collect();
        let left = queues.iter().filter(|progress| !matches!(progress, Progress::Done)).count();
        self.takeover = (left > 0).then(|| Box::new(Takeover { since_us: now_us, queues, left }));
    }

    /// The packet that leaves a queue while a backlog is taken over, counted as forwarded. Out of line, for the path of
    /// packets at other times.
    #[cold]
    #[inline(never)]
    pub(super) fn departure_in_takeover(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        let inherited = self.inherited_departure(index, now_us, sink);
        if let Some(slot) = inherited {
            self.count_forwarded(index, slot, now_us);
        }
        let slot = inherited.or_else(|| {
            let first = self.arena.first(&self.queues[index as usize].backlog)?;
            self.departure(index, first, now_us, sink)
        });
        if self.queues[index as usize].backlog.is_empty() {
            self.end_takeover(index);
        }
        slot
    }

    /// Steps 1 and 2: the inherited packet to forward, or `None` if the discipline decides about the
    /// queue as it is now.
    fn inherited_departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        let discipline = self.discipline(index);
        let Some(tolerated_us) = discipline.tolerated_us() else {
            self.end_takeover(index);
            return None;
        };
        let cut_us = tolerated_us.min(REPAIR_US);
        let is_bound = matches!(discipline, Discipline::Bode(_));
        loop {
            let backlog = &self.queues[index as usize].backlog;
            let (head, packet) = self.arena.head_packet(backlog)?;
            let marked = discipline.marks(packet.ecn());
            let sojourn_us = now_us.saturating_sub(head.arrived_us);
            let takeover = self.takeover.as_mut()?;
            let progress = &mut takeover.queues[index as usize];
            match *progress {
                Progress::Done => return None,
                _ if is_bound => {
                    if sojourn_us > tolerated_us {
                        return self.pop(index);
                    }
                    self.end_takeover(index);
                    return None;
                }
                _ if head.arrived_us <= takeover.since_us => {
                    if marked || sojourn_us <= tolerated_us {
                        return None;
                    }
                    *progress = Progress::Late { forwarded_us: now_us };
                    return self.pop(index);
                }
                Progress::Late { forwarded_us } if head.arrived_us <= forwarded_us => {
                    if marked || sojourn_us <= cut_us || backlog.packets <= BODE_MIN_PACKETS {
                        return None;
                    }
                    let slot = self.pop(index)?;
                    self.refuse(index, slot, DropReason::Takeover, now_us, sink);
                }
                Progress::Begun | Progress::Late { .. } => {
                    self.end_takeover(index);
                    return None;
                }
            }
        }
    }

    /// A queue holds nothing any more that a takeover is about.
    fn end_takeover(&mut self, index: u32) {
        let Some(takeover) = &mut self.takeover else { return };
        let progress = &mut takeover.queues[index as usize];
        if !matches!(progress, Progress::Done) {
            *progress = Progress::Done;
            takeover.left -= 1;
            if takeover.left == 0 {
                self.takeover = None;
            }
        }
    }
}
