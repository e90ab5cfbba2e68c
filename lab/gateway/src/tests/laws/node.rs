//! The lab's gNB with a connection that breaks and restarts, judged as it runs.

use std::collections::BTreeMap;

use e2sm_tc::v1::{
    self, ActionDefinition, BearerForecast, Cause, ControlMessage, ControlOutcome, EventTrigger,
    IndicationMessage, ReportStyle,
};
use lab_scenario::LoadedScenario;
use lab_world::{
    BearerDelay, BearerSample, CellSample, ControlError, ControlReply, ControlRequest,
    ControlTicket, FlowSample, GnbCounters, Output, PacketLedger, Payload, RanFunction, Report,
    ReportLoad, RouteError, SubscribeError, SubscriptionId, SubscriptionRequest, World,
};

use super::fault::{Fault, encoded};
use super::oracle::{Oracle, Violation};
use super::plan::Setting;
use super::tally::Tally;
use crate::{E2Node, NodeState, OutputSink};

/// Period of the reports that the laws are checked by.
const WATCH_MS: u32 = 3;

/// A control on its way to the TC function or back.
struct Sent {
    applied_us: u64,
    request: ControlRequest,
    /// Its ticket at the gateway; none once its connection broke.
    ticket: Option<ControlTicket>,
}

/// The gNB.
pub(super) struct JudgedNode {
    setting: Setting,
    scenario: LoadedScenario,
    world: World,
    /// Virtual time at which this gNB started.
    started_us: u64,
    watch: SubscriptionId,
    is_connected: bool,
    generation: u64,
    table_changed: bool,
    next_id: u64,
    sent: BTreeMap<ControlTicket, Sent>,
    /// Subscriptions of the gateway, by those of the world.
    subscriptions: BTreeMap<SubscriptionId, SubscriptionId>,
    lost_controls: Vec<ControlTicket>,
    lost_subscriptions: Vec<SubscriptionId>,
    oracle: Oracle,
    before: Vec<PacketLedger>,
    fault: Option<Fault>,
    /// Pipelines changed by this gNB, for faults.
    changes: u64,
    pub(super) violation: Option<Violation>,
    pub(super) tally: Tally,
}

impl JudgedNode {
    pub(super) fn new(setting: &Setting, fault: Option<Fault>) -> Self {
        let scenario = setting.scenario();
        let (world, watch) = started(&scenario);
        Self {
            oracle: Oracle::new(setting),
            before: world.packet_ledgers(),
            setting: setting.clone(),
            scenario,
            world,
            watch,
            started_us: 0,
            is_connected: true,
            generation: 0,
            table_changed: false,
            next_id: 0,
            sent: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            lost_controls: Vec::new(),
            lost_subscriptions: Vec::new(),
            fault,
            changes: 0,
            violation: None,
            tally: Tally::default(),
        }
    }

    /// The connection to the RIC breaks, or returns.
    pub(super) fn connect(&mut self, is_up: bool) {
        if is_up == self.is_connected {
            return;
        }
        self.is_connected = is_up;
        self.table_changed = true;
        if is_up {
            self.generation += 1;
            return;
        }
        self.tally.links_lost += 1;
        for (own, outer) in std::mem::take(&mut self.subscriptions) {
            self.world.unsubscribe(own);
            self.lost_subscriptions.push(outer);
        }
        // What is on its way to the TC function still arrives; the answers do not.
        self.lost_controls.extend(self.sent.values_mut().filter_map(|sent| sent.ticket.take()));
    }

    /// The gNB restarts: its packets, pipelines and revisions are gone.
    pub(super) fn restart(&mut self) {
        self.count_packets();
        let was_connected = self.is_connected;
        self.connect(false);
        self.started_us = self.now_us();
        (self.world, self.watch) = started(&self.scenario);
        self.world.set_epoch_us(lab_world::DEFAULT_EPOCH_US + self.started_us);
        self.sent.clear();
        self.oracle = Oracle::new(&self.setting);
        self.before = self.world.packet_ledgers();
        self.changes = 0;
        self.tally.restarts += 1;
        self.connect(was_connected);
    }

    /// Counts the packets of this gNB, at its end.
    pub(super) fn count_packets(&mut self) {
        for ledger in self.world.packet_ledgers() {
            self.tally.packets += ledger.entered;
            self.tally.packets_dropped += ledger.dropped_by_discipline + ledger.dropped_on_arrival;
            self.tally.packets_released += ledger.released;
            self.tally.packets_lost_on_f1 += ledger.lost_on_f1;
        }
    }

    /// Every packet that entered a bearer is in one place or ended in one way, and limits and policers
    /// drop only what arrives.
    fn judge_packets(&mut self) {
        let mut ledgers = self.world.packet_ledgers();
        if let (Some(fault), Some(first)) = (self.fault, ledgers.first_mut()) {
            fault.miscount(first, self.changes);
        }
        for (now, before) in ledgers.iter().zip(&self.before) {
            self.tally.packets_recalled += now.recalled;
            if now.entered != now.accounted() {
                let found = now.accounted();
                self.violate(format!("{} packets accounted for of {now:?}", found));
                break;
            }
            let ends = |ledger: &PacketLedger| {
                [ledger.delivered, ledger.dropped_by_rlc, ledger.dropped_by_discipline]
            };
            let shrank = ends(now).iter().zip(ends(before)).any(|(now, before)| *now < before);
            let dropped = now.dropped_on_arrival != before.dropped_on_arrival;
            if shrank || (dropped && now.entered == before.entered) {
                self.violate(format!("{before:?} became {now:?} without an arrival"));
                break;
            }
        }
        self.before = ledgers;
    }

    /// A packet leaves the RLC once.
    pub(super) fn judge_deliveries(&mut self) {
        let mut seen = std::collections::HashSet::new();
        for row in self.world.take_packets() {
            if !seen.insert((row.flow, row.sent_us)) {
                self.violate(format!("a packet was delivered twice: {row:?}"));
                break;
            }
        }
    }

    fn violate(&mut self, violation: Violation) {
        let at_us = self.now_us();
        self.violation.get_or_insert_with(|| format!("at {at_us} µs: {violation}"));
    }

    /// Judges an answer, as the gNB gave it.
    fn judge_answer(&mut self, sent: &Sent, reply: &ControlReply) {
        let outcome: ControlOutcome = match v1::decode(&reply.outcome) {
            Ok(outcome) => outcome,
            Err(error) => return self.violate(format!("an outcome that is none: {error}")),
        };
        if reply.acknowledged != matches!(outcome, ControlOutcome::Accepted { .. }) {
            return self.violate(format!("{reply:?} with {outcome:?}"));
        }
        let control = (&sent.request.header[..], &sent.request.message[..]);
        let before = self.tally.accepted;
        let judged = self.oracle.applied(sent.applied_us, control, &outcome, &mut self.tally);
        self.changes += self.tally.accepted - before;
        if let Err(violation) = judged {
            self.violate(format!("{:?}: {violation}", v1::decode::<ControlMessage>(control.1)));
        }
    }

    fn judge_report(&mut self, at_us: u64, report: &Report) {
        let Payload::Message(message) = &report.payload else { return };
        let Ok(IndicationMessage::PipelineStatus(statuses)) = v1::decode(message) else {
            return self.violate("a report that is none".to_owned());
        };
        self.tally.reports += 1;
        if let Err(violation) = self.oracle.reported(at_us, &statuses, &mut self.tally) {
            self.violate(violation);
        }
    }

    fn output(&mut self, output: Output, sink: &mut dyn OutputSink) {
        match output {
            Output::Indication(indication) if indication.subscription == self.watch => {
                let collected_us = indication.report.collected_at_us;
                let at_us = collected_us - self.world.epoch_us();
                self.judge_report(at_us, &indication.report);
            }
            Output::Indication(mut indication) => {
                if let Some(outer) = self.subscriptions.get(&indication.subscription) {
                    indication.subscription = *outer;
                    sink.indication(indication);
                }
            }
            Output::ControlDone { ticket, reply } => {
                let Some(sent) = self.sent.remove(&ticket) else {
                    return self.violate(format!("a second answer to {ticket:?}"));
                };
                let reply = match self.fault {
                    Some(fault) => fault.misreport(&sent.request, reply, &mut self.world),
                    None => reply,
                };
                self.judge_answer(&sent, &reply);
                if let Some(outer) = sent.ticket {
                    sink.control_answered(outer, reply);
                }
            }
        }
    }

    fn disconnected(&self, node_id: &str) -> Result<(), RouteError> {
        if self.is_connected {
            return Ok(());
        }
        Err(RouteError::UnknownNode { node_id: node_id.to_owned() })
    }
}

/// A gNB at its start, and the subscription that it is judged by.
fn started(scenario: &LoadedScenario) -> (World, SubscriptionId) {
    let mut world = World::new(scenario).expect("a scenario within the ranges");
    world.record_packets(true);
    let action =
        ActionDefinition { style: ReportStyle::PipelineStatus, bearers: Vec::new(), top_flows: 1 };
    let request = SubscriptionRequest {
        node_id: world.node_id().to_owned(),
        ran_function_oid: RanFunction::TcV1.oid().to_owned(),
        event_trigger: encoded(&EventTrigger::Periodic { period_ms: WATCH_MS }),
        action_definitions: vec![encoded(&action)],
        ..SubscriptionRequest::default()
    };
    let watch = world.subscribe(&request).expect("a subscription that the world knows");
    (world, watch)
}

impl E2Node for JudgedNode {
    fn node_id(&self) -> &str {
        self.world.node_id()
    }

    fn nodes(&self) -> Vec<NodeState> {
        let nodes = self.world.nodes().into_iter().filter(|_| self.is_connected);
        nodes.map(|node| NodeState { node, generation: self.generation }).collect()
    }

    fn now_us(&self) -> u64 {
        self.started_us + self.world.now_us()
    }

    fn set_epoch_us(&mut self, unix_us: u64) {
        self.world.set_epoch_us(unix_us + self.started_us);
    }

    fn next_output_us(&self) -> Option<u64> {
        self.world.next_output_us().map(|at_us| self.started_us + at_us)
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn OutputSink) {
        if std::mem::take(&mut self.table_changed) {
            sink.nodes_changed();
        }
        for id in std::mem::take(&mut self.lost_subscriptions) {
            sink.subscription_lost(id);
        }
        for ticket in std::mem::take(&mut self.lost_controls) {
            sink.control_lost(ticket);
        }
        let mut outputs = Vec::new();
        self.world.step_until(t_us - self.started_us, &mut |output| outputs.push(output));
        for output in outputs {
            self.output(output, sink);
        }
        self.judge_packets();
    }

    fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        self.disconnected(&request.node_id)?;
        let own = self.world.subscribe(request)?;
        self.next_id += 1;
        let outer = SubscriptionId(self.next_id);
        self.subscriptions.insert(own, outer);
        Ok(outer)
    }

    fn report_load(&mut self, request: &SubscriptionRequest) -> Result<ReportLoad, SubscribeError> {
        self.disconnected(&request.node_id)?;
        self.world.report_load(request)
    }

    fn unsubscribe(&mut self, subscription: SubscriptionId) -> bool {
        let own = self.subscriptions.iter().find(|(_, outer)| **outer == subscription);
        let Some(own) = own.map(|(own, _)| *own) else { return false };
        self.subscriptions.remove(&own);
        self.world.unsubscribe(own)
    }

    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        self.disconnected(node_id)?;
        self.world.report_now(node_id, oid)
    }

    fn submit_control(&mut self, request: ControlRequest) -> Result<ControlTicket, ControlError> {
        self.disconnected(&request.node_id)?;
        let applied_us = self.world.now_us() + u64::from(self.setting.control_delay_us);
        let taken = match self.fault {
            Some(fault) => fault.misread(&request, self.oracle.holder_now(self.world.now_us())),
            None => request.clone(),
        };
        let own = self.world.submit_control(taken)?;
        self.next_id += 1;
        let ticket = ControlTicket(self.next_id);
        self.sent.insert(own, Sent { applied_us, request, ticket: Some(ticket) });
        Ok(ticket)
    }

    fn feed_forecast(&mut self, forecast: &BearerForecast) -> Result<(), Cause> {
        self.world.feed_forecast(forecast)
    }

    fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)> {
        self.world.take_pacing_changes()
    }

    fn uses_cumulated_drain(&self) -> bool {
        self.world.uses_cumulated_drain()
    }

    fn bearer_samples(&mut self) -> Vec<BearerSample> {
        self.world.bearer_samples()
    }

    fn bearer_delays(&self) -> Vec<BearerDelay> {
        self.world.bearer_delays()
    }

    fn gnb_counters(&self) -> GnbCounters {
        self.world.gnb_counters()
    }

    fn flow_samples(&self) -> Vec<FlowSample> {
        self.world.flow_samples()
    }

    fn cell_sample(&self) -> CellSample {
        self.world.cell_sample()
    }

    fn summary(&self) -> serde_json::Value {
        E2Node::summary(&self.world)
    }
}
