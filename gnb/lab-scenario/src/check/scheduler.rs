//! The MAC scheduler of a cell, and where the UEs are in its slices.

use std::collections::HashSet;

use crate::error::Violation;
use crate::model::{Cell, Ue};
use crate::rules::{Check, within};
use crate::scheduler::{SchedulerKind, SliceSpec, UeScheduler};

const MAX_SLICES: usize = 256;

/// Checks the scheduler and where the UEs are in its slices.
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
        if given && !fits {
            let message = format!("is for kind {kinds} alone, this is {}", scheduler.kind.name());
            return Err(Violation::new(format!("cell.scheduler.{key}"), message));
        }
    }
    let limit_prb = scheduler.quantum_limit_prb.unwrap_or(1);
    within("cell.scheduler.quantum_limit_prb", limit_prb, 1..=10_000)?;
    let constant_ms = scheduler.time_constant_ms.unwrap_or(1);
    within("cell.scheduler.time_constant_ms", constant_ms, 1..=100_000)?;
    let mut shares = Shares { n_prb: cell.n_prb, sum: 0 };
    if scheduler.slices.is_empty() {
        by_ue(scheduler.kind, ues, &mut shares)
    } else {
        by_slice(&scheduler.slices, ues, &mut shares)
    }
}

fn by_slice(slices: &[SliceSpec], ues: &[Ue], shares: &mut Shares) -> Check {
    if slices.len() > MAX_SLICES {
        let message = format!("{} slices; expected at most {MAX_SLICES}", slices.len());
        return Err(Violation::new("cell.scheduler.slices", message));
    }
    let mut ids = HashSet::new();
    for (index, slice) in slices.iter().enumerate() {
        let path = format!("cell.scheduler.slices[{index}]");
        if !ids.insert(slice.id) {
            let message = format!("{} is taken by an earlier slice", slice.id);
            return Err(Violation::new(format!("{path}.id"), message));
        }
        shares.add(slice.percent, format!("{path}.percent"))?;
    }
    for (index, ue) in ues.iter().enumerate() {
        let path = format!("ues[{index}]");
        if ue.prb_share_percent.is_some() {
            let path = format!("{path}.prb_share_percent");
            return Err(Violation::new(path, "is for a scheduler without cell.scheduler.slices"));
        }
        let Some(slice) = ue.slice else {
            let message = "missing; there are cell.scheduler.slices";
            return Err(Violation::new(format!("{path}.slice"), message));
        };
        if !ids.contains(&slice) {
            let message = format!("{slice} is none of cell.scheduler.slices");
            return Err(Violation::new(format!("{path}.slice"), message));
        }
    }
    Ok(())
}

fn by_ue(kind: SchedulerKind, ues: &[Ue], shares: &mut Shares) -> Check {
    if kind.has_slices() && ues.len() > MAX_SLICES {
        let message = format!("{} entries; {} has {MAX_SLICES}", ues.len(), kind.name());
        return Err(Violation::new("ues", message));
    }
    for (index, ue) in ues.iter().enumerate() {
        if ue.slice.is_some() {
            let path = format!("ues[{index}].slice");
            return Err(Violation::new(path, "is for a scheduler with cell.scheduler.slices"));
        }
        let path = format!("ues[{index}].prb_share_percent");
        match (kind.has_slices(), ue.prb_share_percent) {
            (false, None) => {}
            (false, Some(_)) => {
                return Err(Violation::new(path, "is for cell.scheduler fp and eqp alone"));
            }
            (true, None) => {
                let message = format!("missing; cell.scheduler {} needs it", kind.name());
                return Err(Violation::new(path, message));
            }
            (true, Some(percent)) => shares.add(percent, path)?,
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
        if u32::from(percent) * u32::from(self.n_prb) < 100 {
            let message = format!("{percent} % of {} PRBs is not one", self.n_prb);
            return Err(Violation::new(path, message));
        }
        self.sum += u32::from(percent);
        if self.sum > 100 {
            let message = format!("the shares sum to {} %; expected at most 100", self.sum);
            return Err(Violation::new(path, message));
        }
        Ok(())
    }
}
