//! `report.html` of a reproduction: rows and plots in one file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::figure::Figure;
use super::rows::Table;
use super::run::Reproduction;
use lab_recording::plots::{self, Axes, Bar, GroupedBar, Line};
use lab_recording::{STYLE, escape};

/// Names (experiment and number of the figure) and SVGs of all plots.
pub(super) fn plots(reproduction: &Reproduction) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for table in &reproduction.tables {
        for (number, figure) in (1..).zip(&table.experiment.figures) {
            let name = format!("{}-{number}", table.experiment.name);
            all.push((name, draw(table, figure)));
        }
    }
    all
}

fn draw(table: &Table, figure: &Figure) -> String {
    match figure {
        Figure::Curves { curve, title, x, y, log_x, x_max } => {
            let axes = Axes {
                title: title.clone(),
                x: x.clone(),
                y: y.clone(),
                log_x: *log_x,
                x_max: *x_max,
            };
            let line = |(cell, run): (&super::plan::Cell, &Option<super::cache::Measured>)| {
                let points = run.as_ref()?.curves.get(curve)?.clone();
                Some(Line { name: cell.scheme.clone(), points })
            };
            let lines: Vec<Line> =
                table.experiment.cells.iter().zip(&table.first).filter_map(line).collect();
            plots::lines(&axes, &lines)
        }
        Figure::Bars { metric, title } => {
            let comparisons = &table.experiment.comparisons;
            let rows: Vec<_> = table
                .rows
                .iter()
                .filter(|row| row.metric == *metric)
                .filter(|row| comparisons.iter().all(|comparison| comparison.row != row.scheme))
                .collect();
            let unit = rows.first().map_or("", |row| &row.unit);
            let bars: Vec<Bar> = rows
                .iter()
                .map(|row| Bar { name: row.scheme.clone(), paper: row.paper, here: row.here })
                .collect();
            plots::bars(title, unit, &bars)
        }
        Figure::Groups { metric, title, rows, log_y } => {
            groups(table, metric, title, (rows, *log_y))
        }
        Figure::Sweep { metric, title, x } => sweep(table, metric, title, x),
    }
}

fn groups(table: &Table, metric: &str, title: &str, (pattern, log_y): (&str, bool)) -> String {
    let (prefix, suffix) = pattern.split_once("{}").unwrap_or((pattern, ""));
    let is_comparison = pattern != "{}";
    let mut bars = Vec::new();
    let mut unit = "";
    for row in table.rows.iter().filter(|row| row.metric == metric) {
        let comparisons = &table.experiment.comparisons;
        if comparisons.iter().any(|comparison| comparison.row == row.scheme) != is_comparison {
            continue;
        }
        let (group, name) = row.scheme.split_once(", ").unwrap_or(("", &row.scheme));
        let member = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        if let (Some(member), Some(value)) = (member, row.here) {
            unit = &row.unit;
            bars.push(GroupedBar { group: group.to_owned(), member: member.to_owned(), value });
        }
    }
    plots::groups(title, unit, log_y, &bars)
}

fn sweep(table: &Table, metric: &str, title: &str, x: &str) -> String {
    let mut series: BTreeMap<(usize, String), Vec<(f64, f64)>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut add = |name: String, point: (f64, f64)| {
        let at = order.iter().position(|known| *known == name).unwrap_or_else(|| {
            order.push(name.clone());
            order.len() - 1
        });
        series.entry((at, name)).or_default().push(point);
    };
    let mut unit = "";
    for row in table.rows.iter().filter(|row| row.metric == metric) {
        unit = &row.unit;
        let cell = table.experiment.cells.iter().find(|cell| cell.scheme == row.scheme);
        let Some(at) = cell.and_then(|cell| cell.at.as_ref()) else { continue };
        if let Some(here) = row.here {
            add(at.series.clone(), (at.x, here));
        }
        if let Some(paper) = row.paper {
            add(format!("{}, paper", at.series), (at.x, paper));
        }
    }
    let axes = Axes {
        title: title.to_owned(),
        x: x.to_owned(),
        y: unit.to_owned(),
        log_x: false,
        x_max: None,
    };
    let lines: Vec<Line> =
        series.into_iter().map(|((_, name), points)| Line { name, points }).collect();
    plots::lines(&axes, &lines)
}

/// The whole page.
pub(super) fn page(
    reproduction: &Reproduction,
    plots: &[(String, String)],
    command: &str,
) -> String {
    let paper = &reproduction.paper;
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title>\
         <style>{STYLE}</style></head><body><h1>{name}</h1><p>{citation}</p>\
         <p>gnb-lab {version}, first seed {seed}. <code>{command}</code></p>\
         <h2>Assumed where the paper is silent</h2><ul>",
        name = escape(&paper.name),
        citation = escape(&paper.citation),
        version = env!("CARGO_PKG_VERSION"),
        seed = reproduction.seed,
        command = escape(command),
    );
    for assumption in &paper.assumptions {
        let _ = write!(page, "<li>{}</li>", escape(assumption));
    }
    page.push_str("</ul>");
    for table in &reproduction.tables {
        rows(&mut page, table);
        let own = format!("{}-", table.experiment.name);
        for (_, svg) in plots.iter().filter(|(name, _)| {
            name.strip_prefix(&own).is_some_and(|rest| rest.parse::<u32>().is_ok())
        }) {
            page.push_str(svg);
        }
    }
    page.push_str("</body></html>\n");
    page
}

fn rows(page: &mut String, table: &Table) {
    let experiment = &table.experiment;
    let _ = write!(
        page,
        "<h2>{}: {} ({})</h2><p>{} seeds.</p>",
        escape(&experiment.name),
        escape(&experiment.title),
        escape(&experiment.source),
        table.repeats,
    );
    for missing in &table.missing {
        let _ = write!(page, "<p>Not run: {}</p>", escape(missing));
    }
    page.push_str(
        "<table><tr><th>metric</th><th>scheme</th><th>unit</th><th>paper</th><th>here</th>\
         <th>ratio</th><th>paper is</th><th>least … greatest</th></tr>",
    );
    for row in &table.rows {
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.metric),
            escape(&row.scheme),
            escape(&row.unit),
            row.values().join("</td><td>"),
        );
    }
    page.push_str("</table>");
}
