//! Plots to take along: all numbers as a table, and the charts that are shown as a picture.

use std::fmt::Write;

use super::{Chart, Curve, Names, Rows, columns, span};
use crate::record::{INK, Paper, Title};
use crate::render::Image;
use crate::verify::plot::{Anchor, Axis, Plot, Style};

/// All numbers of all steps: a line a step, empty where nothing was measured.
pub fn csv(rows: &Rows, names: &Names) -> String {
    let of_charts: Vec<(Chart, Vec<Curve>)> = Chart::ALL.map(|chart| (chart, chart.curves(rows, names))).into();
    let mut text = String::from("step,time [s],step takes [ms]");
    for (chart, curves) in &of_charts {
        for curve in curves {
            let unit = if chart.unit().is_empty() { String::new() } else { format!(" [{}]", chart.unit()) };
            let below = if chart.is_stacked() { " and before" } else { "" };
            let _ = write!(text, ",{}", quoted(&format!("{}: {}{below}{unit}", chart.title(), curve.name)));
        }
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{},{},{}", row.step, row.time, row.ms);
        for curve in of_charts.iter().flat_map(|(_, curves)| curves) {
            let _ = match curve.value(row) {
                Some(value) => write!(text, ",{value}"),
                None => write!(text, ","),
            };
        }
        text.push('\n');
    }
    text
}

/// Names come from scenes: they may hold what separates columns.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Width of the picture in its own units, of a chart without its legend, and of its title; and pixels for one of these.
const WIDTH: f32 = 720.0;
const HEIGHT: f32 = 230.0;
const TITLE: f32 = 32.0;
const SCALE: f32 = 2.0;
/// Points of a curve: more would not be seen.
const POINTS: usize = 700;

/// Charts below one another, between two times [s].
pub fn picture(charts: &[Chart], rows: &Rows, names: &Names, times: [f64; 2]) -> Image {
    let shown = span(rows, times);
    let plots: Vec<(Chart, Plot)> = charts.iter().map(|chart| (*chart, plot(*chart, shown, names, times))).collect();
    let heights = plots.iter().map(|(_, plot)| TITLE + plot.height(HEIGHT));
    let mut paper = Paper::new([WIDTH, heights.clone().sum::<f32>() + 8.0], SCALE);
    let mut top = 0.0;
    for ((chart, plot), height) in plots.iter().zip(heights) {
        paper.title(&Title { text: chart.title(), at: [16.0, top + 0.6 * TITLE], anchor: Anchor::Left, size: 14.0, ink: INK });
        for mark in plot.marks([WIDTH, height - TITLE]) {
            paper.draw(&mark, [0.0, top + TITLE]);
        }
        top += height;
    }
    paper.image()
}

fn plot(chart: Chart, rows: &Rows, names: &Names, times: [f64; 2]) -> Plot {
    let height = if chart.is_logarithmic() { Axis::logarithmic("", chart.unit()) } else { Axis::linear("", chart.unit()) };
    let plot = Plot::new(Axis::linear("time", "s"), height);
    chart.curves(rows, names).iter().fold(plot, |plot, curve| {
        let time = |place: usize| times[0] + (times[1] - times[0]) * (place as f64 + 0.5) / POINTS as f64;
        let columns = columns(rows, curve, times, POINTS);
        let points = columns.iter().flat_map(|column| {
            let ends = if column.least == column.greatest { vec![column.last] } else { vec![column.least, column.greatest] };
            ends.into_iter().map(|value| [time(column.place), value])
        });
        plot.with(Style::Line, curve.name.clone(), points)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::plots::Component;
    use crate::app::plots::tests::{PROBES, model, rows};
    use crate::record::GREEN;

    #[test]
    fn the_table_has_all_numbers_of_all_steps() {
        let (rows, model, probes) = (rows(10), model(), PROBES.map(String::from));
        let text = csv(&rows, &Names { model: &model, probes: &probes, component: Component::Y });
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines.len(), 11);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()));
        let column = |name: &str| lines[0].iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name} in {:?}", lines[0]));
        let at = |step: usize, name: &str| lines[step][column(name)];
        assert_eq!([at(10, "step"), at(10, "Probes: tip [m]"), at(10, "Forces of pairs: right – floor [N]")], ["10", "-0.4", "7"]);
        assert_eq!((at(1, "Energy: motion [J]"), at(2, "Energy: motion [J]")), ("", "4"), "it was not measured in each step");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }

    #[test]
    fn the_picture_shows_the_charts_and_their_curves() {
        let (rows, model, probes) = (rows(50), model(), PROBES.map(String::from));
        let names = Names { model: &model, probes: &probes, component: Component::Y };
        let shown = |charts: &[Chart]| picture(charts, &rows, &names, [0.0, 0.5]);
        let green = |image: &Image| image.pixels.chunks(4).filter(|p| p[..3] == GREEN).count();
        let (one, two) = (shown(&[Chart::Probes]), shown(&[Chart::Probes, Chart::Residual]));
        assert!(one.width == 1440 && two.height > one.height + 400);
        assert!(green(&one) > 500 && green(&two) > green(&one) + 500, "{} {}", green(&one), green(&two));
    }
}
