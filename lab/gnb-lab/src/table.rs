//! The summary of a run for a terminal.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use lab_world::{DelayMs, Direction, FlowSummary, HandoverSummary, PacketKind, Summary, Worst};

/// Rows beyond this are for `summary.json`.
const MAX_ROWS: usize = 20;

/// What the table shows of each kind; the rest is in `summary.json`.
const HEADLINES: [(&str, &[&str]); 8] = [
    ("voip", &["mos", "playout_delay_ms", "late_or_lost_pct"]),
    ("game", &["action_to_screen_p50_ms", "action_to_screen_p95_ms", "state_gap_max_ms"]),
    (
        "call",
        &[
            "target_mean_kbps",
            "frame_delay_p50_ms",
            "frame_delay_p95_ms",
            "freezes_count",
            "frozen_s",
        ],
    ),
    ("web", &["pages_loaded_count", "page_load_p50_s", "page_load_p95_s"]),
    ("video", &["qoe_per_chunk", "bitrate_mean_kbps", "switches_count", "startup_s", "stalled_s"]),
    (
        "responsiveness",
        &[
            "rpm",
            "foreign_rpm",
            "foreign_confidence_level",
            "loaded_rpm",
            "loaded_confidence_level",
        ],
    ),
    ("sprout", &["believed_rate_packets_per_s"]),
    ("vivace", &["rate_now_mbps"]),
];

/// The kind of a flow, with the direction of its data if it is not the usual one.
fn kind_of(flow: &FlowSummary) -> String {
    match flow.direction {
        Direction::Down => flow.kind.to_owned(),
        Direction::Up => format!("{} up", flow.kind),
    }
}

/// Tables of flows, of what applications say and of bearers, and a line for the cell.
pub(super) fn of(summary: &Summary) -> String {
    let mut flows = begin(&[
        "flow",
        "kind",
        "RNTI/DRB",
        "Mbit/s",
        "lost",
        "dropped TC/RLC",
        "in time",
        "gNB p50/95/99 ms",
        "one-way p50/95/99 ms",
        "RTT p50/95/99 ms",
    ]);
    for flow in summary.flows.iter().take(MAX_ROWS) {
        flows.add_row(vec![
            flow.name.clone(),
            kind_of(flow),
            format!("{}/{}", flow.rnti, flow.drb),
            format!("{:.3}", flow.goodput_mbps),
            flow.lost_packets.to_string(),
            format!("{}/{}", flow.tc_dropped_packets, flow.rlc_dropped_packets),
            flow.deadline
                .map_or(String::new(), |deadline| format!("{:.2} %", deadline.in_time_pct)),
            percentiles(&flow.queuing_ms),
            percentiles(&flow.one_way_delay_ms),
            flow.rtt_ms.as_ref().map_or(String::new(), percentiles),
        ]);
    }
    let mut apps = begin(&["application", "kind", "figures"]);
    for flow in summary.flows.iter().take(MAX_ROWS).filter(|flow| !flow.app.is_empty()) {
        let headlines = HEADLINES.iter().find(|(kind, _)| *kind == flow.kind);
        let figures: Vec<String> = headlines
            .map_or(&[][..], |(_, names)| names)
            .iter()
            .filter_map(|name| flow.app.get(name).map(|value| format!("{name} {value:.2}")))
            .collect();
        apps.add_row(vec![flow.name.clone(), flow.kind.to_owned(), figures.join("  ")]);
    }
    let mut bearers = begin(&[
        "RNTI/DRB",
        "pipeline",
        "TC drops",
        "marks",
        "RLC drops",
        "HOL p95",
        "RLC p95",
        "gNB p50/95/99 ms",
        "peak kB",
    ]);
    for bearer in summary.bearers.iter().take(MAX_ROWS) {
        bearers.add_row(vec![
            format!("{}/{}", bearer.rnti, bearer.drb),
            bearer.pipeline.clone(),
            bearer.tc_dropped_packets.to_string(),
            bearer.tc_marked_packets.to_string(),
            bearer.rlc_dropped_packets.to_string(),
            ms(bearer.rlc_hol_ms.p95),
            ms(bearer.rlc_sojourn_ms.p95),
            percentiles(&bearer.sojourn_ms),
            format!("{:.0}", bearer.queued_bytes.peak as f64 / 1e3),
        ]);
    }
    let mut kinds = begin(&["RNTI/DRB", "packets of", "count", "mean ms", "gNB p50/95/99 ms"]);
    for bearer in summary.bearers.iter().take(MAX_ROWS) {
        for kind in PacketKind::ALL {
            let delay = bearer.sojourn_by_kind_ms.of(kind);
            if delay.count > 0 {
                kinds.add_row(vec![
                    format!("{}/{}", bearer.rnti, bearer.drb),
                    kind.name().to_owned(),
                    delay.count.to_string(),
                    ms(delay.mean),
                    percentiles(delay),
                ]);
            }
        }
    }
    let apps = if apps.row_count() == 0 { String::new() } else { format!("{apps}\n") };
    align(&mut flows, 3);
    align(&mut bearers, 2);
    align(&mut kinds, 2);
    let more = |rows: usize| match rows.saturating_sub(MAX_ROWS) {
        0 => String::new(),
        rest => format!("and {rest} more in summary.json\n"),
    };
    format!(
        "{}: {:.3} s, seed {}\n{flows}\n{}{apps}{bearers}\n{}{kinds}\n{}{}\n{}used RBs {:.2} %, {}",
        summary.scenario,
        summary.duration_s,
        summary.seed,
        more(summary.flows.len()),
        more(summary.bearers.len()),
        summary.handover.as_ref().map_or(String::new(), handovers),
        summary.ts_28_552,
        worst(&summary.worst),
        summary.cell.used_rb_pct,
        summary.cell.bound,
    )
}

/// Table of the UEs of several cells, and a line for the cells.
fn handovers(summary: &HandoverSummary) -> String {
    let mut ues = begin(&[
        "RNTI",
        "cell",
        "handovers",
        "interrupted ms",
        "forwarded",
        "duplicated",
        "lost",
        "lost up",
    ]);
    for ue in summary.ues.iter().take(MAX_ROWS) {
        ues.add_row(vec![
            ue.rnti.to_string(),
            ue.cell.to_string(),
            match ue.failed {
                0 => ue.handovers.to_string(),
                failed => format!("{}, {failed} failed", ue.handovers),
            },
            ms(ue.interruption_ms),
            ue.forwarded_packets.to_string(),
            ue.duplicated_packets.to_string(),
            ue.lost_packets.to_string(),
            ue.lost_uplink_packets.to_string(),
        ]);
    }
    align(&mut ues, 1);
    let used = summary.cells.iter().map(|cell| format!("{:.1}", cell.used_rb_pct));
    let used: Vec<String> = used.collect();
    format!("{ues}\nused RBs by cell, %: {}\n", used.join(", "))
}

/// The line that names the bearer and the flow that waited longest.
fn worst(worst: &Worst) -> String {
    let (Some(bearer), Some(flow)) = (&worst.bearer, &worst.flow) else { return String::new() };
    format!(
        "longest in the gNB (p95): bearer {}/{} {:.1} ms, flow {} {:.1} ms\n",
        bearer.rnti, bearer.drb, bearer.sojourn_p95_ms, flow.name, flow.queuing_p95_ms
    )
}

fn begin(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header);
    table
}

/// Numbers, from column `first` on, stand to the right.
fn align(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Median, 95th and 99th percentile; empty without samples.
fn percentiles(delay: &DelayMs) -> String {
    let DelayMs { count, p50, p95, p99, .. } = delay;
    if *count == 0 { String::new() } else { format!("{p50:.1} / {p95:.1} / {p99:.1}") }
}

fn ms(value: f64) -> String {
    format!("{value:.1}")
}
