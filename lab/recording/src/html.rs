//! `report.html`: one page without external resources.

use std::fmt::Write;

use traffic::UeSide;
use traffic::video::ChunkLog;

use super::trail::{BIN_US, Trail};
use crate::plots::{self, Line};
use lab_world::{DelayMs, PacketKind, Summary, World};

/// Maximum number of flows in a plot.
const MAX_LINES: usize = 8;

/// Style sheet of all reports.
pub const STYLE: &str = "body{font:14px sans-serif;max-width:900px;margin:2em auto;color:#222}\
    table{border-collapse:collapse;margin:1em 0}\
    th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #ddd}\
    th:first-child,td:first-child{text-align:left}code{background:#f4f4f4;padding:.1em .3em}";

/// The whole page.
pub(super) fn page(summary: &Summary, trail: &Trail, world: &World) -> String {
    let mut page = String::new();
    let title = escape(&summary.scenario);
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1>\
         <p>{:.3} s of virtual time, seed {}, gnb-lab {}.</p>\
         <p>Used resource blocks: {:.2} %, {}.</p>",
        summary.duration_s,
        summary.seed,
        env!("CARGO_PKG_VERSION"),
        summary.cell.used_rb_pct,
        summary.cell.bound,
    );
    flow_table(&mut page, summary);
    app_table(&mut page, summary);
    bearer_table(&mut page, summary);
    kind_table(&mut page, summary);
    for plot in [delay(world), queue(trail), throughput(world), used(trail), video(world)] {
        page.push_str(&plot);
    }
    page.push_str("</body></html>\n");
    page
}

fn flow_table(page: &mut String, summary: &Summary) {
    let has_test = summary.flows.iter().any(|flow| flow.app.get("rpm").is_some());
    let rpm: &[&str] = if has_test { &["rpm", "foreign_rpm", "loaded_rpm"] } else { &[] };
    page.push_str(
        "<h2>Flows</h2><table><tr><th>flow</th><th>kind</th><th>data</th><th>goodput Mbit/s</th><th>lost</th>\
         <th>one-way p50 ms</th><th>p95</th><th>RTT p50 ms</th><th>p95</th>",
    );
    if has_test {
        page.push_str("<th>RPM</th><th>foreign</th><th>loaded</th>");
    }
    page.push_str("</tr>");
    for flow in &summary.flows {
        let rtt = |pick: fn(&DelayMs) -> f64| {
            flow.rtt_ms.as_ref().map_or_else(|| "–".to_owned(), |rtt| format!("{:.1}", pick(rtt)))
        };
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td><td>{}</td><td>{:.1}</td>\
             <td>{:.1}</td><td>{}</td><td>{}</td>",
            escape(&flow.name),
            flow.kind,
            flow.direction.name(),
            flow.goodput_mbps,
            flow.lost_packets,
            flow.one_way_delay_ms.p50,
            flow.one_way_delay_ms.p95,
            rtt(|rtt| rtt.p50),
            rtt(|rtt| rtt.p95),
        );
        for name in rpm {
            let score = flow.app.get(name).map_or("–".to_owned(), |rpm| format!("{rpm:.0}"));
            let _ = write!(page, "<td>{score}</td>");
        }
        page.push_str("</tr>");
    }
    page.push_str("</table>");
}

/// Figures of the applications, a row per number.
fn app_table(page: &mut String, summary: &Summary) {
    if summary.flows.iter().all(|flow| flow.app.is_empty()) {
        return;
    }
    page.push_str("<h2>Applications</h2><table><tr><th>flow</th><th>figure</th><th></th></tr>");
    for flow in &summary.flows {
        for (name, value) in flow.app.iter() {
            let _ = write!(
                page,
                "<tr><td>{}</td><td>{name}</td><td>{value:.3}</td></tr>",
                escape(&flow.name),
            );
        }
    }
    page.push_str("</table>");
}

fn bearer_table(page: &mut String, summary: &Summary) {
    page.push_str(
        "<h2>Bearers</h2><table><tr><th>RNTI / DRB</th><th>pipeline</th><th>TC drops</th>\
         <th>TC marks</th><th>RLC drops</th><th>RLC HOL p95 ms</th><th>RLC sojourn p95 ms</th>\
         <th>SDAP+RLC p95 ms</th></tr>",
    );
    for bearer in &summary.bearers {
        let _ = write!(
            page,
            "<tr><td>{} / {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td>\
             <td>{:.1}</td><td>{:.1}</td></tr>",
            bearer.rnti,
            bearer.drb,
            escape(&bearer.pipeline),
            bearer.tc_dropped_packets,
            bearer.tc_marked_packets,
            bearer.rlc_dropped_packets,
            bearer.rlc_hol_ms.p95,
            bearer.rlc_sojourn_ms.p95,
            bearer.sojourn_ms.p95,
        );
    }
    page.push_str("</table>");
}

/// Delays by kind of packet: a mean over all is that of bulk.
fn kind_table(page: &mut String, summary: &Summary) {
    page.push_str(
        "<h2>Sparse, bulk, inherited</h2><table><tr><th>RNTI / DRB</th><th>packets of</th>\
         <th>count</th><th>SDAP+RLC mean ms</th><th>p50 ms</th><th>p95 ms</th></tr>",
    );
    for bearer in &summary.bearers {
        for kind in PacketKind::ALL {
            let delay = bearer.sojourn_by_kind_ms.of(kind);
            if delay.count > 0 {
                let _ = write!(
                    page,
                    "<tr><td>{} / {}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td>\
                     <td>{:.1}</td></tr>",
                    bearer.rnti,
                    bearer.drb,
                    kind.name(),
                    delay.count,
                    delay.mean,
                    delay.p50,
                    delay.p95,
                );
            }
        }
    }
    let _ = write!(page, "</table><p>{}</p>", summary.ts_28_552);
}

fn delay(world: &World) -> String {
    let series = |samples: &[(u64, u64)]| {
        samples.iter().map(|(at_us, us)| (*at_us as f64 / 1e6, *us as f64 / 1e3)).collect()
    };
    let lines: Vec<Line> = world
        .flows()
        .filter_map(|(name, kind, flow)| {
            let (what, delay) = match kind {
                "ping" => ("RTT", flow.rtt()?),
                "voip" => ("one way", flow.one_way_delay()),
                // Pages and chunks take seconds and would flatten the rest.
                "game" | "call" | "responsiveness" => flow.app_delay()?,
                _ => return None,
            };
            Some(Line { name: format!("{name} {what}"), points: series(delay.samples()) })
        })
        .take(MAX_LINES)
        .collect();
    plots::over_time("Delay", "ms", &lines)
}

fn throughput(world: &World) -> String {
    let lines: Vec<Line> = world
        .flows()
        .filter(|(_, kind, _)| *kind != "ping")
        .take(MAX_LINES)
        .map(|(name, _, flow)| {
            let goodput = flow.arrivals().goodput();
            let bin_s = goodput.bin_us() as f64 / 1e6;
            let point = |(index, bytes): (usize, &u64)| {
                ((index as f64 + 0.5) * bin_s, *bytes as f64 * 8.0 / bin_s / 1e6)
            };
            let points = goodput.bins().iter().enumerate().map(point).collect();
            Line { name: name.to_owned(), points }
        })
        .collect();
    plots::over_time("Goodput", "Mbit/s", &lines)
}

/// Buffers and bit rates of video players; nothing without one.
fn video(world: &World) -> String {
    let players = world.flows().filter_map(|(name, _, flow)| match &flow.ue {
        UeSide::Video(player) => Some((name, player)),
        _ => None,
    });
    let (mut buffers, mut rates) = (Vec::new(), Vec::new());
    for (name, player) in players.take(MAX_LINES) {
        let at_s = |chunk: &ChunkLog| chunk.at_us as f64 / 1e6;
        let rungs = player.manifest().rates_bps();
        let rate = |chunk: &ChunkLog| rungs.get(usize::from(chunk.rung)).map(|bps| bps / 1e6);
        let log = player.log();
        let buffer = log.iter().map(|chunk| (at_s(chunk), chunk.buffer_us as f64 / 1e6)).collect();
        let rate = log.iter().filter_map(|chunk| Some((at_s(chunk), rate(chunk)?))).collect();
        buffers.push(Line { name: name.to_owned(), points: buffer });
        rates.push(Line { name: name.to_owned(), points: rate });
    }
    if buffers.is_empty() {
        return String::new();
    }
    plots::over_time("Video bit rate", "Mbit/s", &rates)
        + &plots::over_time("Video buffer", "s", &buffers)
}

fn queue(trail: &Trail) -> String {
    let line = |name: &str, bytes: fn(&super::trail::Point) -> u64| Line {
        name: name.to_owned(),
        points: timed(trail.points.iter().map(|point| bytes(point) as f64 / 1e6)),
    };
    let lines =
        [line("RLC buffer", |point| point.rlc_bytes), line("TC pipeline", |point| point.tc_bytes)];
    let hol = Line {
        name: "head of line".to_owned(),
        points: timed(trail.points.iter().map(|point| point.hol_us as f64 / 1e3)),
    };
    plots::over_time("Queues", "MB", &lines)
        + &plots::over_time("RLC head-of-line age", "ms", &[hol])
}

fn used(trail: &Trail) -> String {
    let line = Line { name: "used".to_owned(), points: timed(trail.used_rb_pct().into_iter()) };
    plots::over_time("Used resource blocks", "%", &[line])
}

/// Values of the bins with the middle of each in seconds.
fn timed(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let bin_s = BIN_US as f64 / 1e6;
    values.enumerate().map(|(index, value)| ((index as f64 + 0.5) * bin_s, value)).collect()
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_a_scenario_cannot_become_markup() {
        assert_eq!(escape("<b>&\"x\""), "&lt;b&gt;&amp;&quot;x&quot;");
    }
}
