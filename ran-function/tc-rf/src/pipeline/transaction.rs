//! Transactions and leases: how the pipeline in force changes.

use e2sm_tc::v1::{
    self, Cause, ControlOutcome, EventKind, LeaseRenewal, Pipeline, PipelineChange, Transaction,
};
use tc_pipelines::candidate;

use super::{FIRST_REVISION, TrafficControl};
use crate::lease::Lease;
use crate::plan::{CAPABILITIES, Plan};
use crate::{DefaultStart, EventSink, Packet, PipelineError};

impl<P: Packet> TrafficControl<P> {
    /// Applies a transaction: all of it or none. No queued packet is lost, and the
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
            Ok(_) if transaction.dry_run => ControlOutcome::Accepted {
                revision: self.revision,
                lease_ms: transaction.lease_ms.filter(|_| !leads_to_safe(transaction)),
            },
            Ok((pipeline, plan)) => {
                self.install(pipeline, plan, now_us);
                self.in_safe = leads_to_safe(transaction);
                if self.in_safe {
                    self.safe = self.current.clone();
                }
                let lease_ms = transaction.lease_ms.filter(|_| !self.in_safe);
                self.lease = Lease::new(lease_ms, now_us);
                self.owner = transaction.owner.clone().filter(|_| !self.in_safe);
                let (revision, name) = (self.revision, self.current.name.clone());
                events.pipeline(EventKind::PipelineChanged { revision, name });
                ControlOutcome::Accepted { revision, lease_ms }
            }
        }
    }

    /// Puts the pipeline of the node default in force, before the first packet: for a bearer that is
    /// being set up. One that a control or the node has given another pipeline keeps it.
    pub fn start_with(&mut self, start: DefaultStart, now_us: u64, events: &mut impl EventSink<P>) {
        if self.revision != FIRST_REVISION {
            return;
        }
        let by_default = (start.revision, start.rule, now_us);
        let outcome = self.apply(&start.transaction(self.bearer), now_us, events);
        if let ControlOutcome::Accepted { .. } = outcome {
            self.by_default = Some(by_default);
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
        let pipeline = candidate(
            &self.current,
            &self.safe,
            &self.initial,
            &transaction.change,
            &CAPABILITIES,
        )?;
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
            holder: None,
        }
    }

    /// Puts a pipeline in force. Queued packets keep their arrival time. Where the classifier or
    /// the set of queues changed they are classified again in the order in which they arrived, so
    /// a flow's packets are all where its next ones will go; else they stay where they are. The
    /// limits of the new pipeline are for packets to come, and so are its drops at departure if the
    /// pipeline before tolerated a longer wait (`stage/takeover.rs`).
    fn install(&mut self, pipeline: Pipeline, mut plan: Plan, now_us: u64) {
        let old_ids = self.stage.queues.iter().map(|queue| queue.id);
        let same_queues = old_ids.eq(plan.queues.iter().map(|queue| queue.id));
        let same_scheduler = self.current.scheduler == pipeline.scheduler;
        let mut takes_over = self.stage.tolerates_more_than(&plan.queues);
        self.inherit_tokens(&mut plan);
        self.policers = plan.policers;
        // A scheduler with turns of hosts learns them as packets are classified.
        let learns_hosts = !same_scheduler && pipeline.classifier.isolation().has_turns_of_hosts();
        if same_queues && self.current.classifier == pipeline.classifier && !learns_hosts {
            let new_scheduler = (!same_scheduler).then_some(&plan.scheduler);
            self.stage.reconfigure(&plan.queues, new_scheduler, plan.shapers, plan.buffer);
        } else {
            takes_over |= self.stage.is_taking_over();
            self.classifier = plan.classifier;
            let packets = self.stage.take_all();
            self.stage.rebuild(&plan.queues, &plan.scheduler, plan.shapers, plan.buffer);
            for slot in packets {
                let queued = self.stage.arena.take(slot);
                self.place(queued);
            }
        }
        if takes_over {
            self.stage.take_over(now_us);
        }
        self.pacer.replace(&pipeline.pacer, now_us);
        self.digest = v1::digest(&pipeline).ok();
        self.current = pipeline;
        self.by_default = None;
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

    /// Advances time: an expired lease restores the safe pipeline, and a change between forecast and
    /// measurement is reported.
    #[inline]
    pub fn tick(&mut self, now_us: u64, events: &mut impl EventSink<P>) {
        if self.by_forecast || self.pacer.has_algorithm() {
            self.report_pacing(now_us, events);
        }
        if self.lease.has_ended(now_us) {
            self.end_lease(now_us, events);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_lease(&mut self, now_us: u64, events: &mut impl EventSink<P>) {
        self.lease = Lease::default();
        // The safe pipeline was accepted when the bearer was made, or by a transaction.
        let safe = self.safe.clone();
        if let Ok(plan) = Plan::compile(&safe, now_us) {
            self.install(safe, plan, now_us);
            self.in_safe = true;
            self.owner = None;
            events.pipeline(EventKind::LeaseExpired { revision: self.revision });
        }
    }

    fn report_pacing(&mut self, now_us: u64, events: &mut impl EventSink<P>) {
        let Some(by_forecast) = self.pacer.by_forecast(now_us) else {
            self.by_forecast = false;
            return;
        };
        if by_forecast != self.by_forecast {
            self.by_forecast = by_forecast;
            events.pipeline(EventKind::PacingChanged { by_forecast });
        }
    }
}

/// Whether the result is the safe pipeline: it has no lease and no owner.
fn leads_to_safe(transaction: &Transaction) -> bool {
    transaction.as_safe
        || matches!(transaction.change, PipelineChange::Safe | PipelineChange::Initial)
}

fn zero_lease() -> PipelineError {
    PipelineError::new(Cause::OutOfRange, "lease_ms", "0, expected at least 1")
}
