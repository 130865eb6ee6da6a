//! One line in a file for each thing that happens, for tests and for people who script the window.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use egui::Rect;

/// Writes events when switched on.
#[derive(Default)]
pub struct EventLog {
    file: Option<File>,
    /// Where the named widgets were in the last frame, and where they were said to be.
    last_frame: BTreeMap<String, Rect>,
    said: BTreeMap<String, Rect>,
}

impl EventLog {
    /// To a file, which may be a pipe; none switches it off.
    pub fn open(path: Option<&Path>) -> std::io::Result<Self> {
        Ok(Self { file: path.map(File::create).transpose()?, ..Self::default() })
    }

    /// A reader that went away is no reason to stop.
    pub fn say(&self, line: std::fmt::Arguments) {
        if let Some(mut file) = self.file.as_ref() {
            // In one piece, so that a reader sees whole lines.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Where the named widgets were in the last frame, in points.
    #[cfg(test)]
    pub fn places(&self) -> &BTreeMap<String, Rect> {
        &self.last_frame
    }

    /// `widget NAME X Y`: the middle [px] of each named widget, once it stands still for a frame; `gone NAME` after
    /// that. True while something still moves: another frame is needed to say where it is.
    pub fn landmarks(&mut self, shown: &[(String, Rect)], pixels_per_point: f32) -> bool {
        if self.file.is_none() {
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
