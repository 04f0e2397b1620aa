//! Figures as SVG: bars and points over categories.
//!
//! Drawn twice, for wide and for narrow screens, since text that shrinks with a picture cannot be
//! read on a telephone. Colours are placeholders: each stands for a variable of the style sheet,
//! which knows dark and light; a drawing library only knows numbers.

use plotters::{
    coord::{Shift, types::RangedCoordf64},
    prelude::*,
    style::{
        RGBColor,
        text_anchor::{HPos, Pos, VPos},
    },
};

/// What can go wrong with a drawing in memory: nothing.
type Painted = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A colour of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text and axes.
    Text,
    /// Grid lines.
    Grid,
    /// Series and kinds of tasks; more than there are begin again.
    Series(usize),
    /// What should be.
    Good,
    /// What should not.
    Bad,
}

/// How many colours there are for series.
pub(super) const SERIES: usize = 8;

impl Ink {
    /// The placeholder.
    fn rgb(self) -> RGBColor {
        match self {
            Self::Text => RGBColor(1, 0, 0),
            Self::Grid => RGBColor(1, 0, 1),
            Self::Good => RGBColor(1, 0, 2),
            Self::Bad => RGBColor(1, 0, 3),
            Self::Series(number) => RGBColor(1, 1, (number % SERIES) as u8),
        }
    }

    /// The variable's name.
    pub(super) fn variable(self) -> String {
        match self {
            Self::Text => "--ink".into(),
            Self::Grid => "--grid".into(),
            Self::Good => "--good".into(),
            Self::Bad => "--bad".into(),
            Self::Series(number) => format!("--series-{}", number % SERIES),
        }
    }
}

/// How large a figure is drawn.
#[derive(Clone, Copy, Debug)]
struct Size {
    width: u32,
    height: u32,
    font: u32,
}

const WIDE: Size = Size { width: 880, height: 300, font: 14 };
const NARROW: Size = Size { width: 360, height: 250, font: 12 };
/// Room for the labels of the y axis.
const LEFT: u32 = 64;

/// A figure for both widths.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    /// For wide screens and paper.
    pub(super) wide: String,
    /// For narrow ones.
    pub(super) narrow: String,
}

/// Titles of the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes<'a> {
    /// Below.
    pub(super) x: &'a str,
    /// To the left.
    pub(super) y: &'a str,
}

/// One bar.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: f64,
    /// Stands above it.
    pub(super) note: String,
    pub(super) ink: Ink,
}

/// A value for each category.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) ink: Ink,
    /// Nothing where there is no value.
    pub(super) values: Vec<Option<f64>>,
    /// Whether its points are crosses that no line connects: numbers from elsewhere.
    pub(super) is_foreign: bool,
}

/// The scale of the y axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// From zero.
    Linear,
    /// Powers of ten.
    Log,
}

/// The widest bar, in pixels.
const WIDEST: f64 = 110.0;

/// Bars over their labels; the place of one of them may be marked.
pub(super) fn bars(title: &str, axes: Axes<'_>, bars: &[Bar], marked: Option<usize>) -> Drawing {
    let largest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let top = if largest > 0.0 { largest * 1.15 } else { 1.0 };
    let labels: Vec<_> = bars.iter().map(|bar| bar.label.clone()).collect();
    both(title, &|area, size| {
        let mut chart = categories(area, size, axes, &labels, (0.0, top), &plain)?;
        chart.draw_series(marked.map(|at| {
            let corners = [(at as f64, 0.0), (at as f64 + 1.0, top)];
            Rectangle::new(corners, Ink::Good.rgb().mix(0.15).filled())
        }))?;
        let each = f64::from(size.width - LEFT) / bars.len().max(1) as f64;
        let half = 0.38_f64.min(WIDEST / each / 2.0);
        chart.draw_series(bars.iter().enumerate().map(|(at, bar)| {
            let middle = at as f64 + 0.5;
            let corners = [(middle - half, 0.0), (middle + half, bar.value)];
            Rectangle::new(corners, bar.ink.rgb().filled())
        }))?;
        // Notes would run into each other where bars are thin.
        let room = (size.width - LEFT) / bars.len().max(1) as u32;
        let longest = bars.iter().map(|bar| bar.note.chars().count()).max().unwrap_or(0);
        if longest as u32 * size.font * 6 / 10 < room {
            let style = text(size, Ink::Text).pos(Pos::new(HPos::Center, VPos::Bottom));
            chart.draw_series(bars.iter().enumerate().map(|(at, bar)| {
                Text::new(bar.note.clone(), (at as f64 + 0.5, bar.value), style.clone())
            }))?;
        }
        Ok(())
    })
}

/// Points over categories, each series connected by a line.
pub(super) fn points(
    title: &str,
    axes: Axes<'_>,
    labels: &[String],
    series: &[Series],
    scale: Scale,
    format: &dyn Fn(f64) -> String,
) -> Drawing {
    let values = || series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let to_axis = |value: f64| match scale {
        Scale::Linear => value,
        Scale::Log => value.max(1.0).log10(),
    };
    let lowest = values().map(to_axis).fold(f64::INFINITY, f64::min);
    let highest = values().map(to_axis).fold(f64::NEG_INFINITY, f64::max);
    let range = match scale {
        _ if !lowest.is_finite() => (0.0, 1.0),
        Scale::Linear => (0.0, if highest > 0.0 { highest * 1.1 } else { 1.0 }),
        Scale::Log => (lowest.floor(), highest.ceil().max(lowest.floor() + 1.0)),
    };
    let from_axis = |value: &f64| match scale {
        Scale::Linear => format(*value),
        Scale::Log => format(10f64.powf(*value)),
    };
    both(title, &|area, size| {
        let mut chart = categories(area, size, axes, labels, range, &from_axis)?;
        for series in series {
            let points: Vec<(f64, f64)> = series
                .values
                .iter()
                .enumerate()
                .filter_map(|(at, value)| Some((at as f64 + 0.5, to_axis((*value)?))))
                .collect();
            let rgb = series.ink.rgb();
            if series.is_foreign {
                let style = rgb.stroke_width(2);
                chart.draw_series(points.iter().map(|&point| Cross::new(point, 5, style)))?;
            } else {
                chart.draw_series(LineSeries::new(points.clone(), rgb.stroke_width(2)))?;
                chart
                    .draw_series(points.iter().map(|&point| Circle::new(point, 4, rgb.filled())))?;
            }
        }
        Ok(())
    })
}

/// Lines over time, each a list of points in ms.
pub(super) fn lines(
    title: &str,
    axes: Axes<'_>,
    series: &[(Ink, Vec<(f64, f64)>)],
    format: &dyn Fn(f64) -> String,
) -> Drawing {
    let all = || series.iter().flat_map(|(_, points)| points.iter().copied());
    let bounds = |of: fn((f64, f64)) -> f64| {
        let (low, high) = all()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low < high { (low, high) } else { (low.min(0.0), low.max(0.0) + 1.0) }
    };
    let ((x_low, x_high), (y_low, y_high)) = match all().next() {
        Some(_) => (bounds(|point| point.0), bounds(|point| point.1)),
        None => ((0.0, 1.0), (0.0, 1.0)),
    };
    let margin = (y_high - y_low) * 0.05;
    both(title, &|area, size| {
        let x_labels = if size.width < 500 { 4 } else { 8 };
        let y = (y_low - margin, y_high + margin);
        let mut chart =
            coordinates(area, size, axes, (x_low, x_high), y, x_labels, &|value| format(*value))?;
        for (ink, points) in series {
            chart.draw_series(LineSeries::new(
                points.iter().copied(),
                ink.rgb().stroke_width(if size.width < 500 { 1 } else { 2 }),
            ))?;
        }
        Ok(())
    })
}

/// Axes with numbers.
fn coordinates<'a>(
    area: &Area<'a>,
    size: Size,
    axes: Axes<'_>,
    x: (f64, f64),
    y: (f64, f64),
    x_labels: usize,
    format: &dyn Fn(&f64) -> String,
) -> Result<Chart<'a>, Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin(6)
        .margin_right(14)
        .x_label_area_size(size.font * 3)
        .y_label_area_size(LEFT + size.font)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(Ink::Grid.rgb())
        .light_line_style(TRANSPARENT)
        .axis_style(Ink::Text.rgb())
        .label_style(text(size, Ink::Text))
        .axis_desc_style(text(size, Ink::Text))
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_labels(x_labels)
        .y_labels(6)
        .x_label_formatter(&plain)
        .y_label_formatter(&|value| format(value))
        .draw()?;
    Ok(chart)
}

/// Axes with a label in the middle of each category.
fn categories<'a>(
    area: &Area<'a>,
    size: Size,
    axes: Axes<'_>,
    labels: &[String],
    y: (f64, f64),
    format: &dyn Fn(&f64) -> String,
) -> Result<Chart<'a>, Box<dyn std::error::Error>> {
    let count = labels.len().max(1);
    let chart = coordinates(area, size, axes, (0.0, count as f64), y, 0, format)?;
    // Drawn by hand: between marks, and only as many as there is room for.
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(1).max(2);
    let each = longest as u32 * size.font * 6 / 10 + size.font;
    let room = (size.width - LEFT - size.font - 20) / count as u32;
    let step = each.div_ceil(room.max(1)).max(1) as usize;
    let style = text(size, Ink::Text).pos(Pos::new(HPos::Center, VPos::Top));
    for (at, label) in labels.iter().enumerate().step_by(step) {
        let (x, y) = chart.backend_coord(&(at as f64 + 0.5, y.0));
        area.draw(&Text::new(label.clone(), (x, y + 6), style.clone()))?;
    }
    Ok(chart)
}

fn text(size: Size, ink: Ink) -> TextStyle<'static> {
    ("sans-serif", size.font).into_font().color(&ink.rgb())
}

fn plain(value: &f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn both(title: &str, paint: &dyn Fn(&Area<'_>, Size) -> Painted) -> Drawing {
    let draw = |size: Size| {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (size.width, size.height)).into_drawing_area();
        paint(&area, size)
            .and_then(|()| area.present().map_err(Into::into))
            .expect("memory takes every drawing");
        drop(area);
        themed(&svg, title)
    };
    Drawing { wide: draw(WIDE), narrow: draw(NARROW) }
}

/// Puts variables in the place of colours, and says what is shown to those who cannot see it.
fn themed(svg: &str, title: &str) -> String {
    let mut svg = svg.to_owned();
    let series = (0..SERIES).map(Ink::Series);
    for ink in [Ink::Text, Ink::Grid, Ink::Good, Ink::Bad].into_iter().chain(series) {
        let RGBColor(r, g, b) = ink.rgb();
        svg = svg.replace(&format!("#{r:02X}{g:02X}{b:02X}"), &format!("var({})", ink.variable()));
    }
    let label = maud::html! { (title) }.into_string();
    svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{label}\" "), 1)
}
