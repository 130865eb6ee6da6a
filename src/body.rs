//! Which body unknowns, surfaces and contacts belong to.

/// A body of a model, by what it is. Ordered: deformable, rigid, obstacles, the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BodyRef {
    /// Place among `model::Model::bodies`.
    Deformable(u32),
    /// Place among `model::Model::rigid_bodies`.
    Rigid(u32),
    /// Place among `model::Model::obstacles`.
    Obstacle(u32),
    /// What a joint holds on to that is no body.
    World,
}

impl BodyRef {
    /// Place in the model's list of bodies of this kind; of the world a place in none.
    pub fn index(self) -> usize {
        match self {
            Self::Deformable(place) | Self::Rigid(place) | Self::Obstacle(place) => place as usize,
            Self::World => usize::MAX,
        }
    }

    pub fn is_deformable(self) -> bool {
        matches!(self, Self::Deformable(_))
    }
}

/// The one numbering of all bodies, for tables with an item a body: deformable, rigid, obstacles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyNumbering {
    pub n_deformable: usize,
    pub n_rigid: usize,
}

impl BodyNumbering {
    /// The body with a number; numbers after those of the rigid bodies are obstacles.
    pub fn body(self, number: usize) -> BodyRef {
        match number.checked_sub(self.n_deformable) {
            None => BodyRef::Deformable(number as u32),
            Some(rigid) => match rigid.checked_sub(self.n_rigid) {
                None => BodyRef::Rigid(rigid as u32),
                Some(obstacle) => BodyRef::Obstacle(obstacle as u32),
            },
        }
    }

    /// The number of a body; none of the world.
    pub fn number(self, body: BodyRef) -> Option<usize> {
        match body {
            BodyRef::Deformable(body) => Some(body as usize),
            BodyRef::Rigid(rigid) => Some(self.n_deformable + rigid as usize),
            BodyRef::Obstacle(obstacle) => Some(self.n_deformable + self.n_rigid + obstacle as usize),
            BodyRef::World => None,
        }
    }

    /// Bodies with unknowns: all but the obstacles.
    pub fn n_with_unknowns(self) -> usize {
        self.n_deformable + self.n_rigid
    }
}

/// The name that the copies of one body share: `bar` of `bar[2]`.
pub fn base_name(name: &str) -> &str {
    name.split_once('[').map_or(name, |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_order() {
        let numbering = BodyNumbering { n_deformable: 2, n_rigid: 3 };
        let bodies: Vec<BodyRef> = (0..7).map(|number| numbering.body(number)).collect();
        assert!(bodies.is_sorted() && bodies.iter().all(|body| *body < BodyRef::World));
        assert_eq!(bodies[1..3], [BodyRef::Deformable(1), BodyRef::Rigid(0)]);
        assert_eq!(bodies[4..6], [BodyRef::Rigid(2), BodyRef::Obstacle(0)]);
        let numbers: Vec<_> = bodies.iter().map(|body| numbering.number(*body)).collect();
        assert_eq!(numbers, (0..7).map(Some).collect::<Vec<_>>());
        assert_eq!(numbering.number(BodyRef::World), None);
    }
}
