//! One chart of the pane.

use egui::{Align2, Color32, CornerRadius, CursorIcon, Mesh, Painter, Rect, Response, RichText, Sense, Stroke, Ui, Vec2, pos2, vec2};

use super::PlotsView;
use crate::app::format;
use crate::app::plots::{Chart, Column, Curve, columns, span};
use crate::app::ui::theme::{self, Palette};
use crate::app::ui::{Action, TimeAction, UiContext, UiResponse, health};
use crate::sim::past::Figures;
use crate::verify::plot::round_step;

/// Curves in turn: on dark, and on light.
const CURVES: [[Color32; 2]; 8] = [
    [Color32::from_rgb(84, 205, 178), Color32::from_rgb(14, 138, 116)],
    [Color32::from_rgb(246, 178, 84), Color32::from_rgb(201, 118, 16)],
    [Color32::from_rgb(112, 176, 246), Color32::from_rgb(38, 110, 190)],
    [Color32::from_rgb(226, 132, 206), Color32::from_rgb(160, 62, 140)],
    [Color32::from_rgb(190, 206, 92), Color32::from_rgb(110, 122, 20)],
    [Color32::from_rgb(166, 156, 246), Color32::from_rgb(90, 80, 170)],
    [Color32::from_rgb(240, 128, 116), Color32::from_rgb(186, 66, 52)],
    [Color32::from_rgb(160, 170, 184), Color32::from_rgb(98, 108, 122)],
];

/// Room for the title, for the names of curves, and for the figures at the two axes.
const TITLE: f32 = 19.0;
const LEGEND: f32 = 14.0;
const AXES: Vec2 = vec2(46.0, 14.0);
const LETTERS: f32 = 10.5;

/// Draws a chart; the time [s] that the mouse is at.
pub fn chart_ui(
    ui: &mut Ui,
    size: Vec2,
    chart: Chart,
    plots: &PlotsView,
    cursor: Option<f64>,
    context: &UiContext,
    answers: &mut UiResponse,
) -> Option<f64> {
    let palette = theme::palette(ui.ctx());
    let (card, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let response = answers.named(format!("plots.chart.{}", chart.title().replace(' ', "_")), response);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Figure, true, chart.title()));
    let painter = ui.painter().with_clip_rect(card.intersect(ui.clip_rect()));
    painter.rect_filled(card, CornerRadius::same(8), palette.well);
    let rows = span(plots.rows, plots.times);
    let curves = chart.curves(rows, &plots.names);
    let judged = chart.judged(rows, plots.names.model);
    let inner = card.shrink2(vec2(8.0, 4.0));
    let at = cursor.and_then(|time| row_at(rows, time)).or_else(|| rows.last().map(|row| &**row));

    // The title, with the value at the cursor where there is one curve only.
    let title = Rect::from_min_size(inner.min, vec2(inner.width(), TITLE));
    let mut left = title.left();
    if let Some(judged) = &judged {
        painter.circle_filled(pos2(left + 4.0, title.center().y), 3.5, health::color(palette, judged.verdict));
        left += 13.0;
    }
    painter.text(pos2(left, title.center().y), Align2::LEFT_CENTER, chart.title(), theme::strong(12.0), palette.text);
    if let ([curve], Some(row)) = (&curves[..], at) {
        let value = curve.value(row).map_or_else(|| "—".to_owned(), |value| figure(chart, value));
        painter.text(title.right_center(), Align2::RIGHT_CENTER, value, theme::figures(11.5), palette.text);
    }
    let has_legend = curves.len() > 1;
    if has_legend {
        let line = Rect::from_min_size(title.left_bottom(), vec2(inner.width(), LEGEND));
        legend(&painter, line, &curves, ui.visuals().dark_mode);
    }
    let top = title.bottom() + if has_legend { LEGEND } else { 0.0 } + 3.0;
    let paper = Rect::from_min_max(pos2(inner.left() + AXES.x, top), pos2(inner.right(), inner.bottom() - AXES.y));
    if curves.is_empty() {
        let told = if chart == Chart::Probes { "The scene has no probes." } else { "Nothing yet" };
        painter.text(paper.center(), Align2::CENTER_CENTER, told, egui::FontId::proportional(11.5), palette.weak);
    } else if paper.height() > 12.0 {
        let axes = Axes::around(chart, rows, &curves, plots.times, paper);
        axes.draw(&painter, palette);
        let clipped = painter.with_clip_rect(paper.expand(1.0).intersect(painter.clip_rect()));
        axes.draw_curves(&clipped, rows, &curves, ui.visuals().dark_mode);
        if let Some(timeline) = context.timeline.filter(|timeline| timeline.is_past) {
            painter.vline(axes.x(timeline.now.1), paper.y_range(), Stroke::new(1.5, palette.accent));
        }
        if let Some(time) = cursor {
            painter.vline(axes.x(time), paper.y_range(), Stroke::new(1.0, palette.weak));
        }
    }
    let pointer = response.hover_pos().or(response.interact_pointer_pos());
    let over_paper = pointer.filter(|at| at.y >= paper.top() && at.x >= paper.left() - 2.0);
    let time = over_paper.map(|at| {
        let part = f64::from(((at.x - paper.left()) / paper.width().max(1.0)).clamp(0.0, 1.0));
        plots.times[0] + part * (plots.times[1] - plots.times[0])
    });
    travel(&response, time, context, answers);
    match (pointer, time.and_then(|time| row_at(rows, time))) {
        (Some(_), Some(row)) => {
            let dark = ui.visuals().dark_mode;
            response.on_hover_cursor(CursorIcon::Crosshair).on_hover_ui_at_pointer(|ui| values_ui(ui, chart, row, &curves, dark));
        }
        _ => {
            let verdict = judged.map_or_else(|| chart.unjudged().to_owned(), |judged| judged.sentence());
            response.on_hover_text(format!("{}\n{verdict}", chart.meaning()));
        }
    }
    time
}

/// A click looks at the step there, if the past has it.
fn travel(response: &Response, time: Option<f64>, context: &UiContext, answers: &mut UiResponse) {
    let is_held = response.is_pointer_button_down_on() || response.clicked() || response.drag_stopped();
    let (true, Some(time), Some(timeline)) = (is_held, time, &context.timeline) else { return };
    let lane = timeline.lanes.iter().find(|lane| lane.id == timeline.branch);
    if let Some((step, _)) = lane.and_then(|lane| lane.place_at(time))
        && (step, timeline.is_past) != (timeline.now.0, true)
    {
        answers.act(Action::Time(TimeAction::Scrub(step)));
    }
}

/// The row nearest to a time [s].
fn row_at(rows: &crate::app::plots::Rows, time: f64) -> Option<&Figures> {
    let after = rows.partition_point(|row| row.time < time);
    let near = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|place| rows.get(place));
    near.min_by(|a, b| (a.time - time).abs().total_cmp(&(b.time - time).abs())).map(|row| &**row)
}

fn color(k: usize, dark: bool) -> Color32 {
    CURVES[k % CURVES.len()][usize::from(!dark)]
}

/// A value of a chart, with its unit.
fn figure(chart: Chart, value: f64) -> String {
    match chart {
        Chart::Stages => format::milliseconds(value),
        Chart::RealTime => format::factor(value),
        Chart::Contacts | Chart::Iterations => format::count(value.max(0.0) as usize),
        Chart::Residual => format!("{value:.1e}"),
        _ => format::quantity(value, chart.unit()),
    }
}

/// The names of the curves, in their colours, as far as there is room.
fn legend(painter: &Painter, line: Rect, curves: &[Curve], dark: bool) {
    let mut left = line.left();
    for (k, curve) in curves.iter().enumerate() {
        let galley = painter.layout_no_wrap(curve.name.clone(), egui::FontId::proportional(LETTERS), color(k, dark));
        if left + galley.size().x > line.right() {
            painter.text(pos2(left, line.center().y), Align2::LEFT_CENTER, "…", egui::FontId::proportional(LETTERS), color(k, dark));
            return;
        }
        let width = galley.size().x;
        painter.galley(pos2(left, line.center().y - 0.5 * galley.size().y), galley, color(k, dark));
        left += width + 9.0;
    }
}

/// All values of a step.
fn values_ui(ui: &mut Ui, chart: Chart, row: &Figures, curves: &[Curve], dark: bool) {
    ui.label(RichText::new(format!("{:.3} s   step {}", row.time, row.step)).font(theme::figures(12.0)));
    let mut below = 0.0;
    for (k, curve) in curves.iter().enumerate() {
        let value = curve.value(row).map(|value| if chart.is_stacked() { value - std::mem::replace(&mut below, value) } else { value });
        let shown = value.map_or_else(|| "not measured".to_owned(), |value| figure(chart, value));
        ui.horizontal(|ui| {
            ui.label(RichText::new(&curve.name).size(12.0).color(color(k, dark)));
            ui.label(RichText::new(shown).font(theme::figures(12.0)));
        });
    }
    if chart.is_stacked() {
        ui.label(RichText::new(format!("in all {}", figure(chart, below))).font(theme::figures(12.0)));
    }
}

/// How values become places on the paper.
struct Axes {
    chart: Chart,
    paper: Rect,
    times: [f64; 2],
    /// Least and greatest height; logarithms where these are shown.
    range: [f64; 2],
}

impl Axes {
    fn around(chart: Chart, rows: &crate::app::plots::Rows, curves: &[Curve], times: [f64; 2], paper: Rect) -> Self {
        let height = |value: f64| if chart.is_logarithmic() { value.log10() } else { value };
        let seen = curves.iter().flat_map(|curve| rows.iter().filter_map(|row| curve.value(row))).map(height).filter(|v| v.is_finite());
        let (low, high) = seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        // A curve that is zero all along needs a scale as well.
        let (low, high) = if low > high || (low == 0.0 && high == 0.0) { (0.0, 1.0) } else { (low, high) };
        let low = if chart.begins_at_zero() { low.min(0.0) } else { low };
        let least = if chart.is_logarithmic() { 1.0 } else { 1e-6 * low.abs().max(high.abs()).max(1e-9) };
        let pad = if high - low > least { 0.06 * (high - low) } else { 0.5 * least };
        let floor = if chart.begins_at_zero() && low == 0.0 { 0.0 } else { low - pad };
        Self { chart, paper, times, range: [floor, high + pad] }
    }

    fn x(&self, time: f64) -> f32 {
        let part = (time - self.times[0]) / (self.times[1] - self.times[0]);
        self.paper.left() + self.paper.width() * part.clamp(-0.1, 1.1) as f32
    }

    fn y(&self, value: f64) -> f32 {
        let height = if self.chart.is_logarithmic() { value.log10() } else { value };
        self.y_of_height(height)
    }

    fn y_of_height(&self, height: f64) -> f32 {
        let part = (height - self.range[0]) / (self.range[1] - self.range[0]);
        self.paper.bottom() - self.paper.height() * part.clamp(-0.1, 1.1) as f32
    }

    /// Lines and figures of both axes.
    fn draw(&self, painter: &Painter, palette: &Palette) {
        let line = Stroke::new(1.0, palette.border.gamma_multiply(0.8));
        let letters = theme::figures(9.5);
        for height in ticks(self.range, (self.paper.height() / 26.0).clamp(1.0, 6.0) as usize) {
            let y = self.y_of_height(height);
            painter.hline(self.paper.x_range(), y, line);
            let text = match self.chart {
                Chart::Residual if height.fract() == 0.0 => format!("1e{height:.0}"),
                Chart::Residual => continue,
                Chart::Stages => format!("{} ms", format::short(height)),
                chart => {
                    let (scale, unit) = format::scale_of(height, chart.unit());
                    format!("{} {unit}", format::short(height / scale)).trim_end().to_owned()
                }
            };
            painter.text(pos2(self.paper.left() - 5.0, y), Align2::RIGHT_CENTER, text, letters.clone(), palette.weak);
        }
        let (y, seconds) = (self.paper.bottom() + 8.0, self.times[1] - self.times[0]);
        for time in ticks(self.times, (self.paper.width() / 70.0).clamp(1.0, 8.0) as usize) {
            painter.vline(self.x(time), self.paper.y_range(), line);
            let digits = (1.0 - seconds.log10()).ceil().clamp(0.0, 5.0) as usize;
            let text = painter.layout_no_wrap(format!("{time:.digits$} s"), letters.clone(), palette.weak);
            let left = left_of_label(self.x(time), text.size().x, self.paper.right());
            painter.galley(pos2(left, y - 0.5 * text.size().y), text, palette.weak);
        }
    }

    fn draw_curves(&self, painter: &Painter, rows: &crate::app::plots::Rows, curves: &[Curve], dark: bool) {
        let n = (self.paper.width().max(1.0)) as usize;
        let of_curve = |curve: &Curve| columns(rows, curve, self.times, n);
        if self.chart.is_stacked() {
            let mut below: Vec<Column> = vec![];
            for (k, curve) in curves.iter().enumerate() {
                let above = of_curve(curve);
                painter.add(self.band(&below, &above, color(k, dark)));
                below = above;
            }
            return;
        }
        for (k, curve) in curves.iter().enumerate() {
            painter.line(self.line(&of_curve(curve)), Stroke::new(1.4, color(k, dark)));
        }
    }

    fn column_x(&self, column: &Column) -> f32 {
        self.paper.left() + column.place as f32 + 0.5
    }

    /// Through the least and the greatest value of each column, on the way that is shorter.
    fn line(&self, columns: &[Column]) -> Vec<egui::Pos2> {
        let mut points: Vec<egui::Pos2> = Vec::with_capacity(2 * columns.len());
        for column in columns {
            let (x, ends) = (self.column_x(column), [self.y(column.least), self.y(column.greatest)]);
            let from = points.last().map_or(ends[0], |last| last.y);
            let [first, second] = if (from - ends[0]).abs() <= (from - ends[1]).abs() { ends } else { [ends[1], ends[0]] };
            points.push(pos2(x, first));
            if first != second {
                points.push(pos2(x, second));
            }
        }
        points
    }

    /// The area between two sums; none of a single column.
    fn band(&self, below: &[Column], above: &[Column], color: Color32) -> Mesh {
        let mut mesh = Mesh::default();
        if above.len() < 2 {
            return mesh;
        }
        for (k, column) in above.iter().enumerate() {
            let x = self.column_x(column);
            let foot = below.get(k).map_or(0.0, |column| column.mean);
            mesh.colored_vertex(pos2(x, self.y(column.mean)), color.gamma_multiply(0.8));
            mesh.colored_vertex(pos2(x, self.y(foot)), color.gamma_multiply(0.8));
            if k > 0 {
                let n = 2 * k as u32;
                mesh.add_triangle(n - 2, n - 1, n);
                mesh.add_triangle(n, n - 1, n + 1);
            }
        }
        mesh
    }
}

/// Where a figure of this width begins, below a line at `x`: it does not go beyond the end of the paper.
fn left_of_label(x: f32, width: f32, end: f32) -> f32 {
    (x - 0.5 * width).min(end - width)
}

/// Round numbers within a range, about so many, and two at least.
fn ticks([low, high]: [f64; 2], n: usize) -> Vec<f64> {
    let of_step = |step: f64| {
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).take(3 * n + 2).map(|k| k as f64 * step).collect::<Vec<_>>()
    };
    let steps = (n.max(1)..=4 * n.max(1)).map(|n| round_step((high - low) / n as f64)).filter(|step| step.is_finite() && *step > 0.0);
    steps.map(of_step).find(|ticks| ticks.len() > 1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_times_stay_on_the_card() {
        assert_eq!(left_of_label(100.0, 30.0, 200.0), 85.0, "in the middle below its line");
        assert_eq!(left_of_label(200.0, 30.0, 200.0), 170.0, "not beyond the last line");
    }
}
