//! Calls of a queue's discipline as packets arrive, leave and are dropped.

use super::service_gaps::ServiceGaps;
use super::{Queue, Stage, StageSink, rules_of};
use crate::arena::{Arena, Backlog, Slot};
use crate::queue::{AqmQueue, Arrival, Discipline, Head, Mark, Served, State, Verdict};
use crate::stats::Signalled;
use crate::{DropReason, Ecn, Packet};

impl<P: Packet> Stage<P> {
    /// Discipline of a queue.
    pub(crate) fn discipline(&self, index: u32) -> Discipline {
        self.rules(&self.queues[index as usize]).discipline
    }

    /// Performs the periodic updates of a queue's discipline that fell due. Called before anything
    /// happens to the queue, so each update reads the state at its due time.
    #[inline]
    pub(super) fn advance(&mut self, index: u32, now_us: u64) {
        let Self { arena, queues, pairs, rules, .. } = self;
        let queue = &mut queues[index as usize];
        let discipline = &rules_of(queue, rules).queue.discipline;
        let (Discipline::DualPi2(params, _), State::DualPi2(pair)) = (discipline, &queue.aqm)
        else {
            return queue.aqm.advance(discipline, now_us);
        };
        let Some(pair) = pairs.get_mut(*pair) else { return };
        let members = pair.queues;
        let arrived_us = |queue: Option<u32>| {
            arena.head(&queues[queue? as usize].backlog).map(|head| head.arrived_us)
        };
        pair.state.advance(params, || members.map(arrived_us), now_us);
    }

    /// The same for all queues, so that their state can be read.
    pub(crate) fn advance_all(&mut self, now_us: u64) {
        for index in 0..self.queues.len() {
            self.advance(index as u32, now_us);
        }
    }

    /// The discipline's decision about a packet that arrives and fits: it is marked here, or the
    /// reason to drop it is returned.
    #[inline]
    pub(super) fn arrival(
        &mut self,
        index: u32,
        slot: Slot,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<DropReason> {
        let queue = &mut self.queues[index as usize];
        let discipline = &rules_of(queue, &self.rules).queue.discipline;
        if let Discipline::DualPi2(..) = discipline {
            self.advance(index, now_us);
            return None;
        }
        let (backlog_bytes, arena) = (queue.backlog.bytes, &self.arena);
        let arrival = move || Arrival {
            backlog_bytes,
            len_bytes: slot.len_bytes,
            ecn: arena.packet(slot).ecn(),
        };
        let verdict = queue.aqm.arrives(discipline, arrival, now_us);
        self.judge_arrival(index, slot, verdict, now_us, sink)
    }

    /// Marks an arriving packet, or returns the reason to drop it.
    #[inline]
    pub(super) fn judge_arrival(
        &mut self,
        index: u32,
        slot: Slot,
        verdict: Verdict,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<DropReason> {
        match verdict {
            Verdict::Pass => None,
            Verdict::Drop(reason) => Some(reason),
            Verdict::Mark => {
                let signalled = &mut self.signalled[index as usize];
                mark(self.arena.packet_mut(slot), signalled, Mark::ControlLaw, now_us, sink);
                None
            }
        }
    }

    /// Drops a packet of this queue because a limit was reached.
    pub(super) fn overflow(
        &mut self,
        index: u32,
        slot: Slot,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let discipline = self.discipline(index);
        self.queues[index as usize].aqm.overflowed(&discipline, now_us);
        self.refuse(index, slot, reason, now_us, sink);
    }

    /// Drops an arriving packet because a limit was reached.
    #[cold]
    #[inline(never)]
    pub(super) fn overflow_on_arrival(
        &mut self,
        index: u32,
        slot: Slot,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let queue = &mut self.queues[index as usize];
        queue.aqm.arrives_without_room(queue.backlog.bytes, now_us);
        self.overflow(index, slot, reason, now_us, sink);
    }

    /// The scheduler selected a queue that is empty.
    #[inline]
    pub(super) fn found_empty(&mut self, index: u32, now_us: u64) {
        let queue = &mut self.queues[index as usize];
        let discipline = &rules_of(queue, &self.rules).queue.discipline;
        queue.aqm.found_empty(discipline, now_us);
    }

    /// The packet that the discipline dequeues, counted as forwarded; `first` is the oldest of the queue.
    #[inline]
    pub(super) fn departure(
        &mut self,
        index: u32,
        first: Slot,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        let queue = &mut self.queues[index as usize];
        let discipline = &rules_of(queue, &self.rules).queue.discipline;
        let Queue { backlog, aqm, forwarded, .. } = queue;
        let Slot { len_bytes, arrived_us, .. } = first;
        let sojourn_us = now_us.saturating_sub(arrived_us);
        let head = || Head::new(backlog, len_bytes, sojourn_us, self.gaps.idle_us());
        if aqm.passes(discipline, head, now_us) {
            let slot = self.arena.pop_first(backlog, first);
            forwarded.count(len_bytes, sojourn_us, now_us);
            return Some(slot);
        }
        self.judged_departure(index, now_us, sink)
    }

    #[inline]
    pub(super) fn count_forwarded(&mut self, index: u32, slot: Slot, now_us: u64) {
        let sojourn_us = now_us.saturating_sub(slot.arrived_us);
        self.queues[index as usize].forwarded.count(slot.len_bytes, sojourn_us, now_us);
    }

    /// The same where the discipline may mark or drop.
    #[inline(always)]
    pub(super) fn judged_departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        let queue = &mut self.queues[index as usize];
        let discipline = &rules_of(queue, &self.rules).queue.discipline;
        if let (Discipline::DualPi2(..), State::DualPi2(_)) = (discipline, &queue.aqm) {
            return self.coupled_departure(index, now_us, sink);
        }
        let Queue { backlog, aqm, .. } = queue;
        let mut view = View {
            arena: &mut self.arena,
            backlog,
            signalled: &mut self.signalled,
            index,
            gaps: &self.gaps,
            now_us,
            sink,
        };
        let slot = aqm.dequeue(discipline, now_us, &mut view)?;
        self.count_forwarded(index, slot, now_us);
        Some(slot)
    }

    /// One turn of `dualpi2_dequeue` (RFC 9332 appendix A): `None` after a drop, and the
    /// scheduler selects again, as by `continue` there.
    #[inline(always)]
    fn coupled_departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        let mut is_advanced = false;
        loop {
            let Self { arena, queues, rules, pairs, gaps, .. } = self;
            let queue = &mut queues[index as usize];
            let Discipline::DualPi2(params, member) = &rules_of(queue, rules).queue.discipline
            else {
                return None;
            };
            let Queue { backlog, aqm: State::DualPi2(pair), forwarded, .. } = queue else {
                return None;
            };
            let pair = pairs.get_mut(*pair)?;
            if !is_advanced && pair.state.is_due(params, now_us) {
                self.advance(index, now_us);
                is_advanced = true;
                continue;
            }
            let mut slots = arena.slots();
            let first = slots.first(backlog)?;
            let slot = slots.pop_first(backlog, first);
            let sojourn_us = now_us.saturating_sub(slot.arrived_us);
            let served = Served {
                ecn: slots.packet(slot).ecn(),
                sojourn_us,
                behind_packets: backlog.packets,
                service_gap_us: gaps.longest_us(),
            };
            let verdict = pair.state.served(params, *member, &served);
            if let Verdict::Drop(reason) = verdict {
                self.refuse(index, slot, reason, now_us, sink);
                return None;
            }
            forwarded.count(slot.len_bytes, sojourn_us, now_us);
            if verdict == Verdict::Mark {
                let signalled = &mut self.signalled[index as usize];
                mark(slots.packet_mut(slot), signalled, Mark::ControlLaw, now_us, sink);
            }
            return Some(slot);
        }
    }
}

/// Counts a mark, and sets CE where it is not set already.
fn mark<P: Packet>(
    packet: &mut P,
    signalled: &mut Signalled,
    mark: Mark,
    now_us: u64,
    sink: &mut impl StageSink<P>,
) {
    match mark {
        Mark::ControlLaw => signalled.marked_packets += 1,
        Mark::Threshold => signalled.threshold_marked_packets += 1,
    }
    if packet.ecn() != Ecn::Ce {
        packet.set_ce();
        sink.marked(packet, now_us);
    }
}

/// One queue of the stage, as the interface of its discipline. Items are slots of packets.
struct View<'a, P, S> {
    arena: &'a mut Arena<P>,
    backlog: &'a mut Backlog,
    signalled: &'a mut [Signalled],
    index: u32,
    gaps: &'a ServiceGaps,
    now_us: u64,
    sink: &'a mut S,
}

impl<P: Packet, S: StageSink<P>> AqmQueue for View<'_, P, S> {
    type Item = Slot;

    #[inline]
    fn pop(&mut self) -> Option<Slot> {
        self.arena.pop(self.backlog)
    }

    #[inline]
    fn packets(&self) -> u32 {
        self.backlog.packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }

    #[inline]
    fn sojourn_us(&self, item: &Slot) -> u64 {
        self.now_us.saturating_sub(item.arrived_us)
    }

    #[inline]
    fn len_bytes(&self, item: &Slot) -> u32 {
        item.len_bytes
    }

    #[inline]
    fn idle_us(&self) -> u64 {
        self.gaps.idle_us()
    }

    #[inline]
    fn service_gap_us(&self) -> u64 {
        self.gaps.longest_us()
    }

    #[inline]
    fn ecn(&self, item: &Slot) -> Ecn {
        self.arena.packet(*item).ecn()
    }

    fn mark(&mut self, item: &mut Slot, mark: Mark) {
        let signalled = &mut self.signalled[self.index as usize];
        self::mark(self.arena.packet_mut(*item), signalled, mark, self.now_us, self.sink);
    }

    fn drop(&mut self, item: Slot, reason: DropReason) {
        self.signalled[self.index as usize].dropped_packets += 1;
        self.sink.dropped(self.arena.take(item), reason, self.now_us);
    }
}
