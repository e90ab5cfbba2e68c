//! Bars in groups.

use plotters::prelude::*;

use super::{COLOURS, DrawError, GroupedBar, TALL, round, two_digits};

/// Part of a group's width that its bars fill.
const FILL: f64 = 0.84;

/// The distinct names in order of first occurrence.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

pub(super) fn draw(
    out: &mut String,
    title: &str,
    (unit, log_y): (&str, bool),
    bars: &[GroupedBar],
) -> Result<(), DrawError> {
    let place = |y: f64| if log_y { y.log10() } else { y };
    let shown = || bars.iter().filter(|bar| !log_y || bar.value > 0.0);
    let groups = distinct(bars.iter().map(|bar| bar.group.as_str()));
    let members = distinct(bars.iter().map(|bar| bar.member.as_str()));
    let n = groups.len().max(1);
    // Bars begin at 0, or at 1: what is compared with something else grows or shrinks from there.
    let top = shown().map(|bar| place(bar.value)).fold(1e-3, f64::max);
    let bottom = shown().map(|bar| place(bar.value)).fold(0.0, f64::min);
    let margin = (top - bottom) * 0.08;
    let bottom = if bottom < 0.0 { bottom - margin } else { bottom };
    let area = SVGBackend::with_string(out, TALL).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        // Room for the legend beside the bars.
        .margin_right(110)
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..n as f64, bottom..top + margin)?;
    let name = |x: &f64| {
        let at = x.floor();
        let middle = (x - at - 0.5).abs() < 1e-6;
        let group = (middle && at >= 0.0).then(|| groups.get(at as usize)).flatten();
        group.map_or(String::new(), |group| (*group).to_owned())
    };
    let value = |y: &f64| if log_y { two_digits(10f64.powf(*y)) } else { format!("{}", round(*y)) };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * n + 1)
        .x_label_formatter(&name)
        .y_label_formatter(&value)
        .y_desc(unit)
        .light_line_style(WHITE)
        .draw()?;
    let width = FILL / members.len().max(1) as f64;
    for (at, (member, colour)) in members.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let boxes = shown().filter(|bar| bar.member == *member).filter_map(|bar| {
            let group = groups.iter().position(|group| *group == bar.group)?;
            let from = group as f64 + (1.0 - FILL) / 2.0 + at as f64 * width;
            let corners = [(from, 0.0), (from + width * 0.92, place(bar.value))];
            Some(Rectangle::new(corners, colour.filled()))
        });
        chart.draw_series(boxes)?;
    }
    // The legend, beside the plot.
    for (at, (member, colour)) in members.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let (x, y) = (TALL.0 as i32 - 104, 40 + 20 * at as i32);
        area.draw(&Rectangle::new([(x, y), (x + 10, y + 10)], colour.filled()))?;
        area.draw(&Text::new(*member, (x + 16, y - 2), ("sans-serif", 13)))?;
    }
    area.present()
}
