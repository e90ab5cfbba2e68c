//! Line plots as SVG.

use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

const SIZE: (u32, u32) = (860, 240);
const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 119, 180), RGBColor(214, 39, 40), RGBColor(44, 160, 44), RGBColor(148, 103, 189)];

/// One line: its name and its points, x in seconds.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// An SVG element, or what kept it from being drawn.
pub(super) fn svg(title: &str, unit: &str, lines: &[Line]) -> String {
    let mut out = String::new();
    match draw(&mut out, title, unit, lines) {
        Ok(()) => out,
        Err(error) => format!("<p>{title}: {error}</p>"),
    }
}

fn draw(
    out: &mut String,
    title: &str,
    unit: &str,
    lines: &[Line],
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let all = || lines.iter().flat_map(|line| &line.points);
    let end_s = all().map(|(x, _)| *x).fold(1e-3, f64::max);
    let top = all().map(|(_, y)| *y).fold(1e-3, f64::max) * 1.05;
    let area = SVGBackend::with_string(out, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..end_s, 0.0..top)?;
    chart.configure_mesh().x_desc("s").y_desc(unit).light_line_style(WHITE).draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let series = LineSeries::new(line.points.iter().copied(), colour);
        chart
            .draw_series(series)?
            .label(&*line.name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour));
    }
    if lines.len() > 1 {
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).draw()?;
    }
    area.present()
}
