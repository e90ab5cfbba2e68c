//! Calls of a queue's discipline as packets arrive, leave and are dropped.

use super::{Stage, StageSink};
use crate::arena::Queued;
use crate::queue::{AqmQueue, Arrival, Discipline, Mark, Served, State, StateQueue, Verdict};
use crate::{DropReason, Ecn, Packet};

impl<P: Packet> Stage<P> {
    /// Discipline of a queue.
    pub(crate) fn discipline(&self, index: u32) -> Discipline {
        self.rules(&self.queues[index as usize]).discipline
    }

    /// Performs the periodic updates of a queue's discipline that fell due. Called before anything
    /// happens to the queue, so each update reads the state at its due time.
    pub(super) fn advance(&mut self, index: u32, now_us: u64) {
        let discipline = self.discipline(index);
        let Self { arena, queues, pairs, .. } = self;
        let state = &mut queues[index as usize].aqm;
        let (Discipline::DualPi2(params, _), State::DualPi2(pair)) = (discipline, &*state) else {
            return state.advance(&discipline, now_us);
        };
        let Some(pair) = pairs.get_mut(*pair) else { return };
        let heads_us = pair.queues.map(|queue| {
            let backlog = &queues[queue? as usize].backlog;
            arena.head(backlog).map(|head| head.arrived_us)
        });
        pair.state.advance(&params, heads_us, now_us);
    }

    /// The same for all queues, so that their state can be read.
    pub(crate) fn advance_all(&mut self, now_us: u64) {
        for index in 0..self.queues.len() {
            self.advance(index as u32, now_us);
        }
    }

    /// The discipline's decision about a packet that arrives and fits: it is marked here, or the
    /// reason to drop it is returned.
    pub(super) fn arrival(
        &mut self,
        index: u32,
        queued: &mut Queued<P>,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<DropReason> {
        let queue = &mut self.queues[index as usize];
        let discipline = &self.rules[usize::from(queue.rules)].discipline;
        if let Discipline::DualPi2(..) = discipline {
            self.advance(index, now_us);
            return None;
        }
        let arrival = Arrival {
            backlog_bytes: queue.backlog.bytes,
            len_bytes: queued.len_bytes,
            ecn: queued.packet.ecn(),
        };
        match queue.aqm.arrives(discipline, &arrival, now_us) {
            Verdict::Pass => None,
            Verdict::Drop(reason) => Some(reason),
            Verdict::Mark => {
                self.mark(index, queued, Mark::ControlLaw, now_us, sink);
                None
            }
        }
    }

    /// Drops a packet of this queue because a limit was reached.
    pub(super) fn overflow(
        &mut self,
        index: u32,
        queued: Queued<P>,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let discipline = self.discipline(index);
        self.queues[index as usize].aqm.overflowed(&discipline, now_us);
        self.refuse(index, queued, reason, now_us, sink);
    }

    /// Drops an arriving packet because a limit was reached.
    pub(super) fn overflow_on_arrival(
        &mut self,
        index: u32,
        queued: Queued<P>,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let queue = &mut self.queues[index as usize];
        queue.aqm.arrives_without_room(queue.backlog.bytes, now_us);
        self.overflow(index, queued, reason, now_us, sink);
    }

    /// The scheduler selected a queue that is empty.
    pub(super) fn found_empty(&mut self, index: u32, now_us: u64) {
        let discipline = self.discipline(index);
        self.queues[index as usize].aqm.found_empty(&discipline, now_us);
    }

    /// The packet that the discipline dequeues.
    pub(super) fn departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Queued<P>> {
        let discipline = &self.rules(&self.queues[index as usize]).discipline;
        match discipline {
            Discipline::Fifo { .. } => self.pop(index),
            Discipline::DualPi2(..) => self.coupled_departure(index, now_us, sink),
            _ => {
                let discipline = *discipline;
                discipline.dequeue(now_us, &mut View { stage: self, index, now_us, sink })
            }
        }
    }

    /// One turn of `dualpi2_dequeue` (RFC 9332 appendix A): `None` after a drop, and the
    /// scheduler selects again, as by `continue` there.
    fn coupled_departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Queued<P>> {
        self.advance(index, now_us);
        let Discipline::DualPi2(params, member) = self.discipline(index) else { return None };
        self.with_aqm(index, now_us, sink, |aqm, view| {
            let mut queued = view.pop()?;
            let served = Served {
                ecn: view.ecn(&queued),
                sojourn_us: view.sojourn_us(&queued),
                behind_packets: view.packets(),
                service_gap_us: view.service_gap_us(),
            };
            let State::DualPi2(pair) = aqm else { return Some(queued) };
            let Some(pair) = view.stage.pairs.get_mut(*pair) else { return Some(queued) };
            match pair.state.served(&params, member, &served) {
                Verdict::Pass => {}
                Verdict::Mark => view.mark(&mut queued, Mark::ControlLaw),
                Verdict::Drop(reason) => {
                    view.drop(queued, reason);
                    return None;
                }
            }
            Some(queued)
        })
    }

    /// Runs a discipline on a queue; its state is taken out meanwhile.
    #[inline]
    fn with_aqm<S: StageSink<P>, T>(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut S,
        run: impl FnOnce(&mut State, &mut View<'_, P, S>) -> T,
    ) -> T {
        let mut aqm = std::mem::take(&mut self.queues[index as usize].aqm);
        let mut view = View { stage: self, index, now_us, sink };
        let result = run(&mut aqm, &mut view);
        self.queues[index as usize].aqm = aqm;
        result
    }

    /// Counts a mark, and sets CE where it is not set already.
    fn mark(
        &mut self,
        index: u32,
        queued: &mut Queued<P>,
        mark: Mark,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let stats = &mut self.stats[index as usize];
        match mark {
            Mark::ControlLaw => stats.marked_packets += 1,
            Mark::Threshold => stats.threshold_marked_packets += 1,
        }
        if queued.packet.ecn() != Ecn::Ce {
            queued.packet.set_ce();
            sink.marked(&queued.packet, now_us);
        }
    }
}

/// One queue of the stage, as the interface of its discipline.
struct View<'a, P, S> {
    stage: &'a mut Stage<P>,
    index: u32,
    now_us: u64,
    sink: &'a mut S,
}

impl<P: Packet, S: StageSink<P>> StateQueue for View<'_, P, S> {
    #[inline]
    fn state(&mut self) -> &mut State {
        &mut self.stage.queues[self.index as usize].aqm
    }
}

impl<P: Packet, S: StageSink<P>> AqmQueue for View<'_, P, S> {
    type Item = Queued<P>;

    #[inline]
    fn pop(&mut self) -> Option<Queued<P>> {
        self.stage.pop(self.index)
    }

    #[inline]
    fn packets(&self) -> u32 {
        self.stage.queues[self.index as usize].backlog.packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.stage.queues[self.index as usize].backlog.bytes
    }

    #[inline]
    fn sojourn_us(&self, item: &Queued<P>) -> u64 {
        self.now_us.saturating_sub(item.arrived_us)
    }

    #[inline]
    fn len_bytes(&self, item: &Queued<P>) -> u32 {
        item.len_bytes
    }

    #[inline]
    fn idle_us(&self) -> u64 {
        self.stage.gaps.idle_us()
    }

    #[inline]
    fn service_gap_us(&self) -> u64 {
        self.stage.gaps.longest_us()
    }

    #[inline]
    fn ecn(&self, item: &Queued<P>) -> Ecn {
        item.packet.ecn()
    }

    #[inline]
    fn mark(&mut self, item: &mut Queued<P>, mark: Mark) {
        self.stage.mark(self.index, item, mark, self.now_us, self.sink);
    }

    #[inline]
    fn drop(&mut self, item: Queued<P>, reason: DropReason) {
        self.stage.refuse(self.index, item, reason, self.now_us, self.sink);
    }
}
