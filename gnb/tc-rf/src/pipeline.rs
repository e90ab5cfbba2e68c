//! The pipeline of one bearer: packets through the six stages.

use e2sm_tc::v1::{
    BearerForecast, BearerId, ControlOutcome, EventKind, LeaseRenewal, Pipeline, Transaction,
};
use e2sm_tc::v1::{Cause, FlowInventory, PipelineStatus};
use tc_pipelines::{candidate, limits::check_forecast};

use crate::arena::Queued;
use crate::capabilities::CAPABILITIES;
use crate::classifier::{Arrival, Classifier, Header};
use crate::flow_inventory::Inventory;
use crate::hash::HashKey;
use crate::lease::Lease;
use crate::ledger::{Ledger, Totals};
use crate::pacer::Pacer;
use crate::plan::Plan;
use crate::policer::{Policer, Verdict};
use crate::stage::{Stage, StageSink};
use crate::status::{self, ReportCursor};
use crate::{BlockRoom, DropReason, Ecn, EventSink, Packet, PipelineError, RlcStatus, Waiting};

/// Traffic control of one (UE, DRB).
///
/// Time is virtual µs and must not go backwards. Call [`egress`](Self::egress) after packets
/// arrived, after an RLC status, and at [`next_deadline_us`](Self::next_deadline_us).
#[derive(Clone, Debug)]
pub struct TrafficControl<P> {
    bearer: BearerId,
    safe: Pipeline,
    current: Pipeline,
    in_safe: bool,
    revision: u32,
    lease: Lease,
    key: HashKey,
    classifier: Classifier,
    policers: Vec<Option<Policer>>,
    stage: Stage<P>,
    pacer: Pacer,
    inventory: Inventory,
    totals: Totals,
    /// Whether the pacer went by a forecast when that was last told.
    by_forecast: bool,
    /// Packets ever taken back: those that come now stand before all of them.
    taken_back: u64,
}

/// Where the count of arrivals begins: packets taken back stand before every arrival.
const FIRST_SEQUENCE: u64 = 1 << 63;

impl<P: Packet> TrafficControl<P> {
    /// A bearer that starts with its safe pipeline at revision 1. All randomness comes from `seed`.
    ///
    /// # Errors
    /// When the safe pipeline is not acceptable.
    pub fn new(bearer: BearerId, safe: Pipeline, seed: u64) -> Result<Self, PipelineError> {
        let plan = Plan::compile(&safe, 0)?;
        Ok(Self {
            bearer,
            pacer: Pacer::new(&safe.pacer),
            current: safe.clone(),
            safe,
            in_safe: true,
            revision: 1,
            lease: Lease::default(),
            key: HashKey::from_seed(seed),
            classifier: plan.classifier,
            policers: plan.policers,
            stage: Stage::new(&plan.queues, &plan.scheduler, plan.shapers, plan.buffer, seed),
            inventory: Inventory::default(),
            totals: Totals::default(),
            by_forecast: false,
            taken_back: 0,
        })
    }

    /// Takes a packet in: classifier, policer, queue. Drops are told to `events`.
    pub fn ingress(&mut self, packet: P, now_us: u64, events: &mut impl EventSink<P>) {
        self.tick(now_us, events);
        let len_bytes = packet.len_bytes();
        let sequence = FIRST_SEQUENCE + self.totals.ingress_packets;
        self.totals.ingress_packets += 1;
        self.totals.ingress_bytes += u64::from(len_bytes);

        let flow_hash = self.key.hash(&packet.flow());
        let flow = self.inventory.record(&packet, flow_hash, now_us);
        self.pacer.arrived(flow_hash, len_bytes, now_us);
        let header = Header::of(&packet);
        let mut queued =
            Queued { packet, len_bytes, arrived_us: now_us, sequence, flow_hash, header, flow };
        let mut index = self.classify(&queued);
        let mut dropped = false;
        if let Some(Some(policer)) = self.policers.get_mut(index as usize) {
            let verdict = policer.police(len_bytes, now_us);
            if verdict != Verdict::Conforms {
                self.stage.stats[index as usize].policed_packets += 1;
            }
            match verdict {
                Verdict::Conforms => {}
                Verdict::Drop => dropped = true,
                // The queue a packet deviates to does not police it again: no loops.
                Verdict::Deviate(other) => index = other,
                Verdict::Remark(dscp) => queued.packet.set_dscp(dscp),
            }
        }
        self.inventory.set_queue(flow, self.stage.queues[index as usize].id);
        let mut ledger = Ledger::new(&mut self.inventory, &mut self.totals, events);
        if dropped {
            ledger.dropped(queued, DropReason::Policer, now_us);
        } else {
            self.stage.enqueue(index, queued, now_us, &mut ledger);
        }
    }

    /// Takes back packets that were forwarded and that the RLC has not begun to send, oldest
    /// first, each with the time it first came here. They stand before everything queued, for
    /// they are older; their sojourn goes on, no policer meters them again and no limit drops
    /// them. Call it when a pacer takes over from none: else the RLC's backlog, seconds of it,
    /// stays between the new pipeline and the radio.
    ///
    /// Flows stay in order, with one exception. A packet whose ECN or DSCP field was rewritten on
    /// its way down comes back with the new value, and the old one is not known: an OSI filter on
    /// that field may now send it elsewhere than the rest of its flow. The L4S classifier is not
    /// concerned: it knows classic flows by their other packets (RFC 9331 §5.3).
    pub fn recall_unsent(&mut self, packets: impl ExactSizeIterator<Item = (P, u64)>, now_us: u64) {
        let later = if self.stage.packets == 0 { Vec::new() } else { self.stage.take_all() };
        self.classifier.emptied();
        self.taken_back += packets.len() as u64;
        self.stage.reserve(packets.len() + later.len());
        let first = FIRST_SEQUENCE - self.taken_back;
        for (sequence, (packet, arrived_us)) in (first..).zip(packets) {
            let len_bytes = packet.len_bytes();
            let flow_hash = self.key.hash(&packet.flow());
            let flow = self.inventory.returned(&packet, flow_hash, now_us);
            let header = Header::of(&packet);
            self.place(Queued { packet, len_bytes, arrived_us, sequence, flow_hash, header, flow });
        }
        for queued in later {
            self.place(queued);
        }
        self.pacer.rlc_recalled(now_us);
    }

    fn classify(&mut self, queued: &Queued<P>) -> u32 {
        let arrival = Arrival {
            packet: &queued.packet,
            header: queued.header,
            flow_hash: queued.flow_hash,
            key: self.key,
            sequence: queued.sequence,
            flow_is_classic: queued.header.ecn == Ecn::Ce && self.inventory.is_classic(queued.flow),
        };
        self.classifier.classify(&arrival, &self.stage.heads())
    }

    /// Queues a packet where the classifier says, whatever the limits.
    fn place(&mut self, queued: Queued<P>) {
        let index = self.classify(&queued);
        self.inventory.set_queue(queued.flow, self.stage.queues[index as usize].id);
        self.stage.push(index, queued);
    }

    /// Takes out every queued packet, oldest first: for a bearer that is removed.
    pub fn drain(&mut self, out: &mut impl FnMut(P)) {
        for queued in self.stage.take_all() {
            self.inventory.left(queued.flow, queued.len_bytes);
            out(queued.packet);
        }
    }

    /// Feeds the pacer with the state of the RLC buffer.
    pub fn rlc_status(&mut self, status: &RlcStatus, now_us: u64) {
        self.pacer.status(status, now_us);
    }

    /// From now on the pacer asks the DU before each packet, as stolidis2024's DRQL without a RIC does
    /// (§III-B), and decides by the answer: an RLC status heard after the question went out. See
    /// [`take_question`](Self::take_question).
    pub fn ask_before_each_packet(&mut self) {
        self.pacer.ask_before_each_packet();
    }

    /// Whether a question is to be sent to the DU now. Call it after [`egress`](Self::egress) where
    /// the pacer [asks](Self::ask_before_each_packet), and send what it says.
    pub fn take_question(&mut self) -> bool {
        self.pacer.take_question()
    }

    /// Takes in a forecast of this bearer's RLC for the forecast pacer, now in force or later.
    /// `origin_us` is in the clock of `now_us`. A forecast whose origin is older than that of the
    /// last one is passed over (E2SM-TC v1 §8).
    ///
    /// # Errors
    /// When it is another bearer's, its lists do not fit together, or it rests on samples of the
    /// future, which is what a forecast in another clock looks like. Elements are named from the
    /// forecast on.
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

    /// Forwards what scheduler, shapers and pacer let go now.
    pub fn egress(&mut self, now_us: u64, events: &mut impl EventSink<P>, out: &mut impl FnMut(P)) {
        self.tick(now_us, events);
        while let Some(index) = self.stage.select(now_us) {
            // The pacer answers for the packet at the head. CoDel may drop that one and give the
            // next: what goes down in the end is accounted for, and evens out.
            if !self.pacer.may_send(self.stage.head_len_bytes(index), now_us) {
                break;
            }
            if let Some(packet) = self.forward(index, now_us, events) {
                out(packet);
            }
        }
    }

    /// The MAC is about to share out a slot and asks what there is to send: what no shaper holds back,
    /// where a just-in-time pacer gives it in step with the pulls; nothing for other pacers, which
    /// have forwarded what they will. To be asked for each slot with downlink, before
    /// [`pull`](Self::pull).
    pub fn asked(&mut self, now_us: u64, events: &mut impl EventSink<P>) -> Waiting {
        self.tick(now_us, events);
        if !self.pacer.buffer_status_queried(now_us) || self.stage.select(now_us).is_none() {
            return Waiting::default();
        }
        self.stage.unshaped_backlog()
    }

    /// The next packet for the transport block that the MAC builds, as far as it has `room`. To be
    /// called until it gives none or the block is full; packets of other pacers do not come this way.
    pub fn pull(
        &mut self,
        room: &BlockRoom,
        now_us: u64,
        events: &mut impl EventSink<P>,
    ) -> Option<P> {
        self.tick(now_us, events);
        while let Some(index) = self.stage.select(now_us) {
            if !self.pacer.may_pull(self.stage.head_len_bytes(index), room, now_us) {
                break;
            }
            if let Some(packet) = self.forward(index, now_us, events) {
                return Some(packet);
            }
        }
        None
    }

    /// Takes the next packet of a queue for the RLC; none when its discipline dropped what there was.
    fn forward(&mut self, index: u32, now_us: u64, events: &mut impl EventSink<P>) -> Option<P> {
        let mut ledger = Ledger::new(&mut self.inventory, &mut self.totals, events);
        let queued = self.stage.dequeue(index, now_us, &mut ledger)?;
        self.inventory.left(queued.flow, queued.len_bytes);
        self.pacer.sent(queued.len_bytes, now_us);
        Some(queued.packet)
    }

    /// The earliest time from `now_us` on at which [`egress`](Self::egress) or
    /// [`tick`](Self::tick) could do something without further input.
    pub fn next_deadline_us(&self, now_us: u64) -> Option<u64> {
        let backlog = self.stage.unshaped_backlog().packets > 0;
        let poll_us = backlog.then(|| self.pacer.next_poll_us(now_us));
        [poll_us, self.stage.parked_until_us(), self.lease.ends_us()].into_iter().flatten().min()
    }

    /// Applies a transaction: all of it or nothing of it. No queued packet is lost, and the
    /// packets of a flow stay in order.
    pub fn apply(
        &mut self,
        transaction: &Transaction,
        now_us: u64,
        events: &mut impl EventSink<P>,
    ) -> ControlOutcome {
        self.tick(now_us, events);
        if transaction.bearer != self.bearer {
            return self.unknown_bearer("bearer");
        }
        match self.prepare(transaction, now_us) {
            Err(error) => error.into_outcome(self.revision),
            Ok(_) if transaction.dry_run => {
                ControlOutcome::Accepted { revision: self.revision, lease_ms: transaction.lease_ms }
            }
            Ok((pipeline, plan)) => {
                self.install(pipeline, plan, now_us);
                self.in_safe = transaction.change == e2sm_tc::v1::PipelineChange::Safe;
                let lease_ms = if self.in_safe { None } else { transaction.lease_ms };
                self.lease = Lease::new(lease_ms, now_us);
                let (revision, name) = (self.revision, self.current.name.clone());
                events.pipeline(EventKind::PipelineChanged { revision, name });
                ControlOutcome::Accepted { revision, lease_ms }
            }
        }
    }

    fn prepare(
        &self,
        transaction: &Transaction,
        now_us: u64,
    ) -> Result<(Pipeline, Plan), PipelineError> {
        if let Some(expected) = transaction.expected_revision {
            self.expect_revision("expected_revision", expected)?;
        }
        if transaction.lease_ms == Some(0) {
            return Err(zero_lease());
        }
        let pipeline = candidate(&self.current, &self.safe, &transaction.change, &CAPABILITIES)?;
        let plan = Plan::compile(&pipeline, now_us)?;
        Ok((pipeline, plan))
    }

    fn expect_revision(&self, element: &str, revision: u32) -> Result<(), PipelineError> {
        if revision == self.revision {
            return Ok(());
        }
        let detail = format!("{revision}, expected {}", self.revision);
        Err(PipelineError::new(Cause::StaleRevision, element, detail))
    }

    fn unknown_bearer(&self, element: &str) -> ControlOutcome {
        ControlOutcome::Refused {
            cause: Cause::UnknownBearer,
            element: element.to_owned(),
            detail: format!("expected {:?}", self.bearer),
            revision: None,
        }
    }

    /// Puts a pipeline in force. Queued packets keep their arrival time. Where the classifier or
    /// the set of queues changed they are classified anew in the order in which they arrived, so
    /// a flow's packets are all where its next ones will go; else they stay where they are. The
    /// limits of the new pipeline are for packets to come.
    fn install(&mut self, pipeline: Pipeline, mut plan: Plan, now_us: u64) {
        let old_ids = self.stage.queues.iter().map(|queue| queue.id);
        let same_queues = old_ids.eq(plan.queues.iter().map(|queue| queue.id));
        let same_scheduler = self.current.scheduler == pipeline.scheduler;
        self.inherit_tokens(&mut plan);
        self.policers = plan.policers;
        if same_queues && self.current.classifier == pipeline.classifier {
            let new_scheduler = (!same_scheduler).then_some(&plan.scheduler);
            self.stage.reconfigure(&plan.queues, new_scheduler, plan.shapers, plan.buffer);
        } else {
            self.classifier = plan.classifier;
            let packets = self.stage.take_all();
            self.stage.rebuild(&plan.queues, &plan.scheduler, plan.shapers, plan.buffer);
            for queued in packets {
                self.place(queued);
            }
        }
        self.pacer.replace(&pipeline.pacer, now_us);
        self.current = pipeline;
        self.revision = self.revision.wrapping_add(1);
    }

    /// A policer or shaper that stays the same keeps its tokens: no fresh burst by repetition.
    fn inherit_tokens(&self, plan: &mut Plan) {
        let find = |id| self.stage.queues.binary_search_by_key(&id, |queue| queue.id).ok();
        for (new, config) in plan.queues.iter().enumerate() {
            let Some(old) = find(config.id) else { continue };
            plan.shapers.inherit(new, &self.stage.shapers, old);
            if let (Some(Some(policer)), Some(Some(previous))) =
                (plan.policers.get_mut(new), self.policers.get(old))
            {
                policer.inherit(previous);
            }
        }
    }

    /// Keeps a leased pipeline for `lease_ms` from now.
    pub fn renew_lease(&mut self, renewal: &LeaseRenewal, now_us: u64) -> ControlOutcome {
        if renewal.bearer != self.bearer {
            return self.unknown_bearer("bearer");
        }
        if let Err(error) = self.check_renewal(renewal, now_us) {
            return error.into_outcome(self.revision);
        }
        self.lease = Lease::new(Some(renewal.lease_ms), now_us);
        ControlOutcome::Accepted { revision: self.revision, lease_ms: Some(renewal.lease_ms) }
    }

    fn check_renewal(&self, renewal: &LeaseRenewal, now_us: u64) -> Result<(), PipelineError> {
        self.expect_revision("revision", renewal.revision)?;
        if renewal.lease_ms == 0 {
            return Err(zero_lease());
        }
        if self.lease.ends_us().is_none() {
            let detail = "the pipeline in force has no lease; expected a leased one";
            return Err(PipelineError::new(Cause::Inconsistent, "lease_ms", detail));
        }
        if self.lease.has_ended(now_us) {
            let detail = format!("the lease of revision {} has ended", self.revision);
            return Err(PipelineError::new(Cause::StaleRevision, "revision", detail));
        }
        Ok(())
    }

    /// Lets time pass: when the lease has ended, the safe pipeline returns; when the forecast no
    /// longer speaks of now, or one does again, that is told.
    pub fn tick(&mut self, now_us: u64, events: &mut impl EventSink<P>) {
        self.tell_pacing(now_us, events);
        if !self.lease.has_ended(now_us) {
            return;
        }
        self.lease = Lease::default();
        // The safe pipeline was accepted when the bearer was made.
        let safe = self.safe.clone();
        if let Ok(plan) = Plan::compile(&safe, now_us) {
            self.install(safe, plan, now_us);
            self.in_safe = true;
            events.pipeline(EventKind::LeaseExpired { revision: self.revision });
        }
    }

    fn tell_pacing(&mut self, now_us: u64, events: &mut impl EventSink<P>) {
        let Some(by_forecast) = self.pacer.by_forecast(now_us) else {
            self.by_forecast = false;
            return;
        };
        if by_forecast != self.by_forecast {
            self.by_forecast = by_forecast;
            events.pipeline(EventKind::PacingChanged { by_forecast });
        }
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
            safe: self.in_safe,
            lease_left_ms: self.lease.left_ms(now_us),
            head_of_line_age_us: status::clamp(self.head_of_line_age_us(now_us)),
            queues: status::queues(&self.stage, cursor, now_us),
            pacer: self.pacer.report(now_us),
            ingress_packets: self.totals.ingress_packets,
            ingress_bytes: self.totals.ingress_bytes,
            dropped_packets: self.totals.dropped_packets,
        }
    }

    /// The largest flows of the last second for a report (style 2).
    pub fn flow_inventory(&mut self, top: u16, now_us: u64) -> FlowInventory {
        self.inventory.report(self.bearer, top, now_us)
    }

    /// Age of the oldest packet of all queues; 0 when there is none.
    pub fn head_of_line_age_us(&self, now_us: u64) -> u64 {
        self.stage.head_of_line_age_us(now_us)
    }

    /// Mean sojourn over the last whole 100 ms in the queue where it is longest; 0 when nothing
    /// was forwarded.
    pub fn mean_sojourn_us(&self, now_us: u64) -> u64 {
        self.stage.stats.iter().map(|stats| stats.sojourn.mean_us(now_us)).max().unwrap_or(0)
    }

    /// Bytes queued in all queues.
    pub fn backlog_bytes(&self) -> u64 {
        self.stage.bytes
    }

    /// Packets queued in all queues.
    pub fn backlog_packets(&self) -> u32 {
        self.stage.packets
    }

    /// Revision in force.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Pipeline in force.
    pub fn pipeline(&self) -> &Pipeline {
        &self.current
    }

    /// Whether the pacer goes by a forecast now, not by what it measures itself; absent where the
    /// pacer in force takes no forecasts.
    pub fn paced_by_forecast(&self, now_us: u64) -> Option<bool> {
        self.pacer.by_forecast(now_us)
    }

    /// How many bytes the pacer lets stand in the RLC buffer now; absent when it does not limit.
    pub fn rlc_limit_bytes(&self) -> Option<u32> {
        self.pacer.limit_bytes()
    }
}

fn zero_lease() -> PipelineError {
    PipelineError::new(Cause::OutOfRange, "lease_ms", "0, expected at least 1")
}
