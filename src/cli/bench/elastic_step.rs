//! The elastic step of a scene: what a step of it takes where nothing touches. Contact is held against it.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::Failure;
use crate::model::{FrictionTable, Model, Surface};
use crate::scene::Built;
use crate::sim::{Options, Simulation};

/// Steps whose mean is taken.
const STEPS: u32 = 60;
/// Steps before them: the first one makes the factors.
const WARM_UP: u32 = 5;
const STAGES: [&str; 4] = ["elements", "assembly", "elastic solve", "update"];

/// Times of a step in which nothing touches [ms].
#[derive(Clone, Debug, Serialize)]
pub struct ElasticStep {
    /// Elements, assembly, elastic solve and update together, as their stages are timed: those of several bodies add up
    /// the times of all threads.
    pub ms: f64,
    /// The whole step by the clock [ms].
    pub clock_ms: f64,
    pub stages: [(&'static str, f64); STAGES.len()],
}

/// Measures the elastic step of a scene: the mean of 60 steps without gravity, forces, grabs and contact.
pub fn measure(built: Built, options: &Options) -> Result<ElasticStep, Failure> {
    let mut simulation = Simulation::new(without_contact(built), options)?;
    let mut stages = STAGES.map(|stage| (stage, 0.0));
    let mut clock_ms = 0.0;
    for step in 0..WARM_UP + STEPS {
        let start = Instant::now();
        let report = simulation.step().map_err(|error| Failure::Run(format!("the elastic step: {error}")))?;
        if step < WARM_UP {
            continue;
        }
        clock_ms += start.elapsed().as_secs_f64() * 1e3 / f64::from(STEPS);
        for (stage, ms) in &mut stages {
            *ms += report.stages.of(stage) / f64::from(STEPS);
        }
    }
    Ok(ElasticStep { ms: stages.iter().map(|(_, ms)| ms).sum(), clock_ms, stages })
}

/// The same bodies in the same places, which nothing pulls and which pass through all others.
fn without_contact(mut built: Built) -> Built {
    built.params.gravity = crate::math::Vec3::zeros();
    built.forces.clear();
    built.grabs.clear();
    built.probes.clear();
    let mut model = Model {
        obstacles: vec![],
        attachments: vec![],
        collision: Arc::new(Surface::default()),
        // Its pairs may name what is gone.
        friction: FrictionTable::new(0.0, vec![]),
        ..(*built.model).clone()
    };
    for body in &mut model.bodies {
        (body.collision_vertices, body.collision_triangles, body.self_contact) = (0..0, 0..0, false);
    }
    for rigid in &mut model.rigid_bodies {
        rigid.vertices.clear();
        rigid.triangles.clear();
    }
    built.model = Arc::new(model);
    built
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{BackendChoice, Scene, build};

    #[test]
    fn nothing_touches_in_the_elastic_step_of_a_pile() {
        let path = format!("{}/scenes/peers/pile8.toml", env!("CARGO_MANIFEST_DIR"));
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
        let built = build(&Scene::load(&path, &[]).unwrap()).unwrap();
        let contacts = |built: Built| {
            let mut simulation = Simulation::new(built, &options).unwrap();
            (0..12).map(|_| simulation.step().unwrap().contact.contacts).sum::<u32>()
        };
        let falling =
            |built: Built| Built { params: crate::model::Params { gravity: crate::math::Vec3::y() * -9.81, ..built.params }, ..built };
        assert_eq!(contacts(falling(without_contact(built.clone()))), 0, "it falls through the floor");
        assert!(contacts(built.clone()) > 0, "the scene itself touches");
        let elastic = measure(built, &options).unwrap();
        let sum: f64 = elastic.stages.iter().map(|(_, ms)| ms).sum();
        assert!(
            elastic.ms > 0.0 && elastic.clock_ms > 0.0 && elastic.ms == sum && elastic.stages.iter().all(|(_, ms)| *ms > 0.0),
            "{elastic:?}"
        );
    }

    #[test]
    fn friction_of_a_pair_with_the_floor_is_left_out_with_it() {
        let text = "format = 1\n[material.gum]\n\
                    [[body]]\nname = \"cube\"\nmaterial = \"gum\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [1, 1, 1] }\n\
                    position = [0, 1, 0]\n[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n\
                    [[contact.pair]]\na = \"cube\"\nb = \"floor\"\nfriction = 0.7\n";
        let built = build(&Scene::from_text("pair", "pair.toml", text, None, &[]).unwrap()).unwrap();
        assert_eq!(built.model.friction().pairs.len(), 1);
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
        assert!(measure(built, &options).unwrap().ms > 0.0);
    }
}
