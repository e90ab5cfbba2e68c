//! The summary of a run for a terminal.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use lab_world::{DelayMs, Summary};

/// Rows beyond this are for `summary.json`.
const MAX_ROWS: usize = 20;

/// What the table shows of each kind; the rest is in `summary.json`.
const HEADLINES: [(&str, &[&str]); 7] = [
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
    ("sprout", &["believed_rate_packets_per_s"]),
    ("vivace", &["rate_now_mbps"]),
];

/// Tables of flows, of what applications say and of bearers, and a line for the cell.
pub(super) fn of(summary: &Summary) -> String {
    let mut flows =
        begin(&["flow", "kind", "Mbit/s", "lost", "one-way p50", "p95 ms", "RTT p50", "p95 ms"]);
    for flow in summary.flows.iter().take(MAX_ROWS) {
        let rtt =
            |pick: fn(&DelayMs) -> f64| flow.rtt_ms.as_ref().map_or(String::new(), |d| ms(pick(d)));
        flows.add_row(vec![
            flow.name.clone(),
            flow.kind.to_owned(),
            format!("{:.3}", flow.goodput_mbps),
            flow.lost_packets.to_string(),
            ms(flow.one_way_delay_ms.p50),
            ms(flow.one_way_delay_ms.p95),
            rtt(|rtt| rtt.p50),
            rtt(|rtt| rtt.p95),
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
        "SDAP+RLC p95 ms",
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
            ms(bearer.sojourn_ms.p95),
        ]);
    }
    let apps = if apps.row_count() == 0 { String::new() } else { format!("{apps}\n") };
    align(&mut flows, 2);
    align(&mut bearers, 2);
    let more = |rows: usize| match rows.saturating_sub(MAX_ROWS) {
        0 => String::new(),
        rest => format!("and {rest} more in summary.json\n"),
    };
    format!(
        "{}: {:.3} s, seed {}\n{flows}\n{}{apps}{bearers}\n{}used RBs {:.2} %, {}",
        summary.scenario,
        summary.duration_s,
        summary.seed,
        more(summary.flows.len()),
        more(summary.bearers.len()),
        summary.cell.used_rb_pct,
        summary.cell.bound,
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

fn ms(value: f64) -> String {
    format!("{value:.1}")
}
