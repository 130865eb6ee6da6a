//! `pliant check`: is a scene or a mesh sound, and what would mend it.

use std::path::Path;

use clap::Args;

use super::Failure;
use crate::math::Aabb;
use crate::mesh::{doctor, read_surface};
use crate::model::Mobility;
use crate::scene::{Scene, build, is_mesh};
use crate::sim::checked_start;

#[derive(Args)]
pub struct CheckArgs {
    /// Scene file, mesh file, or name of a scene of the gallery
    target: String,
    /// Change a value of the scene first; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
}

pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let path = Path::new(&args.target);
    if is_mesh(path) {
        if !args.set.is_empty() {
            return Err(Failure::Input("--set changes scenes, and this is a mesh; remove it".into()));
        }
        return check_mesh(path);
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
    let (_, judge) = checked_start(model, &built.params).map_err(|error| Failure::Input(error.to_string()))?;
    for body in judge.grown_together() {
        say!("note: the surface of \"{}\" crosses itself; it is taken as grown together there", model.contact_body_name(body as usize));
    }
    say!("{}: sound", args.target);
    Ok(())
}

fn check_mesh(path: &Path) -> Result<(), Failure> {
    let surface = read_surface(path).map_err(|error| Failure::Input(error.to_string()))?;
    let found = doctor::diagnose(&surface);
    let extent = found.bounds.extent();
    say!("{} vertices, {} triangles, {} pieces", found.vertices, found.triangles, found.pieces);
    say!("{:.6} x {:.6} x {:.6} in units of the file", extent.x, extent.y, extent.z);
    say!("area {:.6e}, volume {:.6e}", found.area, found.signed_volume);
    // Some mistakes are mended when the mesh is loaded; those that stay make it unfit.
    let mended = doctor::mend(surface);
    let remaining = doctor::diagnose(&mended);
    for problem in found.problems() {
        say!("found: {problem}");
    }
    if remaining.is_closed() && remaining.misoriented_edges == 0 && remaining.signed_volume > 0.0 {
        say!("{}: sound, it can be simulated", path.display());
        return Ok(());
    }
    let problems: Vec<String> = remaining.problems().iter().map(|problem| format!("{}: {problem}", path.display())).collect();
    Err(Failure::Input(problems.join("\n")))
}
