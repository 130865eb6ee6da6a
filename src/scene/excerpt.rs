//! Mistakes of a scene as compilers tell them: the line that each stands in, with a caret.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet, Title};

use super::error::{Diagnostic, Place, SceneError};

impl SceneError {
    /// All mistakes, one after the other, and how many there are if there are several; with the escapes of a terminal
    /// for colours.
    pub fn excerpts(&self, has_colors: bool) -> String {
        let renderer = if has_colors { Renderer::styled() } else { Renderer::plain() };
        let text = self.text.as_deref().unwrap_or_default();
        let mut told: Vec<String> = self.diagnostics.iter().map(|diagnostic| excerpt(diagnostic, text, &renderer)).collect();
        if self.diagnostics.len() > 1 {
            let count = format!("{} mistakes", self.diagnostics.len());
            told.push(renderer.render(&[Level::ERROR.primary_title(count).elements(None::<Origin>)]));
        }
        told.join("\n\n")
    }
}

fn excerpt(diagnostic: &Diagnostic, text: &str, renderer: &Renderer) -> String {
    let title: Title = Level::ERROR.primary_title(diagnostic.sentence());
    let group = match &diagnostic.place {
        Place::File { file } => title.element(Origin::path(file)),
        Place::Line { file, bytes, .. } => {
            let end = bytes.end.min(text.len());
            // A table is marked by its first line.
            let shown = text.get(bytes.start..end).and_then(|shown| shown.lines().next()).unwrap_or_default();
            let marked = bytes.start..bytes.start + shown.len();
            title.element(Snippet::source(text).path(file).annotation(AnnotationKind::Primary.span(marked)))
        }
        Place::Flag { flag } => {
            let start = "--set ".len();
            let marked = start..start + flag.len();
            title.element(Snippet::source(format!("--set {flag}")).line_numbering(false).annotation(AnnotationKind::Primary.span(marked)))
        }
    };
    let help = diagnostic.help.as_deref().map(|help| Level::HELP.message(help));
    renderer.render(&[group.elements(help)])
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    fn told(text: &str, flags: &[&str]) -> String {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Scene::from_text("s", "s.toml", text, None, &flags).unwrap_err().excerpts(false)
    }

    #[test]
    fn the_line_is_shown_with_a_caret() {
        let text = "format = 1\ngravity = [0, -9.81, 0]\n[simulation]\ntime_step = \"soon\"\n";
        let told = told(text, &[]);
        for part in [
            "error: gravity: unknown key; did you mean \"simulation.gravity\"?",
            "2 | gravity = [0, -9.81, 0]\n  | ^^^^^^^\n",
            "= help: Accepted: \"format\"",
            "--> s.toml:4:13",
            "4 | time_step = \"soon\"\n  |             ^^^^^^",
            "error: 2 mistakes",
        ] {
            assert!(told.contains(part), "{told}\nlacks {part}");
        }
        assert!(!told.contains('\u{1b}'));
    }

    #[test]
    fn flags_and_files_are_shown_too() {
        let flag = told("format = 1\n", &["simulation.time_step=20"]);
        assert!(flag.contains("--set simulation.time_step=20\n") && flag.contains("^^^^"), "{flag}");
        let missing = Scene::load("buny", &[]).unwrap_err().excerpts(true);
        assert!(missing.contains("--> ") && missing.contains("buny") && missing.contains('\u{1b}'), "{missing}");
    }
}
