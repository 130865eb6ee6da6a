use super::SurfaceMesh;

/// The surface as Wavefront OBJ. Coordinates are printed so that reading them back gives the same f64.
pub fn write_obj(surface: &SurfaceMesh) -> String {
    let mut text = String::new();
    for p in &surface.positions {
        text += &format!("v {} {} {}\n", p.x, p.y, p.z);
    }
    for [a, b, c] in &surface.triangles {
        text += &format!("f {} {} {}\n", a + 1, b + 1, c + 1);
    }
    text
}
