//! Results for other programs, written while the window's simulation runs.

use std::path::PathBuf;

use crate::export::{Exporter, Format, Frames, Subject, exporter};
use crate::record::Clock;
use crate::sim::Simulation;

/// What is to be exported.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportWish {
    pub path: PathBuf,
    /// From now on for so long [s]; 0 for this moment alone.
    pub seconds: f64,
}

/// An export in progress.
pub struct Export {
    path: PathBuf,
    exporter: Option<Box<dyn Exporter>>,
    frames: Frames,
    clock: Clock,
    start: f64,
    seconds: f64,
}

impl Export {
    /// Opens the files and writes how everything is now.
    ///
    /// # Errors
    /// As a sentence.
    pub fn start(wish: &ExportWish, subject: &Subject, simulation: &mut Simulation) -> Result<Self, String> {
        let ExportWish { path, seconds } = wish;
        let format = Format::of(path).ok_or_else(|| format!("no format has the ending of {}", path.display()))?;
        let mut subject = subject.clone();
        subject.model = simulation.model().clone();
        let mut clock = Clock::new(subject.frames_per_second);
        subject.n_frames = clock.frames_until(*seconds);
        let exporter = exporter(format, path, &subject).map_err(|error| error.to_string())?;
        let frames = Frames::new(&subject.model).map_err(|error| error.to_string())?;
        clock.take_due(0.0);
        let mut export = Self { path: path.clone(), exporter: Some(exporter), frames, clock, start: simulation.time(), seconds: *seconds };
        export.write(simulation)?;
        Ok(export)
    }

    /// Takes a frame if one is due; true once there are all.
    ///
    /// # Errors
    /// As a sentence; then it is over.
    pub fn follow(&mut self, simulation: &mut Simulation) -> Result<bool, String> {
        let passed = simulation.time() - self.start;
        if passed < 0.0 {
            return Ok(true); // went back to the start
        }
        if self.clock.take_due(passed.min(self.seconds)) > 0 {
            self.write(simulation)?;
        }
        Ok(self.part(simulation.time()) >= 1.0)
    }

    /// The part that is written at a time, 0 to 1.
    pub fn part(&self, time: f64) -> f64 {
        if self.seconds > 0.0 { ((time - self.start + 1e-9) / self.seconds).min(1.0) } else { 1.0 }
    }

    fn write(&mut self, simulation: &mut Simulation) -> Result<(), String> {
        let frame = self.frames.take(simulation).map_err(|error| error.to_string())?;
        match &mut self.exporter {
            Some(exporter) => exporter.write(&frame).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Completes the files; what to tell the user.
    pub fn finish(mut self) -> Result<String, String> {
        let Some(exporter) = self.exporter.take() else { return Ok(String::new()) };
        let written = exporter.finish().map_err(|error| error.to_string())?;
        let frames = if written.frames == 1 { "1 frame was".to_owned() } else { format!("{} frames were", written.frames) };
        Ok(format!("{frames} exported into {}", self.path.display()))
    }
}

/// The format's ending and what it is, for the menu, in the order of the command line.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    Format::ENDINGS.iter().filter(|(ending, ..)| *ending != "vtu").map(|(ending, _, what)| (*ending, *what))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scene::{Scene, build};
    use crate::sim::Options;

    fn subject(built: &crate::scene::Built) -> Subject {
        Subject {
            name: built.name.clone(),
            model: built.model.clone(),
            frames_per_second: 100.0,
            n_frames: 0,
            camera: built.camera,
            light: built.light,
            size: [64, 64],
        }
    }

    fn export(path: &Path, seconds: f64) -> String {
        let text = "format = 1\n[simulation]\ntime_step = 0.01\n[material.soft]\nyoung_modulus = 1e5\n[[body]]\nname = \"bar\"\n\
                    material = \"soft\"\nshape = { type = \"box\", size = [0.4, 0.2, 0.2] }\n";
        let built = build(&Scene::from_text("s", "s.toml", text, None, &[]).unwrap()).unwrap();
        let subject = subject(&built);
        let mut simulation =
            Simulation::new(built, &Options { backend: Some(crate::scene::BackendChoice::Cpu), ..Options::default() }).unwrap();
        let mut export = Export::start(&ExportWish { path: path.to_owned(), seconds }, &subject, &mut simulation).unwrap();
        while export.part(simulation.time()) < 1.0 {
            simulation.step().unwrap();
            export.follow(&mut simulation).unwrap();
        }
        export.finish().unwrap()
    }

    #[test]
    fn every_format_is_written_for_a_moment_and_for_a_time() {
        let folder = std::env::temp_dir().join(format!("pliant-exporting-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (ending, _) in formats() {
            for (seconds, told) in [(0.0, "1 frame was exported into"), (0.03, "4 frames were exported into")] {
                let path = folder.join(format!("a{seconds}.{ending}"));
                let message = export(&path, seconds);
                assert!(message.starts_with(told), "{ending}: {message}");
            }
        }
        assert!(folder.join("a0.glb").is_file() && folder.join("a0.03_00003.obj").is_file() && folder.join("a0.pliant").is_file());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
