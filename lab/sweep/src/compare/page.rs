//! A comparison as one page: distributions, series over time, tables.

use std::fmt::Write as _;

use lab_recording::plots::{self, Axes, Line};
use lab_recording::{STYLE, escape};

use super::comparison::{Comparison, Row};
use super::contender::Contender;
use super::text::{COLUMNS, estimate, find, heading};
use super::timeline::Timeline;
use crate::measures::{Scope, Subject};

/// Sides in a plot: as many as there are colours.
const MAX_LINES: usize = 10;
/// Flows with a plot of their own.
const MAX_FLOWS: usize = 8;
/// Subjects with tables; the others are in the JSON alone.
const MAX_SUBJECTS: usize = 50;

/// Plots and tables as a page without external resources.
pub fn page(comparison: &Comparison) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Comparison</title>\
         <style>{STYLE}td+td{{white-space:nowrap}}</style></head><body><h1>Comparison</h1>\
         <p>gnb-lab {}. Means over the seeds ± 95 % confidence interval (Student's t). Differences are \
         to <b>{}</b>; where both sides have the same seeds, they are means over pairs of equal \
         seeds.</p>",
        env!("CARGO_PKG_VERSION"),
        escape(comparison.label(0)),
    );
    let sides = comparison.contenders.len();
    if sides > MAX_LINES {
        let _ = write!(page, "<p>Plots show the first {MAX_LINES} of {sides}.</p>");
    }
    page.push_str("<h2>Sojourn time in SDAP and RLC</h2>");
    for subject in plotted(comparison) {
        page.push_str(&sojourn(comparison, subject));
    }
    page.push_str("<h2>Over time, mean of the seeds</h2>");
    type Pick = fn(&Contender) -> &Timeline;
    let series: [(&str, &str, Pick); 3] = [
        ("Goodput of all flows", "Mbit/s", |side| &side.goodput_mbps),
        ("Queued in RLC and pipelines", "MB", |side| &side.queued_mb),
        ("RLC head-of-line age", "ms", |side| &side.hol_ms),
    ];
    for (title, unit, pick) in series {
        let line = |side: &Contender| Line { name: side.label.clone(), points: pick(side).means() };
        let lines: Vec<Line> = comparison.contenders.iter().take(MAX_LINES).map(line).collect();
        page.push_str(&plots::over_time(title, unit, &lines));
    }
    for rows in comparison.by_subject().take(MAX_SUBJECTS) {
        tables(&mut page, comparison, rows);
    }
    let subjects = comparison.by_subject().count();
    if subjects > MAX_SUBJECTS {
        let _ = write!(page, "<p>And {} more in the JSON.</p>", subjects - MAX_SUBJECTS);
    }
    page.push_str("</body></html>\n");
    page
}

/// The cell and the first flows.
fn plotted(comparison: &Comparison) -> impl Iterator<Item = &Subject> {
    let subjects = comparison.by_subject().map(|rows| &rows[0].subject);
    let mut flows = 0;
    subjects.filter(move |(scope, _)| {
        flows += usize::from(*scope == Scope::Flow);
        *scope == Scope::Cell || (*scope == Scope::Flow && flows <= MAX_FLOWS)
    })
}

/// The distribution functions of a subject, a line per side.
fn sojourn(comparison: &Comparison, subject: &Subject) -> String {
    let line = |side: &Contender| {
        let points = side.sojourn.get(subject)?.cdf();
        (!points.is_empty()).then(|| Line { name: side.label.clone(), points })
    };
    let lines: Vec<Line> = comparison.contenders.iter().take(MAX_LINES).filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let axes = Axes {
        title: format!("Sojourn time, {}", heading(subject)),
        x: "ms".to_owned(),
        y: "share of packets".to_owned(),
        log_x: true,
        x_max: None,
    };
    plots::lines(&axes, &lines)
}

/// The common measures of a subject, and all measures folded away.
fn tables(page: &mut String, comparison: &Comparison, rows: &[Row]) {
    let _ = write!(page, "<h2>{}</h2><table><tr><th>run</th>", escape(&heading(&rows[0].subject)));
    for (_, heading) in COLUMNS {
        let _ = write!(page, "<th>{heading}</th>");
    }
    page.push_str("</tr>");
    for (contender, side) in comparison.contenders.iter().enumerate() {
        let own: Vec<&Row> = rows.iter().filter(|row| row.contender == contender).collect();
        if own.is_empty() {
            continue;
        }
        line(page, &side.label, |names| Some(estimate(&find(&own, names)?.estimate, "")));
        if contender > 0 {
            line(page, "difference", |names| {
                Some(estimate(find(&own, names)?.difference.as_ref()?, "+"))
            });
        }
    }
    page.push_str(
        "</table><details><summary>All measures</summary><table><tr><th>measure</th><th>run</th>\
         <th>seeds</th><th>mean</th><th>difference</th></tr>",
    );
    for row in rows {
        let difference = row.difference.as_ref().map_or(String::new(), |d| estimate(d, "+"));
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{difference}</td></tr>",
            escape(&row.measure),
            escape(comparison.label(row.contender)),
            row.estimate.n,
            estimate(&row.estimate, ""),
        );
    }
    page.push_str("</table></details>");
}

fn line(page: &mut String, label: &str, value: impl Fn(&[&str]) -> Option<String>) {
    let _ = write!(page, "<tr><td>{}</td>", escape(label));
    for (measures, _) in COLUMNS {
        let _ = write!(page, "<td>{}</td>", value(measures).as_deref().unwrap_or("–"));
    }
    page.push_str("</tr>");
}
