//! Materials: presets, regions of bodies, and what is wrong with them.

use super::*;
use crate::element::ElementKind;
use crate::material::presets::PRESETS;
use crate::material::{Material, MaterialModel};
use crate::model::Model;

/// A bar along x of 8 x 2 x 2 cells around the origin, with lines that follow the declaration of the body.
fn bar(lines: &str) -> String {
    format!(
        "[material.soft]\nyoung_modulus = 1e4\n[material.hard]\nyoung_modulus = 1e6\ndensity = 3000\nmass_damping = 2.0\n[[body]]\nname = \"bar\"\nmaterial = \"soft\"\n\
         shape = {{ type = \"box\", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }}\n{lines}"
    )
}

fn model(lines: &str) -> Model {
    let built = scene(&format!("format = 1\n{}", bar(lines))).and_then(|s| build(&s)).unwrap_or_else(|error| panic!("{error}"));
    std::sync::Arc::unwrap_or_clone(built.model)
}

/// The part of the volume that is made of "hard".
fn hard(model: &Model) -> f64 {
    let of = |tet: &&crate::model::Tet| model.material(tet).young_modulus == 1e6;
    model.tets.iter().filter(of).map(|tet| tet.volume).sum::<f64>() / model.bodies.iter().map(|body| body.volume).sum::<f64>()
}

#[test]
fn regions_choose_tets_and_weigh_by_their_material() {
    for (region, part) in [
        ("min = [0.0, -1, -1], max = [1, 1, 1]", 0.5),
        ("side = \"x+\"", 0.125),
        ("min = [-1, -1, -1], max = [1, 1, 1]", 1.0),
        // A ball over the two last layers of cells, and a stroke of two balls over the outermost one at either end.
        ("spheres = [{ center = [0.2, 0, 0], radius = 0.107 }]", 0.25),
        ("spheres = [{ center = [-0.25, 0, 0], radius = 0.105 }, { center = [0.25, 0, 0], radius = 0.105 }]", 0.25),
    ] {
        let model = model(&format!("region = [{{ material = \"hard\", {region} }}]\n"));
        assert!((hard(&model) - part).abs() < 0.03, "{region}: {}", hard(&model));
        let part = hard(&model);
        let body = &model.bodies[0];
        assert!((body.mass - 0.004 * (1000.0 + 2000.0 * part)).abs() < 1e-12, "{region}: {}", body.mass);
        assert!((model.node_masses.iter().sum::<f64>() - body.mass).abs() < 1e-12);
        // Drag acts on the body as a whole, by mass.
        assert!((body.mass_damping - 2.0 * 3.0 * part / (1.0 + 2.0 * part)).abs() < 1e-12, "{region}: {}", body.mass_damping);
    }
    // What comes later prevails.
    let all = "{ material = \"hard\", min = [-1, -1, -1], max = [1, 1, 1] }";
    let half = "{ material = \"soft\", min = [0, -1, -1], max = [1, 1, 1] }";
    assert!((hard(&model(&format!("region = [{all}, {half}]\n"))) - 0.5).abs() < 1e-12);
    assert!((hard(&model(&format!("region = [{half}, {all}]\n"))) - 1.0).abs() < 1e-12);
    // Copies are alike, wherever they are.
    let copies = format!("region = [{half}, {all}, {half}]\narray = {{ count = [1, 3, 1], pitch = [0, 1, 0] }}\n");
    let model = model(&copies);
    assert!((hard(&model) - 0.5).abs() < 1e-12);
    assert_eq!((model.bodies.len(), model.named_materials.len()), (3, 2));
    assert!(model.bodies.iter().all(|body| (body.mass / model.bodies[0].mass - 1.0).abs() < 1e-12));
}

/// Elements whose centres are in a stroke are of its material, whatever their kind; a tet of ten nodes is of one.
#[test]
fn strokes_choose_elements_of_every_kind() {
    let stroke = "{ material = \"hard\", spheres = [{ center = [0.125, 0, 0], radius = 0.09 }] }";
    for (element, kind) in [("linear", ElementKind::Linear), ("averaged", ElementKind::Averaged), ("quadratic", ElementKind::Quadratic)] {
        let model = model(&format!("element = \"{element}\"\nregion = [{stroke}]\n"));
        assert_eq!(model.bodies[0].element, kind);
        let is_hard: Vec<bool> = model.tets.iter().map(|tet| model.material(tet).young_modulus == 1e6).collect();
        let parts = kind.parts();
        let centers = model.element_centers(0);
        assert_eq!(centers.len() * parts, is_hard.len());
        for (element, center) in is_hard.chunks(parts).zip(centers) {
            let is_inside = (center - Vec3::x() * 0.125).norm() < 0.09;
            assert!(element.iter().all(|tet| *tet == is_inside), "{kind:?}: {center}");
        }
        assert!((0.1..0.6).contains(&hard(&model)), "{kind:?}: {}", hard(&model));
        assert!((model.bodies[0].mass - 0.004 * (1000.0 + 2000.0 * hard(&model))).abs() < 1e-12);
        // What computes has the same: by cells, which are cut where materials meet, and by tets of ten nodes.
        let volume = |materials: &mut dyn Iterator<Item = (u32, f64)>| -> f64 {
            materials.filter(|(material, _)| model.materials[*material as usize].young_modulus == 1e6).map(|(_, volume)| volume).sum()
        };
        let of_patches = match kind {
            ElementKind::Linear => continue,
            ElementKind::Averaged => volume(&mut model.cells.iter().map(|cell| (cell.material, cell.volume()))),
            ElementKind::Quadratic => volume(&mut model.tets10.iter().map(|tet| (tet.material, tet.volume()))),
        };
        assert!((of_patches / 0.004 - hard(&model)).abs() < 1e-9, "{kind:?}: {of_patches}");
    }
}

/// A stroke without a material takes off what strokes before it have painted, and nothing else.
#[test]
fn strokes_are_erased_down_to_what_is_below() {
    let whole = "spheres = [{ center = [0, 0, 0], radius = 1.0 }]";
    let right = "spheres = [{ center = [0.2, 0, 0], radius = 0.107 }]";
    let paint = |spheres: &str| format!("{{ material = \"hard\", {spheres} }}");
    let erase = |spheres: &str| format!("{{ {spheres} }}");
    let part = |regions: &[String]| hard(&model(&format!("region = [{}]\n", regions.join(", "))));
    let quarter = part(&[paint(right)]);
    assert!((quarter - 0.25).abs() < 0.03);
    assert!((part(&[paint(whole), erase(right)]) - (1.0 - quarter)).abs() < 1e-12);
    assert_eq!(part(&[paint(right), erase(whole)]), 0.0);
    // Painted again, it is painted; erased again, what was painted since is gone.
    assert!((part(&[paint(whole), erase(whole), paint(right)]) - quarter).abs() < 1e-12);
    assert_eq!(part(&[paint(whole), erase(right), paint(right), erase(whole)]), 0.0);
    // Boxes, sides and tags stay below.
    let half = "{ material = \"hard\", min = [0, -1, -1], max = [1, 1, 1] }".to_owned();
    let soft = |spheres: &str| format!("{{ material = \"soft\", {spheres} }}");
    assert!((part(&[half.clone(), soft(whole), erase(whole)]) - 0.5).abs() < 1e-12);
    assert!((part(&[soft(whole), half.clone(), erase(whole)]) - 0.5).abs() < 1e-12);
    assert!((part(&[half.clone(), soft(right)]) - (0.5 - quarter)).abs() < 1e-12);
    // Nothing was painted there.
    let left = "spheres = [{ center = [-0.2, 0, 0], radius = 0.107 }]";
    for regions in [[paint(right), erase(left)], [half, erase(right)]] {
        let message = complaint(&bar(&format!("region = [{}]\n", regions.join(", "))));
        let wanted = "body.bar.region.1: no sphere before it has painted an element of \"bar\" that is inside; give a material to paint it";
        assert!(message.contains(wanted), "{message}");
    }
}

/// The same parts by tags of a file and by a stroke.
#[test]
fn a_stroke_is_as_the_tags_of_a_file() {
    let tets = crate::mesh::shapes::box_tets(Vec3::new(0.4, 0.1, 0.1), [8, 2, 2]);
    let center = |nodes: &[u32; 4]| nodes.iter().map(|n| tets.positions[*n as usize]).sum::<Vec3>() / 4.0;
    let vertices: String = tets.positions.iter().map(|p| format!("{:?} {:?} {:?} 0\n", p.x, p.y, p.z)).collect();
    let tag = |nodes: &[u32; 4]| if (center(nodes) - Vec3::x() * 0.1).norm() < 0.08 { 2 } else { 1 };
    let lines: String = tets.tets.iter().map(|n| format!("{} {} {} {} {}\n", n[0] + 1, n[1] + 1, n[2] + 1, n[3] + 1, tag(n))).collect();
    let counts = (tets.positions.len(), tets.tets.len());
    let text = format!("MeshVersionFormatted 1\nDimension\n3\nVertices\n{}\n{vertices}Tetrahedra\n{}\n{lines}End\n", counts.0, counts.1);
    let path = std::env::temp_dir().join(format!("pliant-painted-{}.mesh", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let built = |region: &str| {
        let text = format!(
            "format = 1\n[material.soft]\n[material.hard]\nyoung_modulus = 1e6\ndensity = 3000\n[[body]]\nname = \"b\"\nmaterial = \"soft\"\nmesh = {:?}\n\
             region = [{{ material = \"hard\", {region} }}]\n",
            path.file_name().unwrap()
        );
        Scene::from_text("t", "t.toml", &text, path.parent(), &[]).and_then(|s| build(&s)).unwrap().model
    };
    let (tagged, painted) = (built("tag = 2"), built("spheres = [{ center = [0.1, 0, 0], radius = 0.08 }]"));
    std::fs::remove_file(&path).unwrap();
    assert!((0.1..0.5).contains(&hard(&tagged)), "{}", hard(&tagged));
    let parts = |model: &Model| model.tets.iter().map(|tet| (tet.nodes, tet.material)).collect::<Vec<_>>();
    assert_eq!(parts(&tagged), parts(&painted));
    assert_eq!((&tagged.materials, &tagged.node_masses), (&painted.materials, &painted.node_masses));
}

/// A body that is made of one material through regions has the masses of one without them, to the bit.
#[test]
fn a_region_of_the_same_material_changes_nothing() {
    let with = model("region = [{ material = \"soft\", side = \"x+\" }]\n");
    let without = model("");
    assert_eq!((&with.node_masses, with.bodies[0].mass), (&without.node_masses, without.bodies[0].mass));
    assert!(with.tets.iter().zip(&without.tets).all(|(a, b)| a.material == b.material));
}

#[test]
fn a_body_turns_about_the_centre_of_its_masses() {
    let spinning = "angular_velocity = [0, 0, 1]\nregion = [{ material = \"hard\", min = [0, -1, -1], max = [1, 1, 1] }]\n";
    let model = model(spinning);
    let momentum: Vec3 = model.initial_velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum();
    assert!(momentum.norm() < 1e-12, "{momentum}");
}

const TAGGED: &str = "MeshVersionFormatted 1\nDimension\n3\nVertices\n5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n1 1 1 0\n\
                      Tetrahedra\n2\n1 2 3 4 7\n2 3 4 5 -3\nEnd\n";

#[test]
fn tags_of_a_file_choose_tets() {
    let path = std::env::temp_dir().join(format!("pliant-tags-{}.mesh", std::process::id()));
    std::fs::write(&path, TAGGED).unwrap();
    let text = |tag: &str| {
        format!(
            "format = 1\n[material.hard]\nyoung_modulus = 1e6\n[[body]]\nname = \"b\"\nmesh = {:?}\n[[body.region]]\nmaterial = \"hard\"\ntag = {tag}\n",
            path.file_name().unwrap()
        )
    };
    let built = |tag: &str| Scene::from_text("t", "t.toml", &text(tag), path.parent(), &[]).and_then(|s| build(&s));
    for tag in ["7", "\"7\""] {
        let model = built(tag).unwrap().model;
        assert!((hard(&model) - 1.0 / 3.0).abs() < 1e-12, "{}", hard(&model));
    }
    assert!((hard(&built("-3").unwrap().model) - 2.0 / 3.0).abs() < 1e-12);
    let error = built("8").unwrap_err().to_string();
    assert!(error.contains("t.toml:9:7: body.b.region.0.tag: no tet has the tag \"8\"; the tags of the mesh are -3, 7"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn presets_are_where_a_material_begins() {
    for preset in PRESETS {
        let text = format!("format = 1\n[material.m]\npreset = \"{}\"\n[[body]]\nname = \"b\"\nmaterial = \"m\"\n{BALL}", preset.name);
        let material = |lines: &str| {
            let built = scene(&text.replace("[[body]]", &format!("{lines}\n[[body]]"))).and_then(|s| build(&s));
            built.unwrap_or_else(|error| panic!("{}: {error}", preset.name)).model.bodies[0].material
        };
        assert_eq!(material(""), preset.material());
        assert_eq!(material_fault(&preset.material()), None);
        // What is given prevails, also where it is a default.
        let own = material("young_modulus = 1e5\nmodel = \"corotational\"");
        assert_eq!(own, Material { young_modulus: 1e5, model: MaterialModel::Corotational, ..preset.material() });
    }
    assert!(reference().contains("| `steel` | `corotational` | 2.05e11 | 0.29 | 7850 |\n"));
    assert!(reference().contains(
        "| `liver` | Initial modulus, PMC6925591 table 1 (shear modulus 1.8 +- 0.4 kPa). | Stands for nearly 0.5. | PMC6925591 table 1. |\n"
    ));
}

const BALL: &str = "shape = { type = \"sphere\", radius = 1.0, resolution = 2 }\n";

#[test]
fn what_no_material_can_be_is_a_sentence_with_its_place_and_what_is_accepted() {
    for (lines, wanted) in [
        ("poisson_ratio = 0.5", "test.toml:3:17: material.m.poisson_ratio: expected a number >= 0 and <= 0.499, found 0.5"),
        ("poisson_ratio = 0.7", "found 0.7"),
        // Auxetic: without a bound from below, the energies of the non-linear models have no minimum at rest alone.
        ("poisson_ratio = -0.2", "expected a number >= 0 and <= 0.499, found -0.2"),
        (
            "young_modulus = -2e5",
            "test.toml:3:17: material.m.young_modulus: expected a number > 0 and <= 10000000000000 [Pa], found -200000",
        ),
        ("young_modulus = 0", "expected a number > 0"),
        ("young_modulus = nan", "test.toml:3:17: material.m.young_modulus: expected a number > 0 and <= 10000000000000 [Pa], found NaN"),
        ("density = 0.0", "material.m.density: expected a number > 0"),
        ("density = -900", "test.toml:3:11: material.m.density: expected a number > 0 and <= 1000000 [kg/m^3], found -900"),
        ("mass_damping = -1.0", "material.m.mass_damping: expected a number >= 0 [1/s], found -1"),
        ("stiffness_damping = -0.1", "test.toml:3:21: material.m.stiffness_damping: expected a number >= 0 [s], found -0.1"),
        (
            "model = \"mooney_rivlin\"\nmooney_share = 0.4",
            "test.toml:4:16: material.m.mooney_share: expected a number >= 0 and <= 0.3, found 0.4",
        ),
        ("min_stretch = 0.0", "test.toml:3:15: material.m.min_stretch: expected a number > 0 and <= 1, found 0"),
        ("min_stretch = 1.1", "material.m.min_stretch: expected a number > 0 and <= 1, found 1.1"),
        ("max_stretch = 0.9", "test.toml:3:15: material.m.max_stretch: expected a number >= 1 and <= 100, found 0.9"),
        ("yield_strain = 0.0", "test.toml:3:16: material.m.yield_strain: expected a number > 0 and <= 10, found 0"),
        ("yield_strain = 0.1\ncreep = -1.0", "test.toml:4:9: material.m.creep: expected a number >= 0 and <= 1000000000 [1/s], found -1"),
        ("yield_strain = 0.1\nmax_plastic_strain = 0.0", "material.m.max_plastic_strain: expected a number > 0 and <= 10, found 0"),
        ("creep = 1.0", "test.toml:3:9: material.m.creep: this is for materials that flow; give yield_strain, or remove it"),
        ("degeneration_ratio = 1.0", "test.toml:3:22: material.m.degeneration_ratio: expected a number > 0 and <= 0.9, found 1"),
        (
            "model = \"neo_hookean\"\ndegeneration_ratio = 0.2",
            "test.toml:4:22: material.m.degeneration_ratio: this is of the model corotational, and this material is neo_hookean",
        ),
        ("model = \"neo_hokean\"", "found the text \"neo_hokean\"; did you mean \"neo_hookean\"?"),
        ("preset = \"steal\"", "test.toml:3:10: material.m.preset: expected \"rubber_shore_30\", "),
        ("preset = \"steal\"", "\"abs\" or \"steel\", found the text \"steal\"; did you mean \"steel\"?"),
        ("preset = \"wood\"", "found the text \"wood\""),
        (
            "model = \"neo_hookean\"\nmooney_share = 0.1",
            "test.toml:4:16: material.m.mooney_share: this is of the model mooney_rivlin, and this material is neo_hookean; remove it or change the model",
        ),
        ("preset = \"liver\"\nmooney_share = 0.1", "and this material is stable_neo_hookean"),
        ("c10 = 4e3", "test.toml:3:1: material.m.c10: unknown key. Accepted: \"preset\", \"model\", \"young_modulus\""),
    ] {
        let message = complaint(&format!("[material.m]\n{lines}"));
        assert!(message.contains(wanted), "{lines}: {message}");
    }
    assert_eq!(complaint("[material.m]\nmodel = \"mooney_rivlin\"\nmooney_share = 0.1"), "no complaint");
    for (region, wanted) in [
        (
            "material = \"hard\", min = [5, 5, 5], max = [6, 6, 6]",
            "test.toml:12:11: body.bar.region.0: no element of \"bar\" is inside; the centres of its 192 elements reach from [-0.1875, -0.0375, -0.0375] to [0.1875, 0.0375, 0.0375] in the world",
        ),
        ("material = \"hard\", spheres = []", "no element of \"bar\" is inside"),
        ("material = \"haard\", side = \"x+\"", "body.bar.region.0.material: there is no material \"haard\"; did you mean \"hard\"?"),
        ("side = \"x+\"", "body.bar.region.0: \"material\" is missing"),
        ("tag = 3", "body.bar.region.0: \"material\" is missing; give the name of one (spheres alone stand without"),
        ("spheres = [{ center = [0, 0, 0], radius = 1 }]", "no sphere before it has painted an element"),
        ("material = \"hard\", spheres = [{ center = [9, 9, 9], radius = 0.1 }]", "region.0: no element of \"bar\" is inside"),
        ("material = \"hard\", sphere = []", "did you mean \"spheres\"?"),
        ("material = \"hard\"", "a region is either a box, with min and max, or a side, or spheres; give one of them"),
        ("material = \"hard\", side = \"x+\", min = [0, 0, 0], max = [1, 1, 1]", "give one of them"),
        ("material = \"hard\", side = \"x+\", tag = 3", "region.0.side: the tets of this region are chosen by a tag already"),
        (
            "material = \"hard\", tag = 3",
            "region.0.tag: the mesh of this body has no tags; choose the tets by min and max, a side or spheres",
        ),
        (
            "material = \"hard\", spheres = [{ center = [0, 0, 0], radius = -1 }]",
            "region.0.spheres.0.radius: expected a number > 0 [m], found -1",
        ),
    ] {
        let message = complaint(&bar(&format!("region = [{{ {region} }}]\n")));
        assert!(message.contains(wanted), "{region}: {message}");
    }
    let rigid = complaint(&bar("kind = \"rigid\"\nregion = []\n").replace("material = \"soft\"\n", ""));
    assert!(rigid.contains("body.bar.region: this is for deformable bodies"), "{rigid}");
}
