//! The matrix of a body at rest, as the program factors it: `M (1 + dt alpha) + dt (dt + beta) K`.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use pliant::material::Lame;
use pliant::math::{Mat3, Vec3};
use pliant::model::Model;
use pliant::scene::{Scene, build};

pub struct RestMatrix {
    pub name: String,
    pub model: Arc<Model>,
    pub blocks: Vec<Mat3>,
    /// The nodes of the body in the model.
    pub range: Range<usize>,
    /// Nodes of its surface, counted from its first one; ascending.
    pub touched: Vec<u32>,
}

impl RestMatrix {
    /// `name`: `SCENE.toml`, or `SCENE.toml:BODY`; without a body the first one.
    pub fn read(name: &str) -> anyhow::Result<Self> {
        let (path, body) = name.rsplit_once(':').unwrap_or((name, ""));
        let scene = Scene::from_file(Path::new(path))?;
        let built = build(&scene)?;
        let (model, params) = (built.model, built.params);
        let found = model.bodies.iter().find(|found| body.is_empty() || found.name == body).context("no such body")?;
        let (name, range, tets) = (format!("{} of {path}", found.name), found.nodes.clone(), found.tets.clone());
        let (alpha, beta, dt) = (found.material.mass_damping, found.material.stiffness_damping, params.time_step);
        let vertices = found.collision_vertices.clone();
        let mut blocks = vec![Mat3::zeros(); model.pattern.n_blocks()];
        for i in range.clone() {
            blocks[model.pattern.diagonals[i] as usize] += Mat3::identity() * (model.node_masses[i] * (1.0 + dt * alpha));
        }
        for tet in &model.tets[tets] {
            let Lame { mu, lambda, .. } = model.material(tet).lame();
            for (i, a) in tet.nodes.iter().zip(&tet.gradients) {
                for (j, b) in tet.nodes.iter().zip(&tet.gradients) {
                    let block = a * b.transpose() * lambda + (b * a.transpose() + Mat3::identity() * a.dot(b)) * mu;
                    let row = model.pattern.row(*i as usize);
                    let place = row.start
                        + model.pattern.columns[row].binary_search(j).map_err(|_| anyhow::anyhow!("a block outside the pattern"))?;
                    blocks[place] += block * (dt * (dt + beta) * tet.volume);
                }
            }
        }
        let nodes = vertices.flat_map(|v| model.collision.nodes[v].into_iter().zip(model.collision.weights[v]));
        let mut touched: Vec<u32> = nodes
            .filter(|(node, weight)| *weight != 0.0 && range.contains(&(*node as usize)) && !model.fixed[*node as usize])
            .map(|(node, _)| node - range.start as u32)
            .collect();
        touched.sort_unstable();
        touched.dedup();
        Ok(Self { name, model, blocks, range, touched })
    }

    pub fn n_nodes(&self) -> usize {
        self.range.len()
    }

    pub fn is_fixed(&self, node: usize) -> bool {
        self.model.fixed[self.range.start + node]
    }

    pub fn n_free(&self) -> usize {
        (0..self.n_nodes()).filter(|node| !self.is_fixed(*node)).count()
    }

    /// Blocks between free nodes, both triangles.
    pub fn n_blocks(&self) -> usize {
        (0..self.n_nodes()).map(|node| self.row(node).count()).sum()
    }

    /// Free neighbours of a free node, itself among them, with the blocks.
    pub fn row(&self, node: usize) -> impl Iterator<Item = (usize, &Mat3)> {
        let row = if self.is_fixed(node) { 0..0 } else { self.model.pattern.row(self.range.start + node) };
        let columns = self.model.pattern.columns[row.clone()].iter().map(|j| *j as usize - self.range.start);
        columns.zip(&self.blocks[row]).filter(|(j, _)| !self.is_fixed(*j))
    }

    /// The `n` lowest nodes of the surface.
    pub fn lowest(&self, n: usize) -> Vec<u32> {
        let height = |node: &u32| self.model.rest_positions[self.range.start + *node as usize].y;
        let mut nodes = self.touched.clone();
        nodes.sort_by(|a, b| height(a).total_cmp(&height(b)).then(a.cmp(b)));
        nodes.truncate(n);
        nodes
    }

    /// An impulse along x on one node.
    pub fn unit_load(&self, node: u32) -> Vec<Vec3> {
        (0..self.n_nodes()).map(|i| if i == node as usize { Vec3::x() } else { Vec3::zeros() }).collect()
    }
}
