//! Bodies that slide over the edges of others (`collision-detection.md` A12, fact 7).

use pliant::math::Vec3;

use crate::objects::{open, run};

/// A floor of 0.4 m in front of a slope (in x) of that length with the given rise [m], as one closed mesh in OFF; both 0.6 m wide.
fn ramp(rise: f64) -> String {
    let profile = [[-0.4, 0.0], [0.0, 0.0], [0.4, rise], [0.4, -0.5], [-0.4, -0.5]];
    let mut text = "OFF\n10 16 0\n".to_owned();
    for z in [-0.3, 0.3] {
        profile.iter().for_each(|[x, y]| text += &format!("{x} {y} {z}\n"));
    }
    for [a, b, c] in [[0, 1, 4], [1, 3, 4], [1, 2, 3]] {
        text += &format!("3 {a} {b} {c}\n3 {} {} {}\n", a + 5, c + 5, b + 5);
    }
    for i in 0..5 {
        let j = (i + 1) % 5;
        text += &format!("3 {i} {} {j}\n3 {j} {} {}\n", i + 5, i + 5, j + 5);
    }
    text
}

/// A soft block slides from the floor onto the slope: down over a convex edge, or up over a concave one.
fn slide_over(rise: f64) {
    let path = std::env::temp_dir().join(format!("pliant-ramp-{}-{rise}.off", std::process::id()));
    std::fs::write(&path, ramp(rise)).unwrap();
    let text = format!(
        "format = 1\n[simulation]\ntime_step = 0.005\n[contact]\nfriction = 0.1\n[material.rubber]\nyoung_modulus = 1e5\n\
         stiffness_damping = 0.01\n[[body]]\nname = \"block\"\nshape = {{ type = \"box\", size = [0.1, 0.05, 0.08], cells = [4, 2, 3] }}\n\
         origin = \"bottom\"\nposition = [-0.12, 1e-5, 0.01]\nrotation = [0.0, 17.0, 0.0]\nvelocity = [1.6, 0.0, 0.0]\nmaterial = \"rubber\"\n\
         [[body]]\nname = \"ramp\"\nkind = \"static\"\nmesh = {:?}\n",
        path
    );
    let mut simulation = open(&text).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (mut deepest, mut lowest, mut last) = (0.0f64, f64::INFINITY, Vec3::zeros());
    run(&mut simulation, 0.25, |simulation, _| {
        deepest = deepest.max(simulation.penetration().unwrap());
        let (model, state) = (simulation.model().clone(), simulation.state().unwrap());
        let surface = model.surface_positions(&state.positions(&model));
        // Height over the profile, without looking at the mesh.
        lowest = surface.iter().map(|p| p.y - rise * (p.x / 0.4).max(0.0)).fold(lowest, f64::min);
        last = surface.iter().sum::<Vec3>() / surface.len() as f64;
    });
    println!("rise {rise}: deepest {deepest:.1e} m, lowest {lowest:.1e} m over the profile, ends at {:?}", last.as_slice());
    assert!(last.x > 0.1, "it slides over the edge, and ends at {last}");
    assert!(deepest == 0.0 && lowest > 0.0, "{deepest} m deep, {lowest} m over the profile");
    // It lies on the slope: not stopped by the edge, and not flown far.
    assert!(last.y - rise * last.x / 0.4 < 0.06, "{last}");
}

#[test]
fn a_block_slides_down_over_a_convex_edge() {
    slide_over(-0.08);
}

#[test]
fn a_block_slides_up_over_a_concave_edge() {
    slide_over(0.06);
}

/// A soft plate is thrown over the rim of a drum: one triangle meets the cap and the mantle, whose normals are square to
/// each other, and its row is not to flip between them.
#[test]
fn what_lies_over_a_rim_converges() {
    for (velocity, cells) in [("[-1.0, -2.0, 0.2]", 1), ("[-2.0, -1.0, 0.5]", 1), ("[-1.0, -2.0, 0.2]", 8)] {
        let text = format!(
            "format = 1\n[contact]\nfriction = 0.5\n[material.gum]\nyoung_modulus = 2e5\npoisson_ratio = 0.4\n\
             [[body]]\nname = \"plate\"\nmaterial = \"gum\"\nshape = {{ type = \"box\", size = [0.4, 0.05, 0.4], cells = [{cells}, 1, {cells}] }}\n\
             position = [0.12, 0.26, 0.03]\nrotation = [0.0, 0.0, 40.0]\nvelocity = {velocity}\n\
             [[body]]\nname = \"drum\"\nkind = \"static\"\nshape = {{ type = \"cylinder\", radius = 0.06, height = 0.2 }}\n"
        );
        let mut simulation = open(&text).unwrap();
        let (mut contacts, mut unconverged, mut attempts, mut steps, mut most_renewals) = (0, 0, 0, 0, 0);
        run(&mut simulation, 0.4, |simulation, report| {
            contacts += report.contact.contacts;
            unconverged += u32::from(!report.converged);
            (attempts, steps) = (attempts + report.attempts, steps + 1);
            most_renewals = most_renewals.max(report.relinearisations);
            assert_eq!(simulation.penetration().unwrap(), 0.0, "{velocity}");
        });
        println!(
            "{velocity}: {attempts} attempts at {steps} steps, {unconverged} unconverged, {contacts} contacts, {most_renewals} renewals at most"
        );
        assert!(contacts > 0, "{velocity}: it misses the drum");
        assert!(unconverged == 0 && attempts == steps, "{velocity}: {attempts} attempts at {steps} steps, {unconverged} unconverged");
        assert!(most_renewals < 15, "{velocity}: rows are renewed {most_renewals} times in a step");
    }
}
