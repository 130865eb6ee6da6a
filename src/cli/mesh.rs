//! `pliant mesh`: tets for a surface, and how good they are.

use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{Failure, interrupt};
use crate::cancel::{CancelToken, Cancelled};
use crate::mesh::measure::{Deviation, Shape};
use crate::mesh::{
    Border, Fineness, Format, MeshData, MeshError, MeshFile, Method, RESOLUTIONS, SurfaceMesh, TET_ENDINGS, TetMesh, assets, doctor,
    open_mesh_unless, parse_surface, write_tets,
};
use crate::output::{OutputFile, check_writable};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  pliant mesh model.stl -o model.msh\n  \
                  pliant mesh model.stl -o model.vtu --method voxel --tets 20000 --report figures.json\n  \
                  pliant mesh builtin:bunny.obj -o bunny.msh --resolution 32")]
pub struct MeshArgs {
    /// Surface or tet mesh, or builtin:NAME
    input: String,
    /// File for the tets; its ending says the format: msh (Gmsh), vtu, vtk or mesh (MEDIT)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How a surface is filled: with tets whose border follows it, with such that hold it closely, with equal ones of
    /// its volume, or with those but larger inside; or by the program TetGen, if it is installed [default: stuffing]
    #[arg(long, value_parser = ["stuffing", "bounding", "voxel", "graded", "tetgen"])]
    method: Option<String>,
    /// Cells along the longest side of the surface [default: 24]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(*RESOLUTIONS.start())..=i64::from(*RESOLUTIONS.end())))]
    resolution: Option<u32>,
    /// About how many tets, as far as resolutions from 8 to 128 give them
    #[arg(long, value_name = "N", conflicts_with = "resolution", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    tets: Option<u64>,
    /// Write what is printed as JSON to FILE
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Cells along the longest side if nothing else is asked for, as in scenes.
const RESOLUTION: u32 = 24;

/// Points on each surface, beside its vertices, from which distances are measured.
const SAMPLES: usize = 100_000;

/// Figures of the mesh that was made. Lengths are in units of the file.
#[derive(Serialize)]
struct Report {
    input: String,
    output: String,
    /// None of a mesh that had tets.
    method: Option<&'static str>,
    /// Figures of the mended surface that was filled.
    surface: Option<Surface>,
    #[serde(flatten)]
    shape: Shape,
    /// Volume of the tets over that of the surface, if it is closed.
    volume_ratio: Option<f64>,
    /// How far points of the surface are from the border of the tets, and the other way.
    hausdorff: Option<Hausdorff>,
    seconds: Vec<(&'static str, f64)>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Surface {
    vertices: usize,
    triangles: usize,
    area: f64,
    volume: f64,
    is_closed: bool,
}

#[derive(Serialize)]
struct Hausdorff {
    from_surface: Deviation,
    from_border: Deviation,
}

pub fn mesh(args: &MeshArgs) -> Result<(), Failure> {
    let format = tet_format(&args.output)?;
    check_writable(&args.output)?;
    args.report.as_deref().map_or(Ok(()), check_writable)?;

    let cancel = interrupt::token();
    let failed = |error| match error {
        MeshError::Cancelled => Failure::Run("interrupted; nothing was written".into()),
        MeshError::File { .. } => Failure::Input(error.to_string()),
        error => in_file(&args.input, error),
    };
    let mut clock = Clock::new(&["read", "mend", "fill", "measure", "write"]);
    let file = clock.time(|| read(&args.input, &cancel))?.map_err(failed)?;
    let mut notes = file.notes;
    let (tets, method, surface) = match file.data {
        MeshData::Surface(read) => {
            let (surface, _) = clock.time(|| doctor::mend_unless(read.clone(), &cancel)).map_err(|cancelled| failed(cancelled.into()))?;
            notes.extend((surface != read).then(|| format!("the surface was mended: `pliant check {}` tells what was wrong", args.input)));
            let method = args.method.as_deref().and_then(Method::from_name).unwrap_or(Method::Stuffing);
            let fineness = args.tets.map_or(Fineness::Cells(args.resolution.unwrap_or(RESOLUTION)), Fineness::Tets);
            let tets = clock.time(|| method.tetrahedralise(&surface, fineness, Border::Volume, &cancel));
            (tets.map_err(failed)?, Some(method.name()), Some(surface))
        }
        MeshData::Tets(read) => {
            let asked = [("--method", args.method.is_some()), ("--resolution", args.resolution.is_some()), ("--tets", args.tets.is_some())];
            if let Some((option, _)) = asked.into_iter().find(|(_, is_given)| *is_given) {
                return Err(Failure::Input(format!(
                    "{option} is for surfaces, and {} has tets, which stay as they are; remove it",
                    args.input
                )));
            }
            let mended = clock.time(|| doctor::mend_tets_unless(read.clone(), &cancel)).map_err(|cancelled| failed(cancelled.into()))?;
            let (tets, mending) = mended;
            notes.extend((tets != read).then(|| format!("the tets were mended: `pliant check {}` tells what was wrong", args.input)));
            clock.time(|| tets.check()).map_err(failed)?;
            notes.extend(doctor::tet_notes(&tets, &tets.outside(), &mending));
            (tets, None, None)
        }
    };
    let (shape, measured) = clock.time(|| (Shape::of(&tets), surface.map(|surface| compare(&surface, &tets, &cancel)).transpose()));
    let measured = measured.and_then(|measured| cancel.check().map(|()| measured)).map_err(|cancelled| failed(cancelled.into()))?;
    let (surface, hausdorff) = measured.unzip();
    let written = clock.time(|| {
        let text = write_tets(&tets, format).unwrap_or_default();
        OutputFile::save(&args.output, text.as_bytes())
    });
    let seconds = clock.finish();
    written?;

    let volume_ratio = surface.as_ref().filter(|surface| surface.is_closed).map(|surface| shape.volume / surface.volume);
    let output = args.output.display().to_string();
    let report = Report { input: args.input.clone(), output, method, surface, shape, volume_ratio, hausdorff, seconds, notes };
    if let Some(path) = &args.report {
        let text = serde_json::to_string_pretty(&report).map_err(|error| Failure::Run(error.to_string()))?;
        OutputFile::save(path, format!("{text}\n").as_bytes())?;
    }
    say!("{report}");
    Ok(())
}

fn tet_format(path: &Path) -> Result<Format, Failure> {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    TET_ENDINGS.iter().find(|(known, _)| ending == *known).map(|&(_, format)| format).ok_or_else(|| {
        let endings = TET_ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ");
        Failure::Input(format!("cannot tell the format of {}; give it one of these endings: {endings}", path.display()))
    })
}

fn in_file(file: &str, error: MeshError) -> Failure {
    Failure::Input(format!("{file}: {error}"))
}

fn read(input: &str, cancel: &CancelToken) -> Result<Result<MeshFile, MeshError>, Failure> {
    let Some(name) = input.strip_prefix("builtin:") else { return Ok(open_mesh_unless(Path::new(input), cancel)) };
    match assets::builtin(name) {
        Some(bytes) => Ok(parse_surface(name, bytes).map(MeshFile::from)),
        None => Err(Failure::Input(format!("no mesh {name} is built in; choose one of {}", assets::NAMES.join(", ")))),
    }
}

fn compare(surface: &SurfaceMesh, tets: &TetMesh, cancel: &CancelToken) -> Result<(Surface, Hausdorff), Cancelled> {
    let found = doctor::diagnose(surface);
    let border = tets.surface();
    let hausdorff = Hausdorff {
        from_surface: Deviation::between_unless(surface, &border, SAMPLES, cancel)?,
        from_border: Deviation::between_unless(&border, surface, SAMPLES, cancel)?,
    };
    let surface = Surface {
        vertices: found.vertices,
        triangles: found.triangles,
        area: found.area,
        volume: found.signed_volume,
        is_closed: found.is_solid(),
    };
    Ok((surface, hausdorff))
}

/// Takes the time of one stage after the other, and shows a bar when stderr is a terminal.
struct Clock {
    stages: &'static [&'static str],
    seconds: Vec<(&'static str, f64)>,
    bar: ProgressBar,
}

impl Clock {
    fn new(stages: &'static [&'static str]) -> Self {
        let bar = if std::io::stderr().is_terminal() { ProgressBar::new(stages.len() as u64) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {elapsed}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { stages, seconds: Vec::new(), bar }
    }

    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let stage = self.stages.get(self.seconds.len()).copied().unwrap_or_default();
        self.bar.set_message(stage);
        let start = Instant::now();
        let result = work();
        self.seconds.push((stage, start.elapsed().as_secs_f64()));
        self.bar.inc(1);
        result
    }

    fn finish(self) -> Vec<(&'static str, f64)> {
        self.bar.finish_and_clear();
        self.seconds
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, notes, .. } = self;
        for note in notes {
            writeln!(f, "note: {note}")?;
        }
        let pieces = if shape.pieces == 1 { "piece" } else { "pieces" };
        write!(f, "{}: {} tets, {} nodes, {} {pieces}", self.output, shape.tets, shape.nodes, shape.pieces)?;
        match (self.method, &self.surface) {
            (Some(method), Some(surface)) => writeln!(f, ", {method} of {} triangles", surface.triangles)?,
            _ => writeln!(f, ", as they were")?,
        }
        write!(f, "volume {:.6e}, of a tet {:.3e} to {:.3e}", shape.volume, shape.smallest_volume, shape.largest_volume)?;
        match self.volume_ratio {
            Some(ratio) => writeln!(f, "; {:.2} % of the surface's", 100.0 * ratio)?,
            None => writeln!(f)?,
        }
        let [least, mean] = shape.radius_ratio;
        writeln!(f, "radius ratio {least:.3} at least, {mean:.3} in the mean (1 is regular)")?;
        let [least, largest] = shape.dihedral;
        writeln!(f, "dihedral angles {least:.2} to {largest:.2} degrees")?;
        let most = shape.dihedral_histogram.iter().copied().max().unwrap_or(0).max(1);
        for (tenth, &count) in shape.dihedral_histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bar = "#".repeat((40 * count).div_ceil(most) as usize);
            writeln!(f, "  {:>3} to {:>3}  {bar:40} {count}", 10 * tenth, 10 * tenth + 10)?;
        }
        if let Some(Hausdorff { from_surface, from_border }) = &self.hausdorff {
            let largest = from_surface.largest.max(from_border.largest);
            writeln!(f, "Hausdorff distance {largest:.4e}, by the vertices and evenly spread points of both:")?;
            for (name, from) in [("surface to tets", from_surface), ("tets to surface", from_border)] {
                writeln!(f, "  {name}  largest {:.4e}, mean {:.4e}, {} points", from.largest, from.mean, from.samples)?;
            }
        }
        let times: Vec<String> = self.seconds.iter().map(|(stage, seconds)| format!("{stage} {seconds:.2} s")).collect();
        let total: f64 = self.seconds.iter().map(|(_, seconds)| seconds).sum();
        write!(f, "time: {}; together {total:.2} s", times.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::mesh::open_mesh;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: MeshArgs,
    }

    fn run(words: &[&str]) -> Result<(), Failure> {
        mesh(&Program::try_parse_from(["mesh"].iter().chain(words)).unwrap().args)
    }

    #[test]
    fn tets_and_report_are_written() {
        let folder = std::env::temp_dir().join(format!("pliant-mesh-{}", std::process::id()));
        crate::output::create_folder(&folder).unwrap();
        let [tets, report, again] = ["bunny.msh", "bunny.json", "again.vtu"].map(|name| folder.join(name).display().to_string());
        for method in Method::ALL {
            let options = ["--method", method.name(), "--tets", "9000", "--report", &report];
            assert!(run(&[&["builtin:bunny_coarse.obj", "-o", &tets], &options[..]].concat()).is_ok());
            let found: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
            let MeshData::Tets(mesh) = open_mesh(Path::new(&tets)).unwrap().data else { panic!("tets were written") };
            assert_eq!(found["tets"], mesh.tets.len());
            assert_eq!(found["method"], method.name());
            assert!((found["volume"].as_f64().unwrap() / mesh.total_volume() - 1.0).abs() < 1e-12);
            let ratio = found["volume_ratio"].as_f64().unwrap();
            let expected = match method {
                Method::Voxel | Method::Graded => 0.999..1.001,
                Method::Bounding => 1.0..1.1,
                _ => 0.9..1.0,
            };
            assert!(expected.contains(&ratio), "{method:?}: {ratio}");
            let largest = found["hausdorff"]["from_surface"]["largest"].as_f64().unwrap();
            // Cells are too coarse for the tip of an ear that they follow.
            let most = if method == Method::Stuffing { 0.6 } else { 0.2 };
            assert!(largest > 0.0 && largest < most, "{method:?}: {largest}");
            assert_eq!(found["seconds"].as_array().unwrap().len(), 5);
        }
        // Tets stay as they are, and are not filled.
        assert!(run(&[&tets, "-o", &again]).is_ok());
        assert_eq!(open_mesh(Path::new(&again)).unwrap().data, open_mesh(Path::new(&tets)).unwrap().data);
        let message = |words: &[&str]| match run(words) {
            Err(Failure::Input(message)) => message,
            other => panic!("{words:?}: {other:?}"),
        };
        assert!(message(&[&tets, "-o", &again, "--tets", "9000"]).starts_with("--tets is for surfaces"));
        assert!(message(&["builtin:cat.obj", "-o", &again]).contains("bunny.obj"));
        let obj = folder.join("bunny.obj").display().to_string();
        assert!(message(&["builtin:bunny.obj", "-o", &obj]).contains(".msh, .vtu, .vtk, .mesh"));
        // Nothing is left of what was refused.
        let sheet = folder.join("sheet.obj");
        std::fs::write(&sheet, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
        let other = folder.join("other.msh").display().to_string();
        assert!(message(&[&sheet.display().to_string(), "-o", &other]).contains("no tet fits"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
