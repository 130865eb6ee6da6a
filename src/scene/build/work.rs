//! How much work the parts of a building are, so that what is told of its progress grows evenly.

use super::super::read::{BodyContent, Geometry, Role};
use crate::mesh::Fineness;

/// Work for the surface of a body from a file [tets that are made in the time]: it is read, mended and examined. As
/// measured on the gallery.
const SURFACE: f64 = 2e5;
/// The same for each tet that is put into the model. As measured on a body of 1.1 million tets.
const TET_OF_MODEL: f64 = 3.5;

/// How many tets a body will have, as far as the scene tells.
fn tets(body: &BodyContent) -> f64 {
    let Role::Deformable { .. } = body.role else { return 0.0 };
    let cubed = |resolution: u32| f64::from(resolution).powi(3);
    match &body.geometry {
        Geometry::Mesh { filling, .. } => match filling.fineness {
            Fineness::Cells(resolution) => cubed(resolution),
            Fineness::Tets(tets) => tets as f64,
        },
        Geometry::Box { cells, .. } => 6.0 * cells.map(f64::from).iter().product::<f64>(),
        Geometry::Sphere { resolution, .. }
        | Geometry::Cylinder { resolution, .. }
        | Geometry::Torus { resolution, .. }
        | Geometry::Icosphere { resolution, .. } => cubed(*resolution),
        Geometry::Ring { .. } | Geometry::Frame { .. } | Geometry::Plane => 0.0,
    }
}

/// The work of making a body [tets that are made in the time].
pub fn expected(body: &BodyContent) -> f64 {
    let of_surface = if matches!(body.geometry, Geometry::Mesh { .. }) { SURFACE } else { 0.0 };
    1.0 + of_surface + tets(body)
}

/// The part of a building that is done once all bodies are made.
pub fn made(bodies: &[BodyContent]) -> f32 {
    let making: f64 = bodies.iter().map(expected).sum();
    let joining: f64 = bodies.iter().map(|body| TET_OF_MODEL * tets(body) * body.n_copies() as f64).sum();
    if bodies.is_empty() { 0.0 } else { (making / (making + joining)) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::scene::{Scene, build_unless};

    #[test]
    fn surfaces_of_small_bodies_and_the_model_of_large_ones_take_longest() {
        let made_of = |scene: &str, set: &[&str]| {
            let set: Vec<String> = set.iter().map(|value| (*value).to_owned()).collect();
            made(&Scene::load(scene, &set).unwrap().content.bodies)
        };
        assert!(made_of("gallery", &[]) > 0.7);
        assert!(made_of("bunny", &["body.bunny.resolution=100"]) < 0.3);
        assert!(made_of("cantilever", &["body.bar.shape.cells=[100,20,20]"]) < 0.3);
    }

    /// What is told only grows, up to the whole.
    #[test]
    fn progress_grows_up_to_the_end() {
        let scene = Scene::load("gallery", &[]).unwrap();
        let token = CancelToken::default();
        let (mut parts, whole) = (vec![], token.part(0.2, 0.6));
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                build_unless(&scene, &whole).unwrap();
                done.store(true, std::sync::atomic::Ordering::Release);
            });
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                parts.push(token.progress().part);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            parts.push(token.progress().part);
        });
        assert!(parts.is_sorted() && parts.iter().all(|part| *part == 0.0 || (0.2..=0.6).contains(part)), "{:?}", parts.last());
        assert!(parts.last().is_some_and(|part| *part > 0.55), "{:?}", parts.last());
    }
}
