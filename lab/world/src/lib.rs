//! The world: servers → core → CU (one TC pipeline per bearer) → F1-U → DU (RLC and MAC) → UE and
//! back, on virtual time in whole microseconds, with the gNB's E2 side attached.
//!
//! [`World`] is the interface. `build` sets it up from a scenario, `step` is the event loop, `e2` is the
//! E2 agent, `measure` samples and summarizes.

mod account;
mod bearer;
mod bearers;
mod build;
mod cells;
mod channel;
pub mod clairvoyant;
mod counters;
mod cu;
mod delays;
mod drops;
mod drql_limit;
mod du;
mod e2;
mod f1;
mod flow;
mod flows;
mod handover;
mod hosts;
mod kinds;
mod ledger;
mod links;
mod measure;
mod moving;
mod packet;
mod packet_kind;
mod qos_flows;
pub mod reports;
mod rlc_query;
mod rlc_queue;
mod sdap;
mod snapshot;
mod step;
mod summary;
pub mod table;
mod timers;
mod ues;

use ran::Delivery;

pub use account::{DownlinkAccount, PacketAccount, UplinkAccount};
pub use counters::{DELAY_EDGES_US, DelayDistribution, DownlinkDelays, GnbCounters};
pub use drql_limit::RlcSample;
pub use e2::types::{
    ControlError, ControlReply, ControlRequest, ControlTicket, Indication, KpmReport, KpmUe,
    NodeInfo, Output, Payload, RanFunction, RanFunctionInfo, Report, ReportLoad, RouteError,
    SubscribeError, SubscriptionId, SubscriptionRequest, periodic_trigger,
};
pub use hosts::{AirPacket, HostCounts, HostFlow, HostSide};
pub use ledger::PacketLedger;
pub use packet::{SERVER, SERVER_V6, ue_address};
pub use packet_kind::{ByKind, PacketKind};
pub use snapshot::{BearerDelay, BearerSample, CellSample, FlowSample, PacketSample, Removals};
pub use summary::{
    BearerSummary, Bound, CellSummary, CellUse, DeadlineSummary, DelayMs, FlowSummary,
    HandoverRecord, HandoverSummary, QueuedBytesSummary, Summary, Ts28552, UeHandovers, Worst,
    WorstBearer, WorstFlow,
};
pub use traffic::Direction;

pub(crate) use bearer::Bearer;

use bearers::Bearers;
use cells::Cells;
use cu::Cu;
use e2::E2Agent;
use flows::Flows;
use handover::Handovers;
use lab_scenario::{LoadedScenario, ScenarioError};
use links::Links;
use measure::Recording;
use packet::GnbPacket;
use sdap::Sdap;
use timers::Timers;
use ues::Ues;

/// Default Unix time of virtual time 0: 2026-01-01T00:00:00Z, fixed so that the same scenario and seed
/// give the same bytes.
pub const DEFAULT_EPOCH_US: u64 = 1_767_225_600_000_000;

/// A gNB with its UEs and servers on virtual time.
///
/// It reads no clock: [`step_until`](Self::step_until) runs as fast as possible; a gateway calls it with
/// the elapsed time. Timestamps in reports are `epoch_us` + virtual time.
#[derive(Clone, Debug)]
pub struct World {
    name: String,
    seed: u64,
    epoch_us: u64,
    now_us: u64,

    ues: Ues,
    flows: Flows,
    bearers: Bearers,
    cu: Cu,
    /// The DUs: RLC and MAC.
    cells: Cells,
    /// Handover, with several cells.
    handovers: Option<Box<Handovers>>,
    links: Links,
    timers: Timers,
    sdap: Sdap,
    e2: E2Agent,
    recording: Recording,
    delays: DownlinkDelays,
    /// Reused from slot to slot.
    deliveries: Vec<Delivery<GnbPacket>>,
}

impl World {
    /// Builds the world of a scenario at virtual time 0.
    ///
    /// # Errors
    /// [`ScenarioError`] if a trace cannot be read or a part refuses an element.
    pub fn new(loaded: &LoadedScenario) -> Result<Self, ScenarioError> {
        let parts = build::parts(loaded)?;
        let scenario = &loaded.scenario;
        let split = scenario.split;
        let mut timers = Timers::new(parts.flows.len(), parts.bearers.len());
        let flows = Flows::new(parts.flows, parts.core_jitter, split.core_jitter_us);
        flows.set_timers(&mut timers);
        Ok(Self {
            name: scenario.name.clone(),
            seed: scenario.seed,
            epoch_us: DEFAULT_EPOCH_US,
            now_us: 0,
            bearers: Bearers::new(parts.bearers, &parts.ues, parts.cells.len()),
            handovers: Handovers::new(scenario, &parts.ues).map(Box::new),
            ues: Ues::new(parts.ues),
            flows,
            cu: Cu::new(&split, parts.sdap_random),
            cells: Cells::new(parts.cells),
            links: Links::default(),
            timers,
            sdap: parts.sdap,
            e2: E2Agent::new(&split),
            recording: Recording::default(),
            delays: DownlinkDelays::default(),
            deliveries: Vec::new(),
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

    /// Runs until virtual time `t_us`, including all events at `t_us`. A time in the past only outputs
    /// what is already due. Outputs are in order of time.
    pub fn step_until(&mut self, t_us: u64, sink: &mut dyn FnMut(Output)) {
        let t_us = t_us.max(self.now_us);
        loop {
            let at_us = self.next_event_us();
            if at_us > t_us {
                break;
            }
            // Events added since the last step may be due at the present time, not before it.
            self.now_us = self.now_us.max(at_us);
            self.run_due(sink);
        }
        self.now_us = t_us;
    }

    /// An independent copy that continues from the present state.
    pub fn fork(&self) -> Self {
        self.clone()
    }
}
