//! `pliant check`: are scenes and meshes sound, and what would mend them.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Failure;
use crate::element::ElementKind;
use crate::math::{Aabb, Vec3};
use crate::mesh::{doctor, open_mesh};
use crate::model::{Body, Mobility, Model, RigidBody};
use crate::output::{OutputFile, check_writable};
use crate::scene::{Built, Diagnostic, Place, Scene, SceneError, build, is_mesh};
use crate::sim::checked_start;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  pliant check scene.toml\n  \
                  pliant check scenes/rings.toml model.stl bunny   several at once; all are told\n  \
                  pliant check model.obj --json                    what is found, for programs\n  \
                  pliant check bunny --set body.bunny.scale=1000   with another value\n\n\
                  The exit status is 2 if one of them cannot be simulated.")]
pub struct CheckArgs {
    /// Scene files, mesh files, or names of scenes of the gallery
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// Change a value of the scenes first; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Write what is found as JSON, to FILE or, without one, to stdout: an object, of several targets a list of them
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
}

/// What is found about a target: in words, for programs, and why it cannot be simulated if it cannot.
struct Checked {
    lines: Vec<String>,
    json: Value,
    failure: Option<Failure>,
}

pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    if let Some(mesh) = args.targets.iter().find(|target| is_mesh(Path::new(target)) && !args.set.is_empty()) {
        return Err(Failure::Input(format!("--set changes scenes, and {mesh} is a mesh; remove one of the two")));
    }
    let is_shown = args.json.as_ref().is_none_or(|file| file.as_os_str() != "-");
    let file = args.json.as_deref().filter(|_| is_shown);
    file.map(check_writable).transpose()?;
    let (mut found, mut failures) = (vec![], vec![]);
    for target in &args.targets {
        let Checked { lines, json, failure } = examine(target, &args.set);
        if is_shown {
            lines.iter().for_each(|line| say!("{line}"));
        }
        found.push(json);
        if args.targets.len() > 1
            && let Some(failure) = &failure
        {
            failure.tell();
        }
        failures.extend(failure);
    }
    if args.json.is_some() {
        write(found, file)?;
    }
    match (failures.pop(), failures.len()) {
        (None, _) => Ok(()),
        (Some(failure), 0) if args.targets.len() == 1 => Err(failure),
        (Some(_), others) => Err(Failure::Input(format!("{} of {} targets cannot be simulated", others + 1, args.targets.len()))),
    }
}

/// One object, or a list of several, to a file or to stdout.
fn write(mut found: Vec<Value>, file: Option<&Path>) -> Result<(), Failure> {
    let value = if found.len() == 1 { found.remove(0) } else { Value::Array(found) };
    let text = serde_json::to_string_pretty(&value).map_err(|error| Failure::Run(error.to_string()))?;
    match file {
        None => say!("{text}"),
        Some(file) => OutputFile::save(file, format!("{text}\n").as_bytes())?,
    }
    Ok(())
}

fn examine(target: &str, set: &[String]) -> Checked {
    if is_mesh(Path::new(target)) {
        return examine_mesh(target);
    }
    let scene = |is_sound: bool, errors: Vec<Value>, notes: &[String], bodies: Vec<Value>| json!({ "target": target, "kind": "scene", "is_sound": is_sound, "errors": errors, "notes": notes, "bodies": bodies });
    let built = match Scene::load(target, set).and_then(|scene| build(&scene)) {
        Ok(built) => built,
        Err(error) => {
            let json = scene(false, mistakes(&error), &[], vec![]);
            return Checked { lines: vec![], json, failure: Some(Failure::Scene(error)) };
        }
    };
    let mut lines = lines_of_bodies(&built.model);
    let bodies = bodies(&built.model);
    let notes: Vec<String> = built.notes.iter().cloned().chain(built.doubts()).collect();
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    match grown_together(&built) {
        Ok(more) => {
            lines.extend(more.iter().map(|note| format!("note: {note}")));
            lines.push(format!("{target}: sound"));
            let notes: Vec<String> = notes.into_iter().chain(more).collect();
            Checked { lines, json: scene(true, vec![], &notes, bodies), failure: None }
        }
        Err(sentence) => {
            let error = json!({ "message": sentence });
            Checked { lines, json: scene(false, vec![error], &notes, bodies), failure: Some(Failure::Input(sentence)) }
        }
    }
}

/// Notes on bodies whose surface crosses itself; a sentence if bodies overlap at the start.
fn grown_together(built: &Built) -> Result<Vec<String>, String> {
    let (_, checker) = checked_start(&built.model, &built.params).map_err(|error| error.to_string())?;
    let name = |body: &u32| built.model.body_name(built.model.numbering().body(*body as usize));
    let note = |name: &str| format!("the surface of \"{name}\" crosses itself; it is taken as grown together there");
    Ok(checker.grown_together().iter().map(|body| note(name(body))).collect())
}

fn mistakes(error: &SceneError) -> Vec<Value> {
    let mistake = |diagnostic: &Diagnostic| {
        let Diagnostic { place, key, message, help } = diagnostic;
        let mut told = json!({ "key": key, "message": message, "help": help });
        match place {
            Place::File { file } => told["file"] = json!(file),
            Place::Line { file, line, column, bytes } => {
                told["file"] = json!(file);
                told["line"] = json!(line);
                told["column"] = json!(column);
                told["bytes"] = json!([bytes.start, bytes.end]);
            }
            Place::Flag { flag } => told["set"] = json!(flag),
        }
        told
    };
    error.diagnostics.iter().map(mistake).collect()
}

fn lines_of_bodies(model: &Model) -> Vec<String> {
    let soft = model.bodies.iter().flat_map(|body| lines_of_soft(model, body));
    let rigid = model.rigid_bodies.iter().map(|body| {
        let what = match &body.mobility {
            Mobility::Free { mass, .. } => format!("rigid, {mass:.3} kg"),
            Mobility::Driven(_) => kind(body).to_owned(),
        };
        let [x, y, z] = extent(&body.vertices);
        format!("{}: {what}, {x:.3} x {y:.3} x {z:.3} m, {} triangles", body.name, body.triangles.len())
    });
    let exact = model.obstacles.iter().map(|body| format!("{}: {}", body.name, if body.motion.is_some() { "driven" } else { "static" }));
    soft.chain(rigid).chain(exact).collect()
}

fn lines_of_soft(model: &Model, body: &Body) -> Vec<String> {
    let [x, y, z] = extent(&model.rest_positions[body.nodes.clone()]);
    let (tets, nodes, triangles) = (body.tets.len(), body.nodes.len(), body.triangles.len());
    let size = format!("{x:.3} x {y:.3} x {z:.3} m, {:.3} kg", body.mass);
    let mut lines = vec![format!("deformable, {size}, {tets} tets, {nodes} nodes, {triangles} surface triangles")];
    let n_elements = body.patches.len();
    match body.element {
        ElementKind::Linear => {}
        ElementKind::Averaged => lines.push(format!("{n_elements} averaged elements, the cells of its tets")),
        ElementKind::Quadratic => lines.push(format!("{n_elements} quadratic elements, of which the tets are parts")),
    }
    if body.has_own_collision {
        lines.push(format!("touches with {} triangles of its own", body.collision_triangles.len()));
    }
    for material in model.damping_materials(body) {
        let [a, b, c] = [1.0, 10.0, 100.0].map(|frequency| material.damping_ratio(frequency));
        lines.push(format!("damping ratio of vibrations {a:.4} at 1 Hz, {b:.4} at 10 Hz, {c:.4} at 100 Hz (1 and more: no swing)"));
    }
    lines.iter().map(|line| format!("{}: {line}", body.name)).collect()
}

fn bodies(model: &Model) -> Vec<Value> {
    let soft = model.bodies.iter().map(|body| {
        json!({
            "name": body.name, "kind": "deformable", "size": extent(&model.rest_positions[body.nodes.clone()]), "mass": body.mass,
            "tets": body.tets.len(), "nodes": body.nodes.len(), "triangles": body.triangles.len(), "element": body.element.name(),
        })
    });
    let rigid = model.rigid_bodies.iter().map(|body| {
        let (size, triangles) = (extent(&body.vertices), body.triangles.len());
        json!({ "name": body.name, "kind": kind(body), "size": size, "mass": body.mass(), "triangles": triangles })
    });
    let exact = model.obstacles.iter().map(|body| {
        let kind = if body.motion.is_some() { "driven" } else { "static" };
        json!({ "name": body.name, "kind": kind })
    });
    soft.chain(rigid).chain(exact).collect()
}

fn kind(body: &RigidBody) -> &'static str {
    match &body.mobility {
        Mobility::Free { .. } => "rigid",
        Mobility::Driven(Some(_)) => "driven",
        Mobility::Driven(None) => "static",
    }
}

fn extent(points: &[Vec3]) -> [f64; 3] {
    Aabb::of(points).extent().into()
}

fn examine_mesh(target: &str) -> Checked {
    let report = match open_mesh(Path::new(target)) {
        Ok(file) => doctor::examine(&file),
        Err(error) => {
            let json = json!({ "target": target, "errors": [{ "message": error.to_string() }] });
            return Checked { lines: vec![], json, failure: Some(Failure::Input(error.to_string())) };
        }
    };
    let mut json = json!(report);
    json["target"] = json!(target);
    let failure = (!report.is_fit).then(|| Failure::Input(format!("{target}: {}", report.verdict)));
    Checked { lines: report.to_string().lines().map(str::to_owned).collect(), json, failure }
}
