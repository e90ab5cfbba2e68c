//! A scripted node.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, mpsc},
};

use bytes::Bytes;
use e2sm_tc::v1::{BearerForecast, Cause};
use lab_world::{
    BearerDelay, BearerSample, CellSample, ControlError, ControlReply, ControlRequest,
    ControlTicket, FlowSample, GnbCounters, Indication, KpmReport, KpmUe, NodeInfo, Payload,
    RanFunction, RanFunctionInfo, Report, ReportLoad, RouteError, SubscribeError, SubscriptionId,
    SubscriptionRequest,
};
use serde_json::json;

use crate::{E2Node, NodeState, OutputSink};

pub(super) const NODE: &str = "gnb-001-01-0xe00";
/// Reports at the trigger's period, u32 little-endian ms.
pub(super) const REPORTER: &str = RanFunction::Rlc.oid();
/// Takes controls; their first byte says what to do.
pub(super) const CONTROLLER: &str = RanFunction::TcV0.oid();
/// Typed reports.
pub(super) const KPM: &str = RanFunction::Kpm.oid();

pub(super) const ACCEPT: u8 = 0;
pub(super) const REFUSE: u8 = 1;
pub(super) const NEVER_ANSWER: u8 = 2;
pub(super) const LOSE_NODE: u8 = 3;
pub(super) const DIE: u8 = 4;
pub(super) const ACCEPT_LATER: u8 = 5;
/// Virtual time that [`ACCEPT_LATER`] takes.
const LATER_US: u64 = 700;

/// What the test and the node share.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) connected: bool,
    pub(super) generation: u64,
    pub(super) nb_id: u64,
    pub(super) message_bytes: usize,
    /// Set when any of the above changed.
    pub(super) changed: bool,
    /// Sleep this long in the next step, once.
    pub(super) stall_ms: u64,
    /// Stand still in the next step: says so, then waits until the other end is dropped.
    pub(super) hold: Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>,
    /// Subscriptions open in the node now, and ever.
    pub(super) open: BTreeSet<u64>,
    pub(super) opened: u64,
    /// Unix times given by the gateway.
    pub(super) epochs_us: Vec<u64>,
    /// Headers of the controls that reached the node.
    pub(super) control_headers: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub(super) struct ScriptHandle(Arc<Mutex<Script>>);

impl ScriptHandle {
    pub(super) fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().expect("no test panics with the script in hand")
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Script)) {
        let mut script = self.lock();
        change(&mut script);
        script.changed = true;
    }
}

struct Subscription {
    function: RanFunction,
    period_us: u64,
    next_us: u64,
    kpm: Option<Vec<String>>,
}

/// The node.
pub(super) struct Double {
    script: ScriptHandle,
    now_us: u64,
    epoch_us: u64,
    next_id: u64,
    subscriptions: BTreeMap<u64, Subscription>,
    /// Controls with the time of the answer.
    controls: Vec<(ControlTicket, u8, u64)>,
}

impl Double {
    pub(super) fn new() -> (Self, ScriptHandle) {
        let script = ScriptHandle(Arc::new(Mutex::new(Script {
            connected: true,
            generation: 0,
            nb_id: 0xe00,
            message_bytes: 16,
            changed: false,
            stall_ms: 0,
            hold: None,
            open: BTreeSet::new(),
            opened: 0,
            epochs_us: Vec::new(),
            control_headers: Vec::new(),
        })));
        let double = Self {
            script: script.clone(),
            now_us: 0,
            epoch_us: 0,
            next_id: 0,
            subscriptions: BTreeMap::new(),
            controls: Vec::new(),
        };
        (double, script)
    }

    fn route(&self, node_id: &str, oid: &str) -> Result<RanFunction, RouteError> {
        if node_id != NODE || !self.script.lock().connected {
            return Err(RouteError::UnknownNode { node_id: node_id.to_owned() });
        }
        match oid {
            KPM => Ok(RanFunction::Kpm),
            REPORTER => Ok(RanFunction::Rlc),
            CONTROLLER => Ok(RanFunction::TcV0),
            _ => Err(RouteError::UnknownRanFunction {
                node_id: node_id.to_owned(),
                oid: oid.to_owned(),
            }),
        }
    }

    fn answer_controls(&mut self, sink: &mut dyn OutputSink) {
        self.controls.retain(|&(ticket, what, at_us)| {
            if self.now_us < at_us {
                return true;
            }
            match what {
                ACCEPT | ACCEPT_LATER => sink.control_answered(
                    ticket,
                    ControlReply {
                        acknowledged: true,
                        outcome: Bytes::from_static(b"done"),
                        cause: None,
                        detail: String::new(),
                    },
                ),
                REFUSE => sink.control_answered(
                    ticket,
                    ControlReply {
                        acknowledged: false,
                        outcome: Bytes::from_static(b"no"),
                        cause: Some("stale_revision"),
                        detail: "expected_revision: 3; expected 4".to_owned(),
                    },
                ),
                LOSE_NODE => sink.control_lost(ticket),
                DIE => panic!("the node dies, as the test wants"),
                _ => return true,
            }
            false
        });
    }
}

impl E2Node for Double {
    fn node_id(&self) -> &str {
        NODE
    }

    fn now_us(&self) -> u64 {
        self.now_us
    }

    fn set_epoch_us(&mut self, unix_us: u64) {
        self.epoch_us = unix_us;
        self.script.lock().epochs_us.push(unix_us);
    }

    fn next_output_us(&self) -> Option<u64> {
        let reports = self.subscriptions.values().map(|subscription| subscription.next_us);
        let answers = self.controls.iter().filter(|(_, what, _)| *what != NEVER_ANSWER);
        reports.chain(answers.map(|&(_, _, at_us)| at_us)).min()
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn OutputSink) {
        self.now_us = t_us.max(self.now_us);
        let (message_bytes, stall_ms, hold) = {
            let mut script = self.script.lock();
            if std::mem::take(&mut script.changed) {
                sink.nodes_changed();
                if !script.connected {
                    for id in std::mem::take(&mut self.subscriptions).into_keys() {
                        script.open.remove(&id);
                        sink.subscription_lost(SubscriptionId(id));
                    }
                }
            }
            (script.message_bytes, std::mem::take(&mut script.stall_ms), script.hold.take())
        };
        if let Some((held, released)) = hold {
            // A test that failed has dropped its ends.
            let _ = held.send(());
            let _ = released.recv();
        }
        if stall_ms > 0 {
            std::thread::sleep(std::time::Duration::from_millis(stall_ms));
        }
        self.answer_controls(sink);
        for (id, subscription) in &mut self.subscriptions {
            while subscription.next_us <= self.now_us {
                let collected_at_us = self.epoch_us + subscription.next_us;
                let payload = match &subscription.kpm {
                    None => Payload::Message(Bytes::from(vec![7; message_bytes])),
                    Some(names) => Payload::Kpm(kpm_report(names, subscription.period_us)),
                };
                let header = Bytes::copy_from_slice(&subscription.next_us.to_le_bytes());
                sink.indication(Indication {
                    subscription: SubscriptionId(*id),
                    ran_function: subscription.function,
                    sequence: 0,
                    report: Report { header, payload, collected_at_us },
                    received_at_us: collected_at_us,
                });
                subscription.next_us += subscription.period_us;
            }
        }
    }

    fn nodes(&self) -> Vec<NodeState> {
        let script = self.script.lock();
        if !script.connected {
            return Vec::new();
        }
        let ran_functions = [RanFunction::Kpm, RanFunction::Rlc, RanFunction::TcV0]
            .map(|function| RanFunctionInfo {
                function,
                definition: Bytes::from_static(b"definition"),
            })
            .to_vec();
        let node =
            NodeInfo { id: NODE.to_owned(), mcc: 1, mnc: 1, nb_id: script.nb_id, ran_functions };
        vec![NodeState { node, generation: script.generation }]
    }

    fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        let function = self.route(&request.node_id, &request.ran_function_oid)?;
        let period_us = period_us(request)?;
        let id = self.next_id;
        self.next_id += 1;
        let kpm = (function == RanFunction::Kpm).then(|| request.kpm_measurements.clone());
        let next_us = self.now_us + period_us;
        self.subscriptions.insert(id, Subscription { function, period_us, next_us, kpm });
        let mut script = self.script.lock();
        script.open.insert(id);
        script.opened += 1;
        Ok(SubscriptionId(id))
    }

    fn report_load(&mut self, request: &SubscriptionRequest) -> Result<ReportLoad, SubscribeError> {
        self.route(&request.node_id, &request.ran_function_oid)?;
        let period_us = period_us(request)?;
        let report_bytes = self.script.lock().message_bytes as u64;
        Ok(ReportLoad { report_bytes, reports_per_s: 1e6 / period_us as f64 })
    }

    fn unsubscribe(&mut self, subscription: SubscriptionId) -> bool {
        self.script.lock().open.remove(&subscription.0);
        self.subscriptions.remove(&subscription.0).is_some()
    }

    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        if self.route(node_id, oid)? != RanFunction::Rlc {
            return Err(SubscribeError::NoReportNow { oid: oid.to_owned() });
        }
        Ok(Report {
            header: Bytes::new(),
            payload: Payload::Message(Bytes::copy_from_slice(&self.now_us.to_le_bytes())),
            collected_at_us: self.epoch_us + self.now_us,
        })
    }

    fn submit_control(&mut self, request: ControlRequest) -> Result<ControlTicket, ControlError> {
        match self.route(&request.node_id, &request.ran_function_oid)? {
            RanFunction::TcV0 => {
                let ticket = ControlTicket(self.next_id);
                self.next_id += 1;
                self.script.lock().control_headers.push(request.header.to_vec());
                let what = request.message.first().copied().unwrap_or(ACCEPT);
                let takes_us = if what == ACCEPT_LATER { LATER_US } else { 0 };
                self.controls.push((ticket, what, self.now_us + takes_us));
                Ok(ticket)
            }
            function => Err(ControlError::NotControllable { function }),
        }
    }

    fn feed_forecast(&mut self, _: &BearerForecast) -> Result<(), Cause> {
        Ok(())
    }

    fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)> {
        Vec::new()
    }

    fn uses_cumulated_drain(&self) -> bool {
        false
    }

    fn bearer_samples(&mut self) -> Vec<BearerSample> {
        vec![BearerSample {
            rnti: 0x4601,
            drb: 1,
            hol_us: 1500,
            rlc_occupancy_bytes: 3000,
            ..BearerSample::default()
        }]
    }

    fn bearer_delays(&self) -> Vec<BearerDelay> {
        Vec::new()
    }

    fn gnb_counters(&self) -> GnbCounters {
        GnbCounters::default()
    }

    fn flow_samples(&self) -> Vec<FlowSample> {
        Vec::new()
    }

    fn cell_sample(&self) -> CellSample {
        CellSample::default()
    }

    fn summary(&self) -> serde_json::Value {
        json!({ "time_us": self.now_us })
    }
}

fn period_us(request: &SubscriptionRequest) -> Result<u64, SubscribeError> {
    let Ok(period_ms) = <[u8; 4]>::try_from(request.event_trigger.as_ref()) else {
        let message = format!("{} bytes; expected 4", request.event_trigger.len());
        return Err(SubscribeError::EventTrigger { message });
    };
    Ok(u64::from(u32::from_le_bytes(period_ms)).max(1) * 1000)
}

fn kpm_report(names: &[String], period_us: u64) -> KpmReport {
    const KNOWN: &str = "DRB.UEThpDl";
    let (known, unsupported): (Vec<_>, Vec<_>) =
        names.iter().cloned().partition(|name| name == KNOWN);
    let values = known.into_iter().map(|_| (KNOWN, 42.0)).collect();
    KpmReport {
        period_ms: u32::try_from(period_us / 1000).expect("a short period"),
        ues: vec![KpmUe { rnti: 0x4601, values }],
        unsupported: unsupported.into(),
    }
}
