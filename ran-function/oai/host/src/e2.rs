//! E2SM-TC, both versions, for the gNB's E2 agent.

use std::sync::{Arc, MutexGuard, PoisonError};

use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, BearerId, Cause, ControlMessage, ControlOutcome, PipelineChange, RanFunctionDefinition,
    Transaction, UeId,
};
use tc_rf::control::{self, refused};
use tc_rf::{NodeDefaultState, NodeLeaseState};

use crate::Host;
use crate::bearer::Bearer;
use crate::capabilities::capabilities;

impl Host {
    /// A RIC control of E2SM-TC v1; returns the outcome, which may be a refusal.
    pub fn control_v1(&self, header: &[u8], message: &[u8], now_us: u64) -> Vec<u8> {
        control::encode_outcome(match control::read(header, message) {
            Ok(message) => self.dispatch(&message, now_us).unwrap_or_else(|refusal| refusal),
            Err(refusal) => refusal,
        })
    }

    fn dispatch(
        &self,
        message: &ControlMessage,
        now_us: u64,
    ) -> Result<ControlOutcome, ControlOutcome> {
        match message {
            ControlMessage::Transaction(transaction) => {
                let bearer = self.named(&transaction.bearer)?;
                self.node_lease().admit(transaction.owner.as_deref(), now_us)?;
                self.transact(&bearer, transaction, now_us)
            }
            ControlMessage::LeaseRenewal(renewal) => {
                let bearer = self.named(&renewal.bearer)?;
                self.node_lease().admit(renewal.owner.as_deref(), now_us)?;
                bearer
                    .configure(&self.around, now_us, |tc, now_us, _| {
                        tc.renew_lease(renewal, now_us)
                    })
                    .ok_or_else(|| gone(&bearer))
            }
            ControlMessage::NodeLease(lease) => Ok(self.node_lease().apply(lease, now_us)),
            ControlMessage::NodeDefault(default) => {
                let lease = self.node_lease();
                lease.admit(default.owner.as_deref(), now_us)?;
                // Pipelines are compiled while PDCP may set up bearers.
                let mut changed = self.node_default().clone();
                let outcome = changed.apply(default, now_us);
                *self.node_default() = changed;
                Ok(outcome)
            }
            ControlMessage::QosFlowMapping(_) => Err(control::no_qos_flow_mapping()),
            ControlMessage::ForecastFeed(feed) => {
                Ok(control::feed(feed, self.settings.epoch_us, |forecast| {
                    let bearer = self.named(&forecast.bearer)?;
                    let fed = bearer.configure(&self.around, now_us, |tc, now_us, _| {
                        let revision = tc.revision();
                        let fed = tc.feed_forecast(forecast, now_us);
                        fed.map(|()| revision).map_err(|error| error.into_outcome(revision))
                    });
                    fed.ok_or_else(|| gone(&bearer))?
                }))
            }
        }
    }

    fn transact(
        &self,
        bearer: &Bearer,
        transaction: &Transaction,
        now_us: u64,
    ) -> Result<ControlOutcome, ControlOutcome> {
        bearer
            .configure(&self.around, now_us, |tc, now_us, sink| tc.apply(transaction, now_us, sink))
            .ok_or_else(|| gone(bearer))
    }

    /// A RIC control of TC v0, which applies if the gNB has exactly one connected bearer, as v0 names none.
    ///
    /// # Errors
    /// Why it is refused; the wire of v0 cannot say so.
    pub fn control_v0(&self, header: &[u8], message: &[u8], now_us: u64) -> Result<(), String> {
        v0::decode_control_header(header).map_err(|error| format!("header: {error}"))?;
        let message = v0::decode_control(message).map_err(|error| format!("message: {error}"))?;
        if let Err(ControlOutcome::Refused { detail, .. }) = self.node_lease().admit(None, now_us) {
            return Err(detail);
        }
        let bearer = self.only_bearer()?;
        let outcome = bearer.configure(&self.around, now_us, |tc, now_us, sink| {
            let edits = tc_pipelines::v0::edits(tc.pipeline(), &message)
                .map_err(|error| error.to_string())?;
            let transaction = Transaction {
                bearer: bearer.id(),
                expected_revision: None,
                lease_ms: None,
                owner: None,
                as_safe: false,
                dry_run: false,
                change: PipelineChange::Delta(edits),
            };
            match tc.apply(&transaction, now_us, sink) {
                ControlOutcome::Accepted { .. } => Ok(()),
                ControlOutcome::Refused { element, detail, .. } => {
                    Err(format!("{element}: {detail}"))
                }
            }
        });
        outcome.unwrap_or_else(|| Err("the bearer is transparent after a defect".to_owned()))
    }

    /// The indication message of TC v0; none unless exactly one bearer is connected.
    pub fn report_v0(&self, now_us: u64) -> Option<Vec<u8>> {
        let bearer = self.only_bearer().ok()?;
        let tstamp_us = self.settings.epoch_us + now_us;
        let message = bearer.configure(&self.around, now_us, |tc, now_us, _| {
            tc_pipelines::v0::indication(tc.pipeline(), &tc.status(now_us), tstamp_us)
        })?;
        v0::encode_indication(&message).ok()
    }

    /// The RAN function definition of E2SM-TC v1 for E2 setup.
    pub fn definition_v1() -> Option<Vec<u8>> {
        v1::encode(&RanFunctionDefinition {
            short_name: v1::SHORT_NAME.to_owned(),
            oid: v1::OID.to_owned(),
            description: "Traffic control per UE and DRB".to_owned(),
            capabilities: capabilities(),
        })
        .ok()
    }

    pub(crate) fn node_default(&self) -> MutexGuard<'_, NodeDefaultState> {
        self.node_default.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node_lease(&self) -> MutexGuard<'_, NodeLeaseState> {
        self.node_lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, id: &BearerId) -> Result<Arc<Bearer>, ControlOutcome> {
        let UeId::Rnti(rnti) = id.ue else {
            let detail = "this node names UEs by RNTI".to_owned();
            return Err(refused(Cause::UnknownBearer, "bearer.ue", detail));
        };
        let directory = self.directory.load();
        directory.of_rnti(rnti, id.drb).cloned().ok_or_else(|| {
            let detail = format!("no DRB {} of RNTI {rnti} here now", id.drb);
            refused(Cause::UnknownBearer, "bearer", detail)
        })
    }

    fn only_bearer(&self) -> Result<Arc<Bearer>, String> {
        let directory = self.directory.load();
        let mut connected = directory.connected();
        match (connected.next(), connected.count()) {
            (Some(bearer), 0) => Ok(Arc::clone(bearer)),
            (first, others) => Err(format!(
                "v0 cannot say which bearer it means, and this node has {}; use v1",
                others + usize::from(first.is_some())
            )),
        }
    }
}

fn gone(bearer: &Bearer) -> ControlOutcome {
    let detail = format!("DRB {} is transparent after a defect, or is being removed", bearer.drb);
    refused(Cause::UnknownBearer, "bearer", detail)
}
