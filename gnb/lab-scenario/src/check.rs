//! What serde cannot say: ranges, and elements that must fit one another.

mod flow;
mod link;
mod scheduler;

use std::collections::HashSet;

use super::model::{Cell, Drb, McsTable, Rat, ResourceAllocation, Scenario, Split, Tdd, Ue};
use super::rules::{Bearers, Check, MAX_DELAY_US, span, time, within};
use super::{Violation, channel};

const MAX_UES: usize = 8192;
const MAX_RNTI: u16 = 65_519;

pub(super) fn check(scenario: &Scenario) -> Check {
    time("duration_s", scenario.duration_s)?;
    if scenario.duration_s < 0.001 {
        let message = format!("{} is below 0.001", scenario.duration_s);
        return Err(Violation::new("duration_s", message));
    }
    cell(&scenario.cell)?;
    split(&scenario.split)?;
    let bearers = ues(scenario)?;
    scheduler::check(&scenario.cell, &scenario.ues)?;
    flow::flows(&scenario.flows, &bearers)
}

fn cell(cell: &Cell) -> Check {
    within("cell.n_prb", cell.n_prb, 1..=275)?;
    within("cell.layers", cell.layers, 1..=4)?;
    within("cell.max_ues_per_slot", cell.max_ues_per_slot, 1..=256)?;
    if ![15, 30, 60, 120].contains(&cell.scs_khz) {
        let message = format!("{}; expected 15, 30, 60 or 120", cell.scs_khz);
        return Err(Violation::new("cell.scs_khz", message));
    }
    if cell.rat == Rat::Lte {
        if cell.scs_khz != 15 {
            let message = format!("{}; LTE has 15", cell.scs_khz);
            return Err(Violation::new("cell.scs_khz", message));
        }
        if ![6, 15, 25].contains(&cell.n_prb) {
            let message = format!("{}; LTE has 6, 15 or 25 here", cell.n_prb);
            return Err(Violation::new("cell.n_prb", message));
        }
        if cell.tdd.is_some() {
            return Err(Violation::new("cell.tdd", "is for rat nr alone; LTE is FDD here"));
        }
        if cell.resource_allocation != ResourceAllocation::default() {
            let message = "is for rat nr alone; LTE has type 0";
            return Err(Violation::new("cell.resource_allocation", message));
        }
    }
    if let Some(reserved) = &cell.reserved {
        within("cell.reserved.period_slots", reserved.period_slots, 1..=10_240)?;
        within("cell.reserved.n_prb", reserved.n_prb, 1..=275)?;
        for (index, slot) in reserved.slots.iter().enumerate() {
            let path = format!("cell.reserved.slots[{index}]");
            within(path, *slot, 0..=reserved.period_slots - 1)?;
        }
    }
    link::harq(&cell.harq)?;
    link::uplink(&cell.uplink)?;
    cell.tdd.as_ref().map_or(Ok(()), tdd)
}

fn tdd(tdd: &Tdd) -> Check {
    let pattern = &tdd.pattern;
    if let Some((at, wrong)) = pattern.chars().enumerate().find(|(_, c)| !"DMU".contains(*c)) {
        let message = format!("'{pattern}' has '{wrong}' at {at}; expected D, M or U");
        return Err(Violation::new("cell.tdd.pattern", message));
    }
    if !pattern.contains('D') || !pattern.contains('U') || pattern.len() > 320 {
        let message = "needs at least one D and one U in at most 320 slots";
        return Err(Violation::new("cell.tdd.pattern", message));
    }
    within("cell.tdd.mixed_dl_symbols", tdd.mixed_dl_symbols, 0..=14)?;
    within("cell.tdd.mixed_ul_symbols", tdd.mixed_ul_symbols, 0..=14 - tdd.mixed_dl_symbols)
}

fn split(split: &Split) -> Check {
    let delays = [
        ("f1_delay_us", split.f1_delay_us),
        ("e2_report_delay_us", split.e2_report_delay_us),
        ("e2_control_delay_us", split.e2_control_delay_us),
        ("core_delay_us", split.core_delay_us),
        ("core_jitter_us", split.core_jitter_us),
    ];
    for (key, delay_us) in delays {
        within(format_args!("split.{key}"), delay_us, 0..=MAX_DELAY_US)?;
    }
    link::f1(&split.f1, split.f1_delay_us)?;
    within("split.sdap_poll_us", split.sdap_poll_us, 0..=10_000)
}

fn ues(scenario: &Scenario) -> Result<Bearers, Violation> {
    if scenario.ues.is_empty() {
        return Err(Violation::new("ues", "empty; expected at least one UE"));
    }
    let mut bearers = Bearers::new();
    for (index, ue) in scenario.ues.iter().enumerate() {
        let path = format!("ues[{index}]");
        ue_alone(ue, max_mcs(&scenario.cell), &path)?;
        for offset in 0..ue.count {
            let rnti = ue.rnti + offset;
            let drbs = ue.drbs.iter().map(|drb| drb.id).collect();
            if bearers.insert(rnti, drbs).is_some() {
                let message = format!("{rnti} is taken by an earlier UE");
                return Err(Violation::new(format!("{path}.rnti"), message));
            }
        }
        if bearers.len() > MAX_UES {
            let message = format!("more than {MAX_UES} UEs in all");
            return Err(Violation::new(format!("{path}.count"), message));
        }
    }
    Ok(bearers)
}

fn max_mcs(cell: &Cell) -> u8 {
    match (cell.rat, cell.mcs_table) {
        (Rat::Nr, McsTable::Qam256) => 27,
        (Rat::Nr, McsTable::Qam64) | (Rat::Lte, _) => 28,
    }
}

fn ue_alone(ue: &Ue, max_mcs: u8, path: &str) -> Check {
    within(format_args!("{path}.rnti"), ue.rnti, 1..=MAX_RNTI)?;
    within(format_args!("{path}.count"), ue.count, 1..=4096)?;
    if MAX_RNTI - ue.rnti < ue.count - 1 {
        let message = format!("{} UEs from RNTI {} on exceed {MAX_RNTI}", ue.count, ue.rnti);
        return Err(Violation::new(format!("{path}.count"), message));
    }
    span(path, ("join_at_s", ue.join_at_s), ("leave_at_s", ue.leave_at_s))?;
    channel::check(&ue.channel, max_mcs, &format!("{path}.channel"))?;
    link::ue_harq(ue.harq.as_ref(), &format!("{path}.harq"))?;
    if ue.drbs.is_empty() {
        return Err(Violation::new(format!("{path}.drbs"), "empty; expected at least one DRB"));
    }
    let mut ids = HashSet::new();
    for (index, drb) in ue.drbs.iter().enumerate() {
        let path = format!("{path}.drbs[{index}]");
        drb_alone(drb, &path)?;
        if !ids.insert(drb.id) {
            let message = format!("{} is taken by an earlier DRB", drb.id);
            return Err(Violation::new(format!("{path}.id"), message));
        }
    }
    Ok(())
}

fn drb_alone(drb: &Drb, path: &str) -> Check {
    within(format_args!("{path}.id"), drb.id, 1..=32)?;
    within(format_args!("{path}.priority"), drb.priority.unwrap_or(1), 1..=16)?;
    link::rlc(&drb.rlc, &format!("{path}.rlc"))
}
