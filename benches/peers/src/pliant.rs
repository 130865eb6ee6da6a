//! The scenes in Pliant, through its program: reports, traces and saved states are all that is known of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::measure::{Run, State};
use crate::mesh::Vec3;
use crate::scene::Scene;

/// Frames between states. Each takes a run from the start, since equal runs give equal bits.
const STRIDE: usize = 6;

/// How far [m] the centres of mass that Pliant reports may be from ours: else the nodes are not numbered as here.
const TOLERANCE: f64 = 1e-7;

/// The program and the place for its files.
pub struct Pliant {
    pub program: PathBuf,
    pub threads: usize,
    pub scratch: PathBuf,
}

/// What Pliant says of a run.
#[derive(Deserialize)]
pub struct Report {
    pub version: String,
    pub contact: Contact,
    bodies: Vec<BodyReport>,
}

#[derive(Deserialize)]
pub struct Contact {
    /// Deepest over all frames, by its own checker [m].
    pub max_penetration: Option<f64>,
}

#[derive(Deserialize)]
struct BodyReport {
    kind: String,
    center_of_mass: Option<Vec3>,
}

impl Pliant {
    /// Computes `frames` frames once.
    pub fn run(&self, scene: &Scene, frames: usize) -> Result<(Run, Report)> {
        let [report, trace, state] = ["report.json", "trace.csv", "state"].map(|name| self.scratch.join(name));
        self.call(scene, frames, &[("--report", &report), ("--trace", &trace), ("--save", &state)])?;
        let report: Report = serde_json::from_slice(&fs::read(&report)?).context("Pliant's report has changed its fields")?;
        let state = read_state(scene, &state)?;
        let reported = report.bodies.iter().filter(|body| body.kind == "deformable").filter_map(|body| body.center_of_mass);
        let off = scene.centers(&state).zip(reported).map(|(ours, theirs)| (ours - theirs).norm()).fold(0.0, f64::max);
        ensure!(off < TOLERANCE, "{}: Pliant's centres of mass are {off:e} m away from those of its saved nodes", scene.name);
        Ok((Run { ms: frame_times(&trace)?, states: BTreeMap::from([(frames, state)]) }, report))
    }

    /// The states before the last one, every few frames.
    pub fn earlier_states(&self, scene: &Scene, frames: usize) -> Result<BTreeMap<usize, State>> {
        let path = self.scratch.join("earlier");
        let earlier = (1..frames).filter(|frame| (frames - frame).is_multiple_of(STRIDE));
        earlier
            .map(|frame| {
                self.call(scene, frame, &[("--save", &path)])?;
                Ok((frame, read_state(scene, &path)?))
            })
            .collect()
    }

    fn call(&self, scene: &Scene, frames: usize, files: &[(&str, &Path)]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("run").arg(&scene.path).args(["--backend", "cpu"]);
        command.args(["--threads", &self.threads.to_string(), "--steps", &frames.to_string()]);
        files.iter().for_each(|(option, path)| {
            command.arg(option).arg(path);
        });
        let output = command.output().with_context(|| {
            format!("cannot start {}: build Pliant (`cargo build --release`), or name it with --pliant", self.program.display())
        })?;
        if !output.status.success() {
            bail!("Pliant failed on {}: {}", scene.path.display(), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}

/// A saved state: a line of text, then displacements and velocities of all nodes as little-endian f64.
fn read_state(scene: &Scene, path: &Path) -> Result<State> {
    let bytes = fs::read(path)?;
    let header = bytes.iter().position(|byte| *byte == b'\n').context("a saved state has no header")?;
    let numbers: Vec<f64> = bytes[header + 1..].as_chunks().0.iter().map(|bytes: &[u8; 8]| f64::from_le_bytes(*bytes)).collect();
    let n = 3 * scene.n_nodes();
    ensure!(numbers.len() >= 2 * n, "the saved state of {} has fewer nodes than the scene", scene.name);
    let vectors = |numbers: &[f64]| -> Vec<Vec3> { numbers.chunks_exact(3).map(Vec3::from_column_slice).collect() };
    let start = scene.bodies.iter().flat_map(|body| &body.mesh.nodes);
    let positions = start.zip(vectors(&numbers[..n])).map(|(start, displacement)| start + displacement).collect();
    Ok(State { positions, velocities: vectors(&numbers[n..2 * n]) })
}

/// The column `ms` of a trace.
fn frame_times(trace: &Path) -> Result<Vec<f64>> {
    let text = fs::read_to_string(trace)?;
    let mut lines = text.lines();
    let column = lines.next().and_then(|header| header.split(',').position(|name| name == "ms")).context("the trace has no column ms")?;
    lines.map(|line| Ok(line.split(',').nth(column).context("a short line in the trace")?.parse()?)).collect()
}
