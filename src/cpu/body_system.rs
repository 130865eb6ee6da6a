//! The matrix of one deformable body in f32.

use super::matrix::Matrix;
use crate::elastic::Levels;
use crate::math::Mat3;
use crate::memory::Pages;
use crate::sparse::{RankOne, Segment, SingleBlock, TwoLevel, TwoLevelWork};
use crate::step::StepInputs;

/// The matrix of a body, once it is assembled in a step, and memory of its solve.
#[derive(Default)]
pub struct BodySystem {
    pub matrix: TwoLevel,
    pub work: TwoLevelWork,
    /// Of all edges of the body, each followed by its transpose.
    pub edge_blocks: Pages<SingleBlock>,
    /// Of the points of the body's lattice, where a method uses its fields.
    pub point_rotations: Vec<Mat3>,
    is_assembled: bool,
}

impl BodySystem {
    /// Another step begins.
    pub fn forget(&mut self) {
        self.is_assembled = false;
    }

    /// Takes the matrix of a body in a step, unless it is there.
    pub fn assemble(&mut self, step: &StepInputs, matrix: &Matrix, levels: &Levels, segment: &Segment) {
        if std::mem::replace(&mut self.is_assembled, true) {
            return;
        }
        let (model, rotations) = (step.model, matrix.rotations());
        matrix.single_blocks(model, segment.body.index(), &mut self.edge_blocks);
        let damped = damped(step, segment);
        let sum = |i: usize| damped * model.node_masses[i];
        let springs = springs_of(matrix, segment).copied();
        self.matrix.assemble(&levels.layout, &self.edge_blocks, sum, springs, |point| levels.rotation(point, rotations));
    }

    /// Turns the points of the body's lattice.
    pub fn turn_points(&mut self, matrix: &Matrix, levels: &Levels) {
        let rotation = |point| levels.rotation(point, matrix.rotations());
        self.point_rotations.clear();
        self.point_rotations.extend((0..levels.layout.n_points()).map(rotation));
    }
}

/// What the matrix makes of a mass of the body in a step.
pub fn damped(step: &StepInputs, segment: &Segment) -> f64 {
    step.system().mass_factor(segment.body.index())
}

/// The springs that hold a body.
pub fn springs_of<'m>(matrix: &'m Matrix, segment: &Segment) -> impl Iterator<Item = &'m RankOne> {
    let nodes = segment.unknowns.clone();
    matrix.operator().rank_ones.iter().filter(move |spring| nodes.contains(&(spring.nodes[0] as usize)))
}
