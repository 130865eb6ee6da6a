//! Bodies against one another, as whole scenes with the default solver: the reduced experiments, and known answers.

use std::path::Path;

use pliant::body::BodyRef;
use pliant::math::Vec3;
use pliant::scene::{self, BackendChoice, Scene};
use pliant::sim::report::{Energy, Report, state_hash};
use pliant::sim::{Options, Simulation, SimulationError};
use pliant::step::StepReport;

const G: f64 = 9.81;

pub fn open(text: &str) -> Result<Simulation, SimulationError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let scene = Scene::from_text("test", "test.toml", text, Some(&folder), &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    start(&scene)
}

/// On the CPU, or, if PLIANT_TEST_BACKEND is "gpu", on the device: a software driver takes minutes for all of them.
pub fn start(scene: &Scene) -> Result<Simulation, SimulationError> {
    let on_device = std::env::var("PLIANT_TEST_BACKEND").is_ok_and(|backend| backend == "gpu");
    let (backend, device) = if on_device { (BackendChoice::Gpu, Some(crate::lab::device())) } else { (BackendChoice::Cpu, None) };
    let options =
        Options { backend: Some(backend), device, threads: Some(1), methods: Some(pliant::lab::methods::row_solver), ..Options::default() };
    let mut simulation = Simulation::new(scene::build(scene).unwrap(), &options)?;
    simulation.set_measuring(true);
    Ok(simulation)
}

/// A scene of `tests/scenes`.
fn reduced(name: &str, flags: &[&str]) -> Simulation {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/scenes/{name}.toml"));
    let mut scene = Scene::from_file(&path).unwrap();
    flags.iter().for_each(|flag| scene.set(flag).unwrap());
    start(&scene).unwrap()
}

/// Steps until `time` [s]; `look` sees every step.
pub fn run(simulation: &mut Simulation, time: f64, mut look: impl FnMut(&mut Simulation, &StepReport)) {
    while simulation.time() < time - 1e-9 {
        let report = simulation.step().unwrap();
        look(simulation, &report);
    }
}

fn ignore(_: &mut Simulation, _: &StepReport) {}

/// What is demanded of every run; returns its report. `unconverged`: how many steps may be taken back and halved, or
/// end without.
#[track_caller]
fn assert_sound(simulation: &mut Simulation, unconverged: u64) -> Report {
    let report = simulation.report(0.0).unwrap();
    let (contact, faults) = (&report.contact, &report.faults);
    println!(
        "{}: {} steps, {} unconverged, {:.1} ms a step; {:.1} contacts, depth {:.1e}, gap {:.1e}, FB {:.1e}, cone {:.1e}; {faults:?}",
        report.scene,
        report.steps,
        report.solver.unconverged_steps,
        report.timing.ms_per_step.unwrap().mean,
        contact.contacts.mean,
        contact.max_penetration.unwrap(),
        contact.max_gap_of_active,
        contact.max_complementarity_error,
        contact.max_cone_violation
    );
    assert!(contact.contacts.max > 0.0, "nothing touched");
    assert_eq!((faults.non_finite, faults.missed_candidates), (0, Some(0)));
    assert_eq!(contact.max_penetration, Some(0.0));
    assert!(report.solver.unconverged_steps + faults.rollbacks <= unconverged);
    report
}

fn energy(simulation: &mut Simulation) -> Energy {
    simulation.report(0.0).unwrap().energy
}

/// Centres of mass of all free bodies [m]: the deformable ones, then the rigid ones.
fn centers(simulation: &mut Simulation) -> Vec<Vec3> {
    let (model, state) = (simulation.model().clone(), simulation.state().unwrap());
    let x = state.positions(&model);
    let soft = model.bodies.iter().map(|b| b.nodes.clone().map(|n| x[n] * model.node_masses[n]).sum::<Vec3>() / b.mass);
    let rigid = model.rigid_bodies.iter().zip(&state.rigid_bodies).filter(|(r, _)| r.is_free());
    soft.chain(rigid.map(|(_, s)| s.pose.translation.vector)).collect()
}

/// Of everything that moves [kg m/s].
pub fn momentum(simulation: &mut Simulation) -> Vec3 {
    let (model, state) = (simulation.model().clone(), simulation.state().unwrap());
    let soft: Vec3 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum();
    let rigid = model.rigid_bodies.iter().zip(&state.rigid_bodies);
    soft + rigid.filter_map(|(r, s)| Some(s.velocity * r.inertia_in_space(&s.pose.rotation)?.0)).sum::<Vec3>()
}

fn mass(simulation: &Simulation) -> f64 {
    let model = simulation.model();
    let rigid = model.rigid_bodies.iter().filter_map(|r| Some(r.inertia_in_space(&r.pose.rotation)?.0));
    model.node_masses.iter().sum::<f64>() + rigid.sum::<f64>()
}

/// Force of a contact body on all others [N].
fn force_of(simulation: &Simulation, body: BodyRef, report: &StepReport) -> Vec3 {
    let of_pair = |p: &pliant::contact::PairForce| {
        let on_first = p.normal + p.friction;
        match p.bodies.map(|b| b == body) {
            [false, true] => on_first,
            [true, false] => -on_first,
            _ => Vec3::zeros(),
        }
    };
    let model = simulation.model();
    let number = model.numbering().number(body).unwrap();
    assert!(number < model.numbering().n_with_unknowns() + model.obstacles.len());
    report.contact.pairs.iter().map(of_pair).sum()
}

#[test]
fn s1_a_ring_comes_to_rest_and_loses_energy() {
    let mut ring = reduced("s1_ring", &[]);
    let mut energies = vec![energy(&mut ring)];
    run(&mut ring, 2.0, |ring, _| {
        if ring.step_index() % 20 == 0 {
            energies.push(energy(ring));
        }
    });
    let report = assert_sound(&mut ring, 2);
    let rise = energies.windows(2).map(|e| e[1].total - e[0].total).fold(0.0, f64::max);
    let fall = energies[0].total - energies[energies.len() - 1].total;
    println!("energy falls by {fall:.3e} J, largest rise {rise:.1e} J, in the end kinetic {:.1e} J", report.energy.kinetic);
    assert!(rise < 1e-3 * fall);
    assert!(report.energy.kinetic < 1e-4 * fall && report.bodies[0].max_speed.unwrap() < 0.02);
}

#[test]
fn s2_rings_fall_into_a_box() {
    let mut rings = reduced("s2_rings_in_box", &[]);
    run(&mut rings, 0.45, ignore);
    assert_sound(&mut rings, 2);
    for center in centers(&mut rings) {
        assert!(center.x.abs() < 0.2 && center.z.abs() < 0.2 && center.y > 0.0, "{center}");
    }
}

#[test]
fn s4_a_slice_of_the_pyramid_stands() {
    let mut slice = reduced("s4_pyramid_slice", &[]);
    let before = centers(&mut slice);
    run(&mut slice, 0.0175, ignore);
    assert_sound(&mut slice, 0);
    for (a, b) in before.iter().zip(centers(&mut slice)) {
        // Fallen by the gaps between the layers, and pressed a little.
        assert!((b - a).xz().norm() < 2e-4 && (-2e-3..0.0).contains(&(b.y - a.y)), "moved by {}", b - a);
    }
}

#[test]
fn s5_a_rigid_stack_stands() {
    for cells in ["[1,1,1]", "[2,2,2]"] {
        let mut stack = reduced("s5_rigid_stack", &[&format!("body.box.shape.cells={cells}")]);
        run(&mut stack, 0.2, ignore);
        let settled = centers(&mut stack);
        let weight = mass(&stack) * G;
        let mut carried = vec![];
        run(&mut stack, 1.0, |stack, report| carried.push(force_of(stack, BodyRef::Obstacle(0), report) / weight));
        assert_sound(&mut stack, 0);
        let mean = carried.iter().sum::<Vec3>() / carried.len() as f64;
        let worst = carried.iter().map(|f| (f - Vec3::y()).norm()).fold(0.0, f64::max);
        println!("cells {cells}: the floor carries {mean:?} of the weight, at worst {worst:.1e} beside it");
        // The weight in the mean; from step to step the boxes move by parts of the tolerance, which takes forces.
        assert!((mean - Vec3::y()).norm() < 1e-3 && worst < 0.1);
        let drift = settled.iter().zip(centers(&mut stack)).map(|(a, b)| (b - a).norm()).fold(0.0, f64::max);
        println!("cells {cells}: drift {drift:.1e} m");
        assert!(drift < 1e-3);
    }
}

#[test]
fn s6_a_wedge_ploughs_through_balls() {
    let mut wedge = reduced("s6_wedge", &["body.ball.shape.resolution=3"]);
    let before = centers(&mut wedge);
    run(&mut wedge, 0.6, ignore);
    assert_sound(&mut wedge, 3);
    let moved = before.iter().zip(centers(&mut wedge)).filter(|(a, b)| (b - *a).norm() > 0.02).count();
    assert!(moved >= 3, "{moved} balls were pushed away");
}

#[test]
fn s7_a_squeezed_ball_recovers() {
    let mut ball = reduced("s7_squeezed_ball", &["body.ball.shape.resolution=5"]);
    let mut height = f64::INFINITY;
    run(&mut ball, 1.2, |ball, _| {
        if ball.step_index() % 25 == 0 {
            let report = ball.report(0.0).unwrap();
            height = height.min(report.bodies[0].highest.unwrap() - report.bodies[0].lowest.unwrap());
        }
    });
    let report = assert_sound(&mut ball, 5);
    let body = &report.bodies[0];
    println!("height {height:.4} m, volume ratio {:.5}", body.volume_ratio.unwrap());
    assert!(height < 0.105, "squeezed to {height} m of 0.2");
    assert!(body.inverted_tets == Some(0) && (body.volume_ratio.unwrap() - 1.0).abs() < 0.01);
}

#[test]
fn s8_a_bearing_turns() {
    let mut bearing = reduced("s8_bearing", &[]);
    let before = centers(&mut bearing);
    run(&mut bearing, 0.25, ignore);
    assert_sound(&mut bearing, 5);
    // The shaft turns about +y and takes the balls along: seen from above all run the same way.
    for (a, b) in before.iter().zip(centers(&mut bearing)) {
        let along = Vec3::y().cross(a).normalize().dot(&(b - a));
        assert!(along > 1e-3 && (b.xz().norm() - 0.154).abs() < 0.02, "from {a} to {b}");
    }
}

#[test]
fn s9_bars_end_untangled() {
    let mut bars = reduced("s9_strings", &[]);
    run(&mut bars, 1.2, ignore);
    let report = assert_sound(&mut bars, 10);
    assert!(report.bodies.iter().filter(|b| b.kind == "deformable").all(|b| b.inverted_tets == Some(0)));
}

#[test]
fn s10_a_bouncing_bunny_obeys_newton() {
    let mut bunny = reduced("s10_bounce", &[]);
    let (mass, start, dt) = (mass(&bunny), momentum(&mut bunny), bunny.params().time_step);
    let (mut impulse, mut gained) = (Vec3::zeros(), 0.0f64);
    let mut heights = vec![];
    run(&mut bunny, 1.0, |bunny, report| {
        impulse += force_of(bunny, BodyRef::Obstacle(0), report) * dt;
        gained = gained.max(impulse.norm());
        heights.push(centers(bunny)[0].y);
    });
    assert_sound(&mut bunny, 2);
    let change = momentum(&mut bunny) - start + Vec3::y() * (mass * G * bunny.time());
    println!("impulse {impulse} of {change}");
    assert!((impulse - change).norm() < 1e-3 * gained);
    let peaks: Vec<f64> = heights.windows(3).filter(|h| h[1] > h[0] && h[1] >= h[2]).map(|h| h[1]).collect();
    println!("peaks {peaks:?}");
    assert!(!peaks.is_empty() && peaks[0] < heights[0] - 0.02 && peaks.windows(2).all(|p| p[1] < p[0] + 1e-3));
}

/// A brick that is thrown about its middle axis turns over again and again, and keeps its angular momentum and energy
/// (`elasticity.md` 11, 7).
#[test]
fn a_tumbling_brick_keeps_its_angular_momentum() {
    let mut brick = open(
        "format = 1\n[simulation]\ngravity = [0, 0, 0]\n[[body]]\nname = \"brick\"\nkind = \"rigid\"\nmass = 6.0\n\
         shape = { type = \"box\", size = [0.2, 0.4, 0.6] }\nangular_velocity = [0.3, 3.0, 0.2]\n",
    )
    .unwrap();
    let of = |brick: &mut Simulation| {
        let report = brick.report(0.0).unwrap();
        (Vec3::from(report.bodies[0].angular_momentum.unwrap()), report.energy.kinetic)
    };
    let (start, energy) = of(&mut brick);
    let (mut worst, mut turned, mut about) = ([0.0f64; 2], 0.0f64, vec![]);
    run(&mut brick, 21.0, |brick, _| {
        let (momentum, kinetic) = of(brick);
        worst = [worst[0].max((momentum.norm() / start.norm() - 1.0).abs()), worst[1].max((kinetic / energy - 1.0).abs())];
        turned = turned.max((momentum - start).norm() / start.norm());
        about.push((brick.rigid_poses().unwrap()[0].rotation.inverse() * momentum).y);
    });
    let flips = about.windows(2).filter(|y| y[0] * y[1] < 0.0).count();
    println!("angular momentum {:.1e}, its direction {turned:.1e}, energy {:.1e}, {flips} flips", worst[0], worst[1]);
    assert!(worst[0] < 1e-4 && worst[1] < 1e-3 && turned < 0.02 && flips >= 2);
}

const HEAD: &str = "format = 1\n[material.rubber]\nyoung_modulus = 2e5\npoisson_ratio = 0.3\ndensity = 1000.0\n";
const FLOOR: &str = "[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n";

/// A soft cube of 0.1 m whose lower face is at height `y`.
fn cube(name: &str, y: f64) -> String {
    format!(
        "[[body]]\nname = \"{name}\"\nshape = {{ type = \"box\", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }}\norigin = \"bottom\"\n\
         position = [0.0, {y}, 0.0]\nmaterial = \"rubber\"\n"
    )
}

#[test]
fn a_pile_stands_on_its_weight() {
    let slab = "[[body]]\nname = \"slab\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.12, 0.03, 0.12] }\norigin = \"bottom\"\n\
                position = [0.005, 0.1002, 0.003]\n";
    let text = format!(
        "{HEAD}stiffness_damping = 0.01\n[simulation]\ntime_step = 0.005\n{}{slab}{}{FLOOR}",
        cube("low", 1e-4),
        cube("high", 0.1304)
    );
    let mut pile = open(&text).unwrap();
    run(&mut pile, 1.0, ignore);
    let weight = mass(&pile) * G;
    run(&mut pile, 1.2, |pile, report| {
        let carried = force_of(pile, BodyRef::Obstacle(0), report);
        assert!((carried / weight - Vec3::y()).norm() < 0.01, "the floor carries {carried} N of {weight} N");
    });
    assert_sound(&mut pile, 2);
}

/// Two balls that meet in empty space, a little beside the centre, keep their momentum and gain no energy.
#[track_caller]
fn assert_free_collision(second: &str, friction: f64) {
    let text = format!(
        "{HEAD}[simulation]\ntime_step = 0.001\ngravity = [0.0, 0.0, 0.0]\ntolerance = 1e-6\n[contact]\nfriction = {friction}\n\
         [[body]]\nname = \"a\"\nshape = {{ type = \"sphere\", radius = 0.05, resolution = 4 }}\nmaterial = \"rubber\"\n\
         velocity = [1.0, 0.0, 0.0]\n{second}"
    );
    let mut balls = open(&text).unwrap();
    let (before, start) = (momentum(&mut balls), energy(&mut balls).total);
    let scale = before.norm().max(0.3);
    let (mut most, mut last, mut rise) = (0.0f64, start, 0.0f64);
    run(&mut balls, 0.15, |balls, _| {
        most = most.max((momentum(balls) - before).norm() / scale);
        let now = energy(balls).total;
        rise = rise.max(now - last);
        last = now;
    });
    println!("momentum changes by {most:.1e}, energy {start:.4} -> {last:.4} J, largest rise in a step {:.1e}", rise / start);
    assert_sound(&mut balls, 1);
    assert!(most < 1e-6);
    assert!(rise < 1e-3 * start && last < 1.001 * start);
}

#[test]
fn soft_balls_collide_freely() {
    for friction in [0.0, 0.5] {
        let second = "[[body]]\nname = \"b\"\nshape = { type = \"sphere\", radius = 0.05, resolution = 4 }\nposition = [0.12, 0.03, 0.01]\n\
                      material = \"rubber\"\nvelocity = [-0.5, 0.0, 0.0]\n";
        assert_free_collision(second, friction);
    }
}

#[test]
fn a_soft_and_a_rigid_ball_collide_freely() {
    for friction in [0.0, 0.5] {
        let second = "[[body]]\nname = \"b\"\nkind = \"rigid\"\nshape = { type = \"icosphere\", radius = 0.05, level = 2 }\n\
                      position = [0.12, 0.03, 0.01]\nvelocity = [-0.5, 0.0, 0.0]\n";
        assert_free_collision(second, friction);
    }
}

/// Acceleration [m/s^2] down a slope of a soft block of `size` [m] on another body's mesh, and its speed at the end
/// [m/s]; all else is scaled with the size.
fn slide(ground: &str, size: f64, mu: f64, angle: f64) -> [f64; 2] {
    let (unit, second) = (size / 0.2, f64::sqrt(size / 0.2));
    let (dt, tolerance, young, damping) = (0.005 * second, 5e-6 * unit, 5e5 * unit, 0.005 * second);
    let gravity = [G * angle.sin(), -G * angle.cos(), 0.0];
    let ground = match ground {
        "static" => format!("kind = \"static\"\nmesh = \"cube.off\"\nscale = {}\nposition = [0.0, {}, 0.0]\n", 1.1 * unit, -1.1 * unit),
        _ => format!(
            "kind = \"rigid\"\nmass = {}\nshape = {{ type = \"box\", size = [{}, {}, {}] }}\nposition = [0.0, {}, 0.0]\n\
             [[body]]\nname = \"base\"\nkind = \"static\"\nshape = {{ type = \"plane\" }}\nposition = [0.0, {}, 0.0]\n\
             [[contact.pair]]\na = \"ground\"\nb = \"base\"\nfriction = 2.0\n",
            1e3 * unit.powi(3),
            2.2 * unit,
            0.2 * unit,
            1.1 * unit,
            -0.1 * unit,
            -0.2 * unit - tolerance
        ),
    };
    let text = format!(
        "format = 1\n[simulation]\ntime_step = {dt:?}\ngravity = {gravity:?}\n[contact]\nfriction = {mu}\ntolerance = {tolerance:?}\n\
         [material.rubber]\nyoung_modulus = {young:?}\npoisson_ratio = 0.3\ndensity = 1000.0\nstiffness_damping = {damping:?}\n\
         [[body]]\nname = \"block\"\nshape = {{ type = \"box\", size = [{:?}, {:?}, {:?}], cells = [3, 2, 3] }}\norigin = \"bottom\"\n\
         rotation = [0.0, 20.0, 0.0]\nposition = [{:?}, {:?}, {:?}]\nmaterial = \"rubber\"\n[[body]]\nname = \"ground\"\n{ground}",
        size,
        0.5 * size,
        size,
        -0.4 * unit,
        1e-4 * unit,
        0.07 * unit
    );
    let mut block = open(&text).unwrap();
    let body_mass = block.model().bodies[0].mass;
    let speed = |block: &mut Simulation| {
        let (model, state) = (block.model().clone(), block.state().unwrap());
        state.velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum::<Vec3>().x / body_mass
    };
    run(&mut block, 0.3 * second, ignore);
    let (before, at) = (speed(&mut block), block.time());
    run(&mut block, 0.5 * second, ignore);
    assert_sound(&mut block, 2);
    let after = speed(&mut block);
    [(after - before) / (block.time() - at), after]
}

#[test]
fn blocks_of_every_size_stick_and_slide_on_meshes() {
    let mut wrong = vec![];
    for (ground, size) in [("static", 1e-3), ("static", 1e-2), ("static", 0.1), ("static", 1.0), ("static", 10.0), ("rigid", 0.2)] {
        for (mu, ratio) in [(0.4, 0.9), (0.4, 1.3)] {
            let angle = f64::atan(mu * ratio);
            let [acceleration, speed] = slide(ground, size, mu, angle);
            let wanted = if ratio > 1.0 { G * (angle.sin() - mu * angle.cos()) } else { 0.0 };
            println!("{ground} {size} m, tan/mu {ratio}: {acceleration:.5} of {wanted:.5} m/s^2, speed {speed:.1e} m/s");
            let holds = if ratio > 1.0 {
                (acceleration / wanted - 1.0).abs() < 0.01
            } else {
                speed.abs() < 1e-3 * f64::sqrt(G * size) && acceleration.abs() < 1e-2
            };
            if !holds {
                wrong.push((ground, size, ratio, acceleration, wanted));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_ring_pressed_flat_meets_itself() {
    let text = format!(
        "{HEAD}stiffness_damping = 0.002\n[simulation]\ntime_step = 0.002\n\
         [[body]]\nname = \"ring\"\nshape = {{ type = \"ring\", radius = 0.09, width = 0.02, height = 0.06, segments = 18 }}\n\
         rotation = [90.0, 0.0, 0.0]\nposition = [0.0, 0.1005, 0.0]\nmaterial = \"rubber\"\n\
         [[body]]\nname = \"press\"\nkind = \"driven\"\nshape = {{ type = \"box\", size = [0.5, 0.05, 0.5] }}\norigin = \"bottom\"\n\
         position = [0.0, 0.202, 0.0]\nmotion = {{ keyframes = [{{ time = 0.0 }}, {{ time = 0.4, position = [0.0, -0.163, 0.0] }}] }}\n{FLOOR}"
    );
    let mut ring = open(&text).unwrap();
    let mut met_itself = 0;
    run(&mut ring, 0.5, |_, report| met_itself += u32::from(report.contact.pairs.iter().any(|p| p.bodies == [BodyRef::Deformable(0); 2])));
    assert_sound(&mut ring, 10);
    assert!(met_itself > 10, "{met_itself} steps");
}

#[test]
fn a_start_with_overlaps_is_refused_with_a_remedy() {
    let two = |y: f64| open(&format!("{HEAD}{}{}{FLOOR}", cube("low", 1e-4), cube("high", y)));
    let Err(SimulationError::Overlap(error)) = two(0.0901) else { panic!("it started") };
    let overlap = &error.named[0];
    assert_eq!((overlap.bodies.each_ref().map(String::as_str), overlap.moved, error.more), (["low", "high"], 1, 0));
    assert!((overlap.depth - 0.01).abs() < 1e-9, "{}", overlap.depth);
    let way_out = overlap.way_out;
    assert!(way_out.y > 0.01 && way_out.y < 0.0103 && way_out.xz().norm() == 0.0, "{way_out}");
    assert!(
        error.to_string().contains("\"low\" and \"high\" overlap at the start, 0.01 m deep; add [0, 0.011, 0] to the position of \"high\"")
    );
    // What it says mends it.
    two(0.0901 + way_out.y).unwrap();

    let Err(SimulationError::Overlap(error)) = open(&format!("{HEAD}{}{FLOOR}", cube("low", -0.02))) else { panic!("it started") };
    assert!(
        error.to_string().contains("\"low\" and \"floor\" overlap at the start, 0.02 m deep; add [0, 0.021, 0] to the position of \"low\"")
    );
    // This little is put out gently.
    let mut gentle = open(&format!("{HEAD}{}{FLOOR}", cube("low", -1.5e-5))).unwrap();
    gentle.step().unwrap();
    assert_eq!(gentle.penetration().unwrap(), 0.0);
    assert!(momentum(&mut gentle).y / mass(&gentle) < 0.01);
}

/// Boxes put on one another by round numbers, face on face; 0.1 + 0.2 is a little more than 0.3.
#[test]
fn stacks_that_touch_exactly_at_the_start_stand() {
    let stack = |kinds: &[&str], aside: f64, floor: &str| {
        let mut text = "format = 1\n[contact]\nfriction = 0.5\n[material.rubber]\nyoung_modulus = 2e5\n".to_owned();
        for (i, (kind, y)) in kinds.iter().zip([0.0, 0.1, 0.2, 0.1 + 0.2]).enumerate() {
            let what = if *kind == "rigid" { "density = 1000" } else { "material = \"rubber\"" };
            let x = aside * i as f64;
            text += &format!(
                "[[body]]\nname = \"c{i}\"\nkind = \"{kind}\"\nshape = {{ type = \"box\", size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }}\n{what}\n\
                 origin = \"bottom\"\nposition = [{x}, {y}, {x}]\n"
            );
        }
        let mut stack = open(&format!("{text}[[body]]\nname = \"floor\"\nkind = \"static\"\n{floor}\n")).unwrap();
        let before = centers(&mut stack);
        run(&mut stack, 0.5, ignore);
        let report = assert_sound(&mut stack, 0);
        assert!(
            (report.contact.normal_force_total / (G * mass(&stack)) - (1..=kinds.len()).sum::<usize>() as f64 / kinds.len() as f64).abs()
                < 0.05
        );
        for (a, b) in before.iter().zip(centers(&mut stack)) {
            assert!((a - b).norm() < 0.01, "{kinds:?} {aside}: from {a} to {b}");
        }
    };
    let plane = "shape = { type = \"plane\" }";
    let table = "shape = { type = \"box\", size = [1, 0.2, 1] }\nposition = [0, -0.1, 0]";
    stack(&["deformable"; 3], 0.0, plane);
    stack(&["deformable"; 2], 0.013, table);
    stack(&["rigid"; 4], 0.0, plane);
    stack(&["rigid", "deformable", "rigid"], 0.013, table);
}

/// Formats before have no parameters, grabs and checksum, and the older one has eight numbers a contact, without its
/// slip.
#[test]
fn states_of_formats_before_are_read() {
    let path = std::env::temp_dir().join(format!("pliant-before-{}.state", std::process::id()));
    let [mut first, mut second] = [(); 2].map(|()| reduced("s8_bearing", &[]));
    run(&mut first, 0.05, ignore);
    first.save(&path).unwrap();
    let mut wanted = first.state().unwrap().clone();
    let contacts = wanted.contacts.entries.len();
    assert!(contacts > 0);
    let bytes = std::fs::read(&path).unwrap();
    let (content, _checksum) = bytes.split_at(bytes.len() - 8);
    let header_end = content.iter().position(|b| *b == b'\n').unwrap();
    let header = std::str::from_utf8(&content[..header_end]).unwrap();
    let header = |format: &str| header.split_once(",\"params\"").unwrap().0.replace("pliant state 4", format) + "}";
    let (others, entries) = content[header_end..].split_at(content.len() - header_end - 88 * contacts);
    let without_slips: Vec<u8> = entries.chunks_exact(88).flat_map(|entry| &entry[..64]).copied().collect();
    for (format, entries) in [("pliant state 3", entries), ("pliant state 2", &without_slips)] {
        std::fs::write(&path, [header(format).as_bytes(), others, entries].concat()).unwrap();
        second.resume(&path).unwrap();
        for entry in &mut wanted.contacts.entries {
            entry.place = None;
            entry.slip = if format == "pliant state 2" { Vec3::zeros() } else { entry.slip };
        }
        let found = second.state().unwrap();
        assert_eq!((state_hash(found), &found.contacts), (state_hash(&wanted), &wanted.contacts), "{format}");
    }
    std::fs::remove_file(path).unwrap();
}

/// Whatever a solver keeps between steps must not tell.
#[test]
fn a_saved_run_goes_on_as_if_it_had_not_stopped() {
    let path = std::env::temp_dir().join(format!("pliant-resumed-{}.state", std::process::id()));
    for (name, time) in [("s2_rings_in_box", 0.3), ("s8_bearing", 0.05)] {
        let [mut whole, mut first, mut second] = [(); 3].map(|()| reduced(name, &[]));
        run(&mut whole, time, ignore);
        run(&mut first, 0.7 * time, ignore);
        first.save(&path).unwrap();
        second.resume(&path).unwrap();
        run(&mut second, time, ignore);
        assert!(!whole.state().unwrap().contacts.entries.is_empty(), "{name} touches nothing");
        assert_eq!(state_hash(whole.state().unwrap()), state_hash(second.state().unwrap()), "{name}");
    }
    std::fs::remove_file(path).unwrap();
}
