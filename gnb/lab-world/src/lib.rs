//! The world: servers → core → CU (one TC pipeline per bearer) → F1-U → DU (RLC and MAC) → UE and
//! back, on virtual time in whole microseconds, with the gNB's E2 side attached.
//!
//! [`World`] is the door. Inside: `build` sets it up from a scenario, `step` moves packets, `e2`
//! keeps subscriptions and controls, `measure` says what happened.

mod above;
mod attach;
mod bearer;
mod build;
mod capacity;
mod channel;
pub mod clairvoyant;
mod delays;
mod drql_limit;
mod e2;
mod f1;
mod flow;
mod line;
mod measure;
mod packet;
mod random;
mod recall_unsent;
pub mod reports;
mod rlc_query;
mod rlc_queue;
mod scheduler;
mod sdap_clock;
mod snapshot;
mod step;
mod summary;
pub mod table;
mod timers;

use std::collections::HashMap;

use ran::{Cell, Delivery};

pub use drql_limit::RlcSample;
pub use e2::types::{
    ControlError, ControlReply, ControlRequest, ControlTicket, Indication, KpmReport, KpmUe,
    NodeInfo, Output, Payload, RanFunction, RanFunctionInfo, Report, RouteError, SubscribeError,
    SubscriptionId, SubscriptionRequest, periodic_trigger,
};
pub use snapshot::{BearerSample, CellSample, FlowSample, PacketSample, Removals};
pub use summary::{BearerSummary, CellSummary, DelayMs, FlowSummary, Summary};

pub(crate) use bearer::Bearer;

use build::{UePlan, drawing_order};
use e2::E2Agent;
use f1::FromDu;
use flow::BoundFlow;
use lab_scenario::{LoadedScenario, ScenarioError, Split};
use line::Line;
use packet::GnbPacket;
use random::SplitMix64;
use sdap_clock::SdapClock;
use timers::Timers;

/// Unix time of virtual time 0 unless the caller says otherwise: 2026-01-01T00:00:00Z, fixed so
/// that the same scenario and seed give the same bytes.
pub const DEFAULT_EPOCH_US: u64 = 1_767_225_600_000_000;

/// The finest grain of reports and of the bearers' series.
const SAMPLE_PERIOD_US: u64 = 1_000;

/// A gNB with its UEs and servers on virtual time.
///
/// Nothing here reads a clock: [`step_until`](Self::step_until) runs as fast as it goes, and a
/// gateway that wants real time calls it with the time that has passed. Timestamps in reports are
/// `epoch_us` + virtual time.
#[derive(Clone, Debug)]
pub struct World {
    name: String,
    seed: u64,
    split: Split,
    epoch_us: u64,
    now_us: u64,

    cell: Cell<GnbPacket>,
    ues: Vec<UePlan>,
    bearers: Vec<Bearer>,
    /// Bearers with an AQM in their RLC, in the order of their priority.
    drawn: Vec<u32>,
    /// Place in `bearers` of each bearer the cell ever had.
    by_place: Vec<u32>,
    /// Place of each bearer in `bearers`.
    bearer_by_id: HashMap<(u16, u8), u32>,
    flows: Vec<BoundFlow>,
    /// Place in `flows` of each connection.
    flow_of: Vec<u32>,

    /// Server side of flow `f` is timer `2f`, its UE side `2f + 1`; then the bearers.
    timers: Timers,
    core_jitter: SplitMix64,
    sdap_clock: SdapClock,
    /// Servers to CU.
    core_down: Line<GnbPacket>,
    /// CU to DU.
    f1_down: Line<GnbPacket>,
    /// DU to CU: what is told by bearer.
    f1_up: Line<(u32, FromDu)>,
    /// CU to DU: bearers whose RLC status the CU queries.
    rlc_queries: Line<u32>,
    /// CU to DU: bearers whose unsent SDUs the CU wants back.
    discards: Line<u32>,
    /// DU to CU: packets taken back, by bearer.
    taken_back: Line<(u32, Vec<GnbPacket>)>,
    /// Decoded at a UE.
    radio_down: Line<GnbPacket>,
    /// UEs to servers.
    uplink: Line<traffic::Packet>,
    /// UEs that come (`true`) and go.
    attachments: Line<(u32, bool)>,

    e2: E2Agent,
    next_sample_us: u64,
    /// A row per bearer and ms while wanted.
    series: Option<Vec<BearerSample>>,
    /// A row per packet while wanted.
    packets: Option<Vec<PacketSample>>,

    /// Bearers whose pacer went over to forecasts (`true`) or back, while wanted.
    pacing_changes: Option<Vec<(u16, u8, bool)>>,

    /// Reused from slot to slot.
    deliveries: Vec<Delivery<GnbPacket>>,
    /// Reused from packet to packet.
    sent: Vec<traffic::Packet>,
}

impl World {
    /// Builds the world of a scenario at virtual time 0.
    ///
    /// # Errors
    /// [`ScenarioError`] when a trace cannot be read or an element does not fit the parts it sets up.
    pub fn new(loaded: &LoadedScenario) -> Result<Self, ScenarioError> {
        let parts = build::parts(loaded)?;
        let scenario = &loaded.scenario;
        let mut attachments = Line::default();
        for (index, ue) in (0..).zip(&parts.ues) {
            attachments.push(ue.join_us, (index, true));
            if let Some(leave_us) = ue.leave_us {
                attachments.push(leave_us, (index, false));
            }
        }
        let mut timers = Timers::new(2 * parts.flows.len() + parts.bearers.len());
        for (index, flow) in (0..).zip(&parts.flows) {
            use traffic::Endpoint as _;
            timers.set(2 * index, flow.ends.server.next_deadline_us());
            timers.set(2 * index + 1, flow.ends.ue.next_deadline_us());
        }
        let bearer_by_id =
            (0..).zip(&parts.bearers).map(|(index, b)| ((b.rnti, b.drb), index)).collect();
        let drawn = drawing_order(&parts.ues, &parts.bearers);
        Ok(Self {
            name: scenario.name.clone(),
            seed: scenario.seed,
            split: scenario.split,
            epoch_us: DEFAULT_EPOCH_US,
            now_us: 0,
            cell: parts.cell,
            ues: parts.ues,
            drawn,
            bearers: parts.bearers,
            by_place: Vec::new(),
            bearer_by_id,
            flow_of: flow::by_connection(&parts.flows),
            flows: parts.flows,
            timers,
            core_jitter: parts.core_jitter,
            sdap_clock: parts.sdap_clock,
            core_down: Line::default(),
            f1_down: Line::default(),
            f1_up: Line::default(),
            rlc_queries: Line::default(),
            discards: Line::default(),
            taken_back: Line::default(),
            radio_down: Line::default(),
            uplink: Line::default(),
            attachments,
            e2: E2Agent::new(&scenario.split),
            next_sample_us: 0,
            series: None,
            packets: None,
            pacing_changes: None,
            deliveries: Vec::new(),
            sent: Vec::new(),
        })
    }

    /// Sets the Unix time of virtual time 0, µs.
    pub fn set_epoch_us(&mut self, epoch_us: u64) {
        self.epoch_us = epoch_us;
    }

    /// Unix time of virtual time 0, µs.
    pub fn epoch_us(&self) -> u64 {
        self.epoch_us
    }

    /// Virtual time, µs.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Runs until virtual time `t_us`, all of what happens at `t_us` included; a time in the past
    /// only hands over what is already due. Outputs come in order of time.
    pub fn step_until(&mut self, t_us: u64, sink: &mut dyn FnMut(Output)) {
        let t_us = t_us.max(self.now_us);
        loop {
            let at_us = self.next_event_us();
            if at_us > t_us {
                break;
            }
            // What was put in at the present time has that time; nothing lies before it.
            self.now_us = self.now_us.max(at_us);
            self.run_due(sink);
        }
        self.now_us = t_us;
    }

    /// An independent copy that goes on from here.
    pub fn fork(&self) -> Self {
        self.clone()
    }
}
