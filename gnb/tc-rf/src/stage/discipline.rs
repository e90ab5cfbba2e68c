//! What the disciplines do with packets as they come and go.

use super::{Stage, StageSink};
use crate::arena::Queued;
use crate::queue::{Aqm, CodelQueue, Discipline, Mark, Verdict, bode_drops};
use crate::{DropReason, Ecn, Packet};

impl<P: Packet> Stage<P> {
    /// Discipline of a queue.
    pub(crate) fn discipline(&self, index: u32) -> Discipline {
        self.rules(&self.queues[index as usize]).discipline
    }

    /// Makes up for the updates of a queue's discipline that fell due. It is called before
    /// anything happens to the queue, so each update sees what a timer would have seen.
    pub(super) fn advance(&mut self, index: u32, now_us: u64) {
        match self.discipline(index) {
            Discipline::Pie(params) => {
                if let Aqm::Pie(pie) = &mut self.queues[index as usize].aqm {
                    pie.advance(&params, now_us);
                }
            }
            Discipline::DualPi2(params, _) => {
                let Self { arena, queues, pairs, .. } = self;
                let Aqm::DualPi2(pair) = queues[index as usize].aqm else { return };
                let Some(pair) = pairs.get_mut(pair) else { return };
                let heads_us = pair.queues.map(|queue| {
                    let backlog = &queues[queue? as usize].backlog;
                    arena.head(backlog).map(|head| head.arrived_us)
                });
                pair.state.advance(&params, heads_us, now_us);
            }
            _ => {}
        }
    }

    /// The same for all queues, so that their state can be read.
    pub(crate) fn advance_all(&mut self, now_us: u64) {
        for index in 0..self.queues.len() {
            self.advance(index as u32, now_us);
        }
    }

    /// What the discipline says of a packet that arrives and fits: it is marked here, or the
    /// reason to drop it is returned.
    pub(super) fn arrival(
        &mut self,
        index: u32,
        queued: &mut Queued<P>,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<DropReason> {
        let discipline = self.discipline(index);
        let queue = &mut self.queues[index as usize];
        let (bytes, ecn) = (queue.backlog.bytes, queued.packet.ecn());
        let verdict = match (discipline, &mut queue.aqm) {
            (Discipline::Pie(params), Aqm::Pie(pie)) => pie.arrives(&params, bytes, ecn, now_us),
            (Discipline::Red(params), Aqm::Red(red)) => {
                red.arrives(&params, bytes, queued.len_bytes, ecn, now_us)
            }
            (Discipline::DualPi2(..), _) => {
                self.advance(index, now_us);
                Verdict::Pass
            }
            _ => Verdict::Pass,
        };
        match verdict {
            Verdict::Pass => None,
            Verdict::Drop(reason) => Some(reason),
            Verdict::Mark => {
                self.mark(index, queued, Mark::ControlLaw, now_us, sink);
                None
            }
        }
    }

    /// Drops a packet of this queue for want of room, which some disciplines learn from.
    pub(super) fn overflow(
        &mut self,
        index: u32,
        queued: Queued<P>,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let discipline = self.discipline(index);
        let queue = &mut self.queues[index as usize];
        match (discipline, &mut queue.aqm) {
            (Discipline::Pie(params), Aqm::Pie(pie)) => {
                pie.advance(&params, now_us);
                pie.overflowed();
            }
            (_, Aqm::Red(red)) => red.overflowed(),
            (Discipline::Cobalt(params), Aqm::Cobalt(cobalt)) => {
                cobalt.overflowed(&params, now_us);
            }
            _ => {}
        }
        self.refuse(index, queued, reason, now_us, sink);
    }

    /// Drops an arriving packet for want of room.
    pub(super) fn overflow_on_arrival(
        &mut self,
        index: u32,
        queued: Queued<P>,
        reason: DropReason,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) {
        let queue = &mut self.queues[index as usize];
        if let Aqm::Red(red) = &mut queue.aqm {
            red.average(queue.backlog.bytes, now_us);
        }
        self.overflow(index, queued, reason, now_us, sink);
    }

    /// A queue that was asked for a packet and had none.
    pub(super) fn found_empty(&mut self, index: u32, now_us: u64) {
        let discipline = self.discipline(index);
        match (discipline, &mut self.queues[index as usize].aqm) {
            (_, Aqm::Codel(codel)) => codel.found_empty(),
            (Discipline::Cobalt(params), Aqm::Cobalt(cobalt)) => {
                cobalt.found_empty(&params, now_us);
            }
            _ => {}
        }
    }

    /// The packet that the discipline lets out.
    pub(super) fn departure(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut impl StageSink<P>,
    ) -> Option<Queued<P>> {
        match self.discipline(index) {
            Discipline::Fifo { .. } => self.pop(index),
            Discipline::Codel(params) => self.with_aqm(index, now_us, sink, |aqm, view| {
                let Aqm::Codel(codel) = aqm else { return view.pop() };
                codel.dequeue(&params, now_us, view)
            }),
            Discipline::Cobalt(params) => self.with_aqm(index, now_us, sink, |aqm, view| {
                let Aqm::Cobalt(cobalt) = aqm else { return view.pop() };
                cobalt.dequeue(&params, now_us, view)
            }),
            Discipline::Pie(params) => self.with_aqm(index, now_us, sink, |aqm, view| {
                let queued = view.pop()?;
                if let Aqm::Pie(pie) = aqm {
                    let sojourn_us = view.sojourn_us(&queued);
                    pie.departed(&params, sojourn_us, view.packets() == 0, now_us);
                }
                Some(queued)
            }),
            Discipline::Red(_) => self.with_aqm(index, now_us, sink, |aqm, view| {
                let queued = view.pop()?;
                if let Aqm::Red(red) = aqm {
                    red.departed(view.packets() == 0, now_us);
                }
                Some(queued)
            }),
            Discipline::Bode { bound_us } => self.with_aqm(index, now_us, sink, |_, view| {
                loop {
                    let queued = view.pop()?;
                    if !bode_drops(bound_us, view.sojourn_us(&queued), view.packets()) {
                        return Some(queued);
                    }
                    view.drop(queued, DropReason::Bode);
                }
            }),
            Discipline::L4sMarking(ramp) => self.with_aqm(index, now_us, sink, |aqm, view| {
                let mut queued = view.pop()?;
                if let Aqm::L4sMarking(recur) = aqm
                    && view.ecn(&queued) != Ecn::NotEct
                    && recur.next(ramp.likelihood(view.sojourn_us(&queued)))
                {
                    view.mark(&mut queued, Mark::Threshold);
                }
                Some(queued)
            }),
            Discipline::DualPi2(..) => self.coupled_departure(index, now_us, sink),
        }
    }

    /// One turn of `dualpi2_dequeue` (RFC 9332 appendix A): after a drop nothing comes and the
    /// scheduler is asked again, as by `continue` there.
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
            let (sojourn_us, ecn) = (view.sojourn_us(&queued), view.ecn(&queued));
            let behind = view.packets();
            let Aqm::DualPi2(pair) = aqm else { return Some(queued) };
            let Some(pair) = view.stage.pairs.get_mut(*pair) else { return Some(queued) };
            match pair.state.served(&params, member, ecn, sojourn_us, behind) {
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

    /// Lends a queue's state and the queue to its discipline.
    fn with_aqm<S: StageSink<P>, T>(
        &mut self,
        index: u32,
        now_us: u64,
        sink: &mut S,
        run: impl FnOnce(&mut Aqm, &mut View<'_, P, S>) -> T,
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

/// One queue of the stage as its discipline sees it.
struct View<'a, P, S> {
    stage: &'a mut Stage<P>,
    index: u32,
    now_us: u64,
    sink: &'a mut S,
}

impl<P: Packet, S: StageSink<P>> View<'_, P, S> {
    fn packets(&self) -> u32 {
        self.stage.queues[self.index as usize].backlog.packets
    }
}

impl<P: Packet, S: StageSink<P>> CodelQueue for View<'_, P, S> {
    type Item = Queued<P>;

    fn pop(&mut self) -> Option<Queued<P>> {
        self.stage.pop(self.index)
    }

    fn bytes(&self) -> u64 {
        self.stage.queues[self.index as usize].backlog.bytes
    }

    fn sojourn_us(&self, item: &Queued<P>) -> u64 {
        self.now_us.saturating_sub(item.arrived_us)
    }

    fn ecn(&self, item: &Queued<P>) -> Ecn {
        item.packet.ecn()
    }

    fn mark(&mut self, item: &mut Queued<P>, mark: Mark) {
        self.stage.mark(self.index, item, mark, self.now_us, self.sink);
    }

    fn drop(&mut self, item: Queued<P>, reason: DropReason) {
        self.stage.refuse(self.index, item, reason, self.now_us, self.sink);
    }
}
