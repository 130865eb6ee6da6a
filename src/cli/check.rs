//! `pliant check`: is a scene or a mesh sound, and what would mend it.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::element::ElementKind;
use crate::math::Aabb;
use crate::mesh::{doctor, open_mesh};
use crate::model::Mobility;
use crate::output::OutputFile;
use crate::scene::{Scene, build, is_mesh};
use crate::sim::checked_start;

#[derive(Args)]
pub struct CheckArgs {
    /// Scene file, mesh file, or name of a scene of the gallery
    target: String,
    /// Change a value of the scene first; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Of a mesh: write what is found as JSON, to FILE or, without one, to stdout
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
}

pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let path = Path::new(&args.target);
    if is_mesh(path) {
        if !args.set.is_empty() {
            return Err(Failure::Input("--set changes scenes, and this is a mesh; remove it".into()));
        }
        return check_mesh(path, args.json.as_deref());
    }
    if args.json.is_some() {
        return Err(Failure::Input("--json tells about meshes, and this is a scene; remove it".into()));
    }
    let built = build(&Scene::load(&args.target, &args.set)?)?;
    let model = &built.model;
    for body in &model.bodies {
        let extent = Aabb::of(&model.rest_positions[body.nodes.clone()]).extent();
        say!(
            "{}: deformable, {:.3} x {:.3} x {:.3} m, {:.3} kg, {} tets, {} nodes, {} surface triangles",
            body.name,
            extent.x,
            extent.y,
            extent.z,
            body.mass,
            body.tets.len(),
            body.nodes.len(),
            body.triangles.len()
        );
        let n_elements = body.patches.len();
        match body.element {
            ElementKind::Linear => {}
            ElementKind::Averaged => say!("{}: {n_elements} averaged elements, the cells of its tets", body.name),
            ElementKind::Quadratic => say!("{}: {n_elements} quadratic elements, of which the tets are parts", body.name),
        }
        if body.has_own_collision {
            say!("{}: touches with {} triangles of its own", body.name, body.collision_triangles.len());
        }
    }
    for body in &model.rigid_bodies {
        let extent = Aabb::of(&body.vertices).extent();
        let what = match &body.mobility {
            Mobility::Free { mass, .. } => format!("rigid, {mass:.3} kg"),
            Mobility::Driven(Some(_)) => "driven".to_owned(),
            Mobility::Driven(None) => "static".to_owned(),
        };
        say!("{}: {what}, {:.3} x {:.3} x {:.3} m, {} triangles", body.name, extent.x, extent.y, extent.z, body.triangles.len());
    }
    for obstacle in &model.obstacles {
        say!("{}: {}", obstacle.name, if obstacle.motion.is_some() { "driven" } else { "static" });
    }
    for note in &built.notes {
        say!("note: {note}");
    }
    let (_, checker) = checked_start(model, &built.params).map_err(|error| Failure::Input(error.to_string()))?;
    for body in checker.grown_together() {
        say!(
            "note: the surface of \"{}\" crosses itself; it is taken as grown together there",
            model.body_name(model.numbering().body(body as usize))
        );
    }
    say!("{}: sound", args.target);
    Ok(())
}

fn check_mesh(path: &Path, json: Option<&Path>) -> Result<(), Failure> {
    let input = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
    let report = doctor::examine(&open_mesh(path).map_err(|error| input(&error))?);
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&report).map_err(|error| input(&error))?;
        if file.as_os_str() == "-" {
            say!("{text}");
        } else {
            let mut output = OutputFile::create(file)?;
            output.write_line(&text)?;
            output.finish()?;
        }
    }
    if json.is_none_or(|file| file.as_os_str() != "-") {
        say!("{report}");
    }
    if report.is_fit { Ok(()) } else { Err(Failure::Input(format!("{}: {}", path.display(), report.verdict))) }
}
