//! The node as the agent sees it: reports by RAN function, controls, KPM.
//!
//! The agent asks by timers of its own. RLC, MAC and TC are read from the world when it asks: reports
//! that the world makes by its own clock would be up to a period old, and at 1 ms that is as much as
//! the rest of their way to an xApp. KPM is summed up in between.

use std::{
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
    message_log::{MessageLogs, write},
    table::{MAX_MESSAGE_BYTES, fitting},
};

/// Finer than any KPM period that makes sense, coarse enough to cost nothing.
const KPM_PERIOD_MS: u32 = 5;
/// For a world that is busy with a step; the agent has other timers to serve.
const READ_PATIENCE: Duration = Duration::from_millis(20);
/// The near-RT RIC gives an answer 3 s and aborts without one: acknowledge well before.
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

    /// What FlexRIC can receive of a message; a pipeline too large for it is not reported.
    fn fitting(self, message: Bytes) -> Option<Bytes> {
        match self {
            Self::Mac => Some(fitting(message, mac::RECORD_BYTES)),
            Self::Rlc => Some(fitting(message, rlc::RECORD_BYTES)),
            Self::Tc => (message.len() <= MAX_MESSAGE_BYTES).then_some(message),
        }
    }
}

/// The lab's gNB behind the agent.
#[derive(Debug)]
pub struct Node {
    client: LocalClient,
    node_id: String,
    /// The world's thread adds to them, the agent's reads.
    kpm: Arc<Mutex<KpmSums>>,
    /// The KPM report that the agent reads now.
    kpm_report: Mutex<Vec<UeMeasurements>>,
    logs: Mutex<MessageLogs>,
}

impl Node {
    /// Subscribes to the reports that KPM sums up, and writes messages into `logs`.
    ///
    /// # Errors
    /// When the world refuses a subscription, which it does not while it lives.
    pub fn new(
        client: LocalClient,
        node_id: &str,
        logs: MessageLogs,
    ) -> Result<Self, LocalClientError> {
        let kpm = Arc::new(Mutex::new(KpmSums::default()));
        let sums = Arc::clone(&kpm);
        let callback: ReportCallback = Box::new(move |made: &Report| {
            if let Payload::Kpm(report) = &made.payload {
                lock(&sums).add(report);
            }
        });
        let request = SubscriptionRequest::periodic(node_id, RanFunction::Kpm, KPM_PERIOD_MS);
        client.subscribe(request, callback)?;
        Ok(Self {
            client,
            node_id: node_id.to_owned(),
            kpm,
            kpm_report: Mutex::default(),
            logs: Mutex::new(logs),
        })
    }

    /// The report of now; none of a world that stands still, which must not look alive.
    pub fn latest(&self, report: PlainReport) -> Option<Bytes> {
        let message =
            match self.client.report_now(&self.node_id, report.function().oid(), READ_PATIENCE) {
                Ok(Report { payload: Payload::Message(bytes), .. }) => report.fitting(bytes)?,
                Ok(_) => return None,
                Err(error) => {
                    tracing::debug!(%error, ?report, "nothing to report this time");
                    return None;
                }
            };
        write(&mut lock(&self.logs).reports, "report", &message);
        Some(message)
    }

    /// Applies a TC control and returns when it is applied. FlexRIC's acknowledgement has no
    /// place for the outcome, so it is logged.
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

    /// Begins a KPM report of a subscription and gives the number of its UEs.
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

/// What a panic left behind is whole: each value is put there in one piece.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// RIC control header of TC v0: a u32 without meaning.
pub const TC_CONTROL_HEADER: [u8; 4] = PLAIN_HEADER;
