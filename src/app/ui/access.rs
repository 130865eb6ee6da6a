//! What screen readers are told: each control has a name in words.

use egui::accesskit::TreeUpdate;
use egui::{Response, Role, WidgetInfo};

/// Names what has no words of its own.
pub trait Meaning {
    /// Shown under the mouse, and told to screen readers.
    fn meaning(self, text: impl Into<String>) -> Self;

    /// The name for screen readers; more than that is shown under the mouse.
    fn meaning_with_hint(self, name: &str, hint: String) -> Self;
}

impl Meaning for Response {
    fn meaning(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.meaning_with_hint(&text.clone(), text)
    }

    fn meaning_with_hint(self, name: &str, hint: String) -> Self {
        self.widget_info(|| WidgetInfo::labeled(Role::Button, self.enabled(), name));
        self.on_hover_text(hint)
    }
}

/// Takes the signs of the icon font out of the names in a frame's tree: they are code points without a meaning.
pub fn without_signs(update: &mut TreeUpdate) {
    let in_words = |text: &str| text.chars().filter(|c| !('\u{e000}'..='\u{f8ff}').contains(c)).collect::<String>().trim().to_owned();
    for (_, node) in &mut update.nodes {
        if let Some(label) = node.label().map(in_words) {
            node.set_label(label);
        }
        if let Some(value) = node.value().map(in_words) {
            node.set_value(value);
        }
    }
}
