//! RIC controls of the TC RAN function.

use e2sm_tc::v0;
use e2sm_tc::v1::{
    BearerForecast, BearerId, Cause, ControlMessage, ControlOutcome, ForecastFeed, Pacer,
    PipelineChange, QosFlowMapping, Transaction, UeId,
};
use tc_rf::control::{self, refused};

use super::report::bearer_id;
use super::types::{ControlReply, RanFunction};
use crate::World;
use crate::bearer::Bearer;

impl World {
    /// Applies a control that has arrived.
    pub(super) fn apply_control(
        &mut self,
        function: RanFunction,
        header: &[u8],
        message: &[u8],
    ) -> ControlReply {
        if function == RanFunction::TcV0 {
            let (outcome, cause, detail) = match self.apply_v0(header, message) {
                Ok(outcome) => (outcome, None, String::new()),
                Err(detail) => (Vec::new(), Some("unnamed"), detail),
            };
            let acknowledged = cause.is_none();
            return ControlReply { acknowledged, outcome: outcome.into(), cause, detail };
        }
        self.apply_v1(header, message).into()
    }

    fn apply_v1(&mut self, header: &[u8], message: &[u8]) -> ControlOutcome {
        let message = match control::read(header, message) {
            Ok(message) => message,
            Err(outcome) => return outcome,
        };
        match message {
            ControlMessage::Transaction(transaction) => {
                match self.find_for(&transaction.bearer, transaction.owner.as_deref()) {
                    Ok(index) => self.transact(index, &transaction),
                    Err(refusal) => refusal,
                }
            }
            ControlMessage::LeaseRenewal(renewal) => {
                match self.find_for(&renewal.bearer, renewal.owner.as_deref()) {
                    Ok(index) => {
                        let tc = &mut self.bearers[index as usize].tc;
                        let outcome = tc.renew_lease(&renewal, self.now_us);
                        self.poll_bearer(index);
                        outcome
                    }
                    Err(refusal) => refusal,
                }
            }
            ControlMessage::ForecastFeed(feed) => self.feed_forecasts(&feed),
            ControlMessage::NodeLease(lease) => self.e2.node_lease.apply(&lease, self.now_us),
            ControlMessage::NodeDefault(default) => {
                match self.e2.node_lease.admit(default.owner.as_deref(), self.now_us) {
                    Ok(()) => self.e2.node_default.apply(&default, self.now_us),
                    Err(refusal) => refusal,
                }
            }
            ControlMessage::QosFlowMapping(mapping) => {
                self.map_qos_flow(&mapping).unwrap_or_else(|refusal| refusal)
            }
        }
    }

    /// Maps a QoS flow to a DRB; the revision of the outcome is that of the UE's mapping.
    fn map_qos_flow(&mut self, mapping: &QosFlowMapping) -> Result<ControlOutcome, ControlOutcome> {
        let QosFlowMapping { bearer, qfi, expected_revision, .. } = mapping;
        let to = self.find_for(bearer, mapping.owner.as_deref())?;
        let Bearer { rnti, tc, .. } = &self.bearers[to as usize];
        let (rnti, slice) = (*rnti, tc.qos().s_nssai);
        let revision = self.sdap.revision(rnti).unwrap_or(0);
        let refused = |cause, element, detail: String| {
            ControlOutcome::refused(cause, element, detail, Some(revision))
        };
        if expected_revision.is_some_and(|expected| expected != revision) {
            let detail = format!("the mapping of RNTI {rnti} has revision {revision}");
            return Err(refused(Cause::StaleRevision, "expected_revision", detail));
        }
        let Some(flow) = self.sdap.find(rnti, *qfi) else {
            let detail = format!("RNTI {rnti} has no QoS flow of QFI {qfi}");
            return Err(refused(Cause::UnknownQosFlow, "qfi", detail));
        };
        let from = self.sdap.down(flow).unwrap_or(to);
        let session = self.bearers[from as usize].tc.qos().s_nssai;
        if session != slice {
            let detail = "the QoS flow is of a PDU session of another slice".to_owned();
            return Err(refused(Cause::Inconsistent, "bearer.drb", detail));
        }
        if !mapping.dry_run && from != to {
            self.move_qos_flow(flow, to);
        }
        let revision = self.sdap.revision(rnti).unwrap_or(0);
        Ok(ControlOutcome::Accepted { revision, lease_ms: None })
    }

    /// Index of a bearer that `owner` may control now.
    fn find_for(&self, id: &BearerId, owner: Option<&str>) -> Result<u32, ControlOutcome> {
        let index = self.find(id)?;
        self.e2.node_lease.admit(owner, self.now_us).map(|()| index)
    }

    /// Passes each forecast to its bearer; times are Unix time.
    fn feed_forecasts(&mut self, feed: &ForecastFeed) -> ControlOutcome {
        control::feed(feed, self.epoch_us, |forecast| self.set_forecast(forecast))
    }

    /// Passes a forecast to its bearer without a RIC control; times are Unix time, as in a forecast feed
    /// of E2SM-TC.
    ///
    /// # Errors
    /// The cause with which a feed would be refused.
    pub fn feed_forecast(&mut self, forecast: &BearerForecast) -> Result<(), Cause> {
        let origin_us = forecast.origin_us.saturating_sub(self.epoch_us);
        match self.set_forecast(&BearerForecast { origin_us, ..forecast.clone() }) {
            Ok(_) => Ok(()),
            Err(ControlOutcome::Refused { cause, .. }) => Err(cause),
            Err(ControlOutcome::Accepted { .. }) => Ok(()),
        }
    }

    /// Passes a forecast in virtual time to its bearer; returns the revision of its pipeline.
    fn set_forecast(&mut self, forecast: &BearerForecast) -> Result<u32, ControlOutcome> {
        let index = self.find(&forecast.bearer)?;
        let tc = &mut self.bearers[index as usize].tc;
        let revision = tc.revision();
        tc.feed_forecast(forecast, self.now_us).map_err(|e| e.into_outcome(revision))?;
        self.poll_bearer(index);
        Ok(revision)
    }

    fn transact(&mut self, index: u32, transaction: &Transaction) -> ControlOutcome {
        let bearer = &mut self.bearers[index as usize];
        let was_unpaced = bearer.tc.pipeline().pacer == Pacer::None;
        let outcome = bearer.tc.apply(transaction, self.now_us, &mut bearer.tally);
        if was_unpaced && bearer.tc.pipeline().pacer != Pacer::None {
            self.recall_unsent_from_rlc(index);
        }
        self.poll_bearer(index);
        outcome
    }

    /// Index of a bearer of an attached UE.
    fn find(&self, id: &BearerId) -> Result<u32, ControlOutcome> {
        let UeId::Rnti(rnti) = id.ue else {
            let detail = "this node names UEs by RNTI".to_owned();
            return Err(refused(Cause::UnknownBearer, "bearer.ue", detail));
        };
        let known = self.bearers.find(rnti, id.drb);
        known.filter(|index| self.bearers[*index as usize].cell.is_some()).ok_or_else(|| {
            let detail = format!("no DRB {} of RNTI {rnti} here now", id.drb);
            refused(Cause::UnknownBearer, "bearer", detail)
        })
    }

    /// v0 has no bearer ids: it applies if there is exactly one bearer.
    fn apply_v0(&mut self, header: &[u8], message: &[u8]) -> Result<Vec<u8>, String> {
        v0::decode_control_header(header).map_err(|error| format!("header: {error}"))?;
        let message = v0::decode_control(message).map_err(|error| format!("message: {error}"))?;
        let active: Vec<u32> = self.active_bearers().collect();
        if let Err(ControlOutcome::Refused { detail, .. }) =
            self.e2.node_lease.admit(None, self.now_us)
        {
            return Err(detail);
        }
        let [index] = active[..] else {
            return Err(format!(
                "v0 cannot say which bearer it means, and this node has {}; use v1",
                active.len()
            ));
        };
        let pipeline = self.bearers[index as usize].tc.pipeline();
        let edits =
            tc_pipelines::v0::edits(pipeline, &message).map_err(|error| error.to_string())?;
        let transaction = Transaction {
            bearer: bearer_id(&self.bearers[index as usize]),
            expected_revision: None,
            lease_ms: None,
            owner: None,
            as_safe: false,
            dry_run: false,
            change: PipelineChange::Delta(edits),
        };
        match self.transact(index, &transaction) {
            ControlOutcome::Accepted { .. } => {
                v0::encode_control_outcome(&v0::ControlOutcome::Ok).map_err(|e| e.to_string())
            }
            ControlOutcome::Refused { element, detail, .. } => Err(format!("{element}: {detail}")),
        }
    }
}

impl From<ControlOutcome> for ControlReply {
    fn from(outcome: ControlOutcome) -> Self {
        let (cause, detail) = match &outcome {
            ControlOutcome::Accepted { .. } => (None, String::new()),
            ControlOutcome::Refused { element, detail, cause, .. } => {
                let place = if element.is_empty() { "" } else { ": " };
                (Some(cause.kind()), format!("{element}{place}{detail}"))
            }
        };
        let acknowledged = cause.is_none();
        Self { acknowledged, outcome: control::encode_outcome(outcome).into(), cause, detail }
    }
}
