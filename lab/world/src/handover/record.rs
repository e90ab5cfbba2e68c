//! Account of handovers.

use super::Handovers;
use crate::World;
use crate::build::UePlan;
use crate::summary::{CellUse, HandoverRecord, HandoverSummary, UeHandovers};

/// The handovers so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) records: Vec<HandoverRecord>,
    /// Time of the event of the handover under way, by number of the UE.
    pub(crate) triggered_us: Vec<u64>,
    /// Number of the last record, by number of the UE.
    pub(crate) last: Vec<Option<usize>>,
}

impl Tally {
    pub(crate) fn new(ues: &[UePlan]) -> Self {
        Self { records: Vec::new(), triggered_us: vec![0; ues.len()], last: vec![None; ues.len()] }
    }

    /// Starts a record.
    pub(crate) fn add(&mut self, ue: u32, record: HandoverRecord) {
        self.last[ue as usize] = Some(self.records.len());
        self.records.push(record);
    }

    /// The last record of a UE.
    pub(crate) fn last_mut(&mut self, ue: u32) -> Option<&mut HandoverRecord> {
        self.records.get_mut(self.last[ue as usize]?)
    }
}

impl World {
    /// The cells and handovers of a run; `None` with one cell.
    pub(crate) fn handover_summary(&self) -> Option<HandoverSummary> {
        let Handovers { ues, tally, .. } = self.handovers.as_deref()?;
        let cells = self.cells.iter().map(|cell| {
            let totals = cell.totals();
            CellUse {
                used_prb: totals.used_prb,
                available_prb: totals.available_prb,
                used_rb_pct: totals.used_prb_pct(),
            }
        });
        let plans = self.ues.plans.iter().zip(ues);
        let mut rows: Vec<UeHandovers> = plans
            .map(|(plan, radio)| UeHandovers {
                rnti: plan.config.rnti,
                cell: radio.cell,
                ..UeHandovers::default()
            })
            .collect();
        for record in &tally.records {
            if let Some(row) = rows.iter_mut().find(|row| row.rnti == record.ue_rnti) {
                row.add(record);
            }
        }
        Some(HandoverSummary {
            cells: cells.collect(),
            ues: rows,
            handovers: tally.records.clone(),
        })
    }
}
