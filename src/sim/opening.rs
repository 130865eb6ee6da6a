//! How the work of opening a simulation is divided, so that what is told of its progress grows evenly.

use crate::model::Model;

/// Work for each triangle that touches and for each tet [us on two cores]: of looking at the start, of making the
/// stepper, and of preparing its first step. As measured on the gallery, and on a body of 1.1 million tets.
const LOOKING: [f64; 2] = [5.0, 0.1];
const MAKING: [f64; 2] = [20.0, 0.5];
const PREPARING: [f64; 2] = [0.0, 2.4];
/// Work of the factor of a body for the square of the number of its nodes [us], and the most nodes that factors have
/// room for.
const FACTOR: f64 = 0.01;
const MAX_NODES: usize = 150_000;

/// The parts of the opening that are done once the start was looked at, and once the stepper is there.
pub fn parts(model: &Model) -> [f32; 2] {
    let n_triangles = model.collision.triangles.len() + model.rigid_bodies.iter().map(|body| body.triangles.len()).sum::<usize>();
    let of = |work: [f64; 2]| work[0] * n_triangles as f64 + work[1] * model.tets.len() as f64;
    let factors = model.bodies.iter().map(|body| body.nodes.len()).filter(|n| model.may_touch() && *n <= MAX_NODES);
    let preparing = of(PREPARING) + factors.map(|n| FACTOR * (n as f64).powi(2)).sum::<f64>();
    let (looking, making) = (of(LOOKING), of(MAKING));
    let all = (looking + making + preparing).max(1.0);
    [looking / all, (looking + making) / all].map(|part| part as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, build};

    #[test]
    fn what_takes_long_fills_most_of_the_bar() {
        let parts_of = |scene: &str, flag: &str| parts(&build(&Scene::load(scene, &[flag.to_owned()]).unwrap()).unwrap().model);
        // Many triangles on few tets, and the other way round.
        let [looked, made] = parts_of("bunny", "body.bunny.resolution=8");
        assert!((0.1..0.3).contains(&looked) && made > 0.8, "{looked} {made}");
        let [looked, made] = parts_of("cantilever", "body.bar.shape.cells=[50,10,10]");
        assert!(looked > 0.0 && looked < made && made < 0.5, "{looked} {made}");
        // Copies of a body have a factor in common, which is small.
        let of_rigid = parts_of("rigid_stack", "simulation.time_step=0.01");
        assert!(of_rigid[0] > 0.0 && of_rigid[1] == 1.0, "{of_rigid:?}");
    }
}
