//! Calls of a queue's discipline as packets arrive, leave and are dropped.

use super::service_gaps::ServiceGaps;
use super::{Queue, Stage, StageSink};
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
        let discipline = &rules[usize::from(queue.rules)].discipline;
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
        let discipline = &self.rules[usize::from(queue.rules)].discipline;
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
        match queue.aqm.arrives(discipline, arrival, now_us) {
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
        let discipline = &self.rules[usize::from(queue.rules)].discipline;
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
        let Queue { backlog, aqm, rules, forwarded, .. } = &mut self.queues[index as usize];
        let discipline = &self.rules[usize::from(*rules)].discipline;
        let Slot { len_bytes, arrived_us, .. } = first;
        let sojourn_us = now_us.saturating_sub(arrived_us);
        let head = || Head {
            len_bytes,
            sojourn_us,
            behind_packets: backlog.packets - 1,
            behind_bytes: backlog.bytes - u64::from(len_bytes),
            idle_us: self.gaps.idle_us(),
        };
        if aqm.passes(discipline, head, now_us) {
            let slot = self.arena.pop_first(backlog, first);
            forwarded.count(len_bytes, sojourn_us, now_us);
            return Some(slot);
        }
        let slot = self.judged_departure(index, now_us, sink)?;
        self.count_forwarded(index, slot, now_us);
        Some(slot)
    }

    #[inline]
    pub(super) fn count_forwarded(&mut self, index: u32, slot: Slot, now_us: u64) {
        let sojourn_us = now_us.saturating_sub(slot.arrived_us);
        self.queues[index as usize].forwarded.count(slot.len_bytes, sojourn_us, now_us);
    }

    /// The same where the discipline may mark or drop.
    #[inline(never)]
    fn judged_departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        let Queue { backlog, aqm, rules, .. } = &mut self.queues[index as usize];
        let discipline = &self.rules[usize::from(*rules)].discipline;
        if let Discipline::DualPi2(..) = discipline {
            return self.coupled_departure(index, now_us, sink);
        }
        let mut view = View {
            arena: &mut self.arena,
            backlog,
            signalled: &mut self.signalled,
            index,
            gaps: &self.gaps,
            now_us,
            sink,
        };
        aqm.dequeue(discipline, now_us, &mut view)
    }

    /// One turn of `dualpi2_dequeue` (RFC 9332 appendix A): `None` after a drop, and the
    /// scheduler selects again, as by `continue` there.
    fn coupled_departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Slot> {
        self.advance(index, now_us);
        let Queue { backlog, aqm, rules, .. } = &mut self.queues[index as usize];
        let slot = self.arena.pop(backlog)?;
        let (Discipline::DualPi2(params, member), State::DualPi2(pair)) =
            (&self.rules[usize::from(*rules)].discipline, aqm)
        else {
            return Some(slot);
        };
        let Some(pair) = self.pairs.get_mut(*pair) else { return Some(slot) };
        let served = Served {
            ecn: self.arena.packet(slot).ecn(),
            sojourn_us: now_us.saturating_sub(slot.arrived_us),
            behind_packets: backlog.packets,
            service_gap_us: self.gaps.longest_us(),
        };
        match pair.state.served(params, *member, &served) {
            Verdict::Pass => Some(slot),
            Verdict::Mark => {
                let signalled = &mut self.signalled[index as usize];
                mark(self.arena.packet_mut(slot), signalled, Mark::ControlLaw, now_us, sink);
                Some(slot)
            }
            Verdict::Drop(reason) => {
                self.refuse(index, slot, reason, now_us, sink);
                None
            }
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
