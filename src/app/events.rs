//! One line on stdout for each thing that happens, for tests and for people who script the window.

use std::collections::BTreeMap;
use std::io::Write;

use egui::Rect;

/// Prints events when switched on.
#[derive(Default)]
pub struct EventLog {
    on: bool,
    /// Where the named widgets were in the last frame, and where they were said to be.
    last_frame: BTreeMap<String, Rect>,
    said: BTreeMap<String, Rect>,
}

impl EventLog {
    pub fn new(on: bool) -> Self {
        Self { on: on || std::env::var_os("PLIANT_LOG_EVENTS").is_some_and(|value| value == "1"), ..Self::default() }
    }

    /// A reader that went away is no reason to stop.
    pub fn say(&self, line: std::fmt::Arguments) {
        if self.on {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }

    /// `widget NAME X Y`: the middle [px] of each named widget, once it stands still for a frame; `gone NAME` after that.
    /// True while something still moves: another frame is needed to say where it is.
    pub fn landmarks(&mut self, shown: &[(String, Rect)], pixels_per_point: f32) -> bool {
        if !self.on {
            return false;
        }
        let now: BTreeMap<_, _> = shown.iter().cloned().collect();
        for (name, rect) in &now {
            if self.last_frame.get(name) == Some(rect) && self.said.get(name) != Some(rect) {
                let middle = rect.center() * pixels_per_point;
                self.say(format_args!("widget {name} {:.0} {:.0}", middle.x, middle.y));
                self.said.insert(name.clone(), *rect);
            }
        }
        let gone: Vec<_> = self.said.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        for name in gone {
            self.say(format_args!("gone {name}"));
            self.said.remove(&name);
        }
        let moving = self.last_frame != now;
        self.last_frame = now;
        moving
    }
}
