//! Materials that are changed while a simulation runs, and bodies of several materials, on both backends.

use super::warnings::{Kind, Warnings};
use super::*;
use crate::material::{MaterialModel, Plasticity, StretchLimits};

/// The material of the scenes.
fn scene_material() -> Material {
    Material { young_modulus: 5e4, ..Material::default() }
}

/// How far the free end of the bar hangs down once it is at rest [m].
fn sag(simulation: &mut Simulation, material: Material) -> f64 {
    simulation.apply(&Command::SetMaterial(soft(Material { mass_damping: 30.0, ..material }))).unwrap();
    simulation.apply(&Command::SetTimeStep(0.05)).unwrap();
    steps(simulation, 60);
    let positions = simulation.node_positions().unwrap();
    let rest = &simulation.model().rest_positions;
    rest.iter().zip(&positions).map(|(rest, now)| rest.y - now.y).fold(0.0, f64::max)
}

/// The same simulation hangs as one that was opened with the other material, and back again.
#[test]
fn a_bar_sags_as_its_present_material_lets_it() {
    for &(backend, text) in CASES.iter().filter(|(_, text)| *text == BAR) {
        let bar = Material { young_modulus: 2e6, ..scene_material() };
        let mut simulation = simulation(backend, text, &[]);
        let first = sag(&mut simulation, bar);
        let stiff = sag(&mut simulation, Material { young_modulus: 8e6, ..bar });
        let heavy = sag(&mut simulation, Material { young_modulus: 8e6, density: 2000.0, ..bar });
        let again = sag(&mut simulation, bar);
        let opened = sag(&mut super::simulation(backend, text, &["material.soft.young_modulus=2e6"]), bar);
        // Small deflections are as weight to stiffness.
        assert!((3.7..4.1).contains(&(first / stiff)), "{backend:?}: {first} {stiff}");
        assert!((1.9..2.05).contains(&(heavy / stiff)), "{backend:?}: {heavy} {stiff}");
        assert!((again / first - 1.0).abs() < 3e-3, "{backend:?}: {again} {first}");
        assert!((opened / first - 1.0).abs() < 3e-3, "{backend:?}: {opened} {first}");
        // Models differ where strains are large.
        let linear = sag(&mut simulation, Material { young_modulus: 1e5, ..bar });
        let hyperelastic = sag(&mut simulation, Material { young_modulus: 1e5, model: MaterialModel::StableNeoHookean, ..bar });
        assert!((2e-3..0.2).contains(&(hyperelastic / linear - 1.0).abs()), "{backend:?}: {hyperelastic} {linear}");
    }
}

/// A change that is taken back before a step leaves nothing behind, and one that is not makes another run.
#[test]
fn a_change_is_undone_by_the_material_from_before() {
    for &(backend, text) in CASES.iter().filter(|(_, text)| [LANDING, BAR].contains(text)) {
        let [mut plain, mut undone, mut changed] = [(); 3].map(|()| simulation(backend, text, &[]));
        for simulation in [&mut plain, &mut undone, &mut changed] {
            steps(simulation, 3);
        }
        for simulation in [&mut undone, &mut changed] {
            simulation
                .apply(&Command::SetMaterial(soft(Material { young_modulus: 1e5, poisson_ratio: 0.4, density: 500.0, ..scene_material() })))
                .unwrap();
        }
        undone.apply(&Command::SetMaterial(soft(scene_material()))).unwrap();
        for simulation in [&mut plain, &mut undone, &mut changed] {
            steps(simulation, 3);
        }
        assert!(state(&mut undone) == state(&mut plain), "{backend:?}");
        assert!(state(&mut changed) != state(&mut plain), "{backend:?}");
        assert_eq!(undone.log().entries.len(), 1, "no step has seen the first change");
        assert!(undone.model().node_masses == plain.model().node_masses && undone.changed_materials().is_empty());
        let ratio = changed.model().bodies[0].mass / plain.model().bodies[0].mass;
        assert!((ratio - 0.5).abs() < 1e-12, "{ratio}");
    }
}

/// A soft block of rubber that hits a floor at 10 m/s: what its law cannot do in one step is taken back and done in
/// halves, the element that keeps it from that is named, and no energy comes from it.
#[test]
fn a_step_that_a_law_cannot_do_is_halved_and_its_element_is_named() {
    const IMPACT: &str = "format = 1\n[material.soft]\nmodel = \"neo_hookean\"\nyoung_modulus = 1e5\npoisson_ratio = 0.49\n\
        [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n\
        [[body]]\nname = \"block\"\nmaterial = \"soft\"\nelement = \"linear\"\n\
        shape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [3, 3, 3] }\nposition = [0.0, 0.1001, 0.0]\nvelocity = [0.0, -10.0, 0.0]\n";
    let mut simulation = simulation(BackendChoice::Cpu, IMPACT, &[]);
    let start = simulation.report(0.0).unwrap().energy.total;
    let first = simulation.step().unwrap();
    let cause = first.taken_back.unwrap_or_default();
    let told = "“block” would have gained energy, most of it in its tet ";
    assert!(first.attempts >= 3 && cause.contains(told), "{} attempts: {cause}", first.attempts);
    let tet: usize = cause.split(told).nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    assert!(tet < simulation.model().tets.len(), "{cause}");
    for _ in 0..30 {
        simulation.step().unwrap();
        let energy = simulation.report(0.0).unwrap().energy.total;
        assert!(energy < 1.001 * start, "{energy} of {start}");
    }
}

/// Elements of several tets begin to flow while they run, and spring back to where they have flowed, and stretch no
/// further from now on; degeneration ratios are for linear tets, which are chosen at the start.
#[test]
fn elements_of_several_tets_flow_and_stiffen_from_now_on() {
    let bar = || simulation(BackendChoice::Cpu, BAR, &["body.bar.element=quadratic", "body.bar.shape.cells=[4,1,1]"]);
    let mut simulation = bar();
    steps(&mut simulation, 10);
    let flow = Plasticity { yield_strain: 0.005, creep: 50.0, max_strain: 1.0 };
    simulation.apply(&Command::SetMaterial(soft(Material { plasticity: Some(flow), ..scene_material() }))).unwrap();
    steps(&mut simulation, 10);
    let n = simulation.model().tets.len();
    let rows = simulation.state().unwrap().rotations[n..].to_vec();
    assert_eq!(rows.len(), n * crate::material::PLASTIC_ROWS);
    assert!(rows.iter().flatten().any(|x| x.abs() > 1e-3), "it has flowed");
    let after = |stretch_limits| {
        let mut simulation = bar();
        steps(&mut simulation, 10);
        simulation.apply(&Command::SetMaterial(soft(Material { stretch_limits, ..scene_material() }))).unwrap();
        steps(&mut simulation, 10);
        simulation.state().unwrap().displacements.iter().map(|u| u.y).fold(0.0, f64::min)
    };
    let [unlimited, limited] = [None, StretchLimits::new(None, Some(1.001))].map(after);
    assert!(limited > unlimited + 1e-4, "{limited} {unlimited}");
    let ratio = Material { degeneration_ratio: Some(0.2), ..scene_material() };
    let error = simulation.apply(&Command::SetMaterial(soft(ratio))).unwrap_err();
    assert!(error.to_string().contains("element = \"linear\""), "{error}");
}

#[test]
fn a_material_that_cannot_be_is_refused_and_nothing_changes() {
    let mut simulation = simulation(BackendChoice::Cpu, BAR, &[]);
    let before = simulation.model().clone();
    let limits = |min, max| soft(Material { stretch_limits: Some(StretchLimits { min, max }), ..scene_material() });
    let flow = Plasticity { yield_strain: 0.1, creep: 10.0, max_strain: 1.0 };
    let flows = |flow| soft(Material { plasticity: Some(flow), ..scene_material() });
    for (wrong, told) in [
        (limits(Some(1.2), None), "material \"soft\": min_stretch: expected a number > 0 and <= 1, found 1.2"),
        (limits(Some(0.0), None), "min_stretch: expected a number > 0 and <= 1, found 0"),
        (limits(Some(0.8), Some(0.9)), "max_stretch: expected a number >= 1 and <= 100, found 0.9"),
        (limits(None, Some(f64::NAN)), "max_stretch: expected a number >= 1 and <= 100, found NaN"),
        (flows(Plasticity { yield_strain: 0.0, ..flow }), "yield_strain: expected a number > 0 and <= 10, found 0"),
        (flows(Plasticity { creep: -1.0, ..flow }), "creep: expected a number >= 0"),
        (flows(Plasticity { max_strain: f64::INFINITY, ..flow }), "max_plastic_strain: expected a number > 0 and <= 10, found inf"),
        (
            soft(Material { degeneration_ratio: Some(2.0), ..scene_material() }),
            "degeneration_ratio: expected a number > 0 and <= 0.9, found 2",
        ),
        (
            soft(Material { degeneration_ratio: Some(0.2), model: MaterialModel::NeoHookean, ..scene_material() }),
            "degeneration_ratio: this is of the model corotational, and this material is neo_hookean; remove it or change the model",
        ),
        (soft(Material { mooney_share: 0.4, ..scene_material() }), "mooney_share: expected a number >= 0 and <= 0.3, found 0.4"),
        (soft(Material { mass_damping: -1.0, ..scene_material() }), "mass_damping: expected a number >= 0"),
        (soft(Material { stiffness_damping: f64::NAN, ..scene_material() }), "stiffness_damping: expected a number >= 0"),
        (
            soft(Material { poisson_ratio: 0.5, ..scene_material() }),
            "material \"soft\": poisson_ratio: expected a number >= 0 and <= 0.499, found 0.5",
        ),
        (soft(Material { young_modulus: -1.0, ..scene_material() }), "young_modulus: expected a number > 0"),
        (soft(Material { density: f64::NAN, ..scene_material() }), "density: expected"),
        (NamedMaterial { name: "gum".into(), material: scene_material() }, "there is no material \"gum\"; the scene has \"soft\""),
    ] {
        let error = simulation.apply(&Command::SetMaterial(wrong)).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    assert!(Arc::ptr_eq(&before, simulation.model()) && simulation.log().entries.is_empty());
}

/// Two bars in a row, of which one is stiffer and lighter: what hangs at the end draws both alike, so that their
/// elongations are as 1 / E. (nu = 0: a bar in tension is uniform.)
const CHAIN: &str = r#"
format = 1
[simulation]
gravity = [0, 0, 0]
time_step = 0.05
tolerance = 1e-6
[material.soft]
young_modulus = 5e4
poisson_ratio = 0.0
mass_damping = 30.0
[material.hard]
young_modulus = 2e5
poisson_ratio = 0.0
density = 500
mass_damping = 30.0
[[body]]
name = "bar"
material = "soft"
shape = { type = "box", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }
fix = [{ side = "x-" }]
self_contact = "off"
region = [{ material = "hard", min = [0, -1, -1], max = [1, 1, 1] }]
[[force]]
body = "bar"
region = { side = "x+" }
force = [2.0, 0, 0]
"#;

#[test]
fn parts_of_a_body_give_way_by_their_own_stiffness() {
    for &(backend, _) in CASES.iter().filter(|(_, text)| *text == BAR) {
        for model in ["corotational", "stable_neo_hookean"] {
            let mut simulation = simulation(backend, CHAIN, &[&format!("material.hard.model={model}")]);
            assert!((simulation.model().bodies[0].mass - 0.004 * 0.75 * 1000.0).abs() < 1e-12);
            steps(&mut simulation, 80);
            let positions = simulation.node_positions().unwrap();
            let rest = simulation.model().rest_positions.clone();
            let at = |x: f64| {
                let there = || rest.iter().zip(&positions).filter(move |(rest, _)| (rest.x - x).abs() < 1e-9);
                there().map(|(rest, now)| now.x - rest.x).sum::<f64>() / there().count() as f64
            };
            // F L / (A E) of .15 m each: the force on nodes of unlike weights disturbs the end.
            let (soft, hard) = (at(0.0) - at(-0.15), at(0.15) - at(0.0));
            let want = 2.0 * 0.15 / (0.01 * 5e4);
            assert!((soft / want - 1.0).abs() < 0.03, "{backend:?} {model}: {soft} {want}");
            assert!((hard / want * 4.0 - 1.0).abs() < 0.03, "{backend:?} {model}: {hard} {want}");
        }
    }
}

/// A bar that hangs on its end, of a law that is no longer that of any solid where it is drawn to twice its length.
#[test]
fn what_is_deformed_beyond_its_model_is_told_once() {
    for (model, is_beyond) in [(MaterialModel::Corotational, true), (MaterialModel::NeoHookean, false)] {
        let mut simulation = simulation(BackendChoice::Cpu, BAR, &[]);
        let material = Material { model, young_modulus: 2e4, poisson_ratio: 0.0, mass_damping: 10.0, ..scene_material() };
        simulation.apply(&Command::SetMaterial(soft(material))).unwrap();
        simulation.apply(&Command::SetGravity(Vec3::x() * 60.0)).unwrap();
        let mut warnings = Warnings::of_scene(simulation.model());
        for step in 1..=64 {
            let report = simulation.step().unwrap();
            // Other steps do not look.
            assert!(report.beyond_range.is_empty() || step % LOOK_EVERY == 0, "{step}");
            warnings.take(&report, step, simulation.model(), 1);
        }
        let told = warnings.list().iter().filter(|warning| matches!(warning.kind, Kind::BeyondRange(_)));
        let told: Vec<&str> = told.map(|warning| &*warning.text).collect();
        let sentences = simulation.report(0.0).unwrap().faults.beyond_range;
        if !is_beyond {
            assert!(told.is_empty() && sentences.is_empty(), "{model:?}: {told:?}");
            continue;
        }
        let [text] = told[..] else { panic!("{told:?}") };
        assert!(text.starts_with("“bar” is deformed beyond what its material can hold, "), "{text}");
        assert!(
            text.contains("which is 2.") && text.contains("holds up to 2.00. The model is `corotational`. Its law is linear"),
            "{text}"
        );
        assert!(sentences.len() == 1 && sentences[0].starts_with("“bar” is deformed beyond"), "{sentences:?}");
    }
}

/// A bar whose half at the wall is painted hangs as one with a region there, to the bit, and less than without.
#[test]
fn a_painted_bar_bends_as_its_parts_let_it() {
    let tip = |region: &str| {
        let flags = ["material.stiff={ young_modulus = 1e6 }".to_owned(), format!("body.bar.region=[{region}]")];
        let mut simulation = simulation(BackendChoice::Cpu, BAR, &flags.each_ref().map(String::as_str));
        steps(&mut simulation, 30);
        let positions = simulation.node_positions().unwrap();
        (positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min), positions)
    };
    // A ball so large that its border is as a plane at x = 0.
    let ball = "spheres = [{ center = [-100, 0, 0], radius = 100 }]";
    let (painted, by_stroke) = tip(&format!("{{ material = \"stiff\", {ball} }}"));
    let (_, by_box) = tip("{ material = \"stiff\", min = [-1, -1, -1], max = [0, 1, 1] }");
    assert!(by_stroke == by_box);
    let (soft, _) = tip("");
    assert!(painted > soft + 2e-3, "{painted} {soft}");
    let (erased, _) = tip(&format!("{{ material = \"stiff\", {ball} }}, {{ {ball} }}"));
    assert_eq!(erased, soft);
}
