//! The state of a host for its operator.

use std::sync::PoisonError;

use serde::Serialize;

use crate::counts::BearerCounts;
use crate::events::ShownEvent;
use crate::slot_times::{CellStatus, SlotTimeStatus};
use crate::{Host, host};

/// State of a bearer.
#[derive(Clone, Debug, Serialize)]
pub struct BearerStatus {
    /// UE as PDCP names it.
    pub ue: u64,
    /// RNTI; none while RLC and MAC do not know the UE.
    pub rnti: Option<u16>,
    /// DRB identity.
    pub drb: u8,
    /// Whether packets pass the pipeline; not after a defect in it.
    pub controlled: bool,
    /// Name of the pipeline in force.
    pub pipeline: Option<String>,
    /// Its revision.
    pub revision: Option<u32>,
    /// Rest of its lease.
    pub lease_left_ms: Option<u32>,
    /// Age of the oldest packet that waits.
    pub head_of_line_age_us: Option<u32>,
    /// What happened to its packets.
    #[serde(flatten)]
    pub counts: BearerCounts,
}

/// State of a host. Events are those since the report before.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    /// Version of this library.
    pub version: &'static str,
    /// Time of the report, µs of the gNB's clock.
    pub at_us: u64,
    /// Time of the radio, µs: slots of a cell since the start by their length, of the cell that has most.
    /// Slower than the gNB's clock where a simulated radio does not keep up with it.
    pub radio_us: u64,
    /// Pipeline that bearers start with.
    pub initial_pipeline: String,
    /// Buffers that are free.
    pub buffers_free: usize,
    /// SDUs that found no buffer.
    pub buffers_exhausted: u64,
    /// SDUs for which memory had to be allocated.
    pub oversize_packets: u64,
    /// Reports of E2SM-TC v1 that had no room for all that was due; the next ones have the rest.
    pub partial_reports: u64,
    /// What traffic control takes of the MAC's thread, with PDCP and RLC for the SDUs that it hands
    /// down, which without it other threads do; per slot of a cell, of all cells together.
    pub slot_times: SlotTimeStatus,
    /// What it takes by itself.
    pub slot_times_own: SlotTimeStatus,
    /// The same of each cell, by its number.
    pub cells: Vec<CellStatus>,
    /// Bearers, by UE and DRB.
    pub bearers: Vec<BearerStatus>,
    /// Events.
    pub events: Vec<ShownEvent>,
    /// Events that were lost because no report was made for long.
    pub events_lost: u64,
}

impl Host {
    /// The state of all bearers and the events since the report before.
    pub fn status(&self, now_us: u64) -> StatusReport {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let host::Host { around, directory, settings, .. } = self;
        let directory = directory.load();
        let bearers = directory.bearers().map(|bearer| {
            let state = bearer.configure(around, now_us, |tc, now_us, _| tc.status(now_us));
            BearerStatus {
                ue: bearer.ue,
                rnti: bearer.rnti(),
                drb: bearer.drb,
                controlled: state.is_some(),
                revision: state.as_ref().map(|state| state.revision),
                lease_left_ms: state.as_ref().and_then(|state| state.lease_left_ms),
                head_of_line_age_us: state.as_ref().map(|state| state.head_of_line_age_us),
                pipeline: state.map(|state| state.name),
                counts: bearer.counts.read(),
            }
        });
        let bearers = bearers.collect();
        let cells = self.cells.read();
        StatusReport {
            version: env!("CARGO_PKG_VERSION"),
            at_us: now_us,
            radio_us: cells.iter().map(|cell| cell.radio_us).max().unwrap_or(0),
            initial_pipeline: settings.pipeline.clone(),
            buffers_free: around.pool.free(),
            buffers_exhausted: around.pool.exhausted(),
            oversize_packets: around.pool.oversize(),
            partial_reports: self.subscriptions.partial_reports.get(),
            slot_times: self.cells.all(),
            slot_times_own: self.cells.all_own(),
            cells,
            bearers,
            events: self
                .journal
                .since(&around.events, &mut shown)
                .into_iter()
                .map(ShownEvent::from)
                .collect(),
            events_lost: around.events.lost.get(),
        }
    }
}
