//! What costs time and what would help, in plain words, from what the last steps took.

use crate::app::format;
use crate::model::{Integration, Model, Params};
use crate::step::{StepReport, THROWN_AWAY};

/// What the advice follows from.
pub struct Facts<'a> {
    pub model: &'a Model,
    pub params: &'a Params,
    pub report: &'a StepReport,
    /// Wall time of each stage, over some steps [ms].
    pub stages: &'a [(&'static str, f64)],
    /// Wall time of a step, over some steps [ms].
    pub step_ms: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// "0.3× real time: finding contact forces takes 80 % of a step."
    pub headline: String,
    /// One sentence each, what helps most first.
    pub hints: Vec<String>,
}

/// What a stage does, in words that go on with "takes 80 % of a step".
fn deed(stage: &str) -> &str {
    match stage {
        "contact solve" => "solving for contact forces",
        "elastic solve" => "solving for the motion of what nothing touches",
        "assembly" => "assembling and factoring the matrix",
        "elements" => "computing the stresses in the elements",
        "detection" => "finding contacts",
        "rows" => "preparing contacts for the device",
        "device" | "step" => "the work on the graphics card",
        "update" => "moving everything on",
        THROWN_AWAY => "attempts that had to be halved",
        other => other,
    }
}

/// Bodies with fewer tets are cheap.
const FEW_TETS: usize = 500;

pub fn advice(facts: &Facts) -> Advice {
    let Facts { model, params, report, stages, step_ms } = *facts;
    let factor = 1e3 * params.time_step / step_ms.max(1e-9);
    let total: f64 = stages.iter().map(|(_, ms)| ms).sum();
    let Some((dominant, ms)) = stages.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| total > 0.0) else {
        return Advice::default();
    };
    let part = ms / total;
    let mut headline = format!("{} real time: {} takes {:.0} % of a step.", format::factor(factor), deed(dominant), 100.0 * part);
    if factor >= 1.0 {
        headline.push_str(" It keeps up; nothing needs to change.");
        return Advice { headline, hints: vec![] };
    }
    let mut hints = vec![];
    let largest = model.bodies.iter().max_by_key(|body| body.tets.len()).filter(|body| body.tets.len() > FEW_TETS);
    let is_contact = matches!(dominant, "contact solve" | "detection" | "rows");
    if let Some(body) = largest {
        // In a sentence a number stays on its line.
        let n = format::count(body.tets.len()).replace('\u{2009}', "\u{a0}");
        let gain = if is_contact { "fewer points touch" } else { "there is an eighth of the elements" };
        hints.push(format!("Halve the resolution of “{}” ({n} tetrahedra): {gain}.", body.name));
    }
    if params.integration != Integration::SemiImplicit {
        hints.push("Integrate semi-implicitly: each step is then solved once, not until nothing is left.".into());
    }
    if params.substeps > 1 {
        hints.push(format!("Use fewer substeps than {}: each of them is a step of its own.", params.substeps));
    }
    if report.attempts > params.substeps.max(1) {
        hints.push("Use a shorter time step: this one is often taken back and computed twice.".into());
    } else if report.converged && report.limited.is_none() {
        let longer = format::milliseconds(2e3 * params.time_step);
        hints.push(format!("Use a longer time step, such as {longer}: it costs about as much and does twice as much."));
    }
    if dominant == "contact solve" && report.contact.friction_force_total > 0.0 {
        hints.push("Turn friction off where it does not matter: contacts without it are solved sooner.".into());
    }
    if dominant == "detection" && model.body_with_own_collision().is_none() {
        hints.push("Give bodies of fine surfaces a coarser one for contact (\"Collision surface\" of a body).".into());
    }
    if is_contact && params.max_step_ms == 0.0 {
        hints.push("Bound the work of a step: hard steps are then cut short, and told of.".into());
    }
    Advice { headline, hints }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ContactReport;
    use crate::material::Material;
    use crate::math::Vec3;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, SoftBody};

    fn told(params: &Params, stages: &[(&'static str, f64)], attempts: u32) -> Advice {
        let mut builder = ModelBuilder::default();
        let tets = shapes::box_tets(Vec3::repeat(1.0), [5, 5, 5]);
        builder.soft_body(SoftBody::with_boundary_surface("lion", Material::default(), tets));
        let model = builder.build().unwrap();
        let contact = ContactReport { friction_force_total: 1.0, ..ContactReport::default() };
        let report = StepReport { converged: true, attempts, contact, ..StepReport::default() };
        let step_ms = stages.iter().map(|(_, ms)| ms).sum();
        advice(&Facts { model: &model, params, report: &report, stages, step_ms })
    }

    #[test]
    fn what_takes_most_is_named_and_what_would_help() {
        let params = Params { time_step: 0.01, max_step_ms: 250.0, ..Params::default() };
        let slow = told(&params, &[("elements", 5.0), ("contact solve", 28.0)], 1);
        assert_eq!(slow.headline, "0.30× real time: solving for contact forces takes 85 % of a step.");
        let words = slow.hints.join("\n");
        assert!(words.starts_with("Halve the resolution of “lion” (750 tetrahedra): fewer points touch."), "{words}");
        assert!(words.contains("longer time step, such as 20.0 ms") && words.contains("Turn friction off"), "{words}");
        assert!(!words.contains("semi-implicitly") && !words.contains("substeps"));
    }

    #[test]
    fn hints_fit_what_is_the_case() {
        let params = Params { integration: Integration::Newton, substeps: 2, ..Params::default() };
        let words = told(&params, &[("elastic solve", 90.0), ("contact solve", 3.0)], 5).hints.join("\n");
        assert!(
            words.contains("semi-implicitly") && words.contains("fewer substeps than 2") && words.contains("shorter time step"),
            "{words}"
        );
        assert!(!words.contains("longer time step") && !words.contains("friction"), "{words}");
        let fast = told(&Params::default(), &[("elements", 2.0)], 1);
        assert!(fast.hints.is_empty() && fast.headline.ends_with("nothing needs to change."), "{}", fast.headline);
    }
}
