//! The pipeline of one bearer: packets through the six stages.

mod ledger;
mod transaction;

use e2sm_tc::v1::{
    self, BearerForecast, BearerId, BearerQos, ByDefault, Cause, FlowInventory, Pipeline,
    PipelineStatus,
};
use tc_pipelines::limits::check_forecast;

use crate::arena::{Queued, Stamp};
use crate::classifier::{Arrival, Classifier, Header};
use crate::flow_inventory::Inventory;
use crate::hash::HashKey;
use crate::lease::Lease;
use crate::pacer::Pacer;
use crate::plan::Plan;
use crate::policer::{Policer, Verdict};
use crate::stage::{Stage, StageSink};
use crate::status::{self, ReportCursor};
use crate::{
    BlockRoom, BufferStatus, DropReason, Ecn, EventSink, Packet, PipelineError, RlcStatus,
};
use ledger::{Ledger, Totals};

/// Traffic control of one (UE, DRB).
///
/// Time is virtual µs and must not go backwards. Call [`egress`](Self::egress) after packets
/// arrived, after an RLC status, and at [`next_deadline_us`](Self::next_deadline_us).
#[derive(Clone, Debug)]
pub struct TrafficControl<P> {
    bearer: BearerId,
    /// What the node knows of the bearer.
    qos: Option<BearerQos>,
    /// Revision and rule of the node default that the pipeline in force comes from, and since when.
    by_default: Option<(u32, u8, u64)>,
    /// Pipeline in force before any control.
    initial: Pipeline,
    /// What returns when a lease ends.
    safe: Pipeline,
    current: Pipeline,
    /// Digest of the pipeline in force.
    digest: Option<u32>,
    in_safe: bool,
    /// Who installed the pipeline in force, if it is not the safe one.
    owner: Option<String>,
    revision: u32,
    lease: Lease,
    key: HashKey,
    classifier: Classifier,
    policers: Vec<Option<Policer>>,
    stage: Stage<P>,
    pacer: Pacer,
    inventory: Inventory,
    totals: Totals,
    /// Whether a forecast decided when that was last reported.
    by_forecast: bool,
    /// Packets ever recalled; those recalled next precede all of them.
    recalled: u64,
}

/// Revision of the initial pipeline.
const FIRST_REVISION: u32 = 1;
/// Sequence number of the first arrival; recalled packets have lower ones.
const FIRST_SEQUENCE: u64 = 1 << 63;

/// Whether QoS flows of a 5QI have a guaranteed rate (TS 23.501 table 5.7.4-1).
fn has_gbr(five_qi: &u8) -> bool {
    matches!(five_qi, 1..=4 | 65..=67 | 71..=76 | 82..=90)
}

impl<P: Packet> TrafficControl<P> {
    /// A bearer that starts with `initial` as its safe pipeline, at revision 1. All randomness comes from `seed`.
    ///
    /// # Errors
    /// When the pipeline is not acceptable.
    pub fn new(bearer: BearerId, initial: Pipeline, seed: u64) -> Result<Self, PipelineError> {
        let plan = Plan::compile(&initial, 0)?;
        Ok(Self {
            bearer,
            qos: None,
            by_default: None,
            pacer: Pacer::new(&initial.pacer),
            current: initial.clone(),
            digest: v1::digest(&initial).ok(),
            safe: initial.clone(),
            initial,
            in_safe: true,
            owner: None,
            revision: FIRST_REVISION,
            lease: Lease::default(),
            key: HashKey::from_seed(seed),
            classifier: plan.classifier,
            policers: plan.policers,
            stage: Stage::new(&plan.queues, &plan.scheduler, plan.shapers, plan.buffer, seed),
            inventory: Inventory::default(),
            totals: Totals::default(),
            by_forecast: false,
            recalled: 0,
        })
    }

    /// Reports what the bearer carries; nothing if the node knows nothing of it.
    pub fn set_qos(&mut self, qos: BearerQos) {
        self.stage.is_gbr = !qos.five_qis.is_empty() && qos.five_qis.iter().all(has_gbr);
        self.qos = (qos != BearerQos::default()).then_some(qos);
    }

    /// What the bearer carries, as far as the node knows.
    pub fn qos(&self) -> BearerQos {
        self.qos.clone().unwrap_or_default()
    }

    /// What the service model calls the bearer from now on: a UE's RNTI changes when it is re-established
    /// or moves to another cell (38.331 §5.3.7, §5.3.5.5.2), its packets and its pipeline do not.
    pub fn rename(&mut self, bearer: BearerId) {
        self.bearer = bearer;
    }

    /// The bearer's RLC is that of another cell from now on (handover, 38.300 §9.2.3). Queues, lease and
    /// statistics go on; the pacer begins anew and forgets its forecast, which was of the former RLC.
    pub fn rlc_replaced(&mut self, now_us: u64) {
        self.pacer.rlc_replaced(now_us);
    }

    /// Takes a packet in: classifier, policer, queue. Drops are reported to `events`.
    pub fn ingress(&mut self, mut packet: P, now_us: u64, events: &mut impl EventSink<P>) {
        self.tick(now_us, events);
        let len_bytes = packet.len_bytes();
        let sequence = FIRST_SEQUENCE + self.totals.ingress_packets;
        self.totals.ingress_packets += 1;
        self.totals.ingress_bytes += u64::from(len_bytes);

        let flow_hash = self.key.hash(&packet.flow());
        let flow = self.inventory.record(&packet, flow_hash, now_us);
        self.pacer.arrived(flow_hash, len_bytes, now_us);
        let header = Header::of(&packet);
        let stamp = Stamp { len_bytes, arrived_us: now_us, sequence, flow_hash, header, flow };
        let mut index = self.classify(&packet, &stamp);
        let mut dropped = false;
        if let Some(Some(policer)) = self.policers.get_mut(index as usize) {
            let verdict = policer.police(len_bytes, now_us);
            if verdict != Verdict::Conforms {
                self.stage.signalled_mut(index).policed_packets += 1;
            }
            match verdict {
                Verdict::Conforms => {}
                Verdict::Drop => dropped = true,
                // The queue a packet deviates to does not police it again: no loops.
                Verdict::Deviate(other) => index = other,
                Verdict::Remark(dscp) => packet.set_dscp(dscp),
            }
        }
        self.inventory.set_queue(flow, self.stage.queues[index as usize].id);
        let mut ledger = Ledger::new(&mut self.inventory, &mut self.totals, events);
        if dropped {
            ledger.dropped(Queued { packet, stamp }, DropReason::Policer, now_us);
        } else {
            self.stage.enqueue(index as usize, packet, stamp, now_us, &mut ledger);
        }
    }

    /// Takes back forwarded packets that the RLC has not begun to send, oldest first, each with the
    /// time it first entered the pipeline. They are queued before all others, as they are older; their
    /// sojourn continues, no policer meters them again and no limit drops them. To be called when a
    /// pacer replaces `none`: otherwise the RLC's backlog, up to seconds, stays between the new
    /// pipeline and the radio.
    ///
    /// Flows stay in order, with one exception. A packet whose ECN or DSCP field was rewritten at
    /// egress returns with the new value: an OSI filter on that field may classify it differently from
    /// the rest of its flow. The L4S classifier is not affected: it recognises classic flows by their
    /// other packets (RFC 9331 §5.3).
    pub fn recall_unsent(&mut self, packets: impl ExactSizeIterator<Item = (P, u64)>, now_us: u64) {
        let later =
            if self.stage.arena.queued.packets == 0 { Vec::new() } else { self.stage.take_all() };
        self.classifier.emptied();
        self.recalled += packets.len() as u64;
        self.stage.reserve(packets.len());
        let first = FIRST_SEQUENCE - self.recalled;
        for (sequence, (packet, arrived_us)) in (first..).zip(packets) {
            let len_bytes = packet.len_bytes();
            let flow_hash = self.key.hash(&packet.flow());
            let flow = self.inventory.returned(&packet, flow_hash, now_us);
            let header = Header::of(&packet);
            let stamp = Stamp { len_bytes, arrived_us, sequence, flow_hash, header, flow };
            self.place(Queued { packet, stamp });
        }
        for slot in later {
            let queued = self.stage.arena.take(slot);
            self.place(queued);
        }
        self.stage.take_over(now_us);
        self.pacer.rlc_recalled(now_us);
    }

    #[inline]
    fn classify(&mut self, packet: &P, stamp: &Stamp) -> u32 {
        let arrival = Arrival {
            packet,
            header: stamp.header,
            flow_hash: stamp.flow_hash,
            key: self.key,
            sequence: stamp.sequence,
            flow_is_classic: stamp.header.ecn == Ecn::Ce && self.inventory.is_classic(stamp.flow),
        };
        let index = self.classifier.classify(&arrival, &self.stage.heads());
        if self.stage.scheduler.binds(index)
            && let Some(hosts) = self.classifier.hosts(&arrival)
        {
            self.stage.scheduler.bind(index, hosts);
        }
        index
    }

    /// Queues a packet in its classifier's queue, regardless of limits.
    fn place(&mut self, Queued { packet, stamp }: Queued<P>) {
        let index = self.classify(&packet, &stamp);
        self.inventory.set_queue(stamp.flow, self.stage.queues[index as usize].id);
        let slot = self.stage.arena.insert(packet, stamp);
        self.stage.push(index, slot);
    }

    /// Takes out every queued packet, oldest first: for a bearer that is removed.
    pub fn drain(&mut self, out: &mut impl FnMut(P)) {
        for slot in self.stage.take_all() {
            let queued = self.stage.arena.take(slot);
            self.inventory.left(queued.stamp.flow, queued.stamp.len_bytes);
            out(queued.packet);
        }
    }

    /// Feeds the pacer with the state of the RLC buffer.
    pub fn rlc_status(&mut self, status: &RlcStatus, now_us: u64) {
        self.pacer.status(status, now_us);
    }

    /// The last RLC status, and the MAC's last question for the buffer status, are no older than `age_us`
    /// in the time of the radio, which may lag behind the clock of `now_us`: they are not stale before the
    /// radio has gone on.
    pub fn rlc_status_age(&mut self, age_us: u64, now_us: u64) {
        self.pacer.status_age(age_us, now_us);
    }

    /// Takes in a forecast of this bearer's RLC, for a pacer that uses forecasts, now or later.
    /// `origin_us` is in the clock of `now_us`. A forecast whose origin is older than that of the
    /// last one is ignored (E2SM-TC v1 §8).
    ///
    /// # Errors
    /// Another bearer's forecast, lists of different lengths, or an origin in the future, which
    /// indicates another clock. Element paths start at the forecast.
    pub fn feed_forecast(
        &mut self,
        forecast: &BearerForecast,
        now_us: u64,
    ) -> Result<(), PipelineError> {
        if forecast.bearer != self.bearer {
            let detail = format!("{:?}, expected {:?}", forecast.bearer, self.bearer);
            return Err(PipelineError::new(Cause::UnknownBearer, "bearer", detail));
        }
        check_forecast(forecast)?;
        if forecast.origin_us > now_us {
            let detail = format!("{}, expected no later than now, {now_us}", forecast.origin_us);
            return Err(PipelineError::new(Cause::OutOfRange, "origin_us", detail));
        }
        self.pacer.forecast(forecast, now_us);
        Ok(())
    }

    /// Forwards the packets that scheduler, shapers and pacer release now.
    pub fn egress(&mut self, now_us: u64, events: &mut impl EventSink<P>, out: &mut impl FnMut(P)) {
        self.tick(now_us, events);
        while let Some(packet) = self.release_next(now_us, events) {
            out(packet);
        }
    }

    /// Forwards one packet, if scheduler, shapers and pacer release one now; for a CU that decides
    /// packet by packet whether to go on.
    pub fn egress_one(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> Option<P> {
        self.tick(now_us, events);
        self.release_next(now_us, events)
    }

    /// Whether scheduler and shapers have a packet for the pacer to decide about.
    pub fn has_candidate(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> bool {
        self.tick(now_us, events);
        self.stage.select(now_us).is_some()
    }

    #[inline]
    fn release_next(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> Option<P> {
        // CoDel may drop the packet that the pacer decides about and dequeue the next: the pacer counts what is
        // forwarded, so the difference evens out.
        let pacer = &mut self.pacer;
        let mut ledger = Ledger::new(&mut self.inventory, &mut self.totals, events);
        let may_send = |len_bytes| pacer.may_send(len_bytes, now_us);
        let queued = self.stage.dequeue(now_us, may_send, &mut ledger, |_, queued| queued)?;
        Some(self.forward(queued, now_us))
    }

    /// The packets that a MAC can pull in the slot that it is about to schedule: those that no shaper
    /// holds back, if the pacer is `just_in_time`; none for other pacers, whose packets are forwarded
    /// by [`egress`](Self::egress). To be called for each slot with downlink, before
    /// [`pull`](Self::pull).
    pub fn buffer_status(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> BufferStatus {
        self.tick(now_us, events);
        if !self.pacer.buffer_status_queried(now_us) || self.stage.select(now_us).is_none() {
            return BufferStatus::default();
        }
        self.stage.unshaped_backlog()
    }

    /// The next packet for the transport block that the MAC builds, if the block has `room` for it. To
    /// be called until it returns none or the block is full.
    pub fn pull(
        &mut self,
        room: &BlockRoom,
        now_us: u64,
        events: &mut impl EventSink<P>,
    ) -> Option<P> {
        self.tick(now_us, events);
        let pacer = &mut self.pacer;
        let mut ledger = Ledger::new(&mut self.inventory, &mut self.totals, events);
        let may_pull = |len_bytes| pacer.may_pull(len_bytes, room, now_us);
        let queued = self.stage.dequeue(now_us, may_pull, &mut ledger, |_, queued| queued)?;
        Some(self.forward(queued, now_us))
    }

    /// Accounts for a packet that leaves the pipeline.
    #[inline]
    fn forward(&mut self, queued: Queued<P>, now_us: u64) -> P {
        let Queued { packet, stamp: Stamp { flow, len_bytes, .. } } = queued;
        self.inventory.left(flow, len_bytes);
        self.pacer.sent(len_bytes, now_us);
        packet
    }

    /// The earliest time from `now_us` on at which [`egress`](Self::egress) or
    /// [`tick`](Self::tick) could do something without further input.
    pub fn next_deadline_us(&self, now_us: u64) -> Option<u64> {
        let backlog = self.stage.unshaped_backlog().packets > 0;
        let poll_us = backlog.then(|| self.pacer.next_poll_us(now_us));
        [poll_us, self.stage.shaped_until_us(), self.lease.ends_us()].into_iter().flatten().min()
    }

    /// State of the pipeline for a report (style 1) by itself: queues with a backlog or with
    /// traffic since they were made.
    pub fn status(&self, now_us: u64) -> PipelineStatus {
        self.status_since(&mut ReportCursor::default(), now_us)
    }

    /// State of the pipeline for a report (style 1) in a series: queues with a backlog or with
    /// traffic since the report before, which moved `cursor`.
    pub fn status_since(&self, cursor: &mut ReportCursor, now_us: u64) -> PipelineStatus {
        PipelineStatus {
            bearer: self.bearer,
            revision: self.revision,
            name: self.current.name.clone(),
            digest: self.digest,
            safe: self.in_safe,
            lease_left_ms: self.lease.left_ms(now_us),
            owner: self.owner.clone(),
            head_of_line_age_us: status::clamp(self.head_of_line_age_us(now_us)),
            queues: status::queues(&self.stage, cursor, now_us),
            pacer: self.pacer.report(now_us),
            ingress_packets: self.totals.ingress_packets,
            ingress_bytes: self.totals.ingress_bytes,
            dropped_packets: self.totals.dropped_packets,
            by_default: self.by_default.map(|(revision, rule, since_us)| {
                let age_ms = status::clamp(now_us.saturating_sub(since_us) / 1000);
                ByDefault { revision, rule, age_ms }
            }),
            qos: self.qos.clone(),
            qos_flows: None,
        }
    }

    /// The largest flows of the last second for a report (style 2).
    pub fn flow_inventory(&mut self, top: u16, now_us: u64) -> FlowInventory {
        let inelastic = |queue| self.stage.inelastic(queue);
        self.inventory.report(self.bearer, top, now_us, inelastic)
    }

    /// Age of the oldest packet of all queues; 0 when they are empty.
    pub fn head_of_line_age_us(&self, now_us: u64) -> u64 {
        self.stage.head_of_line_age_us(now_us)
    }

    /// Mean sojourn over the last whole 100 ms in the queue where it is longest; 0 when nothing
    /// was forwarded.
    pub fn mean_sojourn_us(&self, now_us: u64) -> u64 {
        self.stage.mean_sojourn_us(now_us)
    }

    /// Bytes queued in all queues.
    pub fn backlog_bytes(&self) -> u64 {
        self.stage.arena.queued.bytes
    }

    /// Packets queued in all queues.
    pub fn backlog_packets(&self) -> u32 {
        self.stage.arena.queued.packets
    }

    /// Revision in force.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Pipeline in force.
    pub fn pipeline(&self) -> &Pipeline {
        &self.current
    }

    /// Whether a forecast decides now, as opposed to the pacer's own measurements; `None` if the pacer
    /// in force uses no forecasts.
    pub fn paced_by_forecast(&self, now_us: u64) -> Option<bool> {
        self.pacer.by_forecast(now_us)
    }

    /// Bytes that the pacer lets stand in the RLC buffer now; `None` without a limit.
    pub fn rlc_limit_bytes(&self) -> Option<u32> {
        self.pacer.limit_bytes()
    }
}
