//! Pipelines with which the bearers of a node are set up (E2SM-TC v1 §7.7).

use e2sm_tc::v1::{
    self, BearerId, BearerQos, Cause, ControlOutcome, DefaultRule, NodeDefault, NodeDefaultChange,
    NodeDefaultSupport, Pipeline, PipelineChange, Transaction, Validate,
};

use crate::PipelineError;
use crate::lease::Lease;
use crate::plan::{CAPABILITIES, Plan};

/// Most bytes that the pipelines of a node default take together when they are encoded. One of a
/// template takes less than 200.
pub const MAX_DEFAULT_BYTES: usize = 1 << 16;

/// The node default of one node. It belongs to the whole RAN function, as the node's lease does:
/// whoever passes controls asks [`NodeLeaseState::admit`](crate::NodeLeaseState::admit) first, and
/// whoever sets up a bearer asks [`start_of`](Self::start_of) before its first packet.
#[derive(Clone, Debug)]
pub struct NodeDefaultState {
    support: Option<NodeDefaultSupport>,
    rules: Vec<DefaultRule>,
    owner: Option<String>,
    lease: Lease,
    /// Grows by one with each set and withdrawal.
    revision: u32,
}

/// What a bearer is set up with; for [`TrafficControl::start_with`](crate::TrafficControl::start_with).
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultStart {
    pub(crate) revision: u32,
    pub(crate) rule: u8,
    pipeline: Pipeline,
    lease_ms: Option<u32>,
    as_safe: bool,
    owner: Option<String>,
}

impl Default for NodeDefaultState {
    /// None so far, of a node that knows 5QIs, slice and DRB identity of the bearers it sets up.
    fn default() -> Self {
        Self::new(CAPABILITIES.node_default.clone())
    }
}

impl NodeDefaultState {
    /// None so far; `support` is what the node declares.
    pub fn new(support: Option<NodeDefaultSupport>) -> Self {
        Self { support, rules: Vec::new(), owner: None, lease: Lease::default(), revision: 0 }
    }

    /// Sets, renews or withdraws the node default: all of it or nothing. The outcome's revision is
    /// that of the node default.
    pub fn apply(&mut self, request: &NodeDefault, now_us: u64) -> ControlOutcome {
        if let Err(error) = self.check(request, now_us) {
            return error.into_outcome(self.revision);
        }
        let lease_ms = match &request.change {
            NodeDefaultChange::Withdraw => None,
            NodeDefaultChange::Set(_) | NodeDefaultChange::Renew(_) => request.lease_ms,
        };
        if request.dry_run {
            return ControlOutcome::Accepted { revision: self.revision, lease_ms };
        }
        match &request.change {
            NodeDefaultChange::Set(rules) => self.replace(rules.clone(), request.owner.clone()),
            NodeDefaultChange::Withdraw => self.replace(Vec::new(), None),
            NodeDefaultChange::Renew(_) => {}
        }
        self.lease = Lease::new(lease_ms, now_us);
        ControlOutcome::Accepted { revision: self.revision, lease_ms }
    }

    fn replace(&mut self, rules: Vec<DefaultRule>, owner: Option<String>) {
        (self.rules, self.owner) = (rules, owner);
        self.revision = self.revision.wrapping_add(1);
    }

    fn check(&self, request: &NodeDefault, now_us: u64) -> Result<(), PipelineError> {
        match &request.change {
            NodeDefaultChange::Set(rules) => self.check_rules(rules, now_us)?,
            NodeDefaultChange::Renew(revision) => {
                let detail = if self.in_force(now_us).is_empty() {
                    format!("{revision}; no node default is in force")
                } else if *revision != self.revision {
                    format!("{revision}, expected {}", self.revision)
                } else {
                    return validated(request);
                };
                return Err(PipelineError::new(Cause::StaleRevision, "change.renew", detail));
            }
            NodeDefaultChange::Withdraw => {}
        }
        validated(request)
    }

    fn check_rules(&self, rules: &[DefaultRule], now_us: u64) -> Result<(), PipelineError> {
        let support = self.support.as_ref().ok_or_else(|| {
            PipelineError::new(Cause::Unsupported, "change", "this node has no node default")
        })?;
        if rules.len() > usize::from(support.max_rules) {
            let detail = format!("{} rules, expected at most {}", rules.len(), support.max_rules);
            return Err(PipelineError::new(Cause::Capacity, "change.set", detail));
        }
        let mut bytes = 0;
        for (index, rule) in rules.iter().enumerate() {
            let path = format!("change.set[{index}]");
            let unknown = rule
                .rule
                .kinds()
                .into_iter()
                .find(|kind| !support.matches.iter().any(|it| it == kind));
            if let Some(kind) = unknown {
                let known = support.matches.join(", ");
                let detail = format!("this node does not know it at set-up; expected of {known}");
                let element = format!("{path}.match.{kind}s");
                return Err(PipelineError::new(Cause::Unsupported, element, detail));
            }
            let Some(pipeline) = &rule.pipeline else { continue };
            Plan::compile(pipeline, now_us).map_err(|error| {
                let element = format!("{path}.pipeline.{}", error.element);
                PipelineError { element, ..error }
            })?;
            bytes += v1::encode(pipeline).map_or(0, |encoded| encoded.len());
        }
        if bytes > MAX_DEFAULT_BYTES {
            let detail =
                format!("pipelines of {bytes} bytes, expected at most {MAX_DEFAULT_BYTES}");
            return Err(PipelineError::new(Cause::Capacity, "change.set", detail));
        }
        Ok(())
    }

    /// The rules in force now; none after the end of the lease.
    fn in_force(&self, now_us: u64) -> &[DefaultRule] {
        if self.lease.has_ended(now_us) { &[] } else { &self.rules }
    }

    /// What a bearer that is set up now starts with, by the first rule that matches; `None` if that
    /// is its initial pipeline.
    pub fn start_of(&self, drb: u8, qos: &BearerQos, now_us: u64) -> Option<DefaultStart> {
        let (index, rule) = self
            .in_force(now_us)
            .iter()
            .enumerate()
            .find(|(_, rule)| rule.rule.selects(drb, qos))?;
        Some(DefaultStart {
            revision: self.revision,
            rule: index as u8,
            pipeline: rule.pipeline.clone()?,
            lease_ms: rule.lease_ms,
            as_safe: rule.as_safe,
            owner: self.owner.clone(),
        })
    }
}

fn validated(request: &NodeDefault) -> Result<(), PipelineError> {
    request.validate().map_err(|invalid| {
        PipelineError::new(invalid.cause, invalid.element.clone(), invalid.to_string())
    })
}

impl DefaultStart {
    /// The transaction that puts it in force.
    pub(crate) fn transaction(self, bearer: BearerId) -> Transaction {
        Transaction {
            bearer,
            expected_revision: None,
            lease_ms: self.lease_ms,
            owner: self.owner,
            dry_run: false,
            as_safe: self.as_safe,
            change: PipelineChange::Replace(self.pipeline),
        }
    }
}
