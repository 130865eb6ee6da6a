//! The picture of a check as data: curves over two axes. `marks` lays it out for whoever can draw lines and words.

use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plot {
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    pub name: String,
    pub unit: &'static str,
    pub scale: Scale,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    #[default]
    Linear,
    Logarithmic,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub name: String,
    pub style: Style,
    pub points: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// What should be: a thin line.
    Expected,
    /// What was measured, at single points.
    Points,
    /// What was measured, all along.
    Line,
    /// A bound that is not to be passed: a dashed line.
    Limit,
}

impl Axis {
    pub fn linear(name: impl Into<String>, unit: &'static str) -> Self {
        Self { name: name.into(), unit, scale: Scale::Linear }
    }

    pub fn logarithmic(name: impl Into<String>, unit: &'static str) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(name, unit) }
    }

    fn label(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{} [{}]", self.name, self.unit) }
    }
}

impl Plot {
    /// Height on paper that leaves the curves as much room as others have, however long the legend is.
    pub fn height(&self, without_legend: f32) -> f32 {
        without_legend + LINE * self.legend_lines() as f32
    }

    fn legend_lines(&self) -> usize {
        self.curves.iter().filter(|curve| !curve.name.is_empty()).count().div_ceil(2)
    }

    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, curves: vec![] }
    }

    /// The plot with one more curve.
    #[must_use]
    pub fn with(mut self, style: Style, name: impl Into<String>, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        self.curves.push(Curve { name: name.into(), style, points: points.into_iter().collect() });
        self
    }
}

/// What something is, for whoever chooses its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Grid,
    Frame,
    Label,
    Expected,
    Limit,
    /// The measured curve with this number.
    Measured(usize),
}

/// How a word stands to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Left,
    Center,
    Right,
}

/// Something to draw; y points down, in the units of the size that the plot was laid out for.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Line {
        points: Vec<[f32; 2]>,
        tone: Tone,
        width: f32,
        dashed: bool,
    },
    Dot {
        at: [f32; 2],
        tone: Tone,
        radius: f32,
    },
    /// One line of text, its middle at the height of `at`.
    Text {
        at: [f32; 2],
        anchor: Anchor,
        text: String,
        tone: Tone,
    },
}

/// Height of the letters that the layout leaves room for.
pub const LETTERS: f32 = 11.0;
/// Width of a letter, about.
const LETTER_WIDTH: f32 = 0.58 * LETTERS;
/// Of a line of the legend.
const LINE: f32 = 16.0;

/// An axis on paper: its range, its ticks, and how a number becomes a place.
struct Span {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Span {
    /// Around all numbers; of a logarithmic axis those above 0.
    fn around(axis: &Axis, values: impl Iterator<Item = f64>, most_ticks: usize) -> Self {
        let scale = axis.scale;
        let seen = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0)).map(|v| scale.number(v));
        let (low, high) = seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        // One number alone, and numbers that are the same but for rounding, stand in the middle.
        let least = if scale == Scale::Linear { 1e-9 * low.abs().max(high.abs()).max(1e-300) } else { 0.5 };
        let pad = match scale {
            _ if high - low > least => 0.06 * (high - low),
            Scale::Linear => 0.5 * low.abs().max(1e-12),
            Scale::Logarithmic => 0.5,
        };
        let (low, high) = (low - pad, high + pad);
        let step = match scale {
            Scale::Linear => round_step((high - low) / most_ticks as f64),
            Scale::Logarithmic => ((high - low) / most_ticks as f64).ceil().max(1.0),
        };
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        Self { scale, low, high, ticks: (first..=last).take(2 * most_ticks).map(|k| k as f64 * step).collect() }
    }

    /// From 0 at the low end to 1.
    fn place(&self, value: f64) -> Option<f32> {
        let share = (self.scale.number(value) - self.low) / (self.high - self.low);
        share.is_finite().then_some(share.clamp(-0.02, 1.02) as f32)
    }

    fn labels(&self) -> Vec<(f32, String)> {
        let step = self.ticks.get(1).zip(self.ticks.first()).map_or(1.0, |(b, a)| b - a);
        let share = |tick: f64| ((tick - self.low) / (self.high - self.low)) as f32;
        self.ticks.iter().map(|tick| (share(*tick), self.scale.label(*tick, step))).collect()
    }
}

impl Scale {
    fn number(self, value: f64) -> f64 {
        if self == Self::Linear { value } else { value.log10() }
    }

    fn label(self, tick: f64, step: f64) -> String {
        match self {
            Self::Logarithmic => format!("1e{tick:.0}"),
            Self::Linear if tick == 0.0 => "0".to_owned(),
            Self::Linear if tick.abs() >= 1e5 || step < 1e-4 => {
                let digits = (tick.abs().log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
                format!("{tick:.digits$e}")
            }
            Self::Linear => {
                let digits = (-step.log10()).ceil().max(0.0) as usize;
                format!("{tick:.digits$}")
            }
        }
    }
}

/// The next of 1, 2, 5 times a power of ten.
pub fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

impl Plot {
    /// The plot on paper of some width and height.
    pub fn marks(&self, [width, height]: [f32; 2]) -> Vec<Mark> {
        let values = |axis: usize| self.curves.iter().flat_map(move |curve| curve.points.iter().map(move |p| p[axis]));
        let (x, y) = (Span::around(&self.x, values(0), 6), Span::around(&self.y, values(1), 5));
        let y_labels = y.labels();
        let widest = y_labels.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1) as f32;
        let (left, right) = (widest * LETTER_WIDTH + 14.0, width - 12.0);
        let (top, bottom) = (LETTERS + 12.0, height - 2.0 * LETTERS - 18.0 - LINE * self.legend_lines() as f32);
        let at = |p: &[f64; 2]| Some([left + x.place(p[0])? * (right - left), bottom - y.place(p[1])? * (bottom - top)]);
        let line = |points: Vec<[f32; 2]>, tone, width| Mark::Line { points, tone, width, dashed: false };
        let text = |at, anchor, text, tone| Mark::Text { at, anchor, text, tone };
        let mut marks = vec![];
        for (share, label) in x.labels() {
            let at = left + share * (right - left);
            marks.push(line(vec![[at, top], [at, bottom]], Tone::Grid, 1.0));
            marks.push(text([at, bottom + 0.5 * LETTERS + 4.0], Anchor::Center, label, Tone::Label));
        }
        for (share, label) in y_labels {
            let at = bottom - share * (bottom - top);
            marks.push(line(vec![[left, at], [right, at]], Tone::Grid, 1.0));
            marks.push(text([left - 6.0, at], Anchor::Right, label, Tone::Label));
        }
        marks.push(line(vec![[left, top], [left, bottom], [right, bottom]], Tone::Frame, 1.0));
        marks.push(text([left - 6.0, 0.5 * LETTERS + 1.0], Anchor::Left, self.y.label(), Tone::Label));
        marks.push(text([right, bottom + 1.5 * LETTERS + 8.0], Anchor::Right, self.x.label(), Tone::Label));
        let mut measured = 0;
        let tones: Vec<Tone> = self.curves.iter().map(|curve| curve.style.tone(&mut measured)).collect();
        // What was measured lies over what should be.
        for over in [false, true] {
            for (curve, tone) in self.curves.iter().zip(&tones).filter(|(curve, _)| curve.style.is_measured() == over) {
                marks.extend(curve.marks(*tone, at));
            }
        }
        let named = self.curves.iter().zip(&tones).filter(|(curve, _)| !curve.name.is_empty());
        for (place, (curve, tone)) in named.enumerate() {
            let from = left + (place % 2) as f32 * 0.5 * (right - left);
            let height = bottom + 2.0 * LETTERS + 16.0 + LINE * (place / 2) as f32 + 0.5 * LINE;
            marks.extend(curve.sample(*tone, [from, height]));
            marks.push(text([from + 28.0, height], Anchor::Left, curve.name.clone(), Tone::Label));
        }
        marks
    }
}

impl Style {
    fn is_measured(self) -> bool {
        matches!(self, Self::Points | Self::Line)
    }

    /// Measured curves are numbered in their order.
    fn tone(self, measured: &mut usize) -> Tone {
        match self {
            Self::Expected => Tone::Expected,
            Self::Limit => Tone::Limit,
            Self::Points | Self::Line => {
                *measured += 1;
                Tone::Measured(*measured - 1)
            }
        }
    }

    fn line(self, points: Vec<[f32; 2]>, tone: Tone) -> Mark {
        Mark::Line { points, tone, width: if self == Self::Line { 1.8 } else { 1.4 }, dashed: self == Self::Limit }
    }
}

impl Curve {
    fn marks(&self, tone: Tone, at: impl Fn(&[f64; 2]) -> Option<[f32; 2]>) -> Vec<Mark> {
        let points: Vec<[f32; 2]> = self.points.iter().filter_map(at).collect();
        match self.style {
            Style::Points => points.into_iter().map(|at| Mark::Dot { at, tone, radius: 3.0 }).collect(),
            style => vec![style.line(points, tone)],
        }
    }

    /// The curve's entry in the legend.
    fn sample(&self, tone: Tone, [x, y]: [f32; 2]) -> Vec<Mark> {
        match self.style {
            Style::Points => vec![Mark::Dot { at: [x + 11.0, y], tone, radius: 3.0 }],
            style => vec![style.line(vec![[x, y], [x + 22.0, y]], tone)],
        }
    }
}
