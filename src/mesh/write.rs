use std::fmt::Write;

use super::SurfaceMesh;

/// The surface as Wavefront OBJ. Coordinates are printed so that reading them back gives the same f64.
pub fn write_obj(surface: &SurfaceMesh) -> String {
    let mut text = String::new();
    for p in &surface.positions {
        writeln!(text, "v {} {} {}", p.x, p.y, p.z).expect("writing to a String cannot fail");
    }
    for [a, b, c] in &surface.triangles {
        writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1).expect("writing to a String cannot fail");
    }
    text
}
