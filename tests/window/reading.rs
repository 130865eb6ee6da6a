//! A mesh is opened, its sheet used; the guide is read; mistakes of a scene are told with their lines.

use crate::driver::Driver;

/// A slab of 40 x 10 x 4 units that stands on z, with a triangle missing.
fn write_slab(path: &std::path::Path) {
    let corner = |k: usize| [40.0 * (k & 1) as f64, 10.0 * (k >> 1 & 1) as f64, 4.0 * (k >> 2) as f64];
    let triangles =
        [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7]];
    let mut text = "solid slab\n".to_owned();
    for triangle in triangles {
        let corners = triangle.map(|k| corner(k).map(|x| x.to_string()).join(" "));
        text += &format!("facet normal 0 0 0\nouter loop\nvertex {}\nendloop\nendfacet\n", corners.join("\nvertex "));
    }
    std::fs::write(path, text + "endsolid slab\n").unwrap();
}

#[test]
fn the_sheet_of_a_mesh_turns_scales_and_fills_it() {
    let mut window = Driver::start(&["spin", "--backend", "cpu"]);
    window.wait("scene loaded");
    window.focus();
    let mesh = window.folder().join("my slab.stl");
    write_slab(&mesh);
    window.click("menu.File");
    window.click("item.Open_path…");
    window.wait("widget path.field");
    window.type_text(&mesh.display().to_string());
    window.key("Return");
    window.wait("checkup my slab.stl findings=");
    let tets = |line: &str| line.split("tets=").nth(1).unwrap().split(' ').next().unwrap().parse::<u32>().unwrap();
    let first = tets(&window.wait("scene loaded my slab"));

    // It is asked whether 40 units are 40 mm.
    window.click("import.likely");
    window.wait("edited body.my_slab.size=0.04");
    window.wait("scene loaded my slab");
    // Files for printing stand on z until it is said otherwise.
    window.click("import.up.x");
    window.wait("edited body.my_slab.up=\"x\"");
    window.wait("scene loaded my slab");
    window.click("import.tets.coarse");
    window.wait("edited body.my_slab.tets=2000");
    let coarse = tets(&window.wait("scene loaded my slab"));
    assert!(coarse < first, "{coarse} tets of {first}");
    window.click("import.method");
    window.click("import.method.graded");
    window.wait("edited body.my_slab.method=\"graded\"");
    window.wait("scene loaded my slab");

    // The missing triangle: a line, and a flight there.
    window.click("finding.0.0");
    window.wait("looks at finding 0.0");

    window.click("import.save");
    window.wait("widget path.field");
    window.key("Return");
    window.wait("scene saved");
    window.wait("gone path.field");
    window.click("import.done");
    window.wait("gone import.done");
    let saved =
        std::fs::read_dir(window.folder()).unwrap().chain(std::fs::read_dir(window.folder().join("Documents")).into_iter().flatten());
    let scene = saved.filter_map(|entry| Some(entry.ok()?.path())).find(|path| path.extension().is_some_and(|e| e == "toml"));
    let text = std::fs::read_to_string(scene.expect("the saved scene")).unwrap();
    for part in ["name = \"my_slab\"", "up = \"x\"", "size = 0.04", "tets = 2000", "method = \"graded\""] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn the_guide_is_read_and_mistakes_have_details() {
    let mut window = Driver::start(&["spin", "--backend", "cpu"]);
    window.wait("scene loaded");
    window.focus();
    window.key("F1");
    window.click("help.page.methods");
    window.key("Escape");
    window.wait("gone help.close");

    let scene = window.folder().join("wrong.toml");
    std::fs::write(&scene, "format = 1\ngravity = [0, -9.81, 0]\n[simulation]\ntime_step = \"soon\"\n").unwrap();
    window.click("menu.File");
    window.click("item.Open_path…");
    window.wait("widget path.field");
    window.type_text(&scene.display().to_string());
    window.key("Return");
    let message = window.wait("message ");
    assert!(message.starts_with("message wrong.toml, line 2: gravity: unknown key; did you mean \"simulation.gravity\"? (and 1 more)"));
    // The field comes back with the path, and what is wrong with it.
    window.wait("path asked for again");
    window.key("Escape");
    window.wait("gone path.field");
    window.click("toast.details");
    window.wait("widget toast.copy");
    window.click("toast.close");
    window.wait("gone toast.close");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}
