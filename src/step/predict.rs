//! Where a step will probably bring the surfaces: the boxes in which a search looks.

use crate::contact::generate::{Detection, End, SurfaceStep};
use crate::geometry::Bvh;
use crate::math::{Vec3, fill_with};
use crate::model::{Model, Params};

/// Vertices may end this many contact tolerances from their predicted positions, and `EDGE_MARGIN` more where edges are
/// long.
const MARGIN: f64 = 4.0;
const EDGE_MARGIN: f64 = 16.0;

/// Fits the boxes of the vertices to their motions (`motions`: memory) with the velocity changes `dv` of the last step.
pub(crate) fn predict_positions(detection: &Detection, bvh: &mut Bvh, dv: &[Vec3], params: &Params, motions: &mut Vec<Vec3>) {
    if bvh.is_idle() {
        return;
    }
    let step = &detection.step;
    refit_about(bvh, step, &step.end_positions(&step.surfaces.whole, dv), params.contact_tolerance, motions);
}

/// Fits the boxes of the vertices to trajectories to `end`. `motions`: memory.
pub(super) fn refit_about(bvh: &mut Bvh, step: &SurfaceStep, end: &End, tolerance: f64, motions: &mut Vec<Vec3>) {
    let (start, mesh) = (&step.start, &step.surfaces.mesh);
    fill_with(motions, start.len(), |vertex| end.x[vertex] - start[vertex]);
    bvh.refit(mesh, start, motions, MARGIN * tolerance, EDGE_MARGIN * tolerance);
    bvh.follow_nodes(&end.node_motions());
}

/// The velocity changes of all unknowns in the free fall of a step.
pub fn free_fall<'m>(model: &'m Model, params: &Params) -> impl Iterator<Item = Vec3> + 'm {
    let fall = params.gravity * params.time_step;
    let nodes = model.fixed.iter().map(move |fixed| if *fixed { Vec3::zeros() } else { fall });
    nodes.chain(model.rigid_bodies.iter().flat_map(move |r| [if r.is_free() { fall } else { Vec3::zeros() }, Vec3::zeros()]))
}
