//! Signs of the icon font, `assets/fonts/Phosphor-Regular.ttf`, by the names that <https://phosphoricons.com> gives
//! them.

/// Declares the signs, and the list of them for the test.
macro_rules! signs {
    ($($name:ident = $sign:literal,)*) => {
        $(pub const $name: &str = $sign;)*
        #[cfg(test)]
        const ALL: &[&str] = &[$($name),*];
    };
}

signs! {
    ARROWS_CLOCKWISE = "\u{E094}",
    ARROW_COUNTER_CLOCKWISE = "\u{E038}",
    ARROW_LEFT = "\u{E058}",
    ARROW_LINE_DOWN = "\u{E05C}",
    ARROW_UP = "\u{E08E}",
    ARROW_U_UP_LEFT = "\u{E08A}",
    ARROW_U_UP_RIGHT = "\u{E08C}",
    BOOK_OPEN = "\u{E0E6}",
    CAMERA = "\u{E10E}",
    CARET_DOWN = "\u{E136}",
    CARET_RIGHT = "\u{E13A}",
    CHART_LINE = "\u{E154}",
    CHECK_CIRCLE = "\u{E184}",
    CHECK_SQUARE = "\u{E186}",
    CIRCLE_DASHED = "\u{E602}",
    CLOCK_COUNTER_CLOCKWISE = "\u{E1A0}",
    COPY = "\u{E1CA}",
    CORNERS_OUT = "\u{E1D0}",
    CPU = "\u{E610}",
    CROSSHAIR = "\u{E1D6}",
    CUBE = "\u{E1DA}",
    DOWNLOAD_SIMPLE = "\u{E20C}",
    DROP = "\u{E210}",
    ERASER = "\u{E21E}",
    EXPORT = "\u{EAF0}",
    EYE = "\u{E220}",
    EYE_SLASH = "\u{E224}",
    FILE = "\u{E230}",
    FILM_STRIP = "\u{E792}",
    FLOPPY_DISK = "\u{E248}",
    FOLDER_OPEN = "\u{E256}",
    GHOST = "\u{E62A}",
    GIT_BRANCH = "\u{E278}",
    GRAPHICS_CARD = "\u{E612}",
    GRID_FOUR = "\u{E296}",
    HAND_GRABBING = "\u{E57C}",
    HOUSE = "\u{E2C2}",
    INFO = "\u{E2CE}",
    KEYBOARD = "\u{E2D8}",
    LIGHTBULB = "\u{E2DC}",
    LOCK = "\u{E2FA}",
    LOCK_OPEN = "\u{E306}",
    MAGNIFYING_GLASS = "\u{E30C}",
    MINUS_CIRCLE = "\u{E32C}",
    MOON = "\u{E330}",
    PAINT_BRUSH = "\u{E6F0}",
    PAUSE = "\u{E39E}",
    PERSPECTIVE = "\u{EBE6}",
    PLAY = "\u{E3D0}",
    PLUS = "\u{E3D4}",
    PUSH_PIN = "\u{E3E2}",
    PUSH_PIN_SLASH = "\u{E3E4}",
    RECORD = "\u{E3EE}",
    RULER = "\u{E6B8}",
    SEAL_CHECK = "\u{E606}",
    SIDEBAR_SIMPLE = "\u{EC24}",
    SIGN_OUT = "\u{E42A}",
    SKIP_BACK = "\u{E5A4}",
    SKIP_FORWARD = "\u{E5A6}",
    SLIDERS_HORIZONTAL = "\u{E434}",
    SQUARE = "\u{E45E}",
    SQUARES_FOUR = "\u{E464}",
    STACK = "\u{E466}",
    STETHOSCOPE = "\u{E7EA}",
    STOP = "\u{E46C}",
    SUN = "\u{E472}",
    TEXTBOX = "\u{EB0A}",
    TRASH = "\u{E4A6}",
    TREE_STRUCTURE = "\u{E67C}",
    VIDEO_CAMERA = "\u{E4DA}",
    WARNING = "\u{E4E0}",
    WARNING_CIRCLE = "\u{E4E2}",
    X = "\u{E4F6}",
    X_CIRCLE = "\u{E4F8}",
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::ui::theme;

    #[test]
    fn the_icon_font_has_every_sign() {
        let ctx = egui::Context::default();
        theme::install(&ctx);
        ctx.run_ui(egui::RawInput::default(), |_| {}).textures_delta.clear();
        let known = |text: &str| ctx.fonts_mut(|fonts| fonts.has_glyphs(&theme::icon_font(15.0), text));
        assert!(ALL.len() > 20 && !known("\u{F0000}"));
        for sign in ALL {
            assert!(known(sign), "{}", sign.escape_unicode());
        }
    }
}
