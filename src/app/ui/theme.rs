//! Colours, fonts and spacings: one accent on calm greys.

use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{
    Color32, Context, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Frame, Margin, RichText, Shadow, Stroke, TextStyle,
    Theme, Ui, vec2,
};

/// Colours of the panels.
#[derive(Clone, Copy)]
pub struct Palette {
    pub panel: Color32,
    /// Cards over the view.
    pub card: Color32,
    /// Wells: text fields, the tracks of bars.
    pub well: Color32,
    pub border: Color32,
    pub text: Color32,
    pub weak: Color32,
    pub accent: Color32,
    /// Text on the accent.
    pub on_accent: Color32,
    pub error: Color32,
    /// Neither good nor bad.
    pub fair: Color32,
    /// A recording runs.
    pub record: Color32,
    button: Color32,
    button_hovered: Color32,
    /// Boxes and circles that can be ticked, and the rails of sliders.
    mark: Color32,
}

pub const DARK: Palette = Palette {
    panel: Color32::from_rgb(22, 25, 31),
    card: Color32::from_rgb(27, 31, 38),
    well: Color32::from_rgb(15, 17, 21),
    border: Color32::from_rgb(43, 48, 58),
    text: Color32::from_rgb(222, 227, 234),
    weak: Color32::from_rgb(136, 146, 160),
    accent: Color32::from_rgb(84, 205, 178),
    on_accent: Color32::from_rgb(8, 30, 26),
    error: Color32::from_rgb(246, 130, 112),
    fair: Color32::from_rgb(232, 168, 56),
    record: Color32::from_rgb(212, 52, 52),
    button: Color32::from_rgb(38, 43, 52),
    button_hovered: Color32::from_rgb(50, 57, 69),
    mark: Color32::from_rgb(96, 106, 122),
};

pub const LIGHT: Palette = Palette {
    panel: Color32::from_rgb(246, 247, 249),
    card: Color32::from_rgb(255, 255, 255),
    well: Color32::from_rgb(232, 235, 240),
    border: Color32::from_rgb(214, 219, 227),
    text: Color32::from_rgb(33, 38, 46),
    weak: Color32::from_rgb(98, 108, 122),
    accent: Color32::from_rgb(9, 108, 90),
    on_accent: Color32::from_rgb(255, 255, 255),
    error: Color32::from_rgb(190, 58, 40),
    fair: Color32::from_rgb(156, 100, 4),
    record: Color32::from_rgb(214, 40, 40),
    button: Color32::from_rgb(230, 233, 238),
    button_hovered: Color32::from_rgb(218, 223, 230),
    mark: Color32::from_rgb(134, 144, 158),
};

/// The palette of the current theme.
pub fn palette(ctx: &Context) -> &'static Palette {
    match ctx.theme() {
        Theme::Dark => &DARK,
        Theme::Light => &LIGHT,
    }
}

/// Numbers: figures of equal width.
pub fn figures(size: f32) -> FontId {
    FontId::new(size, FontFamily::Monospace)
}

/// Sets both themes up; called once.
pub fn install(ctx: &Context) {
    ctx.set_fonts(fonts());
    for (theme, palette) in [(Theme::Dark, &DARK), (Theme::Light, &LIGHT)] {
        ctx.style_mut_of(theme, |style| {
            style.text_styles = [
                (TextStyle::Small, FontId::new(11.5, FontFamily::Proportional)),
                (TextStyle::Body, FontId::new(13.5, FontFamily::Proportional)),
                (TextStyle::Button, FontId::new(13.5, FontFamily::Proportional)),
                (TextStyle::Heading, FontId::new(18.0, FontFamily::Proportional)),
                (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
            ]
            .into();
            let spacing = &mut style.spacing;
            spacing.item_spacing = vec2(8.0, 5.0);
            spacing.button_padding = vec2(9.0, 4.0);
            spacing.menu_margin = Margin::same(6);
            spacing.window_margin = Margin::same(16);
            spacing.interact_size = vec2(28.0, 22.0);
            spacing.menu_width = 220.0;
            spacing.scroll = egui::style::ScrollStyle::thin();
            style.animation_time = 0.12;
            style.visuals = visuals(theme, palette);
        });
    }
}

fn visuals(theme: Theme, palette: &Palette) -> egui::Visuals {
    let mut v = theme.default_visuals();
    let radius = CornerRadius::same(6);
    v.panel_fill = palette.panel;
    v.window_fill = palette.card;
    v.window_stroke = Stroke::new(1.0, palette.border);
    v.window_corner_radius = CornerRadius::same(12);
    v.menu_corner_radius = CornerRadius::same(10);
    v.extreme_bg_color = palette.well;
    v.faint_bg_color = palette.well;
    v.text_edit_bg_color = Some(palette.well);
    v.weak_text_color = Some(palette.weak);
    v.hyperlink_color = palette.accent;
    v.error_fg_color = palette.error;
    // Letters of the accent's colour stand on this.
    v.selection.bg_fill = palette.accent.gamma_multiply(if v.dark_mode { 0.28 } else { 0.18 });
    v.selection.stroke = Stroke::new(1.0, palette.accent);
    let shadow = Shadow { offset: [0, 6], blur: 24, spread: 0, color: Color32::from_black_alpha(if v.dark_mode { 110 } else { 40 }) };
    (v.window_shadow, v.popup_shadow) = (shadow, shadow);
    v.slider_trailing_fill = true;
    let text = Stroke::new(1.0, palette.text);
    for (widget, fill, mark, fg) in [
        (&mut v.widgets.noninteractive, palette.panel, palette.panel, text),
        (&mut v.widgets.inactive, palette.button, palette.mark, text),
        (&mut v.widgets.hovered, palette.button_hovered, palette.mark, text),
        (&mut v.widgets.active, palette.button_hovered, palette.mark, Stroke::new(1.0, palette.accent)),
        (&mut v.widgets.open, palette.button_hovered, palette.mark, text),
    ] {
        widget.bg_fill = mark;
        widget.weak_bg_fill = fill;
        widget.bg_stroke = Stroke::NONE;
        widget.fg_stroke = fg;
        widget.corner_radius = radius;
        widget.expansion = 0.0;
    }
    v.widgets.noninteractive.bg_stroke = Stroke::new(1.0, palette.border);
    v
}

/// The family of headings.
pub fn strong(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(STRONG.into()))
}

/// The family of icons.
pub fn icon_font(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(ICONS.into()))
}

/// A sign of the icon font.
pub fn icon(glyph: &str, size: f32) -> RichText {
    RichText::new(glyph).font(icon_font(size))
}

/// A message as panels show it: what stands between backticks is set as code. Its colour is that of what it stands on
/// if none is given.
pub fn prose(text: &str, size: f32, color: Option<Color32>) -> LayoutJob {
    let color = color.unwrap_or(Color32::PLACEHOLDER);
    let mut job = LayoutJob::default();
    let parts: Vec<&str> = text.split('`').collect();
    // A single one is a letter like others.
    let in_pairs = parts.len() % 2 == 1;
    for (k, part) in if in_pairs { parts } else { vec![text] }.into_iter().enumerate() {
        let font_id = if k % 2 == 1 { figures(size - 1.0) } else { FontId::proportional(size) };
        job.append(part, 0.0, TextFormat { font_id, color, ..TextFormat::default() });
    }
    job
}

const STRONG: &str = "strong";
const ICONS: &str = "icons";

fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let mut add = |name: &str, bytes: &'static [u8]| {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
        name.to_owned()
    };
    let text = add("inter", include_bytes!("../../../assets/fonts/Inter-Regular.ttf"));
    let strong = add("inter semibold", include_bytes!("../../../assets/fonts/Inter-SemiBold.ttf"));
    let figures = add("jetbrains mono", include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf"));
    let icons = add("phosphor", include_bytes!("../../../assets/fonts/Phosphor-Regular.ttf"));
    let fallbacks = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    for (family, first) in [(FontFamily::Proportional, text), (FontFamily::Name(STRONG.into()), strong), (FontFamily::Monospace, figures)] {
        fonts.families.insert(family, std::iter::once(first).chain(fallbacks.iter().cloned()).collect());
    }
    // A family of its own: text fonts have other signs at the same private code points.
    fonts.families.insert(FontFamily::Name(ICONS.into()), vec![icons]);
    fonts
}

/// What lies over the view stands on this.
pub fn card(root: &Ui) -> Frame {
    let palette = palette(root.ctx());
    Frame::new()
        .fill(palette.card)
        .stroke(Stroke::new(1.0, palette.border))
        .corner_radius(CornerRadius::same(12))
        .inner_margin(Margin::symmetric(14, 10))
        .shadow(Shadow { offset: [0, 4], blur: 18, spread: 0, color: Color32::from_black_alpha(90) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast of two colours as WCAG 2 defines it: 1 for equal ones, 21 for black on white.
    fn contrast(a: Color32, b: Color32) -> f32 {
        let linear = |c: u8| match f32::from(c) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        };
        let luminance = |c: Color32| 0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b());
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn code_in_messages_is_set_as_code() {
        let parts = |text: &str| -> Vec<(String, bool)> {
            let job = prose(text, 13.0, None);
            let of = |section: &egui::text::LayoutSection| {
                let range = section.byte_range.start.0..section.byte_range.end.0;
                (job.text[range].to_owned(), section.format.font_id == figures(12.0))
            };
            job.sections.iter().map(of).filter(|(text, _)| !text.is_empty()).collect()
        };
        let [plain, code] = [false, true].map(|is_code| move |text: &str| (text.to_owned(), is_code));
        assert_eq!(parts("`pliant run a` repeats it"), [code("pliant run a"), plain(" repeats it")]);
        assert_eq!(parts("a `b` c `d`"), [plain("a "), code("b"), plain(" c "), code("d")]);
        assert_eq!(parts("a file named o`clock"), [plain("a file named o`clock")]);
    }

    /// 4.5 is what WCAG 2 (AA) asks of letters, 3 what it asks of parts of controls.
    #[test]
    fn letters_and_controls_stand_out_in_both_themes() {
        for (theme, palette) in [(Theme::Dark, &DARK), (Theme::Light, &LIGHT)] {
            let visuals = visuals(theme, palette);
            for ground in [palette.panel, palette.card] {
                for letters in [palette.text, palette.weak, palette.accent, palette.error, palette.fair] {
                    assert!(contrast(letters, ground) >= 4.5, "{theme:?}: {letters:?} on {ground:?}: {}", contrast(letters, ground));
                }
                let selected = ground.blend(visuals.selection.bg_fill);
                let letters = visuals.selection.stroke.color;
                assert!(contrast(letters, selected) >= 4.5, "{theme:?}: selected on {ground:?}: {}", contrast(letters, selected));
                let mark = visuals.widgets.inactive.bg_fill;
                assert!(contrast(mark, ground) >= 3.0, "{theme:?}: a box on {ground:?}: {}", contrast(mark, ground));
            }
            let ticked = contrast(visuals.widgets.inactive.fg_stroke.color, visuals.widgets.inactive.bg_fill);
            assert!(ticked >= 3.0, "{theme:?}: a tick: {ticked}");
            for fill in [palette.accent, palette.fair] {
                assert!(contrast(palette.on_accent, fill) >= 4.5, "{theme:?}: on {fill:?}: {}", contrast(palette.on_accent, fill));
            }
        }
    }
}
