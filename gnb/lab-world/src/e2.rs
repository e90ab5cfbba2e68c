//! The E2 side of the gNB: subscriptions, and controls on their way.

use std::collections::{BTreeMap, HashMap};

use e2sm_tc::v1;
use tc_rf::ReportCursor;

use super::World;
use super::api::{
    ControlError, ControlReply, ControlTicket, Indication, NodeInfo, Output, Payload, RanFunction,
    RanFunctionInfo, SubscribeError, SubscriptionId, SubscriptionRequest,
};
use super::line::Line;
use super::trigger::{self, What, When};
use crate::reports::kpm::UeCounters;

/// Name of the only node.
const NODE_ID: &str = "gnb-001-01-0xe00";

const NEVER: u64 = u64::MAX;

/// A control on its way to its RAN function.
#[derive(Clone, Debug)]
pub(super) struct PendingControl {
    pub(super) ticket: ControlTicket,
    pub(super) function: RanFunction,
    pub(super) header: Vec<u8>,
    pub(super) message: Vec<u8>,
}

/// A subscription in force.
#[derive(Clone, Debug)]
pub(super) struct Subscription {
    pub(super) function: RanFunction,
    pub(super) what: What,
    pub(super) when: When,
    /// When it reports next; [`NEVER`] while it waits for something to happen.
    pub(super) next_us: u64,
    pub(super) sequence: u64,
    /// Events of TC v1 not yet reported.
    pub(super) events: Vec<v1::Event>,
    /// Bearers that caused the report that is due; all when empty.
    pub(super) causes: Vec<v1::BearerId>,
    /// Threshold triggers: the bearers that are above, and when each last reported.
    pub(super) watch: HashMap<u32, Watch>,
    /// KPM: counters at the last report by RNTI.
    pub(super) kpm_before: HashMap<u16, UeCounters>,
    /// TC: what each action, by position, has told of each bearer.
    pub(super) tc_told: HashMap<(usize, u32), ReportCursor>,
}

/// One bearer under a threshold trigger.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    pub(super) is_above: bool,
    pub(super) reported_us: Option<u64>,
    pub(super) drops_before: u64,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct E2 {
    next_subscription: u64,
    next_ticket: u64,
    pub(super) subscriptions: BTreeMap<SubscriptionId, Subscription>,
    /// When the next subscription reports.
    next_report_us: Option<u64>,
    to_ran: Line<PendingControl>,
    to_ric: Line<Output>,
}

impl E2 {
    /// When a report is due or something reaches the RIC.
    pub(super) fn next_us(&self) -> u64 {
        self.next_report_us.unwrap_or(NEVER).min(self.to_ric.next_us())
    }

    pub(super) fn next_control_us(&self) -> u64 {
        self.to_ran.next_us()
    }

    pub(super) fn pop_control(&mut self, now_us: u64) -> Option<PendingControl> {
        self.to_ran.pop_due(now_us).map(|(_, control)| control)
    }

    /// Looks again for the next subscription to report.
    pub(super) fn reschedule(&mut self) {
        let next_us = self.subscriptions.values().map(|s| s.next_us).min();
        self.next_report_us = next_us.filter(|at_us| *at_us != NEVER);
    }

    pub(super) fn answer(&mut self, at_us: u64, ticket: ControlTicket, reply: ControlReply) {
        self.to_ric.push(at_us, Output::ControlDone { ticket, reply });
    }

    fn has_due_report(&self, now_us: u64) -> bool {
        self.next_report_us.is_some_and(|at_us| at_us <= now_us)
    }
}

impl World {
    /// The E2 nodes: one gNB.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        vec![self.node()]
    }

    /// Its only E2 node.
    pub fn node(&self) -> NodeInfo {
        let functions = RanFunction::ALL.map(|function| RanFunctionInfo {
            function,
            definition: if function == RanFunction::TcV1 {
                self.tc_definition()
            } else {
                Vec::new()
            },
        });
        NodeInfo {
            id: NODE_ID.to_owned(),
            mcc: 1,
            mnc: 1,
            nb_id: 0xe00,
            ran_functions: functions.into(),
        }
    }

    /// Name of its only node.
    pub fn node_id(&self) -> &'static str {
        NODE_ID
    }

    fn tc_definition(&self) -> Vec<u8> {
        let definition = v1::RanFunctionDefinition {
            short_name: v1::SHORT_NAME.to_owned(),
            oid: v1::OID.to_owned(),
            description: "Traffic control per UE and DRB".to_owned(),
            capabilities: tc_rf::capabilities(),
        };
        // Its parts are constants within their ranges, as a test asserts.
        v1::encode(&definition).unwrap_or_default()
    }

    /// Starts a subscription; its indications come out of [`step_until`](Self::step_until), the
    /// first at the next multiple of the period.
    ///
    /// # Errors
    /// [`SubscribeError`] when there is no such RAN function or it refuses the trigger or an action.
    pub fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        let oid = &request.ran_function_oid;
        let function = RanFunction::by_oid(oid)
            .ok_or_else(|| SubscribeError::UnknownRanFunction { oid: oid.clone() })?;
        let (what, when) = trigger::parse(function, request)?;
        let next_us = match when {
            // Aligned to the slots, so that a report shows what the MAC left.
            When::Every { period_us } => (self.now_us / period_us + 1) * period_us,
            When::Above { .. } | When::OnChange => NEVER,
        };
        let kpm_before = match what {
            What::Kpm { .. } => self.ue_counters().into_iter().collect(),
            _ => HashMap::new(),
        };
        let mut subscription = Subscription {
            function,
            what,
            when,
            next_us,
            sequence: 0,
            events: Vec::new(),
            causes: Vec::new(),
            watch: HashMap::new(),
            kpm_before,
            tc_told: HashMap::new(),
        };
        self.begin_watch(&mut subscription);
        let id = SubscriptionId(self.e2.next_subscription);
        self.e2.next_subscription += 1;
        self.e2.subscriptions.insert(id, subscription);
        self.e2.reschedule();
        Ok(id)
    }

    /// Ends a subscription; `false` when there is none of that id.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        let existed = self.e2.subscriptions.remove(&id).is_some();
        self.e2.reschedule();
        existed
    }

    /// Sends a RIC control; it takes effect T_RC later, and the answer comes out of
    /// [`step_until`](Self::step_until) as [`Output::ControlDone`] another T_RD later (when both
    /// are 0: at the next step, even one to the present time).
    ///
    /// # Errors
    /// [`ControlError`] when no RAN function takes it.
    pub fn submit_control(
        &mut self,
        oid: &str,
        header: &[u8],
        message: &[u8],
    ) -> Result<ControlTicket, ControlError> {
        let function = controllable(oid)?;
        let ticket = ControlTicket(self.e2.next_ticket);
        self.e2.next_ticket += 1;
        let at_us = self.now_us + u64::from(self.split.e2_control_delay_us);
        let (header, message) = (header.to_vec(), message.to_vec());
        self.e2.to_ran.push(at_us, PendingControl { ticket, function, header, message });
        Ok(ticket)
    }

    /// Applies a RIC control now, as if it had just arrived at the RAN function.
    ///
    /// # Errors
    /// [`ControlError`] when no RAN function takes it.
    pub fn control(
        &mut self,
        oid: &str,
        header: &[u8],
        message: &[u8],
    ) -> Result<ControlReply, ControlError> {
        let function = controllable(oid)?;
        Ok(self.apply_control(function, header, message))
    }

    /// A control has arrived at its RAN function.
    pub(super) fn execute(&mut self, control: PendingControl) {
        let reply = self.apply_control(control.function, &control.header, &control.message);
        let at_us = self.now_us + u64::from(self.split.e2_report_delay_us);
        self.e2.answer(at_us, control.ticket, reply);
    }

    /// The earliest virtual time at which something comes out of the world by itself: a report or
    /// the answer to a control. `None` when nothing is on its way. Reports on change or above a
    /// threshold cannot be known before.
    pub fn next_output_us(&self) -> Option<u64> {
        let report_delay_us = u64::from(self.split.e2_report_delay_us);
        let reports_us = self.e2.next_report_us.map(|at_us| at_us + report_delay_us);
        let answers_us = match self.e2.next_control_us() {
            NEVER => None,
            at_us => Some(at_us + report_delay_us),
        };
        let waiting_us = match self.e2.to_ric.next_us() {
            NEVER => None,
            at_us => Some(at_us),
        };
        [reports_us, answers_us, waiting_us].into_iter().flatten().min()
    }

    /// Sends the reports that are due, and hands over what has reached the RIC.
    pub(super) fn report(&mut self, sink: &mut dyn FnMut(Output)) {
        let now_us = self.now_us;
        if self.e2.has_due_report(now_us) {
            let due: Vec<SubscriptionId> = self
                .e2
                .subscriptions
                .iter()
                .filter(|(_, subscription)| subscription.next_us <= now_us)
                .map(|(id, _)| *id)
                .collect();
            for id in due {
                self.report_one(id);
            }
            self.e2.reschedule();
        }
        while let Some((_, output)) = self.e2.to_ric.pop_due(now_us) {
            sink(output);
        }
    }

    fn report_one(&mut self, id: SubscriptionId) {
        // Taken out while its report is made of the rest of the world.
        let Some(mut subscription) = self.e2.subscriptions.remove(&id) else { return };
        subscription.next_us = match subscription.when {
            When::Every { period_us } => (self.now_us / period_us + 1) * period_us,
            When::Above { .. } | When::OnChange => NEVER,
        };
        let collected_at_us = self.epoch_us + self.now_us;
        let at_us = self.now_us + u64::from(self.split.e2_report_delay_us);
        for (header, payload) in self.payloads(&mut subscription) {
            let indication = Indication {
                subscription: id,
                ran_function: subscription.function,
                sequence: subscription.sequence,
                header,
                payload,
                collected_at_us,
                received_at_us: self.epoch_us + at_us,
            };
            subscription.sequence += 1;
            self.e2.to_ric.push(at_us, Output::Indication(indication));
        }
        subscription.causes.clear();
        self.e2.subscriptions.insert(id, subscription);
    }

    fn payloads(&mut self, subscription: &mut Subscription) -> Vec<(Vec<u8>, Payload)> {
        match &subscription.what {
            What::Rlc => vec![self.rlc_report()],
            What::Mac => vec![self.mac_report()],
            What::Kpm { .. } => vec![self.kpm_report(subscription)],
            What::TcV0 => self.tc_v0_report().into_iter().collect(),
            What::TcV1(_) => self.tc_v1_reports(subscription),
        }
    }
}

fn controllable(oid: &str) -> Result<RanFunction, ControlError> {
    match RanFunction::by_oid(oid) {
        Some(function @ (RanFunction::TcV0 | RanFunction::TcV1)) => Ok(function),
        Some(function) => Err(ControlError::NotControllable { oid: function.oid(), function }),
        None => Err(ControlError::UnknownRanFunction { oid: oid.to_owned() }),
    }
}
