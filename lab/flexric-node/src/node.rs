//! The node as the agent sees it: reports by RAN function, controls, KPM.
//!
//! The agent requests reports by its own timers. RLC, MAC and TC are read from the world at the
//! request: periodic reports of the world would be up to a period older, and 1 ms is as much as the
//! rest of the way to an xApp. KPM is summed meanwhile.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use lab_gateway::{LocalClient, LocalClientError, ReportCallback};
use lab_world::{
    ControlRequest, Payload, RanFunction, Report, SubscriptionRequest,
    reports::{PLAIN_HEADER, mac, rlc},
};

use crate::{
    kpm::{KpmSums, UeMeasurements},
    message_log::{MessageLogs, write, write_parts},
    table::{MAX_MESSAGE_BYTES, Turn},
    tc_v1::{Message, TcV1},
};

/// Shorter than any useful KPM period, long enough to cost little CPU.
const KPM_PERIOD_MS: u32 = 5;
/// Longest wait for a world that is busy with a step; the agent serves other timers as well.
const READ_PATIENCE: Duration = Duration::from_millis(20);
/// The near-RT RIC aborts without an answer within 3 s: acknowledge well before.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// A RAN function that reports in a plain encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainReport {
    /// MAC statistics.
    Mac,
    /// RLC statistics.
    Rlc,
    /// E2SM-TC v0.
    Tc,
}

impl PlainReport {
    fn function(self) -> RanFunction {
        match self {
            Self::Mac => RanFunction::Mac,
            Self::Rlc => RanFunction::Rlc,
            Self::Tc => RanFunction::TcV0,
        }
    }
}

/// The lab's gNB behind the agent.
#[derive(Debug)]
pub struct Node {
    client: LocalClient,
    node_id: String,
    /// Written by the world's thread, read by the agent's.
    kpm: Arc<Mutex<KpmSums>>,
    /// The KPM report that the agent is reading.
    kpm_report: Mutex<Vec<UeMeasurements>>,
    tc_v1: TcV1,
    mac_turn: Turn,
    rlc_turn: Turn,
    logs: Mutex<MessageLogs>,
}

impl Node {
    /// Subscribes to the reports that KPM sums, and writes messages to `logs`. `tc_definition` is the RAN
    /// function definition of E2SM-TC v1.
    ///
    /// # Errors
    /// When the world has ended.
    pub fn new(
        client: LocalClient,
        node_id: &str,
        tc_definition: Bytes,
        logs: MessageLogs,
    ) -> Result<Self, LocalClientError> {
        let kpm = Arc::new(Mutex::new(KpmSums::default()));
        let sums = Arc::clone(&kpm);
        let callback: ReportCallback = Box::new(move |made: &Report| {
            if let Payload::Kpm(report) = &made.payload {
                lock(&sums).add(report);
            }
            ControlFlow::Continue(())
        });
        let request = SubscriptionRequest::periodic(node_id, RanFunction::Kpm, KPM_PERIOD_MS);
        client.subscribe(request, callback)?;
        Ok(Self {
            tc_v1: TcV1::new(client.clone(), node_id, tc_definition),
            client,
            node_id: node_id.to_owned(),
            kpm,
            kpm_report: Mutex::default(),
            mac_turn: Turn::default(),
            rlc_turn: Turn::default(),
            logs: Mutex::new(logs),
        })
    }

    /// The part of a message that FlexRIC can receive; a larger pipeline report is left out.
    fn fitting(&self, report: PlainReport, message: Bytes) -> Option<Bytes> {
        match report {
            PlainReport::Mac => Some(self.mac_turn.fitting(message, mac::RECORD_BYTES)),
            PlainReport::Rlc => Some(self.rlc_turn.fitting(message, rlc::RECORD_BYTES)),
            PlainReport::Tc => (message.len() <= MAX_MESSAGE_BYTES).then_some(message),
        }
    }

    /// The current report; `None` if the world does not advance, so that the node counts as silent.
    pub fn latest(&self, report: PlainReport) -> Option<Bytes> {
        let message =
            match self.client.report_now(&self.node_id, report.function().oid(), READ_PATIENCE) {
                Ok(Report { payload: Payload::Message(bytes), .. }) => {
                    self.fitting(report, bytes)?
                }
                Ok(_) => return None,
                Err(error) => {
                    tracing::debug!(%error, ?report, "nothing to report this time");
                    return None;
                }
            };
        write(&mut lock(&self.logs).reports, "report", &message);
        Some(message)
    }

    /// Applies a control of TC v0 before it returns. FlexRIC's acknowledgement cannot carry the outcome,
    /// so it is logged.
    pub fn control(&self, header: &[u8], message: &[u8]) {
        write(&mut lock(&self.logs).controls, "control", message);
        let request = ControlRequest {
            node_id: self.node_id.clone(),
            ran_function_oid: RanFunction::TcV0.oid().to_owned(),
            header: Bytes::copy_from_slice(header),
            message: Bytes::copy_from_slice(message),
        };
        match self.client.control(request, CONTROL_PATIENCE) {
            Ok(answer) if answer.acknowledged => tracing::debug!("a control was applied"),
            Ok(answer) => tracing::warn!(
                reason = answer.detail,
                "a control was refused; v0 acknowledges it nevertheless"
            ),
            Err(error) => tracing::warn!(%error, "a control was not applied"),
        }
    }

    /// RAN function definition of E2SM-TC v1.
    pub fn tc_definition(&self) -> &[u8] {
        self.tc_v1.definition()
    }

    /// See [`TcV1::subscribe`]; the refusal as text.
    ///
    /// # Errors
    /// When the RAN function refuses it.
    pub fn tc_subscribe(
        &self,
        request: u32,
        event_trigger: &[u8],
        action_definition: &[u8],
    ) -> Result<u32, String> {
        let parts = [event_trigger, action_definition].map(Bytes::copy_from_slice);
        write_parts(&mut lock(&self.logs).controls, "subscription", &[&parts[0], &parts[1]]);
        let [event_trigger, action_definition] = parts;
        self.tc_v1.subscribe(request, event_trigger, action_definition).map_err(|error| {
            tracing::warn!(%error, request, "a subscription was refused");
            error.to_string()
        })
    }

    /// See [`TcV1::unsubscribe`].
    pub fn tc_unsubscribe(&self, request: u32) {
        self.tc_v1.unsubscribe(request);
    }

    /// See [`TcV1::report`].
    pub fn tc_report(&self, request: u32, capacity: usize) -> Option<Message> {
        self.tc_v1.report(request, capacity, &self.logs)
    }

    /// See [`TcV1::control`].
    pub fn tc_control(&self, header: &[u8], message: &[u8]) -> Option<Bytes> {
        self.tc_v1.control(header, message, &self.logs)
    }

    /// Begins a KPM report of a subscription; returns the number of its UEs.
    pub fn begin_kpm(&self, subscription: usize) -> usize {
        let report = lock(&self.kpm).since_last(subscription, Instant::now());
        let ues = report.len();
        *lock(&self.kpm_report) = report;
        ues
    }

    /// A UE of the KPM report.
    pub fn kpm_ue(&self, index: usize) -> Option<UeMeasurements> {
        lock(&self.kpm_report).get(index).copied()
    }
}

/// A poisoned lock is usable: each value is written as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// RIC control header of TC v0: a u32 without meaning.
pub const TC_CONTROL_HEADER: [u8; 4] = PLAIN_HEADER;
