//! What serde cannot say: ranges, and elements that must fit one another.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::Violation;
use super::model::{
    Cell, Channel, Drb, Flow, FlowKind, FlowUe, MacScheduler, McsTable, Rat, RlcAqm, Scenario,
    Split, Tdd, Ue,
};

type Check = Result<(), Violation>;

const MAX_UES: usize = 8192;
const MAX_TIME_S: f64 = 86_400.0;
const MAX_DELAY_US: u32 = 1_000_000;
const MAX_SLICES: usize = 256;
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
    flows(&scenario.flows, &bearers)
}

fn within<T: PartialOrd + Display>(
    path: impl Display,
    value: T,
    range: RangeInclusive<T>,
) -> Check {
    if range.contains(&value) {
        return Ok(());
    }
    let message = format!("{value} is outside {}..={}", range.start(), range.end());
    Err(Violation::new(path.to_string(), message))
}

fn time(path: impl Display, seconds: f64) -> Check {
    within(path, seconds, 0.0..=MAX_TIME_S)
}

fn cell(cell: &Cell) -> Check {
    within("cell.n_prb", cell.n_prb, 1..=275)?;
    within("cell.layers", cell.layers, 1..=4)?;
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
    }
    if let Some(reserved) = &cell.reserved {
        within("cell.reserved.period_slots", reserved.period_slots, 1..=10_240)?;
        within("cell.reserved.n_prb", reserved.n_prb, 1..=275)?;
        for (index, slot) in reserved.slots.iter().enumerate() {
            let path = format!("cell.reserved.slots[{index}]");
            within(path, *slot, 0..=reserved.period_slots - 1)?;
        }
    }
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
    within("split.sdap_poll_us", split.sdap_poll_us, 0..=10_000)
}

/// The bearers of each RNTI.
type Bearers = HashMap<u16, Vec<u8>>;

fn ues(scenario: &Scenario) -> Result<Bearers, Violation> {
    if scenario.ues.is_empty() {
        return Err(Violation::new("ues", "empty; expected at least one UE"));
    }
    let mut bearers = Bearers::new();
    if scenario.cell.scheduler == MacScheduler::FixedPartition && scenario.ues.len() > MAX_SLICES {
        let message = format!("{} entries; fixed_partition has {MAX_SLICES}", scenario.ues.len());
        return Err(Violation::new("ues", message));
    }
    let mut shares = 0_u32;
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
        shares += prb_share(ue, scenario.cell.scheduler, &path)?;
        if shares > 100 {
            let message = format!("the shares sum to {shares} %; expected at most 100");
            return Err(Violation::new(format!("{path}.prb_share_percent"), message));
        }
    }
    Ok(bearers)
}

fn prb_share(ue: &Ue, scheduler: MacScheduler, path: &str) -> Result<u32, Violation> {
    let path = format!("{path}.prb_share_percent");
    match (scheduler, ue.prb_share_percent) {
        (MacScheduler::RoundRobin, None) => Ok(0),
        (MacScheduler::RoundRobin, Some(_)) => {
            Err(Violation::new(path, "is for cell.scheduler fixed_partition alone"))
        }
        (MacScheduler::FixedPartition, None) => {
            Err(Violation::new(path, "missing; cell.scheduler fixed_partition needs it"))
        }
        (MacScheduler::FixedPartition, Some(share)) => {
            within(path, share, 1..=100)?;
            Ok(u32::from(share))
        }
    }
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
    channel(&ue.channel, max_mcs, &format!("{path}.channel"))?;
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

fn channel(channel: &Channel, max_mcs: u8, path: &str) -> Check {
    match channel {
        Channel::FixedMcs(mcs) => within(format_args!("{path}.fixed_mcs"), *mcs, 0..=max_mcs),
        Channel::McsSeries(series) => {
            let path = format!("{path}.mcs_series");
            within(format_args!("{path}.period_ms"), series.period_ms, 1..=3_600_000)?;
            if series.values.is_empty() {
                let message = "empty; expected at least one MCS";
                return Err(Violation::new(format!("{path}.values"), message));
            }
            for (index, mcs) in series.values.iter().enumerate() {
                within(format_args!("{path}.values[{index}]"), *mcs, 0..=max_mcs)?;
            }
            Ok(())
        }
        Channel::Mahimahi(trace) => {
            let path = format!("{path}.mahimahi");
            if trace.path.is_empty() {
                return Err(Violation::new(format!("{path}.path"), "empty; expected a file"));
            }
            Ok(())
        }
    }
}

fn drb_alone(drb: &Drb, path: &str) -> Check {
    within(format_args!("{path}.id"), drb.id, 1..=32)?;
    let rlc = &drb.rlc;
    if rlc.sn_bits != 6 && rlc.sn_bits != 12 {
        let message = format!("{}; expected 6 or 12", rlc.sn_bits);
        return Err(Violation::new(format!("{path}.rlc.sn_bits"), message));
    }
    within(format_args!("{path}.rlc.limit_bytes"), rlc.limit_bytes, 1500..=1_000_000_000)?;
    within(format_args!("{path}.rlc.limit_packets"), rlc.limit_packets, 1..=10_000_000)?;
    if let Some(RlcAqm::Codel(codel)) = rlc.aqm {
        let path = format!("{path}.rlc.aqm.codel");
        within(format_args!("{path}.target_us"), codel.target_us, 1..=10_000_000)?;
        within(format_args!("{path}.interval_us"), codel.interval_us, 1..=10_000_000)?;
    }
    Ok(())
}

fn span(path: &str, from: (&str, f64), to: (&str, Option<f64>)) -> Check {
    time(format_args!("{path}.{}", from.0), from.1)?;
    let Some(end) = to.1 else { return Ok(()) };
    time(format_args!("{path}.{}", to.0), end)?;
    if end <= from.1 {
        let message = format!("{end} is not after {} ({})", from.0, from.1);
        return Err(Violation::new(format!("{path}.{}", to.0), message));
    }
    Ok(())
}

fn flows(flows: &[Flow], bearers: &Bearers) -> Check {
    let mut names = HashSet::new();
    for (index, flow) in flows.iter().enumerate() {
        let path = format!("flows[{index}]");
        if flow.name.is_empty() || flow.name.len() > 64 {
            let message = format!("'{}' has {} bytes; expected 1..=64", flow.name, flow.name.len());
            return Err(Violation::new(format!("{path}.name"), message));
        }
        if !names.insert(flow.name.as_str()) {
            let message = format!("'{}' is taken by an earlier flow", flow.name);
            return Err(Violation::new(format!("{path}.name"), message));
        }
        span(&path, ("start_s", flow.start_s), ("stop_s", flow.stop_s))?;
        within(format_args!("{path}.dscp"), flow.dscp, 0..=63)?;
        within(format_args!("{path}.qfi"), flow.qfi.unwrap_or(0), 0..=63)?;
        flow_bearer(flow, bearers, &path)?;
        flow_parameters(flow, &path)?;
    }
    Ok(())
}

fn flow_bearer(flow: &Flow, bearers: &Bearers, path: &str) -> Check {
    let rntis: Vec<u16> = match flow.rnti {
        Some(FlowUe::Rnti(rnti)) if bearers.contains_key(&rnti) => vec![rnti],
        Some(FlowUe::Rnti(rnti)) => {
            let message = format!("{rnti} is no UE of this scenario");
            return Err(Violation::new(format!("{path}.rnti"), message));
        }
        Some(FlowUe::Each) => bearers.keys().copied().collect(),
        None if bearers.len() == 1 => bearers.keys().copied().collect(),
        None => {
            let message = format!("missing; there are {} UEs", bearers.len());
            return Err(Violation::new(format!("{path}.rnti"), message));
        }
    };
    let Some(drb) = flow.drb else { return Ok(()) };
    match rntis.iter().filter(|rnti| !bearers[rnti].contains(&drb)).min() {
        None => Ok(()),
        Some(rnti) => {
            let message = format!("{drb} is no DRB of UE {rnti}");
            Err(Violation::new(format!("{path}.drb"), message))
        }
    }
}

fn flow_parameters(flow: &Flow, path: &str) -> Check {
    use FlowKind::{Ping, Tcp, UdpCbr};
    let belongs: [(&str, bool, &[FlowKind]); 8] = [
        ("congestion_control", flow.congestion_control.is_some(), &[Tcp]),
        ("ecn", flow.ecn.is_some(), &[Tcp]),
        ("mss_bytes", flow.mss_bytes.is_some(), &[Tcp]),
        ("hystart", flow.hystart.is_some(), &[Tcp]),
        ("receive_window_bytes", flow.receive_window_bytes.is_some(), &[Tcp]),
        ("rate_kbps", flow.rate_kbps.is_some(), &[UdpCbr]),
        ("packet_bytes", flow.packet_bytes.is_some(), &[UdpCbr, Ping]),
        ("interval_ms", flow.interval_ms.is_some(), &[Ping]),
    ];
    for (key, given, kinds) in belongs {
        if given && !kinds.contains(&flow.kind) {
            let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
            let message =
                format!("is for kind {} alone, this is {}", names.join(" and "), flow.kind.name());
            return Err(Violation::new(format!("{path}.{key}"), message));
        }
    }
    if flow.kind == UdpCbr && flow.rate_kbps.is_none() {
        return Err(Violation::new(format!("{path}.rate_kbps"), "missing; kind udp_cbr needs it"));
    }
    within(format_args!("{path}.mss_bytes"), flow.mss_bytes.unwrap_or(1460), 536..=8960)?;
    let window = flow.receive_window_bytes.unwrap_or(1 << 24);
    within(format_args!("{path}.receive_window_bytes"), window, 10_000..=1 << 30)?;
    if u32::from(flow.mss_bytes.unwrap_or(1460)) > window / 2 {
        let message = format!("{window} holds less than two segments");
        return Err(Violation::new(format!("{path}.receive_window_bytes"), message));
    }
    within(format_args!("{path}.rate_kbps"), flow.rate_kbps.unwrap_or(1), 1..=10_000_000)?;
    within(format_args!("{path}.packet_bytes"), flow.packet_bytes.unwrap_or(28), 28..=9000)?;
    within(format_args!("{path}.interval_ms"), flow.interval_ms.unwrap_or(1), 1..=60_000)
}
