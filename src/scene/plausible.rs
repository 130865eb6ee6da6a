//! Doubts about a scene that can be simulated: numbers that are seldom meant, and what would mend them.

use super::Built;
use crate::body::base_name;
use crate::math::{Aabb, Vec3};
use crate::model::NamedMaterial;

/// Sizes of bodies [m] that are usual, unless a scene is of buildings or of grains.
const LENGTHS: [f64; 2] = [1e-3, 50.0];
/// [kg]
const HEAVIEST: f64 = 1e5;
/// From aerogels to osmium [kg/m^3].
const DENSITIES: [f64; 2] = [1.0, 23_000.0];
/// From the softest gels to diamond [Pa].
const STIFFNESSES: [f64; 2] = [50.0, 1.3e12];
/// [m/s^2]
const STRONGEST_GRAVITY: f64 = 100.0;
/// Of a column as high as the body: `density * gravity * height / young_modulus`. The bodies of the gallery are below
/// 0.1.
const LARGEST_SINKING: f64 = 0.5;
/// [s]
const LONGEST_TIME_STEP: f64 = 0.05;
/// Part of its shortest side that a body moves in a step.
const LARGEST_MOTION: f64 = 1.0;

/// A body that moves, as far as its size and weight tell.
struct Subject<'a> {
    name: &'a str,
    bounds: Aabb,
    mass: f64,
    /// [m/s]
    speed: f64,
}

impl Built {
    /// Sentences on what is probably not meant; none for a plausible scene.
    pub fn doubts(&self) -> Vec<String> {
        let subjects = self.subjects();
        let mut doubts = vec![];
        doubts.extend(subjects.iter().flat_map(|subject| self.doubts_of_body(subject)));
        doubts.extend(self.model.named_materials.iter().filter_map(doubt_of_material));
        doubts.extend(self.sinking());
        doubts.extend(self.doubts_of_simulation());
        doubts
    }

    /// The bodies that move, of copies the first.
    fn subjects(&self) -> Vec<Subject<'_>> {
        let model = &self.model;
        let soft = model.bodies.iter().map(|body| {
            let speed = model.initial_velocities[body.nodes.clone()].iter().map(Vec3::norm).fold(0.0, f64::max);
            Subject { name: &body.name, bounds: Aabb::of(&model.rest_positions[body.nodes.clone()]), mass: body.mass, speed }
        });
        let rigid = model.rigid_bodies.iter().filter_map(|body| {
            let bounds = Aabb::of(&body.positions(&body.pose).collect::<Vec<_>>());
            Some(Subject { name: &body.name, bounds, mass: body.mass()?, speed: body.velocity.norm() })
        });
        let mut subjects: Vec<Subject> = vec![];
        for subject in soft.chain(rigid) {
            if !subjects.iter().any(|known| base_name(known.name) == base_name(subject.name)) {
                subjects.push(subject);
            }
        }
        subjects
    }

    fn doubts_of_body(&self, subject: &Subject) -> Vec<String> {
        let Subject { name, ref bounds, mass, speed } = *subject;
        let (longest, shortest) = (bounds.extent().max(), bounds.extent().min());
        let mut doubts = vec![];
        if !(LENGTHS[0]..=LENGTHS[1]).contains(&longest) {
            let meant = if longest > LENGTHS[1] { "millimetres or centimetres" } else { "metres" };
            doubts.push(format!("{name} is {} long; if its numbers are in {meant}, give the size in metres, or a scale", length(longest)));
        }
        if mass > HEAVIEST {
            doubts.push(format!("{name} weighs {} tonnes; is its size or its density right?", grouped((mass / 1e3).round())));
        }
        let dt = self.params.time_step;
        let fall = self.params.gravity.norm() * dt * dt;
        if speed * dt > LARGEST_MOTION * shortest {
            doubts.push(format!(
                "{name} moves {} in a time step, further than it is thick ({}): contact is exact only in small steps; give a smaller time_step",
                length(speed * dt),
                length(shortest)
            ));
        } else if fall > LARGEST_MOTION * shortest {
            doubts.push(format!(
                "{name} is {} thick and falls {} in the first time step: the time_step is coarse for its size; try {}",
                length(shortest),
                length(fall),
                round(dt * (0.01 * shortest / fall).sqrt())
            ));
        }
        doubts
    }

    /// Bodies that are too soft to carry themselves.
    fn sinking(&self) -> Vec<String> {
        let model = &self.model;
        let gravity = self.params.gravity;
        let Some(up) = (-gravity).try_normalize(1e-9) else { return vec![] };
        let mut told: Vec<&str> = vec![];
        let mut doubts = vec![];
        for body in &model.bodies {
            let points = &model.rest_positions[body.nodes.clone()];
            let heights = points.iter().map(|p| p.dot(&up));
            let height = heights.clone().fold(f64::NEG_INFINITY, f64::max) - heights.fold(f64::INFINITY, f64::min);
            let stress = body.material.density * gravity.norm() * height;
            let sinking = stress / body.material.young_modulus;
            if sinking > LARGEST_SINKING && !told.contains(&base_name(&body.name)) {
                told.push(base_name(&body.name));
                doubts.push(format!(
                    "{} is too soft to carry itself: a column of its height would sink by {:.0} % under its own weight; from young_modulus = {} on by 5 %",
                    body.name,
                    100.0 * sinking,
                    round(stress / 0.05)
                ));
            }
        }
        doubts
    }

    fn doubts_of_simulation(&self) -> Vec<String> {
        let gravity = self.params.gravity.norm();
        let heavy = (gravity > STRONGEST_GRAVITY)
            .then(|| format!("gravity is {} m/s^2, {} times that of the earth", round(gravity), grouped((gravity / 9.81).round())));
        let dt = self.params.time_step;
        let coarse = (dt > LONGEST_TIME_STEP).then(|| {
            format!("time_step = {dt} s is coarse: what swings faster than about {} s is damped away; 0.01 is usual", round(10.0 * dt))
        });
        heavy.into_iter().chain(coarse).collect()
    }
}

fn doubt_of_material(NamedMaterial { name, material }: &NamedMaterial) -> Option<String> {
    let outside = |range: [f64; 2], x: f64| !(range[0]..=range[1]).contains(&x);
    let what = match (material.density, material.young_modulus) {
        (density, _) if outside(DENSITIES, density) => {
            format!("density = {} kg/m^3 is {}", round(density), if density < 1.0 { "lighter than air" } else { "heavier than any metal" })
        }
        (_, stiffness) if outside(STIFFNESSES, stiffness) => {
            let than = if stiffness < 1e3 { "softer than any gel that keeps its shape" } else { "stiffer than diamond" };
            format!("young_modulus = {} Pa is {than}; it is in pascals", round(stiffness))
        }
        _ => return None,
    };
    Some(if name.is_empty() { what } else { format!("material {name}: {what}") })
}

/// A length in a unit that fits.
fn length(x: f64) -> String {
    match x {
        _ if x >= 1e3 => format!("{} km", round(x / 1e3)),
        _ if x >= 1.0 => format!("{} m", round(x)),
        _ if x >= 1e-3 => format!("{} mm", round(1e3 * x)),
        _ => format!("{} µm", round(1e6 * x)),
    }
}

/// Three digits.
fn round(x: f64) -> String {
    let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    if (1e-3..1e6).contains(&rounded) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// A whole number in groups of three digits.
fn grouped(x: f64) -> String {
    let digits = format!("{x:.0}");
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, build, builtin_scenes};

    const TEXT: &str = "format = 1\n[material.soft]\nyoung_modulus = 1e6\n[[body]]\nname = \"bar\"\nmaterial = \"soft\"\n\
                        shape = { type = \"box\", size = [0.3, 0.1, 0.1], cells = [3, 1, 1] }\n";

    fn doubts(flags: &[&str]) -> Vec<String> {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        build(&Scene::from_text("s", "s.toml", TEXT, None, &flags).unwrap()).unwrap().doubts()
    }

    #[test]
    fn what_is_seldom_meant_is_told() {
        assert_eq!(doubts(&[]), [""; 0]);
        for (flag, words) in [
            ("body.bar.scale=1000", &["bar is 300 m long", "weighs 3,000,000 tonnes"][..]),
            ("body.bar.scale=0.001", &["bar is 300 µm long", "falls"]),
            ("material.soft.young_modulus=500", &["too soft to carry itself", "young_modulus = 19600"]),
            ("material.soft.young_modulus=1e13", &["stiffer than diamond"]),
            ("material.soft.density=1e5", &["heavier than any metal"]),
            ("simulation.time_step=0.5", &["time_step = 0.5 s is coarse"]),
            ("simulation.gravity=[0, -1e6, 0]", &["101,937 times that of the earth"]),
            ("body.bar.velocity=[100, 0, 0]", &["moves 1 m in a time step"]),
        ] {
            let told = doubts(&[flag]).join("\n");
            assert!(words.iter().all(|word| told.contains(word)), "{flag}: {told}");
        }
    }

    #[test]
    fn the_gallery_is_plausible() {
        for entry in builtin_scenes() {
            assert_eq!(build(&Scene::builtin(entry.name).unwrap()).unwrap().doubts(), [""; 0], "{}", entry.name);
        }
    }
}
