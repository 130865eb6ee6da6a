//! Bodies that touch with another surface than the one that is drawn.

use pliant::math::Vec3;
use pliant::mesh::{shapes, write_obj};
use pliant::scene::{self, BackendChoice, Scene};
use pliant::sim::report::state_hash;
use pliant::sim::{Options, Simulation};

use crate::objects::{open, run};

/// A ball in tets of 8 cells that is drawn with 20 * 4^`level` triangles, a little over the floor.
fn ball(level: u32, collision: &str) -> String {
    format!(
        "format = 1\n[material.rubber]\nyoung_modulus = 3e4\nstiffness_damping = 0.02\n\
         [[body]]\nname = \"ball\"\nshape = {{ type = \"icosphere\", radius = 0.05, level = {level}, resolution = 8 }}\norigin = \"bottom\"\n\
         position = [0.0, 0.001, 0.0]\nmaterial = \"rubber\"\ncollision_surface = \"{collision}\"\n\
         [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = {{ type = \"plane\" }}\n"
    )
}

/// Height of the lowest drawn vertex [m].
fn lowest_drawn(simulation: &mut Simulation) -> f64 {
    let (model, state) = (simulation.model().clone(), simulation.state().unwrap());
    model.surface_positions(&state.positions(&model)).iter().map(|p| p.y).fold(f64::INFINITY, f64::min)
}

/// Runs a scene with what is drawn and with the tets as what touches, until it rests; returns the points that can touch
/// and those that do in the mean. What touches must end on the floor, and what is drawn a hundredth of a cell over the
/// tets.
fn rested(scene: impl Fn(&str) -> String) -> [(usize, f64); 2] {
    let margin = 0.01 * 0.1 / 7.98;
    [("drawn", 0.0), ("tets", margin)].map(|(collision, over)| {
        let mut simulation = open(&scene(collision)).unwrap();
        run(&mut simulation, 0.15, |_, _| ());
        let report = simulation.report(0.0).unwrap();
        assert_eq!((report.contact.max_penetration, report.faults.missed_candidates), (Some(0.0), Some(0)), "{collision}");
        let (lowest, drawn) = (report.bodies[0].lowest.unwrap(), lowest_drawn(&mut simulation));
        let (contacts, ms) = (report.contact.contacts.mean, report.timing.ms_per_step.unwrap().mean);
        println!("{collision}: lowest {lowest:.2e} m, drawn {drawn:.2e} m, {contacts:.1} contacts, {ms:.1} ms a step");
        // Gaps of what touches end within the contact tolerance.
        assert!(lowest > 0.0 && lowest < 5e-6, "{collision}: {lowest} m over the floor");
        assert!(
            (drawn - lowest - over).abs() < 0.3 * margin,
            "{collision}: drawn {drawn} m over the floor, and {over} m over what touches"
        );
        (simulation.model().collision.n_vertices(), contacts)
    })
}

#[test]
fn a_finely_drawn_ball_rests_on_its_tets() {
    let [drawn, tets] = rested(|collision| ball(4, collision));
    assert!(4 * tets.0 < drawn.0, "{drawn:?} {tets:?}");
}

#[test]
fn a_finely_drawn_cube_rests_on_its_tets_with_fewer_contacts() {
    let path = std::env::temp_dir().join(format!("pliant-cube-{}.obj", std::process::id()));
    std::fs::write(&path, write_obj(&shapes::box_tets(Vec3::repeat(0.1), [14; 3]).surface())).unwrap();
    let shape = "shape = { type = \"icosphere\", radius = 0.05, level = 3, resolution = 8 }";
    let [drawn, tets] = rested(|collision| ball(3, collision).replace(shape, &format!("mesh = {path:?}\nresolution = 8")));
    std::fs::remove_file(path).unwrap();
    // Of the drawn points that land together only the deepest of each tet gets a row at first.
    assert!(tets.1 > 0.0 && 1.4 * tets.1 < drawn.1, "{drawn:?} {tets:?}");
}

#[test]
fn a_saved_run_goes_on_as_if_it_had_not_stopped() {
    let path = std::env::temp_dir().join(format!("pliant-collision-{}.state", std::process::id()));
    let [mut whole, mut first, mut second] = [(); 3].map(|()| open(&ball(3, "tets")).unwrap());
    run(&mut whole, 0.1, |_, _| ());
    run(&mut first, 0.06, |_, _| ());
    first.save(&path).unwrap();
    second.resume(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    run(&mut second, 0.1, |_, _| ());
    assert!(!second.state().unwrap().contacts.entries.is_empty(), "it touches nothing");
    assert_eq!(state_hash(whole.state().unwrap()), state_hash(second.state().unwrap()));
}

#[test]
fn residuals_touch_with_it_too() {
    let contacts = |collision: &str| {
        let scene = Scene::from_text("test", "test.toml", &ball(3, collision), None, &["simulation.solver=\"cr\"".into()]).unwrap();
        let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
        let mut simulation = Simulation::new(scene::build(&scene).unwrap(), &options).unwrap();
        run(&mut simulation, 0.1, |_, report| assert!(report.converged, "{report:?}"));
        simulation.tally().last.contact.active
    };
    let [drawn, tets] = ["drawn", "tets"].map(contacts);
    // The ball stands on few of its points, the tets on the flat side of their cells.
    assert!(0 < drawn && drawn < tets, "{drawn} {tets}");
}
