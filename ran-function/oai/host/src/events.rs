//! Events, from real-time threads to the operator: a bounded log that costs its writers no lock.

use crossbeam_queue::ArrayQueue;
use e2sm_tc::v1::EventKind;
use serde::Serialize;

use crate::counts::Count;
use crate::gnb::Address;

/// Events that wait for their reader.
const EVENTS: usize = 1024;

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) at_us: u64,
    pub(crate) bearer: Address,
    pub(crate) what: Happening,
}

#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// The pipeline says so.
    Pipeline(EventKind),
    /// The pipeline panicked; the bearer is transparent until it is set up again.
    PipelineFailed,
    /// A bearer was set up.
    BearerUp,
    /// A bearer was removed.
    BearerDown,
    /// The UE has this RNTI from now on.
    RntiChanged,
}

/// An event as the status shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownEvent {
    /// Time, µs of the gNB's clock.
    pub at_us: u64,
    /// UE as PDCP names it.
    pub ue: u64,
    /// RNTI of the UE then.
    pub rnti: Option<u16>,
    /// DRB identity.
    pub drb: u8,
    /// What happened, one word.
    pub what: &'static str,
}

impl From<Event> for ShownEvent {
    fn from(event: Event) -> Self {
        let what = match event.what {
            Happening::PipelineFailed => "pipeline_failed",
            Happening::BearerUp => "bearer_up",
            Happening::BearerDown => "bearer_down",
            Happening::RntiChanged => "rnti_changed",
            Happening::Pipeline(EventKind::PipelineChanged { .. }) => "pipeline_changed",
            Happening::Pipeline(EventKind::LeaseExpired { .. }) => "lease_expired",
            Happening::Pipeline(EventKind::PacingChanged { by_forecast: true }) => {
                "paced_by_forecast"
            }
            Happening::Pipeline(EventKind::PacingChanged { by_forecast: false }) => {
                "paced_by_own_measure"
            }
            Happening::Pipeline(_) => "pipeline_event",
        };
        let Address { ue, rnti, drb } = event.bearer;
        Self { at_us: event.at_us, ue, rnti, drb, what }
    }
}

/// The log; the oldest events are kept when its reader is late.
#[derive(Debug)]
pub(crate) struct EventLog {
    waiting: ArrayQueue<Event>,
    pub(crate) lost: Count,
}

impl EventLog {
    pub(crate) fn new() -> Self {
        Self { waiting: ArrayQueue::new(EVENTS), lost: Count::default() }
    }

    pub(crate) fn push(&self, event: Event) {
        if self.waiting.push(event).is_err() {
            self.lost.add(1);
        }
    }

    pub(crate) fn pop(&self) -> Option<Event> {
        self.waiting.pop()
    }
}
