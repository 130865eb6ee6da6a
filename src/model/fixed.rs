//! Parts of bodies by place, and those whose nodes never move.

use serde::{Deserialize, Serialize};

use super::Model;
use crate::body::base_name;
use crate::math::{Aabb, Vec3};

/// A part of a body by place: in the world, the body at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Extent {
    /// A box along the world's axes, from its lowest to its highest corner [m].
    Box {
        #[serde(with = "crate::math::components")]
        min: Vec3,
        #[serde(with = "crate::math::components")]
        max: Vec3,
    },
    /// The side of the body's own box at the low or high end of an axis.
    Side { axis: usize, high: bool },
    /// All that is in one of these balls.
    Spheres(Vec<Ball>),
}

/// A ball in the world [m].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ball {
    #[serde(with = "crate::math::components")]
    pub center: Vec3,
    pub radius: f64,
}

/// The parts of a body that never move, as a scene says them; they may change while a simulation runs
/// ([`Model::with_fixed`]). The name of a body with copies stands for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedParts {
    pub body: String,
    pub parts: Vec<Extent>,
}

/// Points this part of the body's size outside still belong to a part: rounding must not decide.
const TOLERANCE: f64 = 1e-6;

impl Extent {
    /// Indices of the points inside. `bounds`: the body's box.
    pub fn select(&self, points: &[Vec3], bounds: &Aabb) -> Vec<u32> {
        let tolerance = TOLERANCE * bounds.extent().max();
        let inside = |p: &Vec3| match self {
            Self::Box { min, max } => (0..3).all(|i| p[i] >= min[i] - tolerance && p[i] <= max[i] + tolerance),
            Self::Side { axis, high: false } => p[*axis] <= bounds.min[*axis] + tolerance,
            Self::Side { axis, high: true } => p[*axis] >= bounds.max[*axis] - tolerance,
            Self::Spheres(balls) => balls.iter().any(|ball| (p - ball.center).norm() <= ball.radius + tolerance),
        };
        (0..points.len() as u32).filter(|&i| inside(&points[i as usize])).collect()
    }
}

/// The centres of elements, each of `parts` tets in a row [m].
pub fn element_centers(positions: &[Vec3], tets: &[[u32; 4]], parts: usize) -> Vec<Vec3> {
    let center = |of_element: &[[u32; 4]]| {
        let nodes = of_element.as_flattened();
        nodes.iter().map(|n| positions[*n as usize]).sum::<Vec3>() / nodes.len() as f64
    };
    tets.chunks(parts).map(center).collect()
}

impl Model {
    /// The centres of the elements of a deformable body at rest [m], by which balls choose what is of a material.
    pub fn element_centers(&self, body: usize) -> Vec<Vec3> {
        let body = &self.bodies[body];
        let tets: Vec<[u32; 4]> = self.tets[body.tets.clone()].iter().map(|tet| tet.nodes).collect();
        element_centers(&self.rest_positions, &tets, body.element.parts())
    }

    /// The model with other fixed parts. What is fixed stays where it is then, wherever that is.
    ///
    /// # Errors
    /// The body that has no such part, and why, as a sentence.
    pub fn with_fixed(&self, fixed: &[FixedParts]) -> Result<Self, String> {
        let mut is_fixed = vec![false; self.n_nodes()];
        for FixedParts { body, parts } in fixed {
            let copies: Vec<usize> = (0..self.bodies.len()).filter(|place| base_name(&self.bodies[*place].name) == body).collect();
            if copies.is_empty() {
                return Err(format!("there is no deformable body \"{body}\", and others are not fixed by parts"));
            }
            for part in parts {
                let mut is_empty = true;
                for node in copies.iter().flat_map(|place| self.nodes_in(*place, part)) {
                    (is_fixed[node], is_empty) = (true, false);
                }
                if is_empty {
                    return Err(format!("no node of \"{body}\" is in one of its parts; make that larger, or leave it out"));
                }
            }
        }
        Ok(Self { fixed: is_fixed, fixed_parts: fixed.to_vec(), ..self.clone() })
    }

    /// The nodes of a deformable body that are in a part of it.
    pub fn nodes_in(&self, body: usize, part: &Extent) -> impl Iterator<Item = usize> {
        let nodes = self.bodies[body].nodes.clone();
        let points = &self.rest_positions[nodes.clone()];
        part.select(points, &Aabb::of(points)).into_iter().map(move |node| nodes.start + node as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, SoftBody, State};

    fn model() -> Model {
        let mut builder = ModelBuilder::default();
        for (name, x) in [("bar[0]", 0.0), ("bar[1]", 3.0), ("ball", 6.0)] {
            let mut tets = shapes::box_tets(Vec3::new(1.0, 1.0, 1.0), [2, 2, 2]);
            tets.positions.iter_mut().for_each(|p| p.x += x);
            let mut body = SoftBody::with_boundary_surface(name, Material::default(), tets);
            body.velocities.fill(Vec3::x());
            builder.soft_body(body);
        }
        builder.build().unwrap()
    }

    fn fixed(body: &str, part: Extent) -> FixedParts {
        FixedParts { body: body.into(), parts: vec![part] }
    }

    #[test]
    fn parts_are_of_all_copies_and_what_is_fixed_starts_at_rest() {
        let model = model();
        let low = model.with_fixed(&[fixed("bar", Extent::Side { axis: 1, high: false })]).unwrap();
        assert_eq!((0..81).filter(|node| low.fixed[*node]).count(), 18);
        assert!(low.fixed[..54].contains(&true) && !low.fixed[54..].contains(&true));
        let balls = Extent::Spheres(vec![Ball { center: Vec3::new(3.0, 0.0, 0.0), radius: 0.1 }]);
        let one = low.with_fixed(&[fixed("bar", balls)]).unwrap();
        assert_eq!((0..81).filter(|node| one.fixed[*node]).collect::<Vec<_>>(), [27 + 13], "the middle of the second copy alone");
        let state = State::initial(&one);
        assert_eq!((state.velocities[40], state.velocities[39]), (Vec3::zeros(), Vec3::x()));
        assert!(!one.with_fixed(&[]).unwrap().fixed.contains(&true));
    }

    #[test]
    fn what_is_nowhere_is_refused() {
        let balls = |x: f64| Extent::Spheres(vec![Ball { center: Vec3::x() * x, radius: 0.1 }]);
        assert!(model().with_fixed(&[fixed("bar", balls(1.5))]).unwrap_err().contains("no node of \"bar\""));
        assert!(model().with_fixed(&[fixed("cube", balls(0.0))]).unwrap_err().contains("no deformable body \"cube\""));
    }
}
