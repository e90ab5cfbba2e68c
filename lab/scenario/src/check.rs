//! Checks beyond the types: ranges, and elements that must agree with each other.

mod flow;
mod handover;
mod link;
mod qos_flow;
mod scheduler;

use std::collections::HashSet;

use super::link::Overhead;
use super::model::{Cell, Drb, McsTable, Rat, ResourceAllocation, Scenario, Split, Tdd, Ue};
use super::rules::{Bearers, Check, MAX_DELAY_US, MAX_TIME_S, ensure, span, within};
use super::{Violation, adaptation, channel, drx};

const MAX_UES: usize = 8192;
const MAX_RNTI: u16 = 65_519;

pub(super) fn check(scenario: &Scenario) -> Check {
    within("duration_s", scenario.duration_s, 0.001..=MAX_TIME_S)?;
    cell(&scenario.cell)?;
    split(&scenario.split)?;
    let bearers = ues(scenario)?;
    handover::check(scenario)?;
    scheduler::check(&scenario.cell, &scenario.ues)?;
    scheduler::subbands(scenario)?;
    flow::flows(scenario, &bearers)?;
    qos_flow::flows(scenario)
}

fn cell(cell: &Cell) -> Check {
    within("cell.n_prb", cell.n_prb, 1..=275)?;
    within("cell.layers", cell.layers, 1..=4)?;
    within("cell.max_ues_per_slot", cell.max_ues_per_slot, 1..=256)?;
    let Cell { scs_khz, n_prb, .. } = *cell;
    let message = format_args!("{scs_khz}; expected 15, 30, 60 or 120");
    ensure([15, 30, 60, 120].contains(&scs_khz), "cell.scs_khz", message)?;
    if cell.rat == Rat::Lte {
        ensure(scs_khz == 15, "cell.scs_khz", format_args!("{scs_khz}; LTE has 15"))?;
        let message = format_args!(
            "{n_prb}; expected 6, 15 or 25 with rat lte, whose transport block sizes (36.213 table \
             7.1.7.2.1-1) are known here up to 25 PRBs; rat nr has 1 to 275"
        );
        ensure([6, 15, 25].contains(&n_prb), "cell.n_prb", message)?;
        let message = format_args!("{}; expected 1 with rat lte", cell.layers);
        ensure(cell.layers == 1, "cell.layers", message)?;
        let message =
            "expected qam64 with rat lte, which has MCS 0 to 28 of 36.213 table 7.1.7.1-1";
        ensure(matches!(cell.mcs_table, None | Some(McsTable::Qam64)), "cell.mcs_table", message)?;
        ensure(cell.tdd.is_none(), "cell.tdd", "is for rat nr alone; LTE is FDD here")?;
        let is_default = cell.resource_allocation == ResourceAllocation::default();
        let message = "is for rat nr alone; LTE has type 0";
        ensure(is_default, "cell.resource_allocation", message)?;
        let is_default = cell.overhead == Overhead::default();
        ensure(is_default, "cell.overhead", "is for rat nr alone; LTE has the TBS of 36.213")?;
    }
    link::overhead(&cell.overhead)?;
    if let Some(reserved) = &cell.reserved {
        within("cell.reserved.period_slots", reserved.period_slots, 1..=10_240)?;
        within("cell.reserved.n_prb", reserved.n_prb, 1..=275)?;
        for (index, slot) in reserved.slots.iter().enumerate() {
            let path = format!("cell.reserved.slots[{index}]");
            within(path, *slot, 0..=reserved.period_slots - 1)?;
        }
    }
    link::harq(&cell.harq)?;
    adaptation::check(&cell.adaptation)?;
    link::uplink(&cell.uplink, max_mcs(cell))?;
    cell.tdd.as_ref().map_or(Ok(()), tdd)
}

fn tdd(tdd: &Tdd) -> Check {
    let pattern = &tdd.pattern;
    if let Some((at, wrong)) = pattern.chars().enumerate().find(|(_, c)| !"DMU".contains(*c)) {
        let message = format!("'{pattern}' has '{wrong}' at {}; expected D, M or U", at + 1);
        return Err(Violation::new("cell.tdd.pattern", message));
    }
    let is_complete = pattern.contains('D') && pattern.contains('U') && pattern.len() <= 320;
    let message = "needs at least one D and one U in at most 320 slots";
    ensure(is_complete, "cell.tdd.pattern", message)?;
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
    within("split.qos_flow_hold_ms", split.qos_flow_hold_ms, 0..=10_000)?;
    within("split.sdap_poll_us", split.sdap_poll_us, 0..=10_000)
}

fn ues(scenario: &Scenario) -> Result<Bearers, Violation> {
    ensure(!scenario.ues.is_empty(), "ues", "empty; expected at least one UE")?;
    let mut bearers = Bearers::new();
    for (index, ue) in scenario.ues.iter().enumerate() {
        let path = format!("ues[{index}]");
        check_ue(ue, max_mcs(&scenario.cell), &path)?;
        for offset in 0..ue.count {
            let rnti = ue.rnti + offset;
            let drbs = ue.drbs.iter().map(|drb| drb.id).collect();
            let is_free = bearers.insert(rnti, drbs).is_none();
            let message = format_args!("{rnti} is taken by an earlier UE");
            ensure(is_free, format_args!("{path}.rnti"), message)?;
        }
        let message = format_args!("more than {MAX_UES} UEs in all");
        ensure(bearers.len() <= MAX_UES, format_args!("{path}.count"), message)?;
    }
    Ok(bearers)
}

fn max_mcs(cell: &Cell) -> u8 {
    match (cell.rat, cell.mcs_table.unwrap_or_default()) {
        (Rat::Nr, McsTable::Qam256) => 27,
        (Rat::Nr, McsTable::Qam1024) => 26,
        (Rat::Nr, McsTable::Qam64 | McsTable::Qam64LowSe) | (Rat::Lte, _) => 28,
    }
}

fn check_ue(ue: &Ue, max_mcs: u8, path: &str) -> Check {
    within(format_args!("{path}.rnti"), ue.rnti, 1..=MAX_RNTI)?;
    within(format_args!("{path}.count"), ue.count, 1..=4096)?;
    let message = format_args!("{} UEs from RNTI {} on exceed {MAX_RNTI}", ue.count, ue.rnti);
    ensure(MAX_RNTI - ue.rnti >= ue.count - 1, format_args!("{path}.count"), message)?;
    span(path, ("join_at_s", ue.join_at_s), ("leave_at_s", ue.leave_at_s))?;
    channel::check(&ue.channel, max_mcs, &format!("{path}.channel"))?;
    for (index, neighbour) in ue.neighbour_channels.iter().enumerate() {
        channel::check(neighbour, max_mcs, &format!("{path}.neighbour_channels[{index}]"))?;
    }
    let is_used = ue.harq.is_none() || !ue.channel.has_reports();
    let message = "is for channels without an SNR and ideal ones; blocks of others fail by the SNR";
    ensure(is_used, format_args!("{path}.harq"), message)?;
    link::ue_harq(ue.harq.as_ref(), &format!("{path}.harq"))?;
    link::recorded_uplink(ue.uplink.as_ref(), &format!("{path}.uplink"))?;
    if let Some(drx) = &ue.drx {
        let message = "needs the scheduling requests of cell.uplink, not a recorded uplink";
        ensure(ue.uplink.is_none(), format_args!("{path}.drx"), message)?;
        drx::check(drx, &format!("{path}.drx"))?;
    }
    let message = "empty; expected at least one DRB";
    ensure(!ue.drbs.is_empty(), format_args!("{path}.drbs"), message)?;
    let mut ids = HashSet::new();
    for (index, drb) in ue.drbs.iter().enumerate() {
        let path = format!("{path}.drbs[{index}]");
        check_drb(drb, &path)?;
        let message = format_args!("{} is taken by an earlier DRB", drb.id);
        ensure(ids.insert(drb.id), format_args!("{path}.id"), message)?;
    }
    qos_flow::check(ue, path)
}

fn check_drb(drb: &Drb, path: &str) -> Check {
    within(format_args!("{path}.id"), drb.id, 1..=32)?;
    within(format_args!("{path}.priority"), drb.priority.unwrap_or(1), 1..=16)?;
    let rate = drb.prioritised_kbytes_per_s;
    within(format_args!("{path}.prioritised_kbytes_per_s"), rate, 0..=65_536)?;
    within(format_args!("{path}.bucket_ms"), drb.bucket_ms, 5..=1000)?;
    let sd = drb.s_nssai.and_then(|slice| slice.sd).unwrap_or(0);
    within(format_args!("{path}.s_nssai.sd"), sd, 0..=0xff_ffff)?;
    link::rlc(&drb.rlc, &format!("{path}.rlc"))
}
