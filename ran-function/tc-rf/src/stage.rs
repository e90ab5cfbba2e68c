//! Stages 3 to 5 together: the queues of a bearer, the scheduler over them, their shapers, and the
//! bound on all of them.
//!
//! With CoDel queues and [`SchedulerConfig::DeficitRoundRobin`] this is FQ-CoDel (RFC 8290). All
//! operations are O(1) per packet, with three exceptions: earliest deadline first costs O(log n) in the
//! queues that wait; the search of the fattest queue when the buffer overflows is paid once for up
//! to [`DROP_BATCH_PACKETS`] drops; and when a shaper has tokens again, all parked queues
//! are checked, as the scheduler chooses among the queues of a group.

mod discipline;
mod pairs;
mod reconfigure;
mod service_gaps;
mod takeover;
mod touched;

use e2sm_tc::v1::{BufferLimit, Inelastic, Overflow, QueueId};

use crate::arena::{Arena, Backlog, Queued, Slot, Stamp};
use crate::queue::{
    Arrival, Discipline, Head, QueueConfig, QueueRules, Room, State, Verdict, fits, make_room,
};
use crate::scheduler::{Algorithm, Arrived, HeadOfLine, Heads, Place, Scheduler, SchedulerConfig};
use crate::shaper::Shapers;
use crate::stats::{Forwarded, QueueStats, Signalled};
use crate::{BufferStatus, DropReason, Packet};
use pairs::Pairs;
use reconfigure::compile;
use service_gaps::ServiceGaps;
use takeover::Takeover;
use touched::Touched;

/// Most packets dropped at once from the fattest queue (RFC 8290 §4.1).
pub const DROP_BATCH_PACKETS: u32 = 64;
/// Protocol number.
const TCP: u8 = 6;

/// One queue: what each packet touches, in two cache lines of its own, the first of which is all that an
/// arrival needs.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(crate) struct Queue {
    pub(crate) backlog: Backlog,
    pub(crate) aqm: State,
    pub(crate) id: QueueId,
    /// Which of the stage's rules it has; queues of one set share them.
    rules: u16,
    pub(crate) forwarded: Forwarded,
}

const _: () = assert!(size_of::<Queue>() == 128, "a queue has outgrown its cache lines");
const _: () = assert!(std::mem::offset_of!(Queue, forwarded) == 64, "and its first one");

/// Discipline and limits of queues.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    queue: QueueRules,
    admission: Admission,
}

/// Who decides about a packet that arrives and fits into its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// Nobody: it is queued.
    Free,
    /// The discipline of its queue.
    Discipline,
    /// The limit of all queues too, or the scheduler is to know of it.
    Stage,
}

/// The rules of a queue. Most stages have one set of queues, whose rules need no look at the queue.
#[inline]
fn rules_of<'a>(queue: &Queue, rules: &'a [Rules]) -> &'a Rules {
    match rules {
        [only] => only,
        _ => &rules[usize::from(queue.rules)],
    }
}

/// Receives drops and marks of queued packets.
pub(crate) trait StageSink<P> {
    fn dropped(&mut self, queued: Queued<P>, reason: DropReason, now_us: u64);
    fn marked(&mut self, packet: &P, now_us: u64);
}

/// The queues of a bearer with scheduler and shapers.
#[derive(Clone, Debug)]
pub(crate) struct Stage<P> {
    pub(crate) arena: Arena<P>,
    pub(crate) queues: Vec<Queue>,
    signalled: Vec<Signalled>,
    /// Queues with a backlog or statistics, at some time.
    pub(crate) touched: Touched,
    rules: Vec<Rules>,
    /// Queues coupled to each other.
    pub(crate) pairs: Pairs,
    seed: u64,
    pub(crate) scheduler: Scheduler,
    pub(crate) shapers: Shapers,
    /// Queues whose shaper has no tokens.
    parked: Vec<u32>,
    /// Time at which the first of them may send.
    parked_until_us: u64,
    /// Time at which the one shaper of all queues has tokens for the candidate; `u64::MAX` if it is
    /// not waited for.
    held_until_us: u64,
    buffer: BufferLimit,
    /// While a backlog from before the pipeline took effect is worked off.
    takeover: Option<Box<Takeover>>,
    gaps: ServiceGaps,
    /// Whether the bearer carries QoS flows of guaranteed rates only.
    pub(crate) is_gbr: bool,
}

impl<P: Packet> Stage<P> {
    pub(crate) fn new(
        configs: &[QueueConfig],
        scheduler: &SchedulerConfig,
        shapers: Shapers,
        buffer: BufferLimit,
        seed: u64,
    ) -> Self {
        let (queues, rules, pairs) = compile(configs, seed);
        let mut stage = Self {
            arena: Arena::default(),
            scheduler: Scheduler::new(scheduler, queues.len()),
            parked: Vec::with_capacity(queues.len()),
            parked_until_us: u64::MAX,
            held_until_us: u64::MAX,
            signalled: vec![Signalled::default(); queues.len()],
            touched: Touched::new(queues.len()),
            queues,
            rules,
            pairs,
            seed,
            shapers,
            buffer,
            takeover: None,
            gaps: ServiceGaps::default(),
            is_gbr: false,
        };
        stage.note_admission();
        stage
    }

    fn rules(&self, queue: &Queue) -> &QueueRules {
        &rules_of(queue, &self.rules).queue
    }

    /// Notes who decides about arriving packets.
    fn note_admission(&mut self) {
        let of_stage = self.buffer.overflow == Overflow::Tail || self.scheduler.watches_arrivals();
        for rules in &mut self.rules {
            rules.admission = match rules.queue.discipline.admits() {
                _ if of_stage => Admission::Stage,
                true => Admission::Free,
                false => Admission::Discipline,
            };
        }
    }

    /// Queues a packet, or drops it or others by the limits.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        index: usize,
        packet: P,
        stamp: Stamp,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let mut slots = self.arena.slots_with_room();
        let slot = slots.insert(packet, stamp);
        let queue = &mut self.queues[index];
        let rules = rules_of(queue, &self.rules);
        if !fits(&rules.queue, &queue.backlog, slot.len_bytes) {
            return self.enqueue_with_care(index as u32, slot.index, now_us, sink);
        }
        match rules.admission {
            Admission::Free => {}
            Admission::Discipline => {
                let discipline = &rules.queue.discipline;
                if self.pairs.is_due(discipline, &queue.aqm, now_us) {
                    return self.enqueue_with_care(index as u32, slot.index, now_us, sink);
                }
                if !matches!(discipline, Discipline::DualPi2(..)) {
                    let arrival = || Arrival {
                        backlog_bytes: queue.backlog.bytes,
                        len_bytes: slot.len_bytes,
                        ecn: stamp.header.ecn,
                    };
                    let verdict = queue.aqm.arrives(discipline, arrival, now_us);
                    if verdict != Verdict::Pass {
                        let index = index as u32;
                        return self.enqueue_if_admitted(index, slot.index, verdict, now_us, sink);
                    }
                }
            }
            Admission::Stage => {
                return self.enqueue_with_care(index as u32, slot.index, now_us, sink);
            }
        }
        let begins = queue.backlog.is_empty();
        slots.push(&mut queue.backlog, slot);
        if begins {
            self.begin(index as u32, now_us);
        }
        // RFC 8290 §4.1: the limit is checked after the packet was queued.
        if self.exceeds_buffer(0, 0) {
            self.drop_from_fattest(now_us, sink);
        }
    }

    /// A queue has its first packet.
    #[inline]
    fn begin(&mut self, index: u32, now_us: u64) {
        if self.arena.queued.packets == 1 {
            self.gaps.began(now_us);
        }
        self.activate(index);
    }

    /// Puts a queue on the scheduler, if it is not there.
    #[inline(always)]
    fn activate(&mut self, index: u32) {
        if self.scheduler.place(index) == Place::Inactive {
            // A queue that is active has been touched.
            self.touched.add(index);
            self.scheduler.activate(index);
        }
    }

    /// The same for a packet that the discipline marks or drops.
    #[inline(never)]
    fn enqueue_if_admitted(
        &mut self,
        index: u32,
        slot: u32,
        verdict: Verdict,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let slot = self.arena.slot(slot);
        match self.judge_arrival(index, slot, verdict, now_us, sink) {
            Some(reason) => self.refuse(index, slot, reason, now_us, sink),
            None => self.append(index, slot, now_us, sink),
        }
    }

    /// The same where scheduler or limits have a say.
    #[inline(never)]
    fn enqueue_with_care(
        &mut self,
        index: u32,
        slot: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let slot = self.arena.slot(slot);
        if self.scheduler.watches_arrivals() {
            self.show_arrival(index, slot, now_us);
        }
        match self.room(index, slot) {
            Room::Fits => self.admit(index, slot, now_us, sink),
            _ => self.enqueue_at_limit(index, slot, now_us, sink),
        }
    }

    #[inline]
    fn room(&self, index: u32, slot: Slot) -> Room {
        let queue = &self.queues[index as usize];
        make_room(self.rules(queue), &queue.backlog, slot.len_bytes)
    }

    /// The same for a packet that does not fit into its queue as it is.
    #[cold]
    #[inline(never)]
    fn enqueue_at_limit(
        &mut self,
        index: u32,
        slot: Slot,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        loop {
            match self.room(index, slot) {
                Room::Fits => return self.admit(index, slot, now_us, sink),
                Room::DropHead => self.drop_head(index, DropReason::QueueLimit, now_us, sink),
                Room::Refuse => {
                    let reason = DropReason::QueueLimit;
                    return self.overflow_on_arrival(index, slot, reason, now_us, sink);
                }
            }
        }
    }

    /// The same for a packet that its queue has room for.
    #[inline]
    fn admit(&mut self, index: u32, slot: Slot, now_us: u64, sink: &mut impl StageSink<P>) {
        if self.buffer.overflow == Overflow::Tail && self.exceeds_buffer(1, slot.len_bytes) {
            return self.overflow_on_arrival(index, slot, DropReason::BufferLimit, now_us, sink);
        }
        if let Some(reason) = self.arrival(index, slot, now_us, sink) {
            return self.refuse(index, slot, reason, now_us, sink);
        }
        self.append(index, slot, now_us, sink);
    }

    /// Queues a packet that was admitted.
    #[inline(always)]
    fn append(&mut self, index: u32, slot: Slot, now_us: u64, sink: &mut impl StageSink<P>) {
        let backlog = &mut self.queues[index as usize].backlog;
        let begins = backlog.is_empty();
        self.arena.push(backlog, slot);
        if begins {
            self.begin(index, now_us);
        }
        // RFC 8290 §4.1: the limit is checked after the packet was queued.
        if self.exceeds_buffer(0, 0) {
            self.drop_from_fattest(now_us, sink);
        }
    }

    /// Lets the scheduler know of a packet, whether it is then queued or dropped.
    #[inline(never)]
    fn show_arrival(&mut self, index: u32, slot: Slot, now_us: u64) {
        let packet = self.arena.packet(slot);
        let protocol = packet.inner().map_or_else(|| packet.flow(), |inner| inner.flow).protocol;
        let arrived = Arrived {
            now_us,
            len_bytes: slot.len_bytes,
            found_empty: self.queues[index as usize].backlog.is_empty(),
            is_tcp: protocol == TCP,
            dscp: self.arena.stamp(slot).header.dscp,
            qfi: packet.qfi(),
            of_gbr_bearer: self.is_gbr,
        };
        self.scheduler.arrived(index, &arrived);
    }

    /// What the scheduler decided about a queue of an inelastic flow.
    pub(crate) fn inelastic(&self, queue: QueueId) -> Option<Inelastic> {
        let index = self.queues.binary_search_by_key(&queue, |queue| queue.id).ok()?;
        self.scheduler.inelastic(index as u32)
    }

    /// Makes room for packets to come, in one allocation.
    pub(crate) fn reserve(&mut self, packets: usize) {
        self.arena.reserve(packets);
    }

    /// Appends a packet; limits are not checked.
    #[inline]
    pub(crate) fn push(&mut self, index: u32, slot: Slot) {
        self.arena.push(&mut self.queues[index as usize].backlog, slot);
        self.activate(index);
    }

    /// Drops a packet that is in no queue.
    #[cold]
    #[inline(never)]
    fn refuse(
        &mut self,
        index: u32,
        slot: Slot,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        self.signalled_mut(index).dropped_packets += 1;
        sink.dropped(self.arena.take(slot), reason, now_us);
    }

    /// Counters of a queue.
    pub(crate) fn stats(&self, index: usize) -> Option<QueueStats> {
        Some(QueueStats::new(&self.queues.get(index)?.forwarded, self.signalled.get(index)?))
    }

    /// Counters of a queue, which is reported from now on.
    pub(crate) fn signalled_mut(&mut self, index: u32) -> &mut Signalled {
        self.touched.add(index);
        &mut self.signalled[index as usize]
    }

    #[inline]
    fn exceeds_buffer(&self, packets: u32, bytes: u32) -> bool {
        self.arena.queued.packets + packets > self.buffer.packets
            || self.arena.queued.bytes + u64::from(bytes) > u64::from(self.buffer.bytes)
    }

    /// Takes the oldest packet of a queue, whatever its discipline.
    pub(crate) fn pop(&mut self, index: u32) -> Option<Slot> {
        self.arena.pop(&mut self.queues[index as usize].backlog)
    }

    #[inline(never)]
    fn drop_head(
        &mut self,
        index: u32,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        self.advance(index, now_us);
        if let Some(slot) = self.pop(index) {
            self.overflow(index, slot, reason, now_us, sink);
        }
    }

    /// RFC 8290 §4.1: half of the queue with the largest byte count is dropped from its head, at
    /// most 64 packets; "half" is measured in bytes, as Linux does. CoDel's state is left alone,
    /// as in the RFC. Repeated for another queue if that was not enough.
    #[cold]
    #[inline(never)]
    fn drop_from_fattest(&mut self, now_us: u64, sink: &mut impl StageSink<P>) {
        let mut budget = DROP_BATCH_PACKETS;
        while budget > 0 && self.exceeds_buffer(0, 0) {
            let mut fattest = (0, 0);
            for (index, queue) in self.queues.iter().enumerate() {
                if queue.backlog.bytes > fattest.1 {
                    fattest = (index, queue.backlog.bytes);
                }
            }
            let (index, bytes) = (fattest.0 as u32, fattest.1);
            if bytes == 0 {
                return;
            }
            let leave = bytes - bytes / 2;
            loop {
                self.drop_head(index, DropReason::BufferLimit, now_us, sink);
                budget -= 1;
                let backlog = &self.queues[index as usize].backlog;
                if budget == 0 || backlog.bytes <= leave || backlog.is_empty() {
                    break;
                }
            }
        }
    }

    /// The heads of the queues.
    pub(crate) fn heads(&self) -> QueueHeads<'_, P> {
        QueueHeads { arena: &self.arena, queues: &self.queues }
    }

    /// The queue that may send next, with its oldest packet. Empty queues leave the scheduler; queues
    /// whose shaper has no tokens are parked. Idempotent.
    ///
    /// A shaper of all queues parks none of them: the candidate keeps its turn. Parked in turn, each
    /// would leave the scheduler to the next, and weights would not count.
    #[inline]
    pub(crate) fn select(&mut self, now_us: u64) -> Option<Candidate> {
        self.held_until_us = u64::MAX;
        self.resume_parked(now_us);
        loop {
            let heads = || QueueHeads { arena: &self.arena, queues: &self.queues };
            let index = self.scheduler.candidate(heads, now_us)?;
            let queue = &self.queues[index as usize];
            let Some(head) = self.arena.first(&queue.backlog) else {
                self.found_empty(index, now_us);
                self.scheduler.emptied(index);
                continue;
            };
            let ready_us = self.shapers.ready_at_us(index, head.len_bytes, now_us);
            if ready_us <= now_us {
                return Some(Candidate { queue: index, head });
            }
            if self.shapers.one_for_all() {
                self.held_until_us = ready_us;
                return None;
            }
            self.scheduler.park(index);
            self.parked.push(index);
            self.parked_until_us = self.parked_until_us.min(ready_us);
        }
    }

    #[inline]
    fn resume_parked(&mut self, now_us: u64) {
        if now_us >= self.parked_until_us {
            self.check_parked(now_us);
        }
    }

    #[inline(never)]
    fn check_parked(&mut self, now_us: u64) {
        self.parked_until_us = u64::MAX;
        let Self { parked, queues, arena, shapers, scheduler, parked_until_us, .. } = self;
        parked.retain(|&index| {
            let ready_us = arena
                .head(&queues[index as usize].backlog)
                .map_or(now_us, |head| shapers.ready_at_us(index, head.len_bytes, now_us));
            let stays = ready_us > now_us;
            if stays {
                *parked_until_us = (*parked_until_us).min(ready_us);
            } else {
                scheduler.resume(index);
            }
            stays
        });
    }

    /// Time at which the first queue that a shaper holds back may send.
    pub(crate) fn shaped_until_us(&self) -> Option<u64> {
        let until_us = self.parked_until_us.min(self.held_until_us);
        (until_us != u64::MAX).then_some(until_us)
    }

    /// The backlog of queues that no shaper holds back.
    pub(crate) fn unshaped_backlog(&self) -> BufferStatus {
        if self.held_until_us != u64::MAX {
            return BufferStatus::default();
        }
        let parked = self.parked.iter().map(|&index| &self.queues[index as usize].backlog);
        parked.fold(self.arena.queued, |all, backlog| BufferStatus {
            bytes: all.bytes - backlog.bytes,
            packets: all.packets - backlog.packets,
        })
    }

    /// Takes the packet whose turn it is, if `may_send` lets one of its length go: it is asked about the packet
    /// at the head, also where the discipline then drops that one and the next leaves in its place. Returns
    /// what `leave` makes of the index of the queue and the packet.
    #[inline]
    pub(crate) fn dequeue<R>(
        &mut self,
        now_us: u64,
        mut may_send: impl FnMut(u32) -> bool,
        sink: &mut impl StageSink<P>,
        leave: impl FnOnce(u32, Queued<P>) -> R,
    ) -> Option<R> {
        if self.takeover.is_some() || !self.shapers.is_empty() {
            return self.dequeue_with_care(now_us, may_send, sink, leave);
        }
        let Self { arena, queues, rules, scheduler, gaps, .. } = self;
        let Some((drr, links)) = scheduler.drr() else {
            return self.dequeue_with_care(now_us, may_send, sink, leave);
        };
        loop {
            let index = drr.next_queue(links)?;
            let queue = &mut queues[index as usize];
            let discipline = &rules_of(queue, rules).queue.discipline;
            let Queue { backlog, aqm, forwarded, .. } = queue;
            let mut slots = arena.slots();
            let Some(first) = slots.first(backlog) else {
                aqm.found_empty(discipline, now_us);
                drr.emptied(links, index);
                continue;
            };
            let Slot { len_bytes, arrived_us, .. } = first;
            if !may_send(len_bytes) {
                return None;
            }
            gaps.departed(now_us);
            let sojourn_us = now_us.saturating_sub(arrived_us);
            let head = || Head::new(backlog, len_bytes, sojourn_us, gaps.idle_us());
            if aqm.passes(discipline, head, now_us) {
                let slot = slots.pop_first(backlog, first);
                forwarded.count(len_bytes, sojourn_us, now_us);
                drr.served(links, index, len_bytes);
                return Some(leave(index, slots.take(slot)));
            }
            return match self.judged(index, now_us, sink) {
                Some(slot) => Some(leave(index, self.arena.take(slot))),
                None => self.dequeue_with_care(now_us, may_send, sink, leave),
            };
        }
    }

    /// The packet of a queue that its discipline does not let pass as it is.
    #[inline(never)]
    fn judged(&mut self, index: u32, now_us: u64, sink: &mut impl StageSink<P>) -> Option<Slot> {
        let slot = self.judged_departure(index, now_us, sink)?;
        self.scheduler.served(index, slot.len_bytes);
        Some(slot)
    }

    /// The same with any scheduler, shapers, and a backlog that is taken over.
    #[inline(never)]
    fn dequeue_with_care<R>(
        &mut self,
        now_us: u64,
        mut may_send: impl FnMut(u32) -> bool,
        sink: &mut impl StageSink<P>,
        leave: impl FnOnce(u32, Queued<P>) -> R,
    ) -> Option<R> {
        loop {
            let Candidate { queue: index, head } = self.select(now_us)?;
            if !may_send(head.len_bytes) {
                return None;
            }
            self.gaps.departed(now_us);
            let slot = match self.takeover {
                None => self.departure(index, head, now_us, sink),
                Some(_) => self.departure_in_takeover(index, now_us, sink),
            };
            let Some(slot) = slot else { continue };
            self.shapers.spend(index, slot.len_bytes);
            self.scheduler.served(index, slot.len_bytes);
            return Some(leave(index, self.arena.take(slot)));
        }
    }

    /// Age of the oldest packet of all queues.
    pub(crate) fn head_of_line_age_us(&self, now_us: u64) -> u64 {
        self.touched
            .iter()
            .filter_map(|index| self.arena.head(&self.queues[index].backlog))
            .map(|head| now_us.saturating_sub(head.arrived_us))
            .max()
            .unwrap_or(0)
    }

    /// The longest mean sojourn of a queue over the last whole 100 ms.
    pub(crate) fn mean_sojourn_us(&self, now_us: u64) -> u64 {
        let means =
            self.touched.iter().map(|index| self.queues[index].forwarded.sojourn.mean_us(now_us));
        means.max().unwrap_or(0)
    }

    /// Whether a shaper holds a queue back.
    pub(crate) fn is_shaped(&self, index: u32) -> bool {
        let backlog = &self.queues[index as usize].backlog;
        let waits = self.held_until_us != u64::MAX && !backlog.is_empty();
        waits || self.scheduler.place(index) == Place::Parked
    }
}

/// A queue that may send, and its oldest packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) queue: u32,
    pub(crate) head: Slot,
}

/// The heads of the queues, while the rest of the stage may change.
pub(crate) struct QueueHeads<'a, P> {
    arena: &'a Arena<P>,
    queues: &'a [Queue],
}

impl<P> Heads for QueueHeads<'_, P> {
    fn head(&self, queue: u32) -> Option<HeadOfLine> {
        let head = self.arena.head(&self.queues.get(queue as usize)?.backlog)?;
        Some(HeadOfLine { arrived_us: head.arrived_us, sequence: head.sequence })
    }
}
