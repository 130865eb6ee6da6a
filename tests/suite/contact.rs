use std::sync::Arc;

use pliant::material::Material;
use pliant::math::{Isometry, Quat, Vec3};
use pliant::mesh::{self, shapes};
use pliant::model::{Model, ModelBuilder, Obstacle, Shape, SoftBody};
use pliant::solver::cpu::CpuStepper;
use pliant::solver::{Loads, Params, Stepper};

fn floor(friction: f64) -> Obstacle {
    Obstacle {
        name: "floor".into(),
        shape: Shape::Plane,
        pose: Isometry::identity(),
        motion: None,
        friction: vec![friction; 8],
        color: None,
    }
}

fn run(model: Model, params: &Params, steps: usize, label: &str) {
    let model = Arc::new(model);
    let mut stepper = CpuStepper::new(model.clone(), 1).unwrap();
    let (mut its, mut hard, mut cone) = (0, 0, 0.0f64);
    let start = std::time::Instant::now();
    for k in 0..steps {
        let r = stepper.step(params, &Loads::default()).unwrap();
        its += r.iterations;
        hard += u32::from(r.iterations >= 1000);
        cone = cone.max(r.contact.max_cone_violation);
        let s = stepper.state().unwrap();
        let x = model.surface_positions(&s.positions(&model));
        let low = x.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        let v = s.velocities.iter().map(|v| v.norm()).fold(0.0, f64::max);
        if k % 5 == 0 || !r.converged {
            println!(
                "{label} {k}: it {} rst {} relin {} res {:.1e} conv {} contacts {}/{} low {:.2e} gap {:.1e} fb {:.1e} cone {:.1e} N {:.3} F {:.3} vmax {:.3e} ms {:.2}",
                r.iterations,
                r.restarts,
                r.relinearisations,
                r.residual,
                r.converged,
                r.contact.active,
                r.contact.contacts,
                low,
                r.contact.max_gap_of_active,
                r.contact.max_complementarity_error,
                r.contact.max_cone_violation,
                r.contact.normal_force_total,
                r.contact.friction_force_total,
                v,
                r.stages.total()
            );
        }
    }
    println!("{label}: its {its} hard {hard} worst cone {cone:.1e} {:.2} ms/step", start.elapsed().as_secs_f64() * 1e3 / steps as f64);
}

fn soft(e: f64) -> Material {
    Material { young_modulus: e, poisson_ratio: 0.3, density: 1000.0, ..Default::default() }
}

#[test]
fn drop_cube() {
    let mut tets = shapes::box_tets(Vec3::new(0.2, 0.2, 0.2), [6, 6, 6]);
    for p in &mut tets.positions {
        p.y += 0.2;
    }
    let mut b = ModelBuilder::default();
    b.soft_body(SoftBody::with_boundary_surface("cube", soft(2e5), tets)).obstacle(floor(0.5));
    run(b.build().unwrap(), &Params::default(), 100, "cube");
}

#[test]
fn drop_bunny() {
    let surface = mesh::parse_surface("bunny.obj", mesh::assets::builtin("bunny.obj").unwrap()).unwrap();
    let surface = mesh::doctor::mend(surface);
    let c = surface.aabb();
    let s = 0.3 / c.extent().max();
    let surface = surface.transformed(|p| (p - c.center()) * s + Vec3::new(0.0, 0.25, 0.0));
    let tets = mesh::voxel::tetrahedralise(&surface, 20).unwrap();
    let embedding = mesh::embed(&tets, &surface.positions).unwrap();
    println!("nodes {} tets {} verts {}", tets.positions.len(), tets.tets.len(), surface.positions.len());
    let mut body = SoftBody::with_boundary_surface("bunny", soft(1e5), tets);
    body.surface_triangles = surface.triangles;
    body.embedding = embedding;
    let mut b = ModelBuilder::default();
    b.soft_body(body).obstacle(floor(0.5));
    run(b.build().unwrap(), &Params::default(), 100, "bunny");
}

#[test]
fn slope() {
    for tilt in [15.0f64, 25.0, 35.0] {
        let turn = Quat::from_scaled_axis(Vec3::new(0.0, 0.0, -tilt.to_radians()));
        let mut tets = shapes::box_tets(Vec3::new(0.2, 0.1, 0.2), [6, 3, 6]);
        for p in &mut tets.positions {
            p.y += 0.0501;
            *p = turn * *p;
        }
        let mut plane = floor(0.5);
        plane.pose = Isometry::from_parts(Default::default(), turn);
        let mut b = ModelBuilder::default();
        b.soft_body(SoftBody::with_boundary_surface("block", soft(5e5), tets)).obstacle(plane);
        println!("expected a {:.4}", 9.81 * (tilt.to_radians().sin() - 0.5 * tilt.to_radians().cos()));
        run(b.build().unwrap(), &Params::default(), 100, &format!("slope {tilt}"));
    }
}
