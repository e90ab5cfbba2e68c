//! Bounds of a subscription request, and the load that it puts on the node.

use e2sm_tc::v1::{ActionDefinition, ReportStyle};

use super::report::{Gnb, active};
use super::subscription::{Subscription, What, When, concerns};
use super::types::{RanFunction, ReportLoad, SubscribeError, SubscriptionRequest};
use crate::reports::{kpm, mac, rlc};

/// Measurement names of one subscription; this node has fewer.
pub(crate) const MAX_KPM_NAMES: usize = 64;
/// `MeasurementTypeName` of E2SM-KPM (O-RAN.WG3.E2SM-KPM) is a `PrintableString (SIZE (1..150))`.
pub(crate) const MAX_KPM_NAME_BYTES: usize = 150;
/// `maxofRICactionID` of E2AP (O-RAN.WG3.E2AP).
const MAX_ACTIONS: usize = 16;
/// An action of E2SM-TC v1 that lists `maxReportedBearers`, 4096, takes less.
const MAX_ACTION_BYTES: usize = 64 << 10;
/// Triggers of all service models take a few bytes.
const MAX_TRIGGER_BYTES: usize = 256;
/// Names of nodes and OIDs are far shorter; refusals quote them.
const MAX_ID_BYTES: usize = 256;

/// Bytes of a bearer's pipeline status with a few queues that have traffic.
const STATUS_BYTES: u64 = 64;
/// Bytes of one flow of an inventory.
const FLOW_BYTES: u64 = 64;
/// Bytes of the events of one report.
const EVENTS_BYTES: u64 = 256;
/// Reports on change or above a threshold have no rate of their own: a lease renewal or a crossing
/// on each of a few bearers every second.
const TRIGGERED_PER_S: f64 = 10.0;

/// Refuses a request with parts beyond what the service models need.
pub(super) fn check_sizes(request: &SubscriptionRequest) -> Result<(), SubscribeError> {
    let check = |element: String, found: usize, limit: usize, unit: &'static str| {
        if found <= limit {
            return Ok(());
        }
        Err(SubscribeError::TooLarge { element, found, limit, unit })
    };
    check("node_id".to_owned(), request.node_id.len(), MAX_ID_BYTES, "bytes")?;
    let oid_bytes = request.ran_function_oid.len();
    check("ran_function_oid".to_owned(), oid_bytes, MAX_ID_BYTES, "bytes")?;
    let trigger_bytes = request.event_trigger.len();
    check("event_trigger".to_owned(), trigger_bytes, MAX_TRIGGER_BYTES, "bytes")?;
    let actions = &request.action_definitions;
    check("action_definitions".to_owned(), actions.len(), MAX_ACTIONS, "actions")?;
    for (index, action) in actions.iter().enumerate() {
        check(format!("action_definitions[{index}]"), action.len(), MAX_ACTION_BYTES, "bytes")?;
    }
    let names = &request.kpm_measurements;
    check("kpm_measurements".to_owned(), names.len(), MAX_KPM_NAMES, "names")?;
    for (index, name) in names.iter().enumerate() {
        check(format!("kpm_measurements[{index}]"), name.len(), MAX_KPM_NAME_BYTES, "bytes")?;
    }
    Ok(())
}

impl Gnb<'_> {
    /// What the reports of a subscription will take, from the request and the bearers of now.
    pub(super) fn report_load(
        &self,
        function: RanFunction,
        request: &SubscriptionRequest,
    ) -> Result<ReportLoad, SubscribeError> {
        let Subscription { what, when, .. } = Subscription::new(function, request, self.now_us)?;
        let bearers = active(self.bearers);
        let report_bytes = match &what {
            What::Rlc => plain_bytes(bearers.len(), rlc::RECORD_BYTES),
            What::Mac => plain_bytes(self.cells.rntis().count(), mac::RECORD_BYTES),
            What::Kpm { wanted, unsupported } => {
                kpm::report_bytes(wanted, self.cells.rntis().count(), unsupported)
            }
            What::TcV0 => STATUS_BYTES,
            What::TcV1(actions) => {
                actions.iter().map(|action| self.action_bytes(action, &bearers)).sum()
            }
        };
        let reports_per_s = match when {
            When::Every { period_us } => 1e6 / period_us as f64,
            When::Above { .. } | When::OnChange => TRIGGERED_PER_S,
        };
        Ok(ReportLoad { report_bytes, reports_per_s })
    }

    fn action_bytes(&self, action: &ActionDefinition, bearers: &[u32]) -> u64 {
        let is_reported = |index: &&u32| {
            concerns(action, &super::report::bearer_id(&self.bearers[**index as usize]))
        };
        let bearers = bearers.iter().filter(is_reported).count() as u64;
        match action.style {
            ReportStyle::PipelineStatus => bearers * STATUS_BYTES,
            ReportStyle::FlowInventory => bearers * u64::from(action.top_flows) * FLOW_BYTES,
            ReportStyle::Events => EVENTS_BYTES,
        }
    }
}

fn plain_bytes(records: usize, record_bytes: usize) -> u64 {
    (records * record_bytes) as u64
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn refused(request: &SubscriptionRequest) -> String {
        check_sizes(request).expect_err("too large").to_string()
    }

    #[test]
    fn each_part_has_a_bound_and_the_refusal_names_it() {
        let request = SubscriptionRequest::periodic("gnb", RanFunction::Kpm, 1);
        let names = |count: usize, bytes: usize| SubscriptionRequest {
            kpm_measurements: vec!["n".repeat(bytes); count],
            ..request.clone()
        };
        assert_eq!(check_sizes(&names(MAX_KPM_NAMES, MAX_KPM_NAME_BYTES)), Ok(()));
        let too_many = refused(&names(MAX_KPM_NAMES + 1, 1));
        assert_eq!(too_many, "kpm_measurements: 65 names; expected at most 64");
        let too_long = refused(&names(2, MAX_KPM_NAME_BYTES + 1));
        assert_eq!(too_long, "kpm_measurements[0]: 151 bytes; expected at most 150");
        let actions = |count: usize, bytes: usize| SubscriptionRequest {
            action_definitions: vec![Bytes::from(vec![0; bytes]); count],
            ..request.clone()
        };
        assert_eq!(check_sizes(&actions(MAX_ACTIONS, MAX_ACTION_BYTES)), Ok(()));
        assert!(refused(&actions(17, 1)).starts_with("action_definitions: 17 actions"));
        assert!(refused(&actions(1, 65_537)).starts_with("action_definitions[0]: 65537 bytes"));
        let long = "x".repeat(1 << 20);
        let node = SubscriptionRequest { node_id: long.clone(), ..request.clone() };
        assert_eq!(refused(&node), "node_id: 1048576 bytes; expected at most 256");
        let oid = SubscriptionRequest { ran_function_oid: long, ..request.clone() };
        assert_eq!(refused(&oid), "ran_function_oid: 1048576 bytes; expected at most 256");
        let trigger = SubscriptionRequest { event_trigger: vec![0; 257].into(), ..request };
        assert_eq!(refused(&trigger), "event_trigger: 257 bytes; expected at most 256");
    }
}
