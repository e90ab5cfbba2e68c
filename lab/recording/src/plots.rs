//! Plots as SVG elements: lines over a linear or logarithmic axis, and bars.

mod grouped;

use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

const SIZE: (u32, u32) = (860, 240);
const TALL: (u32, u32) = (860, 320);
const COLOURS: [RGBColor; 10] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(127, 127, 127),
    RGBColor(188, 189, 34),
    RGBColor(23, 190, 207),
];

type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// One line: its name and its points.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
}

/// Title and axes of a line plot.
#[derive(Clone, Debug)]
pub struct Axes {
    /// Text above the plot.
    pub title: String,
    /// Quantity and unit.
    pub x: String,
    /// Quantity and unit.
    pub y: String,
    /// Decades instead of a linear axis; values at or below zero are left out.
    pub log_x: bool,
    /// End of the axis; at the last point when absent.
    pub x_max: Option<f64>,
}

/// A value of a paper beside that of a run.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Text below the bars.
    pub name: String,
    /// What the paper reports.
    pub paper: Option<f64>,
    /// What was measured here.
    pub here: Option<f64>,
}

/// A bar of a group.
#[derive(Clone, Debug)]
pub struct GroupedBar {
    /// Text below the bars.
    pub group: String,
    /// Name in the legend; one colour.
    pub member: String,
    /// Its height.
    pub value: f64,
}

/// Lines over time in seconds: an SVG element, or the error that prevented it.
pub fn over_time(title: &str, unit: &str, lines: &[Line]) -> String {
    let axes = Axes {
        title: title.to_owned(),
        x: "s".to_owned(),
        y: unit.to_owned(),
        log_x: false,
        x_max: None,
    };
    element(title, |out| draw_lines(out, SIZE, &axes, lines))
}

/// Lines over any quantity.
pub fn lines(axes: &Axes, lines: &[Line]) -> String {
    element(&axes.title, |out| draw_lines(out, TALL, axes, lines))
}

/// A group of bars per name, the paper's beside ours.
pub fn bars(title: &str, unit: &str, bars: &[Bar]) -> String {
    element(title, |out| draw_bars(out, title, unit, bars))
}

/// Bars side by side in groups, a colour per member; on an axis of decades if wanted, where values at
/// or below zero are left out.
pub fn groups(title: &str, unit: &str, log_y: bool, bars: &[GroupedBar]) -> String {
    element(title, |out| grouped::draw(out, title, (unit, log_y), bars))
}

fn element(title: &str, draw: impl FnOnce(&mut String) -> Result<(), DrawError>) -> String {
    let mut out = String::new();
    match draw(&mut out) {
        Ok(()) => out,
        Err(error) => format!("<p>{title}: {error}</p>"),
    }
}

fn draw_lines(
    out: &mut String,
    size: (u32, u32),
    axes: &Axes,
    lines: &[Line],
) -> Result<(), DrawError> {
    let place = |x: f64| if axes.log_x { x.log10() } else { x };
    let shown = |x: &f64| !axes.log_x || *x > 0.0;
    let all = || lines.iter().flat_map(|line| &line.points).filter(|(x, _)| shown(x));
    let last = all().map(|(x, _)| *x).fold(1e-3, f64::max);
    let end = place(axes.x_max.map_or(last, |max| max.min(last)));
    let begin = if axes.log_x {
        all().map(|(x, _)| place(*x)).fold(end - 1.0, f64::min)
    } else {
        all().map(|(x, _)| *x).fold(0.0, f64::min)
    };
    let top = all().map(|(_, y)| *y).fold(1e-3, f64::max) * 1.05;
    let bottom = all().map(|(_, y)| *y).fold(0.0, f64::min);
    let area = SVGBackend::with_string(out, size).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(&axes.title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(begin..end, bottom..top)?;
    let label = |x: &f64| {
        if axes.log_x { two_digits(10f64.powf(*x)) } else { format!("{}", round(*x)) }
    };
    chart
        .configure_mesh()
        .x_desc(&*axes.x)
        .y_desc(&*axes.y)
        .x_label_formatter(&label)
        .light_line_style(WHITE)
        .draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let points: Vec<(f64, f64)> = line
            .points
            .iter()
            .filter(|(x, _)| shown(x) && place(*x) <= end)
            .map(|(x, y)| (place(*x), *y))
            .collect();
        chart
            .draw_series(LineSeries::new(points, colour))?
            .label(&*line.name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour));
    }
    if lines.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::MiddleRight)
            .background_style(WHITE.mix(0.8))
            .draw()?;
    }
    area.present()
}

/// A label of a logarithmic axis: two significant digits.
fn two_digits(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return String::new();
    }
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    format!("{}", round((value / unit).round() * unit))
}

/// Axis labels without the last bits of binary fractions.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn draw_bars(out: &mut String, title: &str, unit: &str, bars: &[Bar]) -> Result<(), DrawError> {
    let values = || bars.iter().flat_map(|bar| [bar.paper, bar.here]).flatten();
    let top = values().fold(1e-3, f64::max) * 1.1;
    let bottom = values().fold(0.0, f64::min);
    let n = bars.len().max(1);
    let area = SVGBackend::with_string(out, TALL).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..n as f64, bottom..top)?;
    let name = |x: &f64| {
        let at = x.floor();
        let middle = (x - at - 0.5).abs() < 1e-6;
        let bar = (middle && at >= 0.0).then(|| bars.get(at as usize)).flatten();
        bar.map_or(String::new(), |bar| bar.name.clone())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * n + 1)
        .x_label_formatter(&name)
        .y_desc(unit)
        .light_line_style(WHITE)
        .draw()?;
    type Pick = fn(&Bar) -> Option<f64>;
    let sides: [(&str, RGBColor, f64, Pick); 2] = [
        ("paper", RGBColor(180, 180, 180), 0.15, |bar| bar.paper),
        ("here", COLOURS[0], 0.5, |bar| bar.here),
    ];
    for (side, colour, offset, pick) in sides {
        let boxes = bars.iter().enumerate().filter_map(|(index, bar)| {
            let from = index as f64 + offset;
            pick(bar).map(|y| Rectangle::new([(from, 0.0), (from + 0.35, y)], colour.filled()))
        });
        chart
            .draw_series(boxes)?
            .label(side)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
    }
    if bars.iter().any(|bar| bar.paper.is_some()) {
        let above = SeriesLabelPosition::UpperRight;
        chart.configure_series_labels().position(above).background_style(WHITE.mix(0.8)).draw()?;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(log_x: bool) -> Axes {
        Axes { title: "t".into(), x: "x".into(), y: "y".into(), log_x, x_max: None }
    }

    #[test]
    fn nothing_to_draw_is_still_a_plot() {
        let nothing = [
            lines(&axes(false), &[]),
            lines(&axes(true), &[]),
            bars("t", "u", &[]),
            groups("t", "u", true, &[]),
        ];
        for plot in nothing {
            assert!(plot.starts_with("<svg"), "{plot}");
        }
    }

    #[test]
    fn groups_name_each_group_and_member_once() {
        let bar = |group: &str, member: &str, value| GroupedBar {
            group: group.into(),
            member: member.into(),
            value,
        };
        let bars =
            [bar("Cubic", "CoDel", 70.0), bar("Cubic", "BoDe", 140.0), bar("BBR", "BoDe", 0.0)];
        let plot = groups("t", "×", true, &bars);
        assert!(plot.starts_with("<svg") && !plot.contains("NaN") && !plot.contains("inf"));
        for name in ["Cubic", "CoDel", "BoDe", "BBR"] {
            assert_eq!(plot.matches(&format!("\n{name}\n")).count(), 1, "{name}: {plot}");
        }
    }

    #[test]
    fn zero_has_no_place_on_a_logarithmic_axis() {
        let line = Line { name: "a".into(), points: vec![(0.0, 0.0), (1.0, 0.5), (100.0, 1.0)] };
        let plot = lines(&axes(true), &[line]);
        assert!(plot.starts_with("<svg") && !plot.contains("NaN") && !plot.contains("inf"));
    }
}
