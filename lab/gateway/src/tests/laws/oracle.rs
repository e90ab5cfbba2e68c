//! What E2SM-TC v1 says must follow from the controls that reached the gNB: revisions, leases, owners.
//!
//! Written from the document (`e2sm-tc-spec/spec/E2SM-TC-v1.md` §7), not from the code that it judges.

use e2sm_tc::v1::{
    self, BearerId, Cause, ControlHeader, ControlMessage, ControlOutcome, LeaseRenewal, NodeLease,
    PipelineChange, PipelineStatus, Transaction, UeId,
};

use super::plan::{BEARERS, Setting};
use super::tally::Tally;

/// Why a law does not hold.
pub(super) type Violation = String;

/// One bearer as it should be.
#[derive(Clone, Debug)]
struct Bearer {
    id: BearerId,
    /// Times at which its UE attaches and leaves.
    attached_us: (u64, u64),
    revision: u32,
    lease_ends_us: Option<u64>,
    /// Time at which the last lease ended by itself.
    expired_us: Option<u64>,
    /// What it was until then: what the pipeline reports before its timer fires.
    unexpired: Option<Box<Self>>,
    is_safe: bool,
    owner: Option<String>,
    /// Digests of the pipelines; unknown until reported, if they follow from edits.
    digest: Option<u32>,
    safe: Option<u32>,
    initial: Option<u32>,
}

impl Bearer {
    fn is_attached(&self, at_us: u64) -> bool {
        (self.attached_us.0..self.attached_us.1).contains(&at_us)
    }

    /// The lease ends by itself.
    fn advance(&mut self, at_us: u64, tally: &mut Tally) {
        if let Some(ends_us) = self.lease_ends_us.filter(|ends_us| *ends_us <= at_us) {
            self.unexpired = Some(Box::new(Self { unexpired: None, ..self.clone() }));
            self.revision += 1;
            self.lease_ends_us = None;
            self.expired_us = Some(ends_us);
            self.owner = None;
            self.is_safe = true;
            self.digest = self.safe;
            tally.leases_expired += 1;
        }
    }
}

/// The TC function of one gNB since its start.
#[derive(Clone, Debug)]
pub(super) struct Oracle {
    bearers: Vec<Bearer>,
    /// Who holds the node, and until when.
    holder: Option<(String, u64)>,
    last_holder: String,
    term: u32,
    /// How late a pipeline may notice the end of its lease: a run of the SDAP scheduler.
    slack_us: u64,
}

impl Oracle {
    pub(super) fn new(setting: &Setting) -> Self {
        let bearer = |(rnti, drb): (u16, u8)| Bearer {
            id: BearerId { ue: UeId::Rnti(rnti), drb },
            attached_us: setting.attached_us(rnti),
            revision: 1,
            lease_ends_us: None,
            expired_us: None,
            unexpired: None,
            is_safe: true,
            owner: None,
            digest: None,
            safe: None,
            initial: None,
        };
        Self {
            bearers: BEARERS.map(bearer).to_vec(),
            holder: None,
            last_holder: String::new(),
            term: 0,
            slack_us: if setting.sdap_poll_us == 0 {
                1
            } else {
                2 * u64::from(setting.sdap_poll_us)
            },
        }
    }

    /// A control was applied at `at_us` with this outcome.
    pub(super) fn applied(
        &mut self,
        at_us: u64,
        (header, message): (&[u8], &[u8]),
        outcome: &ControlOutcome,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        let header = match v1::decode::<ControlHeader>(header) {
            Ok(header) => header,
            Err(error) => return expect_refusal(outcome, error.cause(), None),
        };
        let message = match v1::decode::<ControlMessage>(message) {
            Ok(message) => message,
            Err(error) => return expect_refusal(outcome, error.cause(), None),
        };
        if header.style != message.style() {
            return expect_refusal(outcome, Cause::Inconsistent, None);
        }
        match &message {
            ControlMessage::Transaction(transaction) => {
                self.transaction(at_us, transaction, outcome, tally)
            }
            ControlMessage::LeaseRenewal(renewal) => self.renewal(at_us, renewal, outcome, tally),
            ControlMessage::NodeLease(lease) => self.node_lease(at_us, lease, outcome, tally),
            // No client of these runs sends one: bearers are set up as the node does, and keep their flows.
            ControlMessage::NodeDefault(_)
            | ControlMessage::ForecastFeed(_)
            | ControlMessage::QosFlowMapping(_) => Ok(()),
        }
    }

    fn holder(&self, at_us: u64) -> Option<&str> {
        let held = self.holder.as_ref().filter(|(_, ends_us)| at_us < *ends_us);
        held.map(|(owner, _)| owner.as_str())
    }

    /// Who holds the node, for a gNB that lets anybody in.
    pub(super) fn holder_now(&self, at_us: u64) -> Option<String> {
        self.holder(at_us).map(str::to_owned)
    }

    /// The bearer of a control, or the only cause with which it may be refused.
    fn admit(
        &mut self,
        at_us: u64,
        id: &BearerId,
        owner: Option<&str>,
        tally: &mut Tally,
    ) -> Result<usize, Cause> {
        let known = self.bearers.iter().position(|b| b.id == *id && b.is_attached(at_us));
        let index = known.ok_or(Cause::UnknownBearer)?;
        self.bearers[index].advance(at_us, tally);
        match self.holder(at_us) {
            Some(holder) if Some(holder) != owner => Err(Cause::NotOwner),
            _ => Ok(index),
        }
    }

    fn transaction(
        &mut self,
        at_us: u64,
        transaction: &Transaction,
        outcome: &ControlOutcome,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        let owner = transaction.owner.as_deref();
        let index = match self.admit(at_us, &transaction.bearer, owner, tally) {
            Ok(index) => index,
            Err(cause) => return expect_refusal(outcome, cause, None),
        };
        let bearer = &mut self.bearers[index];
        if transaction.expected_revision.is_some_and(|expected| expected != bearer.revision) {
            tally.refused_stale += 1;
            return expect_refusal(outcome, Cause::StaleRevision, Some(bearer.revision));
        }
        let leads_to_safe = transaction.as_safe
            || matches!(transaction.change, PipelineChange::Safe | PipelineChange::Initial);
        let lease_ms = transaction.lease_ms.filter(|_| !leads_to_safe);
        match outcome {
            ControlOutcome::Refused { cause, revision, .. } => {
                tally.refused_pipelines += 1;
                let by_content =
                    !matches!(cause, Cause::StaleRevision | Cause::NotOwner | Cause::UnknownBearer);
                if !by_content || *revision != Some(bearer.revision) {
                    return Err(format!("{outcome:?} of revision {}", bearer.revision));
                }
            }
            ControlOutcome::Accepted { revision, lease_ms: granted_ms } => {
                let next = bearer.revision + u32::from(!transaction.dry_run);
                if *revision != next || *granted_ms != lease_ms {
                    return Err(format!(
                        "{outcome:?}, expected revision {next} and {lease_ms:?} ms"
                    ));
                }
                if transaction.dry_run {
                    tally.dry_runs += 1;
                    return Ok(());
                }
                tally.accepted += 1;
                bearer.revision = next;
                bearer.digest = match &transaction.change {
                    PipelineChange::Replace(pipeline) => v1::digest(pipeline).ok(),
                    PipelineChange::Delta(_) => None,
                    PipelineChange::Safe => bearer.safe,
                    PipelineChange::Initial => bearer.initial,
                };
                bearer.is_safe = leads_to_safe;
                if leads_to_safe {
                    tally.to_safe += 1;
                    bearer.safe = bearer.digest;
                }
                bearer.owner = transaction.owner.clone().filter(|_| !leads_to_safe);
                bearer.lease_ends_us = lease_ms.map(|ms| at_us + u64::from(ms) * 1000);
                bearer.expired_us = None;
            }
        }
        Ok(())
    }

    fn renewal(
        &mut self,
        at_us: u64,
        renewal: &LeaseRenewal,
        outcome: &ControlOutcome,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        let index = match self.admit(at_us, &renewal.bearer, renewal.owner.as_deref(), tally) {
            Ok(index) => index,
            Err(cause) => return expect_refusal(outcome, cause, None),
        };
        let bearer = &mut self.bearers[index];
        if renewal.revision != bearer.revision {
            // Until the timer of the pipeline fires the answer names the revision whose lease ended.
            let is_due = bearer.expired_us.is_some_and(|ends_us| ends_us + self.slack_us > at_us);
            let named = bearer.revision - u32::from(is_due);
            return expect_refusal(outcome, Cause::StaleRevision, Some(bearer.revision))
                .or_else(|_| expect_refusal(outcome, Cause::StaleRevision, Some(named)));
        }
        if bearer.lease_ends_us.is_none() {
            return expect_refusal(outcome, Cause::Inconsistent, Some(bearer.revision));
        }
        let expected = ControlOutcome::Accepted {
            revision: bearer.revision,
            lease_ms: Some(renewal.lease_ms),
        };
        if *outcome != expected {
            return Err(format!("{outcome:?}, expected {expected:?}"));
        }
        tally.renewed += 1;
        bearer.lease_ends_us = Some(at_us + u64::from(renewal.lease_ms) * 1000);
        Ok(())
    }

    fn node_lease(
        &mut self,
        at_us: u64,
        lease: &NodeLease,
        outcome: &ControlOutcome,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        if self.holder(at_us).is_some_and(|holder| holder != lease.owner) {
            tally.node_refused += 1;
            return expect_refusal(outcome, Cause::NotOwner, None);
        }
        let changes =
            lease.lease_ms.is_some() && (self.last_holder != lease.owner || self.term == 0);
        if changes {
            tally.node_taken += 1;
            self.last_holder.clone_from(&lease.owner);
            self.term += 1;
        }
        self.holder = lease.lease_ms.map(|ms| (lease.owner.clone(), at_us + u64::from(ms) * 1000));
        let expected = ControlOutcome::Accepted { revision: self.term, lease_ms: lease.lease_ms };
        if *outcome != expected {
            return Err(format!("{outcome:?}, expected {expected:?}"));
        }
        Ok(())
    }

    /// The gNB reports the state of all its pipelines at `at_us`.
    pub(super) fn reported(
        &mut self,
        at_us: u64,
        statuses: &[PipelineStatus],
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        for bearer in self.bearers.iter_mut().filter(|bearer| bearer.is_attached(at_us)) {
            let mut own = statuses.iter().filter(|status| status.bearer == bearer.id);
            let (Some(status), None) = (own.next(), own.next()) else {
                return Err(format!("{:?} is not reported once", bearer.id));
            };
            bearer.advance(at_us, tally);
            if let Err(violation) = bearer.compare(at_us, status) {
                let is_due =
                    bearer.expired_us.is_some_and(|ends_us| ends_us + self.slack_us > at_us);
                let before = bearer.unexpired.as_mut().filter(|_| is_due);
                if before.is_none_or(|before| before.compare(at_us, status).is_err()) {
                    return Err(violation);
                }
            }
        }
        let attached = self.bearers.iter().filter(|bearer| bearer.is_attached(at_us)).count();
        if statuses.len() != attached {
            return Err(format!("{} bearers reported, expected {attached}", statuses.len()));
        }
        Ok(())
    }
}

impl Bearer {
    fn compare(&mut self, at_us: u64, status: &PipelineStatus) -> Result<(), Violation> {
        let left_us = self.lease_ends_us.map(|ends_us| ends_us.saturating_sub(at_us));
        let left_ms = left_us.map(|us| u32::try_from(us.div_ceil(1000)).unwrap_or(u32::MAX));
        let is = (status.revision, status.safe, status.owner.as_deref(), status.lease_left_ms);
        let should = (self.revision, self.is_safe, self.owner.as_deref(), left_ms);
        if is != should {
            return Err(format!(
                "{:?} has (revision, safe, owner, lease) {is:?}, expected {should:?}",
                self.id
            ));
        }
        let reported = status.digest;
        if self.digest.is_some() && self.digest != reported {
            return Err(format!(
                "{:?} revision {}: digest {reported:?}, expected {:?}",
                self.id, self.revision, self.digest
            ));
        }
        self.digest = reported;
        if self.revision == 1 {
            (self.safe, self.initial) = (reported, reported);
        }
        if self.is_safe {
            self.safe = reported;
        }
        Ok(())
    }
}

fn expect_refusal(
    outcome: &ControlOutcome,
    expected: Cause,
    at_revision: Option<u32>,
) -> Result<(), Violation> {
    match outcome {
        ControlOutcome::Refused { cause, revision, .. }
            if *cause == expected && *revision == at_revision =>
        {
            Ok(())
        }
        _ => Err(format!("{outcome:?}, expected a refusal: {expected:?} at {at_revision:?}")),
    }
}
