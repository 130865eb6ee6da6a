//! What a user should know of steps that were not as they should be: once in plain words, however often it happens.

use std::sync::Arc;

use crate::body::BodyRef;
use crate::elastic::BeyondRange;
use crate::model::Model;
use crate::step::StepReport;

/// A kind of warning. Of each there is one, however many steps it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    NotConverged,
    TakenBack,
    Limited,
    Waited,
    Hanging(BodyRef),
    Tangled(BodyRef),
    BeyondRange(BodyRef),
    Softer(BodyRef),
}

/// A warning and the steps that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    pub kind: Kind,
    /// A sentence, and what would help.
    pub text: String,
    pub steps: u64,
    /// The first and the last one; none of what holds for the scene as a whole.
    pub between: Option<[u64; 2]>,
}

/// The warnings of a scene since it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warnings {
    list: Vec<Arc<Warning>>,
    /// Counts warnings of a new kind: greater than what was read means that there is something to read.
    pub news: u64,
}

/// Bodies with fewer softened tets than this part are as stiff as their material says, to all that can be seen.
const SOFTENED_PART: f64 = 0.01;

impl Warnings {
    /// What is to be known of a scene before its first step.
    pub fn of_scene(model: &Model) -> Self {
        let mut warnings = Self::default();
        for (place, body) in model.bodies.iter().enumerate() {
            let (n, part) = (model.softened_tets(body), model.softened_tets(body) as f64 / body.tets.len().max(1) as f64);
            if part > SOFTENED_PART {
                let text = format!(
                    "“{}” is softer than its material says: {n} of its tetrahedra ({:.0} %) are nearly flat, and are simulated about as \
                     stiff as well-shaped ones. A coarser or a better mesh helps.",
                    body.name,
                    100.0 * part
                );
                warnings.add(Kind::Softer(BodyRef::Deformable(place as u32)), text, None);
            }
        }
        warnings
    }

    /// The same in other words: `words` makes them of those that they have.
    pub fn in_words(&self, words: impl Fn(&str) -> String) -> Self {
        let reworded = |warning: &Arc<Warning>| Arc::new(Warning { text: words(&warning.text), ..Warning::clone(warning) });
        Self { list: self.list.iter().map(reworded).collect(), news: self.news }
    }

    /// By kind.
    pub fn list(&self) -> &[Arc<Warning>] {
        &self.list
    }

    /// Takes what the report of a step tells. `whole`: times that a step that is well is begun.
    pub fn take(&mut self, report: &StepReport, step: u64, model: &Model, whole: u32) {
        let at = Some(step);
        match report.limited {
            Some(points) => {
                let became = match points {
                    0 => "it is not solved to the end".to_owned(),
                    _ => format!("{points} points were limited in their motion, so that nothing crosses"),
                };
                let text = format!(
                    "A step was too hard for the work that it may do: {became}. Allow more work to a step, or use a shorter time step."
                );
                self.add(Kind::Limited, text, at);
            }
            None if !report.converged => {
                let text = "A step did not converge: contact forces are not exact, and friction may be wrong. A shorter time step, or \
                            more iterations, helps.";
                self.add(Kind::NotConverged, text.into(), at);
            }
            None => {}
        }
        if report.attempts > whole {
            let known = self.list.iter().find(|warning| warning.kind == Kind::TakenBack);
            let text = match (&report.taken_back, known) {
                // It began in parts, as those before were taken back: they tell why.
                (None, Some(known)) => known.text.clone(),
                (cause, _) => {
                    let why = cause.as_ref().map_or_else(String::new, |cause| format!(", because {cause}"));
                    format!(
                        "A step was taken back and computed in smaller parts ({} attempts){why}: it takes longer, but nothing is lost. A \
                         shorter time step avoids it.",
                        report.attempts
                    )
                }
            };
            self.add(Kind::TakenBack, text, at);
        }
        if report.waited > 0.0 {
            let text = "Driven bodies waited, as they would have run over what could not give way: they are behind their given motion. Allow \
                        more work to a step, or drive them more slowly.";
            self.add(Kind::Waited, text.into(), at);
        }
        for body in &report.hanging {
            let text = format!("“{}” stands still in mid-air though nothing holds it.", model.body_name(*body));
            self.add(Kind::Hanging(*body), text, at);
        }
        for body in &report.tangled {
            let text = format!(
                "“{}” passes through itself or is inside out: its contact with itself is off until it has found back. If it stays so, \
                 let it start in its own shape.",
                model.body_name(*body)
            );
            self.add(Kind::Tangled(*body), text, at);
        }
        for found in &report.beyond_range {
            self.add(Kind::BeyondRange(BodyRef::Deformable(found.body)), beyond_range_text(found, model), at);
        }
    }

    /// The newest words count.
    fn add(&mut self, kind: Kind, text: String, step: Option<u64>) {
        match self.list.binary_search_by(|known| known.kind.cmp(&kind)) {
            Ok(place) => {
                let warning = Arc::make_mut(&mut self.list[place]);
                warning.text = text;
                warning.steps += 1;
                if let (Some([_, last]), Some(step)) = (&mut warning.between, step) {
                    *last = step;
                }
            }
            Err(place) => {
                let between = step.map(|step| [step, step]);
                self.list.insert(place, Arc::new(Warning { kind, text, steps: u64::from(step.is_some()), between }));
                self.news += 1;
            }
        }
    }
}

/// That a body is deformed beyond what its model holds, and what helps.
pub fn beyond_range_text(found: &BeyondRange, model: &Model) -> String {
    let BeyondRange { body, part, tet, model: law, violation, beyond } = found;
    let (name, percent) = (model.body_name(BodyRef::Deformable(*body)), 100.0 * part);
    format!(
        "“{name}” is deformed beyond what its material can hold, {percent:.0} % of its volume: most of all its tet {tet} (the first is 0), which \
         {violation}. The model is `{law}`. {beyond}"
    )
}

impl Warning {
    /// "3 steps, the last one 17."
    pub fn when(&self) -> String {
        match (self.between, self.steps) {
            (Some([first, _]), 1) => format!("step {first}"),
            (Some([first, last]), n) => format!("{n} steps between {first} and {last}"),
            (None, _) => "since the scene was opened".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelBuilder;

    #[test]
    fn a_kind_is_told_once_and_counts_its_steps() {
        let model = ModelBuilder::default().build().unwrap();
        let mut warnings = Warnings::default();
        let good = StepReport { converged: true, attempts: 1, ..StepReport::default() };
        warnings.take(&good, 1, &model, 1);
        assert!(warnings.list().is_empty() && warnings.news == 0);
        let bad = StepReport { converged: false, ..good.clone() };
        warnings.take(&bad, 2, &model, 1);
        warnings.take(&bad, 5, &model, 1);
        let taken_back = Some("“ball” would have gained energy, most of it in its tet 7 (the first is 0)".into());
        let limited = StepReport { limited: Some(12), attempts: 3, taken_back, waited: 0.1, ..bad };
        warnings.take(&limited, 6, &model, 1);
        let told: Vec<_> = warnings.list().iter().map(|warning| (warning.kind.clone(), warning.when())).collect();
        let expected = [
            (Kind::NotConverged, "2 steps between 2 and 5"),
            (Kind::TakenBack, "step 6"),
            (Kind::Limited, "step 6"),
            (Kind::Waited, "step 6"),
        ];
        assert_eq!(told, expected.map(|(kind, when)| (kind, when.to_owned())));
        assert_eq!(warnings.news, 4);
        assert!(warnings.list()[2].text.contains("12 points"));
        assert!(warnings.list()[1].text.contains("because “ball” would have gained energy, most of it in its tet 7"));
        let reworded = warnings.in_words(|text| text.replace("ball", "pearl"));
        assert!(reworded.list()[1].text.contains("because “pearl” would have") && reworded.news == warnings.news);
        // A step that begins in parts counts, and what is told is why others were taken back.
        let mut begun = Warnings::default();
        for (step, taken_back) in [(5, Some("it was too long".to_owned())), (6, None)] {
            begun.take(&StepReport { attempts: 2, taken_back, ..good.clone() }, step, &model, 1);
        }
        assert_eq!(begun.list()[0].when(), "2 steps between 5 and 6");
        assert!(begun.list().len() == 1 && begun.list()[0].text.contains("because it was too long"));
        // Parts of a step that is well are no attempts that failed.
        let mut parts = Warnings::default();
        parts.take(&StepReport { attempts: 4, ..good }, 1, &model, 4);
        assert!(parts.list().is_empty());
    }
}
