//! `--out`: results into files, while a simulation runs or from a recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::Failure;
use super::film::{Film, Moment};
use crate::cancel::CancelToken;
use crate::export::{Due, Exporter, Format, Frame, Sampler, Subject, exporter};
use crate::gpu;
use crate::record::{Clock, FilmFormat};
use crate::sim::Simulation;

/// Values of `--out` and its companions.
#[derive(Args, Default)]
#[command(group = clap::ArgGroup::new("results").args(["record", "out"]).multiple(true))]
pub struct ResultArgs {
    /// Write results into a file or series; may be repeated. The ending of the name says which:
    /// .pvd .vtu (ParaView: all fields), .obj .ply (numbered files), .gltf .glb .usda (with animation),
    /// .pc2 .mdd (point caches), .gif .mp4 (films), .png or a name without an ending (numbered pictures),
    /// .pliant (a recording for `pliant export`)
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub out: Vec<PathBuf>,
    /// Write pictures (PNG) into a folder; the same as --out DIR
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Width and height of pictures and films [default: the scene's, else 1280x720]
    #[arg(long, value_name = "WxH", requires = "results", value_parser = parse_size)]
    pub size: Option<[u32; 2]>,
    /// Frames a second of simulated time [default: the scene's, else 30]
    #[arg(long, value_name = "N", requires = "results", value_parser = parse_rate)]
    pub fps: Option<f64>,
}

enum Target {
    Data(Format),
    Film(FilmFormat),
}

impl ResultArgs {
    fn targets(&self) -> Result<Vec<(Target, PathBuf)>, Failure> {
        let mut targets: Vec<(Target, PathBuf)> = vec![];
        for path in &self.out {
            targets.push((target(path)?, path.clone()));
        }
        if let Some(folder) = &self.record {
            targets.push((Target::Film(FilmFormat::of(folder).unwrap_or_default()), folder.clone()));
        }
        for (i, (_, path)) in targets.iter().enumerate() {
            if targets[..i].iter().any(|(_, other)| other == path) {
                return Err(Failure::Input(format!("{} is named twice; give each output a name of its own", path.display())));
            }
        }
        Ok(targets)
    }

    /// Whether something is drawn.
    pub fn draws(&self) -> bool {
        self.record.is_some() || self.out.iter().any(|path| matches!(target(path), Ok(Target::Film(_))))
    }
}

fn target(path: &Path) -> Result<Target, Failure> {
    let known = || {
        let data = Format::ENDINGS.iter().map(|(ending, _, what)| (ending, what));
        let all = data.chain(FilmFormat::ENDINGS.iter().map(|(ending, _, what)| (ending, what)));
        all.map(|(ending, what)| format!("\n  .{ending}: {what}")).collect::<String>()
    };
    Format::of(path).map(Target::Data).or_else(|| FilmFormat::of(path).map(Target::Film)).ok_or_else(|| {
        Failure::Input(format!("--out {}: no format has this ending; the name must end in one of{}", path.display(), known()))
    })
}

/// All results of a run that are asked for.
pub struct Results {
    subject: Subject,
    /// If anything is wanted.
    sampler: Option<Sampler>,
    exporters: Vec<(PathBuf, Box<dyn Exporter>)>,
    film: Option<Film>,
}

impl Results {
    /// Opens everything; whatever cannot be written is known before the work begins. `seconds`: how long the run lasts.
    pub fn open(args: &ResultArgs, mut subject: Subject, seconds: f64, adapter: Option<&str>) -> Result<Self, Failure> {
        subject.size = args.size.unwrap_or(subject.size);
        subject.frames_per_second = args.fps.unwrap_or(subject.frames_per_second);
        let clock = Clock::new(subject.frames_per_second);
        subject.n_frames = clock.frames_until(seconds) + 1;
        let (mut exporters, mut films) = (vec![], vec![]);
        for (target, path) in args.targets()? {
            match target {
                Target::Data(format) => exporters.push((path.clone(), exporter(format, &path, &subject)?)),
                Target::Film(format) => films.push((format, path)),
            }
        }
        let film = if films.is_empty() { None } else { Some(Film::start(&films, &subject, adapter)?) };
        let is_wanted = film.is_some() || !exporters.is_empty();
        let sampler = is_wanted.then(|| Sampler::new(clock, &subject.model)).transpose();
        let sampler = sampler.map_err(|error| Failure::Input(error.to_string()))?;
        Ok(Self { subject, sampler, exporters, film })
    }

    /// The device that draws, for the simulation to compute on.
    pub fn device(&self) -> Option<Arc<gpu::Device>> {
        self.film.as_ref().map(Film::device)
    }

    /// Looks at a simulation before its next step: frames may be due between the two ends of it.
    pub fn before_step(&mut self, simulation: &mut Simulation) -> Result<(), Failure> {
        Ok(self.sampler.as_mut().map_or(Ok(()), |sampler| sampler.before_step(simulation))?)
    }

    /// Takes the frames of a simulation that are due, each at its time.
    pub fn take(&mut self, simulation: &mut Simulation) -> Result<(), Failure> {
        let Some(sampler) = &mut self.sampler else { return Ok(()) };
        match sampler.take(simulation)? {
            Due::Between(frames) => frames.iter().try_for_each(|frame| self.put(frame)),
            Due::Now(times) => {
                if !self.exporters.is_empty() {
                    for time in &times {
                        let frame = sampler.now(simulation, *time)?;
                        export(&mut self.exporters, &frame)?;
                    }
                }
                match &mut self.film {
                    Some(film) if !times.is_empty() => film.take(&Moment::now(simulation)?, times.len()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Takes a frame of a recording, and gives what is due between it and the one before.
    pub fn take_frame(&mut self, frame: Frame) -> Result<(), Failure> {
        let due = self.sampler.as_mut().map(|sampler| sampler.take_frame(frame)).unwrap_or_default();
        due.iter().try_for_each(|frame| self.put(frame))
    }

    fn put(&mut self, frame: &Frame) -> Result<(), Failure> {
        export(&mut self.exporters, frame)?;
        self.film.as_mut().map_or(Ok(()), |film| film.take(&Moment::of(frame, &self.subject.model), 1))
    }

    /// Completes all files, whatever happened before, and says what there is; the first failure of that, if any. After
    /// an interruption what there is so far is completed; one that comes only now ends that: nothing is left of files
    /// that are not whole.
    pub fn finish(self, interrupted: &CancelToken) -> Result<(), Failure> {
        let cancel = if interrupted.is_cancelled() { CancelToken::default() } else { interrupted.clone() };
        let mut outcome = Ok(());
        for (path, exporter) in self.exporters {
            match exporter.finish(&cancel) {
                Ok(written) => {
                    let files = if written.files.is_empty() { String::new() } else { format!("; {}", written.files) };
                    say!("{} frames, {}: {}{files}", written.frames, size_of(written.bytes), path.display());
                }
                Err(error) => outcome = outcome.and(Err(error.into())),
            }
        }
        let [width, height] = self.subject.size;
        for (path, frames) in self.film.map(Film::finish).unwrap_or_default() {
            match frames {
                Ok(n) => say!("{n} pictures of {width}x{height} are in {}", path.display()),
                Err(error) => outcome = outcome.and(Err(error.into())),
            }
        }
        outcome
    }
}

fn export(exporters: &mut [(PathBuf, Box<dyn Exporter>)], frame: &Frame) -> Result<(), Failure> {
    exporters.iter_mut().try_for_each(|(_, exporter)| exporter.write(frame)).map_err(Failure::from)
}

fn size_of(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok().filter(|rate| (1.0..=1000.0).contains(rate));
    rate.ok_or_else(|| "expected a number of frames a second from 1 to 1000".into())
}

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let size = text.split_once(['x', 'X']).and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    size.filter(|size: &[u32; 2]| size.iter().all(|n| (16..=8192).contains(n)))
        .ok_or_else(|| "expected WIDTHxHEIGHT, each from 16 to 8192 pixels, for instance 1280x720".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_format() {
        let of = |name: &str| target(Path::new(name));
        assert!(matches!(of("a/b.GLB"), Ok(Target::Data(Format::Glb))));
        assert!(matches!(of("film.gif"), Ok(Target::Film(FilmFormat::Gif))));
        assert!(matches!(of("folder"), Ok(Target::Film(FilmFormat::Png))));
        let Err(Failure::Input(message)) = of("results.xyz") else { panic!("no format ends in xyz") };
        assert!(Format::ENDINGS.iter().all(|(ending, ..)| message.contains(&format!(".{ending}:"))), "{message}");
        let args = ResultArgs { out: vec!["a.glb".into(), "a.glb".into()], ..ResultArgs::default() };
        assert!(matches!(args.targets(), Err(Failure::Input(_))));
        assert!(!args.draws() && ResultArgs { record: Some("x".into()), ..ResultArgs::default() }.draws());
    }

    #[test]
    fn sizes_and_rates() {
        assert_eq!(parse_size("640x480"), Ok([640, 480]));
        for wrong in ["640", "640x", "8x8", "640x48000", "-1x20", "axb"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        assert!(parse_rate("25").is_ok() && parse_rate("0").is_err() && parse_rate("nan").is_err());
    }
}
