//! What the tets of a body are for elasticity.

use super::*;
use crate::element::ElementKind;

fn kind(lines: &str) -> ElementKind {
    let text = format!(
        "format = 1\n[material.stiff]\npoisson_ratio = 0.39\n[material.rubber]\npoisson_ratio = 0.4\n[[body]]\nname = \"b\"\n{lines}\n"
    );
    build(&scene(&text).unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{e}")).model.bodies[0].element
}

const BALL: &str = "mesh = \"builtin:bunny_coarse.obj\"\nsize = 0.2\nresolution = 8";
const BOX: &str = "shape = { type = \"box\", size = [0.3, 0.1, 0.1], cells = [3, 1, 1] }";

#[test]
fn the_elements_follow_from_material_and_tets() {
    for (geometry, locking) in [(BALL, ElementKind::Averaged), (BOX, ElementKind::Quadratic)] {
        assert_eq!(kind(&format!("{geometry}\nmaterial = \"stiff\"")), ElementKind::Linear);
        assert_eq!(kind(&format!("{geometry}\nmaterial = \"rubber\"")), locking);
        for (name, asked) in ElementKind::ALL {
            assert_eq!(kind(&format!("{geometry}\nmaterial = \"rubber\"\nelement = \"{name}\"")), asked);
        }
    }
    let stuffed = format!("{BALL}\nmethod = \"stuffing\"\nmaterial = \"rubber\"");
    assert_eq!(kind(&stuffed), ElementKind::Quadratic);
}

#[test]
fn elements_that_cannot_be_are_refused() {
    let sphere = "format = 1\n[[body]]\nname = \"b\"\nshape = { type = \"sphere\", radius = 0.1 }\nelement = \"averaged\"\n";
    let error = build(&scene(sphere).unwrap()).err().unwrap().to_string();
    assert!(["body.b.element", "5", "no cells of a lattice", "\"quadratic\"", "voxel"].iter().all(|word| error.contains(word)), "{error}");
    let unknown = scene(&sphere.replace("averaged", "cubic")).err().unwrap().to_string();
    assert!(["body.b.element", "linear", "averaged", "quadratic"].iter().all(|word| unknown.contains(word)), "{unknown}");
    let rigid = scene(&sphere.replace("name", "kind = \"rigid\"\nname")).err().unwrap().to_string();
    assert!(rigid.contains("this is for deformable bodies"), "{rigid}");
}

/// A file of one curved tet of ten nodes: its edges are curved, and not with linear elements, which is told.
#[test]
fn curved_tets_of_files_stay_curved() {
    let folder = std::env::temp_dir().join(format!("pliant-curved-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let nodes = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n.5 0 0\n.5 .5 0\n0 .5 0\n0 0 .5\n.5 0 .5\n.05 .55 .55";
    let text = format!(
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 10 double\n{nodes}\nCELLS 1 11\n10 0 1 2 3 4 5 6 7 8 9\nCELL_TYPES 1\n24\n"
    );
    std::fs::write(folder.join("ten.vtk"), text).unwrap();
    let of = |element: &str| {
        let text = format!("format = 1\n[[body]]\nname = \"b\"\nmesh = \"ten.vtk\"\nsize = 0.5\n{element}\n");
        build(&Scene::from_text("test", "test.toml", &text, Some(folder.as_path()), &[]).unwrap()).unwrap()
    };
    let (curved, straight) = (of(""), of("element = \"linear\""));
    std::fs::remove_dir_all(&folder).unwrap();
    let body = &curved.model.bodies[0];
    assert_eq!((body.element, body.tets.len(), body.patches.len()), (ElementKind::Quadratic, 8, 1));
    let middle = Vec3::new(0.025, 0.275, 0.275);
    assert!(curved.model.rest_positions.iter().any(|x| (x - middle).norm() < 1e-12), "{:?}", curved.model.rest_positions);
    assert_eq!((straight.model.bodies[0].tets.len(), straight.model.n_nodes()), (1, 4));
    assert!(straight.notes.iter().any(|note| note.contains("corners alone")), "{:?}", straight.notes);
}
