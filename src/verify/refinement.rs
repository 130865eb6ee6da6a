//! Whether elements that do not lock lead to the answer of another code, of every model and near incompressibility too.

use super::bars::{Bar, sag};
use super::bench::Bench;
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::element::ElementKind;
use crate::material::MaterialModel;

pub const REFINEMENT: Check = Check {
    name: "refinement",
    title: "Refinement",
    meaning: "Tets of ten nodes bend a bar of any material as far as another program says, near incompressibility too, and finer ones come nearer.",
    setup: "the cantilever of 1 x 0.2 x 0.2 m with element = \"quadratic\", nu = 0.2 and 0.45; 30, 240 and 810 tets of ten nodes (5, 10 and 15 cells \
            along it)",
    source: "27-node bricks of another code (benches/reference), extrapolated, known to 0.07 %; sags tend to it with an order between 2, by the \
             singular edges of the clamp, and that of quadratic elements, 3",
    // With the same tolerances on a device: its sags are those of the CPU to a micrometre, and 810 tets are off by two
    // millimetres.
    place: Place::Chosen,
    run: refinement,
};

/// Poisson's ratios, and the converged sags at these by another code [m].
const RATIOS: [f64; 2] = [0.2, 0.45];
pub(super) const CONVERGED: [(MaterialModel, [f64; 2]); 4] = [
    (MaterialModel::Corotational, [0.5723, 0.5648]),
    (MaterialModel::NeoHookean, [0.5747, 0.5692]),
    (MaterialModel::StableNeoHookean, [0.5773, 0.5694]),
    (MaterialModel::StVenantKirchhoff, [0.5771, 0.5685]),
];
/// Cells along the bar.
const REFINED: [u32; 3] = [5, 10, 15];

fn refinement(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome = Outcome {
        plot: Plot::new(Axis::linear("cell over length", ""), Axis::linear("sag over that of the other code", "")).with(
            Style::Expected,
            "another code",
            [[0.0, 1.0], [0.2, 1.0]],
        ),
        ..Outcome::default()
    };
    let cases: Vec<(MaterialModel, f64, f64)> =
        CONVERGED.iter().flat_map(|(model, sags)| RATIOS.iter().zip(sags).map(|(nu, sag)| (*model, *nu, *sag))).collect();
    for (k, (model, nu, converged)) in cases.iter().enumerate() {
        let mut sags = vec![];
        for cells_along in REFINED {
            let bar = Bar { model: *model, nu: *nu, cells_along, element: ElementKind::Quadratic };
            sags.push([1.0 / f64::from(cells_along), sag(bench, &bar)?]);
        }
        let name = format!("{}, nu = {nu}", model.name());
        let [_, [wide, coarse], [narrow, fine]] = sags[..] else { unreachable!("a sag for each size") };
        let order = ((coarse - converged) / (fine - converged)).abs().ln() / (wide / narrow).ln();
        outcome.measures.push(Measure::relative(format!("{name}: sag of 810 tets"), *converged, fine, 0.01, "m"));
        outcome.measures.push(Measure::absolute(format!("{name}: order of convergence"), 2.5, order, 0.6, ""));
        outcome.plot = outcome.plot.with(Style::Points, name, sags.iter().map(|[h, sag]| [*h, sag / converged]));
        bench.done((k + 1) as f64 / cases.len() as f64);
    }
    Ok(outcome)
}
