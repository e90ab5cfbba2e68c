//! The node as the agent sees it: reports by RAN function, controls, KPM.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use gnb_lab::{
    gateway::{
        ControlRequest, Listener, LocalDoor, LocalError, Report, ReportPayload, SubscriptionRequest,
    },
    reports::{PLAIN_HEADER, mac, rlc},
    world::{RanFunction, periodic_trigger},
};

use crate::{
    control_log::ControlLog,
    kpm::{KpmSums, UeMeasurements},
    slot::Slot,
    table::{MAX_MESSAGE_BYTES, fitting},
};

/// How often the world fills a slot: the shortest period a subscription can have.
const REPORT_PERIOD_MS: u32 = 1;
/// Finer than any KPM period that makes sense, coarse enough to cost nothing.
const KPM_PERIOD_MS: u32 = 5;
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
    const ALL: [Self; 3] = [Self::Mac, Self::Rlc, Self::Tc];

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

/// What the world's thread fills and the agent's thread reads.
#[derive(Debug, Default)]
struct Shelf {
    slots: [Slot; 3],
    kpm: Mutex<KpmSums>,
}

impl Shelf {
    fn slot(&self, report: PlainReport) -> &Slot {
        &self.slots[report as usize]
    }
}

/// The lab's gNB behind the agent.
#[derive(Debug)]
pub struct Node {
    door: LocalDoor,
    node_id: String,
    shelf: Arc<Shelf>,
    /// The KPM report that the agent reads now.
    kpm_report: Mutex<Vec<UeMeasurements>>,
    log: Mutex<Option<ControlLog>>,
}

impl Node {
    /// Has the world fill the slots from now on, and writes each control into `log`.
    ///
    /// # Errors
    /// When the world refuses a subscription, which it does not while it lives.
    pub fn new(
        door: LocalDoor,
        node_id: &str,
        log: Option<ControlLog>,
    ) -> Result<Self, LocalError> {
        let shelf = Arc::new(Shelf::default());
        for report in PlainReport::ALL {
            let shelf = Arc::clone(&shelf);
            let listener: Listener = Box::new(move |made: &Report| {
                if let ReportPayload::Message(bytes) = &made.payload
                    && let Some(message) = report.fitting(bytes.clone())
                {
                    shelf.slot(report).put(message, Instant::now());
                }
            });
            door.listen(request(node_id, report.function(), REPORT_PERIOD_MS), listener)?;
        }
        let sums = Arc::clone(&shelf);
        let listener: Listener = Box::new(move |made: &Report| {
            if let ReportPayload::Kpm(report) = &made.payload {
                lock(&sums.kpm).add(report);
            }
        });
        door.listen(request(node_id, RanFunction::Kpm, KPM_PERIOD_MS), listener)?;
        Ok(Self {
            door,
            node_id: node_id.to_owned(),
            shelf,
            kpm_report: Mutex::default(),
            log: Mutex::new(log),
        })
    }

    /// The latest report, unless there is none of now.
    pub fn latest(&self, report: PlainReport) -> Option<Bytes> {
        self.shelf.slot(report).latest(Instant::now())
    }

    /// Applies a TC control and returns when it is applied. What came of it cannot be told to the
    /// near-RT RIC, so it is told to the log.
    pub fn control(&self, header: &[u8], message: &[u8]) {
        if let Some(log) = lock(&self.log).as_mut()
            && let Err(error) = log.note(message)
        {
            tracing::error!(%error, "the control was not written down");
        }
        let request = ControlRequest {
            node_id: self.node_id.clone(),
            ran_function_oid: RanFunction::TcV0.oid().to_owned(),
            header: Bytes::copy_from_slice(header),
            message: Bytes::copy_from_slice(message),
        };
        match self.door.control(request, CONTROL_PATIENCE) {
            Ok(answer) if answer.accepted => tracing::debug!("a control was applied"),
            Ok(answer) => tracing::warn!(
                reason = answer.detail,
                "a control was refused; v0 acknowledges it nevertheless"
            ),
            Err(error) => tracing::warn!(%error, "a control was not applied"),
        }
    }

    /// Begins a KPM report of a subscription and gives the number of its UEs.
    pub fn begin_kpm(&self, subscription: usize) -> usize {
        let report = lock(&self.shelf.kpm).since_last(subscription, Instant::now());
        let ues = report.len();
        *lock(&self.kpm_report) = report;
        ues
    }

    /// A UE of the KPM report.
    pub fn kpm_ue(&self, index: usize) -> Option<UeMeasurements> {
        lock(&self.kpm_report).get(index).copied()
    }
}

fn request(node_id: &str, function: RanFunction, period_ms: u32) -> SubscriptionRequest {
    SubscriptionRequest {
        node_id: node_id.to_owned(),
        ran_function_oid: function.oid().to_owned(),
        event_trigger: Bytes::from(periodic_trigger(function.oid(), period_ms)),
        action_definitions: Vec::new(),
        kpm_measurements: Vec::new(),
    }
}

/// What a panic left behind is whole: each value is put there in one piece.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// RIC control header of TC v0: a u32 without meaning.
pub const TC_CONTROL_HEADER: [u8; 4] = PLAIN_HEADER;
