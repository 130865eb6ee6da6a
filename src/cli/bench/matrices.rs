//! The matrices that are measured: of generated beams, and from Matrix Market files.

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;

use super::{Failure, Size};
use crate::elastic::{Elements, NodeMotion, SystemInputs, TetGroups, gather_motions, matrix};
use crate::lab::sparse::{Bcsr, Csr, ELEMENT_ROWS, IndexBlocks, parse_market};
use crate::material::Material;
use crate::math::{Mat3, Quat, Vec3};
use crate::mesh::shapes;
use crate::model::{Loads, Params, State};
use crate::model::{Model, ModelBuilder, SoftBody};
use crate::sparse::Operator;

#[derive(Args, Clone, Debug, Default)]
pub struct MatrixArgs {
    /// Cells of a generated beam for all but copy and step, clamped at one end, along its three sides; six tets a cell;
    /// may be repeated [default: 15x15x75 and 24x24x120, 101,250 and 414,720 tets]
    #[arg(long, value_name = "CELLS", value_parser = parse_cells)]
    pub mesh: Vec<[u32; 3]>,
    /// Matrix Market file for spmv, cg and model (real, integer or pattern; general or symmetric); may be repeated
    #[arg(long, value_name = "FILE")]
    pub matrix: Vec<PathBuf>,
}

/// Cells that no machine has the memory for.
const MOST_CELLS: u64 = 2_000_000;

/// "15x15x75".
pub fn parse_cells(text: &str) -> Result<[u32; 3], String> {
    let numbers: Vec<u32> = text.split('x').map_while(|word| word.parse().ok()).collect();
    match numbers[..] {
        [a, b, c] if text.split('x').count() == 3 && a.min(b).min(c) > 0 && u64::from(a) * u64::from(b) <= MOST_CELLS / u64::from(c) => {
            Ok([a, b, c])
        }
        _ => Err(format!("expected three numbers of cells such as 15x15x75, of {MOST_CELLS} cells together at most")),
    }
}

const DEFAULT_MESHES: [[u32; 3]; 2] = [[15, 15, 75], [24, 24, 120]];

/// A matrix and where it comes from.
pub struct NamedMatrix {
    pub name: String,
    pub csr: Csr,
    pub size: Size,
}

impl NamedMatrix {
    /// Whether conjugate gradients can be tried.
    pub fn check_solvable(&self) -> Result<(), Failure> {
        if self.csr.n_rows() == self.csr.n_columns && self.csr.diagonal().iter().all(|d| *d > 0.0) {
            return Ok(());
        }
        Err(Failure::Input(format!("{}: conjugate gradients need a symmetric matrix with a positive diagonal", self.name)))
    }
}

impl MatrixArgs {
    /// The meshes asked for; those of the default if nothing is.
    pub fn meshes(&self) -> &[[u32; 3]] {
        if self.mesh.is_empty() && self.matrix.is_empty() { &DEFAULT_MESHES } else { &self.mesh }
    }

    /// Makes or reads one matrix after the other and gives it to `work`.
    pub fn for_each(&self, mut work: impl FnMut(&NamedMatrix) -> Result<(), Failure>) -> Result<(), Failure> {
        for path in &self.matrix {
            work(&read(path)?)?;
        }
        for cells in self.meshes() {
            let beam = Beam::new(*cells)?;
            let csr = Csr::from_blocks(&beam.model.pattern, &beam.matrix().blocks, &beam.model.fixed);
            work(&NamedMatrix { name: beam.name.clone(), csr, size: beam.size() })?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<NamedMatrix, Failure> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::Input(format!("cannot read {}: {error}", path.display())))?;
    let csr = parse_market(&path.to_string_lossy(), &text).map_err(|error| Failure::Input(error.to_string()))?;
    let size = Size { rows: csr.n_rows(), entries: csr.n_entries(), ..Size::default() };
    Ok(NamedMatrix { name, csr, size })
}

/// A beam of 5 cm cells, clamped at one end, and bent and moving, so that rotations have something to follow.
pub struct Beam {
    pub name: String,
    pub model: Model,
    pub params: Params,
    /// Two states a step apart: the rotations of one start those of the other.
    pub states: [State; 2],
}

impl Beam {
    pub fn new(cells: [u32; 3]) -> Result<Self, Failure> {
        let size = Vec3::from(cells.map(|n| 0.05 * f64::from(n)));
        let material = Material { young_modulus: 1e6, poisson_ratio: 0.3, ..Material::default() };
        let mut body = SoftBody::with_boundary_surface("beam", material, shapes::box_tets(size, cells));
        let longest = size.imax();
        let end = -0.5 * size[longest] + 1e-9;
        body.fixed = body.tets.positions.iter().map(|p| p[longest] < end).collect();
        let mut builder = ModelBuilder::default();
        builder.soft_body(body);
        let model = builder.build().map_err(|error| Failure::Run(error.to_string()))?;
        let params = Params { time_step: 0.01, ..Params::default() };
        let mut start = State::initial(&model);
        let across = Vec3::ith((longest + 1) % 3, 1.0);
        for (i, x) in model.rest_positions.iter().enumerate().filter(|(i, _)| !model.fixed[*i]) {
            let way = x[longest] + 0.5 * size[longest];
            let turn = Quat::from_scaled_axis(across * (0.5 * way / size[longest]));
            start.displacements[i] = turn * x - x;
            start.velocities[i] = Vec3::new(0.0, -way, 0.1 * way);
        }
        let mut moved = start.clone();
        for (u, v) in moved.displacements.iter_mut().zip(&start.velocities) {
            *u += v * params.time_step;
        }
        Ok(Self { name: format!("beam {}x{}x{}", cells[0], cells[1], cells[2]), model, params, states: [start, moved] })
    }

    pub fn size(&self) -> Size {
        let model = &self.model;
        Size {
            nodes: model.n_nodes(),
            tets: model.tets.len(),
            blocks: model.pattern.n_blocks(),
            rows: 3 * model.n_nodes(),
            entries: 9 * model.pattern.n_blocks(),
            constraints: 0,
        }
    }

    /// The system matrix of a step.
    pub fn matrix(&self) -> Operator {
        let mut update = Update::new(self);
        update.rotations(0);
        update.matrix(0);
        update.a
    }
}

/// The stages that turn the state into a matrix.
pub struct Update<'a> {
    beam: &'a Beam,
    loads: Loads,
    rotations: Vec<[f64; 4]>,
    groups: TetGroups,
    motions: Vec<NodeMotion>,
    elements: Elements,
    edge_blocks: Vec<Mat3>,
    pub a: Operator,
}

impl<'a> Update<'a> {
    pub fn new(beam: &'a Beam) -> Self {
        Self {
            groups: TetGroups::of(&beam.model),
            motions: vec![],
            loads: Loads::default(),
            rotations: beam.states[0].rotations.clone(),
            elements: Elements::default(),
            edge_blocks: vec![],
            a: Operator::default(),
            beam,
        }
    }

    /// The element pass: rotations, stresses and what the matrix is gathered from.
    pub fn rotations(&mut self, state: usize) {
        let Beam { params, states, .. } = self.beam;
        let State { displacements, velocities, .. } = &states[state % 2];
        let Elements { forces, tangents } = &mut self.elements;
        gather_motions(displacements, velocities, &mut self.motions);
        self.groups.pass::<_, true>(&mut self.rotations, &self.motions, params.time_step, forces, tangents);
    }

    /// The gather.
    pub fn matrix(&mut self, state: usize) {
        let Beam { model, params, states, .. } = self.beam;
        let inputs = SystemInputs { model, state: &states[state % 2], params, loads: &self.loads, second_order: &[] };
        matrix(inputs, &self.elements.tangents, &mut self.a, &mut self.edge_blocks);
    }
}

/// The same matrix the way of the thesis: 12x12 matrices of all elements, and a gather from them.
pub struct IndexedUpdate {
    indices: IndexBlocks<3>,
    element_matrices: Vec<f64>,
    pub blocks: Vec<[[f64; 3]; 3]>,
}

impl IndexedUpdate {
    pub fn new(beam: &Beam, matrix: &Bcsr<f64, 3>) -> Self {
        let unknowns: Vec<_> = beam.model.tets.iter().map(|tet| std::array::from_fn(|a| 3 * tet.nodes[a / 3] + a as u32 % 3)).collect();
        Self {
            indices: IndexBlocks::new(matrix, &unknowns),
            element_matrices: vec![0.0; unknowns.len() * ELEMENT_ROWS * ELEMENT_ROWS],
            blocks: vec![[[0.0; 3]; 3]; matrix.blocks.len()],
        }
    }

    pub fn bytes(&self) -> u64 {
        self.indices.bytes()
    }

    /// Stiffness matrices of the elements, as `elastic::edge_block` has their parts.
    pub fn element_matrices(&mut self, update: &Update) {
        let matrices = self.element_matrices.par_chunks_mut(ELEMENT_ROWS * ELEMENT_ROWS);
        matrices.zip(&update.elements.tangents.gradients).for_each(|(matrix, gradients)| {
            let (ratio, a) = (gradients.0[0][3], gradients.0.map(|[x, y, z, _]| Vec3::new(x, y, z)));
            for (i, rows) in matrix.chunks_mut(3 * ELEMENT_ROWS).enumerate() {
                for j in 0..4 {
                    let block = a[i] * a[j].transpose() * ratio + a[j] * a[i].transpose() + Mat3::identity() * a[i].dot(&a[j]);
                    for r in 0..3 {
                        for c in 0..3 {
                            rows[r * ELEMENT_ROWS + 3 * j + c] = block[(r, c)];
                        }
                    }
                }
            }
        });
    }

    pub fn gather(&mut self) {
        self.indices.gather(&self.element_matrices, &mut self.blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::sparse::{CgWork, Storage, StorageKind, jacobi_cg};

    #[test]
    fn cells_are_three_numbers() {
        assert_eq!(parse_cells("2x3x4"), Ok([2, 3, 4]));
        for wrong in ["", "2", "2x3", "2x3x4x5", "0x3x4", "2x-3x4", "2x3xa", "4000000000x4000000000x4000000000", "1000x1000x1000"] {
            assert!(parse_cells(wrong).is_err(), "{wrong}");
        }
    }

    /// The matrix that is measured is the one of a step: symmetric and positive definite, with unit rows at the clamped
    /// end.
    #[test]
    fn the_matrix_of_a_beam_can_be_solved_with() {
        let beam = Beam::new([3, 3, 8]).unwrap();
        assert_eq!(beam.size().tets, 6 * 72);
        let csr = Csr::from_blocks(&beam.model.pattern, &beam.matrix().blocks, &beam.model.fixed);
        assert_eq!((csr.n_rows(), csr.n_entries()), (beam.size().rows, beam.size().entries));
        for i in (0..csr.n_rows()).step_by(7) {
            for (j, value) in csr.row(i) {
                let back = csr.row(j).find(|(k, _)| *k == i).unwrap().1;
                assert!((value - back).abs() <= 1e-12 * value.abs().max(1e-3), "({i}, {j}): {value} {back}");
            }
        }
        let a = Storage::<f64>::new(&csr, StorageKind::Sell8);
        let d = csr.diagonal().iter().map(|d| 1.0 / d).collect::<Vec<_>>();
        let b = a.padded(&vec![1.0; csr.n_rows()]);
        let mut x = a.padded(&vec![0.0; csr.n_rows()]);
        let solved = jacobi_cg(&a, &d, &b, &mut x, 1e-8, 500, &mut CgWork::default());
        assert!(solved.converged, "{solved:?}");
    }

    /// Both ways to the matrix give the same; the gather of edges adds the mass.
    #[test]
    fn the_thesis_way_gives_the_same_matrix() {
        let beam = Beam::new([2, 2, 5]).unwrap();
        let mut update = Update::new(&beam);
        update.rotations(0);
        update.matrix(0);
        let free = vec![false; beam.model.n_nodes()];
        let matrix = Bcsr::<f64, 3>::new(&Csr::from_blocks(&beam.model.pattern, &update.a.blocks, &free));
        let mut indexed = IndexedUpdate::new(&beam, &matrix);
        indexed.element_matrices(&update);
        indexed.gather();
        let mass = &beam.model.node_masses;
        for i in 0..matrix.n_block_rows() {
            for b in matrix.row(i) {
                for c in 0..3 {
                    for r in 0..3 {
                        let lumped = if matrix.columns[b] as usize == i && r == c { mass[i] } else { 0.0 };
                        let (found, wanted) = (indexed.blocks[b][c][r] + lumped, matrix.blocks[b][c][r]);
                        assert!(
                            (found - wanted).abs() < 1e-9 * mass[i].max(wanted.abs()),
                            "({i}, {}) [{r}, {c}]: {found} {wanted}",
                            matrix.columns[b]
                        );
                    }
                }
            }
        }
    }
}
