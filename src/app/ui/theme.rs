//! Colours, fonts and spacings: one accent on calm greys.

use std::sync::Arc;

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
    record: Color32::from_rgb(242, 82, 82),
    button: Color32::from_rgb(38, 43, 52),
    button_hovered: Color32::from_rgb(50, 57, 69),
};

pub const LIGHT: Palette = Palette {
    panel: Color32::from_rgb(246, 247, 249),
    card: Color32::from_rgb(255, 255, 255),
    well: Color32::from_rgb(232, 235, 240),
    border: Color32::from_rgb(214, 219, 227),
    text: Color32::from_rgb(33, 38, 46),
    weak: Color32::from_rgb(98, 108, 122),
    accent: Color32::from_rgb(14, 138, 116),
    on_accent: Color32::from_rgb(255, 255, 255),
    error: Color32::from_rgb(190, 58, 40),
    fair: Color32::from_rgb(190, 126, 14),
    record: Color32::from_rgb(214, 40, 40),
    button: Color32::from_rgb(230, 233, 238),
    button_hovered: Color32::from_rgb(218, 223, 230),
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
    v.selection.bg_fill = palette.accent.gamma_multiply(0.35);
    v.selection.stroke = Stroke::new(1.0, palette.accent);
    let shadow = Shadow { offset: [0, 6], blur: 24, spread: 0, color: Color32::from_black_alpha(if v.dark_mode { 110 } else { 40 }) };
    (v.window_shadow, v.popup_shadow) = (shadow, shadow);
    v.slider_trailing_fill = true;
    let text = Stroke::new(1.0, palette.text);
    for (widget, fill, fg) in [
        (&mut v.widgets.noninteractive, palette.panel, Stroke::new(1.0, palette.text)),
        (&mut v.widgets.inactive, palette.button, text),
        (&mut v.widgets.hovered, palette.button_hovered, text),
        (&mut v.widgets.active, palette.button_hovered, Stroke::new(1.0, palette.accent)),
        (&mut v.widgets.open, palette.button_hovered, text),
    ] {
        widget.bg_fill = fill;
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
