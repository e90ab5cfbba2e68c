//! The E2 agent of the gNB: subscriptions, reports, controls and answers in flight.

mod control;
mod limits;
mod report;
mod subscription;
pub(crate) mod types;

use std::collections::BTreeMap;

use e2sm_tc::v1::{self, Event, EventKind};
use lab_scenario::Split;
use tc_rf::{NodeDefaultState, NodeLeaseState};

use report::{Gnb, active, bearer_id};
use subscription::{NEVER, Subscription, What};
use types::{
    ControlError, ControlReply, ControlRequest, ControlTicket, Indication, NodeInfo, Output,
    RanFunction, RanFunctionInfo, Report, ReportLoad, RouteError, SubscribeError, SubscriptionId,
    SubscriptionRequest,
};

use super::World;
use super::links::Line;
use super::reports::kpm::UeCounters;

/// Id of the only node.
const NODE_ID: &str = "gnb-001-01-0xe00";

/// A control in flight to its RAN function.
#[derive(Clone, Debug)]
struct PendingControl {
    ticket: ControlTicket,
    function: RanFunction,
    request: ControlRequest,
}

/// The E2 agent.
#[derive(Clone, Debug)]
pub(crate) struct E2Agent {
    /// T_RC: from the RIC to the RAN function.
    control_delay_us: u64,
    /// T_RD: from the RAN function to the RIC.
    report_delay_us: u64,
    next_subscription: u64,
    next_ticket: u64,
    subscriptions: BTreeMap<SubscriptionId, Subscription>,
    /// Time of the next report of a subscription; [`NEVER`] if none is due by time.
    next_report_us: u64,
    to_ran: Line<PendingControl>,
    to_ric: Line<Output>,
    node_lease: NodeLeaseState,
    pub(crate) node_default: NodeDefaultState,
}

impl E2Agent {
    pub(crate) fn new(split: &Split) -> Self {
        Self {
            control_delay_us: split.e2_control_delay_us.into(),
            report_delay_us: split.e2_report_delay_us.into(),
            next_subscription: 0,
            next_ticket: 0,
            subscriptions: BTreeMap::new(),
            next_report_us: NEVER,
            node_lease: NodeLeaseState::default(),
            node_default: NodeDefaultState::default(),
            to_ran: Line::default(),
            to_ric: Line::default(),
        }
    }

    /// Time of the next report or of the next arrival at the RIC.
    pub(crate) fn next_us(&self) -> u64 {
        self.next_report_us.min(self.to_ric.next_us())
    }

    /// Time of the next arrival of a control at its RAN function.
    pub(crate) fn next_control_us(&self) -> u64 {
        self.to_ran.next_us()
    }

    /// Earliest known arrival at the RIC.
    fn next_output_us(&self) -> Option<u64> {
        let sent_us = self.next_report_us.min(self.next_control_us());
        let arrives_us = sent_us.saturating_add(self.report_delay_us).min(self.to_ric.next_us());
        (arrives_us != NEVER).then_some(arrives_us)
    }

    fn reschedule(&mut self) {
        let next_us = self.subscriptions.values().map(|subscription| subscription.next_us).min();
        self.next_report_us = next_us.unwrap_or(NEVER);
    }

    fn subscribe(
        &mut self,
        function: RanFunction,
        request: &SubscriptionRequest,
        gnb: &Gnb<'_>,
    ) -> Result<SubscriptionId, SubscribeError> {
        let mut subscription = Subscription::new(function, request, gnb.now_us)?;
        if let What::Kpm { .. } = subscription.what {
            subscription.kpm_before = gnb.ue_counters().into_iter().collect();
        }
        gnb.start_watching(&mut subscription);
        let id = SubscriptionId(self.next_subscription);
        self.next_subscription += 1;
        self.subscriptions.insert(id, subscription);
        self.reschedule();
        Ok(id)
    }

    fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        let existed = self.subscriptions.remove(&id).is_some();
        self.reschedule();
        existed
    }

    fn submit(
        &mut self,
        function: RanFunction,
        request: ControlRequest,
        now_us: u64,
    ) -> ControlTicket {
        let ticket = ControlTicket(self.next_ticket);
        self.next_ticket += 1;
        let control = PendingControl { ticket, function, request };
        self.to_ran.push(now_us + self.control_delay_us, control);
        ticket
    }

    fn answer(&mut self, ticket: ControlTicket, reply: ControlReply, now_us: u64) {
        self.to_ric.push(now_us + self.report_delay_us, Output::ControlDone { ticket, reply });
    }

    fn add_event(&mut self, event: &Event, now_us: u64) {
        for subscription in self.subscriptions.values_mut() {
            subscription.add_event(event, now_us);
        }
        self.reschedule();
    }

    /// A UE has another C-RNTI: what is counted of it from report to report goes on, but for its cell's PRBs.
    pub(crate) fn ue_renamed(&mut self, from: u16, to: u16) {
        for subscription in self.subscriptions.values_mut() {
            if let Some(before) = subscription.kpm_before.remove(&from) {
                let before = UeCounters { prb_dl: 0, ..before };
                subscription.kpm_before.insert(to, before);
            }
        }
    }

    fn check_thresholds(&mut self, gnb: &Gnb<'_>) {
        for subscription in self.subscriptions.values_mut() {
            gnb.check_threshold(subscription);
        }
        self.reschedule();
    }

    /// Sends the reports that are due.
    fn send_reports(&mut self, gnb: &mut Gnb<'_>) {
        let now_us = gnb.now_us;
        if self.next_report_us > now_us {
            return;
        }
        let arrives_us = now_us + self.report_delay_us;
        let due = self.subscriptions.iter_mut().filter(|(_, due)| due.next_us <= now_us);
        for (id, subscription) in due {
            subscription.schedule_next(now_us);
            for report in gnb.reports(subscription) {
                let indication = Indication {
                    subscription: *id,
                    ran_function: subscription.function,
                    sequence: subscription.sequence,
                    report,
                    received_at_us: gnb.epoch_us + arrives_us,
                };
                subscription.sequence += 1;
                self.to_ric.push(arrives_us, Output::Indication(indication));
            }
            subscription.causes.clear();
        }
        self.reschedule();
    }
}

impl World {
    /// The E2 nodes: one gNB.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        vec![self.node()]
    }

    /// The E2 node.
    pub fn node(&self) -> NodeInfo {
        let definition = v1::RanFunctionDefinition {
            short_name: v1::SHORT_NAME.to_owned(),
            oid: v1::OID.to_owned(),
            description: "Traffic control per UE and DRB".to_owned(),
            capabilities: capabilities(),
        };
        // Constants within their ranges, as a test asserts.
        let tc_v1 = v1::encode(&definition).unwrap_or_default();
        let ran_functions = RanFunction::ALL.map(|function| RanFunctionInfo {
            function,
            definition: if function == RanFunction::TcV1 { tc_v1.clone() } else { Vec::new() }
                .into(),
        });
        NodeInfo {
            id: NODE_ID.to_owned(),
            mcc: 1,
            mnc: 1,
            nb_id: 0xe00,
            ran_functions: ran_functions.into(),
        }
    }

    /// [`NodeInfo::id`] of the node.
    pub fn node_id(&self) -> &'static str {
        NODE_ID
    }

    /// Starts a subscription; [`step_until`](Self::step_until) outputs its indications, the first at
    /// the next multiple of the period.
    ///
    /// # Errors
    /// [`SubscribeError`] if there is no such node or RAN function, the request is too large, or the
    /// RAN function refuses the trigger or an action.
    pub fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        limits::check_sizes(request)?;
        let function = route(&request.node_id, &request.ran_function_oid)?;
        let (e2, gnb) = self.e2_and_gnb();
        e2.subscribe(function, request, &gnb)
    }

    /// What the reports of a subscription would take; nothing is subscribed.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe).
    pub fn report_load(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<ReportLoad, SubscribeError> {
        limits::check_sizes(request)?;
        let function = route(&request.node_id, &request.ran_function_oid)?;
        self.e2_and_gnb().1.report_load(function, request)
    }

    /// Ends a subscription; `false` if there is none of that id.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        self.e2.unsubscribe(id)
    }

    /// A report of the present state, without a subscription.
    ///
    /// # Errors
    /// [`SubscribeError`] if there is no such node or RAN function, or it reports to subscriptions
    /// only: KPM, TC v1, and TC v0 unless there is exactly one bearer.
    pub fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        let function = route(node_id, oid)?;
        let (_, mut gnb) = self.e2_and_gnb();
        gnb.report_now(function).ok_or_else(|| SubscribeError::NoReportNow { oid: oid.to_owned() })
    }

    /// Sends a RIC control; it takes effect T_RC later, and [`step_until`](Self::step_until) outputs
    /// [`Output::ControlDone`] another T_RD later (if both are 0: at the next step, even one to the
    /// present time).
    ///
    /// # Errors
    /// [`ControlError`] if no RAN function accepts it.
    pub fn submit_control(
        &mut self,
        request: ControlRequest,
    ) -> Result<ControlTicket, ControlError> {
        let function = controllable(&request.node_id, &request.ran_function_oid)?;
        Ok(self.e2.submit(function, request, self.now_us))
    }

    /// Applies a RIC control now, as if it had just arrived at the RAN function.
    ///
    /// # Errors
    /// [`ControlError`] if no RAN function accepts it.
    pub fn control(
        &mut self,
        oid: &str,
        header: &[u8],
        message: &[u8],
    ) -> Result<ControlReply, ControlError> {
        let function = controllable(NODE_ID, oid)?;
        Ok(self.apply_control(function, header, message))
    }

    /// Applies the controls that have arrived at their RAN function.
    pub(super) fn apply_due_controls(&mut self) {
        while let Some((_, control)) = self.e2.to_ran.pop_due(self.now_us) {
            let PendingControl { ticket, function, request } = control;
            let reply = self.apply_control(function, &request.header, &request.message);
            self.e2.answer(ticket, reply, self.now_us);
        }
    }

    /// Virtual time of the next output of [`step_until`](Self::step_until) that is known now; `None`
    /// if there is none. Reports on change or above a threshold are not known in advance.
    pub fn next_output_us(&self) -> Option<u64> {
        self.e2.next_output_us()
    }

    /// Sends the reports that are due, and outputs what has reached the RIC.
    pub(super) fn report(&mut self, sink: &mut dyn FnMut(Output)) {
        let (e2, mut gnb) = self.e2_and_gnb();
        e2.send_reports(&mut gnb);
        while let Some((_, output)) = self.e2.to_ric.pop_due(self.now_us) {
            sink(output);
        }
    }

    /// Reports the events of a bearer's pipeline.
    pub(super) fn report_pipeline_events(&mut self, index: u32) {
        let bearer = &mut self.bearers[index as usize];
        let (rnti, drb) = (bearer.rnti, bearer.drb);
        for kind in std::mem::take(&mut bearer.tally.events) {
            if let (EventKind::PacingChanged { by_forecast }, Some(changes)) =
                (&kind, &mut self.recording.pacing_changes)
            {
                changes.push((rnti, drb, *by_forecast));
            }
            if matches!(kind, EventKind::PipelineChanged { .. } | EventKind::LeaseExpired { .. }) {
                let measured = &mut self.bearers[index as usize].measured;
                measured.by_kind.pipeline_changed(self.now_us);
            }
            self.report_event(index, kind);
        }
    }

    /// Reports an event of a bearer.
    pub(super) fn report_event(&mut self, index: u32, kind: EventKind) {
        let bearer = bearer_id(&self.bearers[index as usize]);
        let event = Event { bearer, at_us: self.epoch_us + self.now_us, kind };
        self.e2.add_event(&event, self.now_us);
    }

    /// Compares the watched quantities with the thresholds of subscriptions.
    pub(super) fn check_thresholds(&mut self) {
        let (e2, gnb) = self.e2_and_gnb();
        e2.check_thresholds(&gnb);
    }

    /// Indices of the bearers of attached UEs.
    pub(super) fn active_bearers(&self) -> impl Iterator<Item = u32> + use<> {
        active(&self.bearers).into_iter()
    }

    fn e2_and_gnb(&mut self) -> (&mut E2Agent, Gnb<'_>) {
        let Self { e2, cells, bearers, sdap, now_us, epoch_us, .. } = self;
        (e2, Gnb { cells, bearers, sdap, now_us: *now_us, epoch_us: *epoch_us })
    }
}

/// Those of the pipelines, and of the lab's SDAP.
fn capabilities() -> v1::Capabilities {
    let mut capabilities = tc_rf::capabilities();
    capabilities.features.get_or_insert_default().push(v1::QOS_FLOW_MAPPING.to_owned());
    capabilities
}

fn route(node_id: &str, oid: &str) -> Result<RanFunction, RouteError> {
    if node_id != NODE_ID {
        return Err(RouteError::UnknownNode { node_id: node_id.to_owned() });
    }
    RanFunction::by_oid(oid).ok_or_else(|| RouteError::UnknownRanFunction {
        node_id: node_id.to_owned(),
        oid: oid.to_owned(),
    })
}

fn controllable(node_id: &str, oid: &str) -> Result<RanFunction, ControlError> {
    match route(node_id, oid)? {
        function @ (RanFunction::TcV0 | RanFunction::TcV1) => Ok(function),
        function => Err(ControlError::NotControllable { function }),
    }
}
