//! The MAC scheduler of a cell, and the assignment of the UEs to its slices.

use std::collections::HashSet;

use crate::model::{Cell, Rat, ResourceAllocation, Scenario, Ue};
use crate::rules::{Check, ensure, within, within_if_set};
use crate::scheduler::{PfGranularity, SchedulerKind, SliceSpec, UeScheduler};

const MAX_SLICES: usize = 256;

pub(super) fn check(cell: &Cell, ues: &[Ue]) -> Check {
    let scheduler = &cell.scheduler;
    let uses_pf = scheduler.kind == SchedulerKind::Pf
        || scheduler.slices.iter().any(|slice| slice.ue_scheduler == UeScheduler::Pf);
    let is_eqp = scheduler.kind == SchedulerKind::Eqp;
    let belongs = [
        ("slices", !scheduler.slices.is_empty(), scheduler.kind.has_slices(), "fp and eqp"),
        ("quantum_limit_prb", scheduler.quantum_limit_prb.is_some(), is_eqp, "eqp"),
        ("time_constant_ms", scheduler.time_constant_ms.is_some(), uses_pf, "pf"),
        ("granularity", scheduler.granularity.is_some(), uses_pf, "pf"),
    ];
    for (key, given, fits, kinds) in belongs {
        let message = format_args!("is for kind {kinds} alone, this is {}", scheduler.kind.name());
        ensure(fits || !given, format_args!("cell.scheduler.{key}"), message)?;
    }
    let (limit_prb, constant_ms) = (scheduler.quantum_limit_prb, scheduler.time_constant_ms);
    within_if_set("cell.scheduler.quantum_limit_prb", limit_prb, 1..=10_000)?;
    within_if_set("cell.scheduler.time_constant_ms", constant_ms, 1..=100_000)?;
    let mut shares = Shares { n_prb: cell.n_prb, sum: 0 };
    if scheduler.slices.is_empty() {
        by_ue(scheduler.kind, ues, &mut shares)
    } else {
        by_slice(&scheduler.slices, ues, &mut shares)
    }
}

/// Reports by sub-band serve a scheduler that can grant any resource block group.
pub(super) fn subbands(scenario: &Scenario) -> Check {
    let cell = &scenario.cell;
    if cell.adaptation.subband_size.is_none() {
        return Ok(());
    }
    let path = "cell.adaptation.subband_size";
    ensure(cell.rat == Rat::Nr, path, "is for rat nr alone")?;
    let scheduler = &cell.scheduler;
    let is_by_group =
        scheduler.kind == SchedulerKind::Pf && scheduler.granularity == Some(PfGranularity::PerRbg);
    ensure(is_by_group, path, "needs cell.scheduler { kind: pf, granularity: per_rbg }")?;
    let is_type_0 = cell.resource_allocation != ResourceAllocation::Type1;
    let message = "needs cell.resource_allocation type0_config1 or type0_config2";
    ensure(is_type_0, path, message)?;
    for index in 0..scenario.cells.len().max(1) {
        let n_prb = scenario.cell_of(index).n_prb;
        let message =
            format_args!("a carrier of {n_prb} PRBs has no sub-bands; they begin at 24 PRBs");
        ensure(cell.adaptation.subband_prb(n_prb).is_some(), path, message)?;
    }
    Ok(())
}

fn by_slice(slices: &[SliceSpec], ues: &[Ue], shares: &mut Shares) -> Check {
    let message = format_args!("{} slices; expected at most {MAX_SLICES}", slices.len());
    ensure(slices.len() <= MAX_SLICES, "cell.scheduler.slices", message)?;
    let mut ids = HashSet::new();
    for (index, slice) in slices.iter().enumerate() {
        let path = format!("cell.scheduler.slices[{index}]");
        let message = format_args!("{} is taken by an earlier slice", slice.id);
        ensure(ids.insert(slice.id), format_args!("{path}.id"), message)?;
        shares.add(slice.percent, format!("{path}.percent"))?;
    }
    for (index, ue) in ues.iter().enumerate() {
        let path = format_args!("ues[{index}].prb_share_percent");
        let message = "is for a scheduler without cell.scheduler.slices";
        ensure(ue.prb_share_percent.is_none(), path, message)?;
        let path = format_args!("ues[{index}].slice");
        ensure(ue.slice.is_some(), path, "missing; there are cell.scheduler.slices")?;
        if let Some(slice) = ue.slice {
            let message = format_args!("{slice} is none of cell.scheduler.slices");
            ensure(ids.contains(&slice), path, message)?;
        }
    }
    Ok(())
}

fn by_ue(kind: SchedulerKind, ues: &[Ue], shares: &mut Shares) -> Check {
    let message = format_args!("{} entries; {} has {MAX_SLICES}", ues.len(), kind.name());
    ensure(!kind.has_slices() || ues.len() <= MAX_SLICES, "ues", message)?;
    for (index, ue) in ues.iter().enumerate() {
        let message = "is for a scheduler with cell.scheduler.slices";
        ensure(ue.slice.is_none(), format_args!("ues[{index}].slice"), message)?;
        let (share, path) = (ue.prb_share_percent, format!("ues[{index}].prb_share_percent"));
        if !kind.has_slices() {
            ensure(share.is_none(), path, "is for cell.scheduler fp and eqp alone")?;
            continue;
        }
        let message = format_args!("missing; cell.scheduler {} needs it", kind.name());
        ensure(share.is_some(), &path, message)?;
        if let Some(percent) = share {
            shares.add(percent, path)?;
        }
    }
    Ok(())
}

/// Shares of the slices so far.
struct Shares {
    n_prb: u16,
    sum: u32,
}

impl Shares {
    fn add(&mut self, percent: u8, path: String) -> Check {
        within(&path, percent, 1..=100)?;
        let is_one_prb = u32::from(percent) * u32::from(self.n_prb) >= 100;
        let message = format_args!("{percent} % of {} PRBs is not one", self.n_prb);
        ensure(is_one_prb, &path, message)?;
        self.sum += u32::from(percent);
        let message = format_args!("the shares sum to {} %; expected at most 100", self.sum);
        ensure(self.sum <= 100, path, message)
    }
}
