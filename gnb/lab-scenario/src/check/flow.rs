//! Whether a flow can be what it says.

use std::collections::HashSet;

use super::tcp;
use crate::error::Violation;
use crate::flow::FlowKind::{Call, Game, Ping, Sprout, Tcp, UdpCbr, Video, Vivace, Voip, Web};
use crate::flow::{Flow, FlowKind, FlowUe};
use crate::rules::{Bearers, Check, MAX_DELAY_US, span, within};

/// Kinds over TCP, which all take TCP's keys.
const TCP_KINDS: [FlowKind; 3] = [Tcp, Web, Video];
/// Kinds over UDP.
const UDP_KINDS: [FlowKind; 6] = [UdpCbr, Voip, Game, Call, Sprout, Vivace];

pub(super) fn flows(flows: &[Flow], bearers: &Bearers) -> Check {
    let mut names = HashSet::new();
    for (index, flow) in flows.iter().enumerate() {
        let path = format!("flows[{index}]");
        if flow.name.is_empty() || flow.name.len() > 64 {
            let message = format!("'{}' has {} bytes; expected 1..=64", flow.name, flow.name.len());
            return Err(Violation::new(format!("{path}.name"), message));
        }
        within(format_args!("{path}.count"), flow.count, 1..=64)?;
        if let Some(taken) = flow.names().find(|name| !names.insert(name.clone())) {
            let message = format!("'{taken}' is taken by an earlier flow");
            return Err(Violation::new(format!("{path}.name"), message));
        }
        let jitter_ms = flow.start_jitter_ms.unwrap_or(0);
        within(format_args!("{path}.start_jitter_ms"), jitter_ms, 0..=60_000)?;
        span(&path, ("start_s", flow.start_s), ("stop_s", flow.stop_s))?;
        let core_delay_us = flow.core_delay_us.unwrap_or(0);
        within(format_args!("{path}.core_delay_us"), core_delay_us, 0..=MAX_DELAY_US)?;
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
    let belongs: [(&str, bool, &[FlowKind]); 22] = [
        ("ecn_field", flow.ecn_field.is_some(), &UDP_KINDS),
        ("game", flow.game.is_some(), &[Game]),
        ("call", flow.call.is_some(), &[Call]),
        ("web", flow.web.is_some(), &[Web]),
        ("video", flow.video.is_some(), &[Video]),
        ("sprout", flow.sprout.is_some(), &[Sprout]),
        ("vivace", flow.vivace.is_some(), &[Vivace]),
        ("congestion_control", flow.congestion_control.is_some(), &TCP_KINDS),
        ("ecn", flow.ecn.is_some(), &TCP_KINDS),
        ("accecn", flow.accecn.is_some(), &TCP_KINDS),
        ("pacing", flow.pacing.is_some(), &TCP_KINDS),
        ("bbr_ack_aggregation", flow.bbr_ack_aggregation.is_some(), &TCP_KINDS),
        ("c2tcp_target_ms", flow.c2tcp_target_ms.is_some(), &TCP_KINDS),
        ("c2tcp_setpoint_ms", flow.c2tcp_setpoint_ms.is_some(), &TCP_KINDS),
        ("c2tcp_interval_ms", flow.c2tcp_interval_ms.is_some(), &TCP_KINDS),
        ("mss_bytes", flow.mss_bytes.is_some(), &TCP_KINDS),
        ("hystart", flow.hystart.is_some(), &TCP_KINDS),
        ("receive_window_bytes", flow.receive_window_bytes.is_some(), &TCP_KINDS),
        ("echoed", flow.echoed.is_some(), &[Voip]),
        ("rate_kbps", flow.rate_kbps.is_some(), &[UdpCbr]),
        ("packet_bytes", flow.packet_bytes.is_some(), &[UdpCbr, Ping]),
        ("interval_ms", flow.interval_ms.is_some(), &[Ping]),
    ];
    for (key, given, kinds) in belongs {
        if given && !kinds.contains(&flow.kind) {
            let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
            let message =
                format!("is for kind {} alone, this is {}", listed(&names), flow.kind.name());
            return Err(Violation::new(format!("{path}.{key}"), message));
        }
    }
    if flow.kind == UdpCbr && flow.rate_kbps.is_none() {
        return Err(Violation::new(format!("{path}.rate_kbps"), "missing; kind udp_cbr needs it"));
    }
    tcp::congestion_control(flow, path)?;
    within(format_args!("{path}.mss_bytes"), flow.mss_bytes.unwrap_or(1460), 536..=8960)?;
    let window = flow.receive_window_bytes.unwrap_or(1 << 24);
    within(format_args!("{path}.receive_window_bytes"), window, 10_000..=1 << 30)?;
    if u32::from(flow.mss_bytes.unwrap_or(1460)) > window / 2 {
        let message = format!("{window} holds less than two segments");
        return Err(Violation::new(format!("{path}.receive_window_bytes"), message));
    }
    within(format_args!("{path}.rate_kbps"), flow.rate_kbps.unwrap_or(1), 1..=10_000_000)?;
    within(format_args!("{path}.packet_bytes"), flow.packet_bytes.unwrap_or(28), 28..=9000)?;
    within(format_args!("{path}.interval_ms"), flow.interval_ms.unwrap_or(1), 1..=60_000)?;
    particulars(flow, path)
}

/// What the sender itself would refuse, by its key in the file.
fn particulars(flow: &Flow, path: &str) -> Check {
    flow.traffic_config().validate().map_err(|error| {
        let field = error.field.trim_start_matches("app.").trim_start_matches("tcp.");
        Violation::new(
            format!("{path}.{field}"),
            format!("{}; expected {}", error.value, error.expected),
        )
    })
}

/// "a, b and c".
fn listed(names: &[&str]) -> String {
    match names {
        [before @ .., one, last] if !before.is_empty() => {
            format!("{}, {one} and {last}", before.join(", "))
        }
        _ => names.join(" and "),
    }
}
