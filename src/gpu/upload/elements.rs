//! Elements as the device has them: tets, and patches whose points are kept by tets.

use std::borrow::Cow;

use crate::elastic::{Quaternion, SECOND_ORDER, state_rows};
use crate::element::{Cell, Element, Patch, Tet4, Tet10};
use crate::gpu::layout::{NONE, PatchData, TET_FOLLOWS, TET_POINT, TET_TURNED, TET_TURNED_POINT, TetData, vec4};
use crate::material::{ConstitutiveModel, Lame, Material, PLASTIC_ROWS, PlasticRows, StretchLimit, StretchLimits};
use crate::math::Mat3;
use crate::model::{Lists, Model, Tet};

/// What elements answer by, besides the materials of the model.
#[derive(Clone, Copy)]
pub struct Laws<'a> {
    /// Bodies with [`Material::recovering`]; none if there are none.
    pub tangled: &'a [bool],
    /// Bodies that make a step of second order; none if there are none.
    pub second_order: &'a [bool],
    /// Rows of state of all tets; none as at the start.
    pub rows: &'a [Quaternion],
    /// Tets whose rotation is brought; none if there are none.
    pub turned: &'a [bool],
}

impl Laws<'_> {
    /// Of an element of a body, which is made of `material`.
    fn material(&self, body: u32, material: &Material) -> Material {
        let mut material = *material;
        if self.tangled.get(body as usize) == Some(&true) {
            material = Material { plasticity: None, stretch_limits: None, ..material.recovering() };
        }
        if self.second_order.get(body as usize) == Some(&true) {
            material.stiffness_damping *= SECOND_ORDER;
        }
        material
    }
}

/// All tets; those of patches with the points that they keep.
pub fn tets(model: &Model, laws: Laws) -> Vec<TetData> {
    let mut row = model.tets.len();
    let mut of_tet = |(tet, rows): (&Tet, &[Quaternion])| {
        let first_row = row;
        row += model.material(tet).state_rows();
        tet_data(tet, &laws.material(tet.body, model.material(tet)), model.material(tet).plastic_rows(rows), row - first_row, first_row)
    };
    let mut tets: Vec<_> = model.tets.iter().zip(state_rows(model, laws.rows)).map(&mut of_tet).collect();
    tets.iter_mut().zip(laws.turned).filter(|(_, turned)| **turned).for_each(|(tet, _)| tet.role = TET_TURNED);
    model.cells.iter().for_each(|cell| keep_points(cell, model, laws, &mut tets));
    model.tets10.iter().for_each(|tet| keep_points(tet, model, laws, &mut tets));
    tets
}

/// A tet of a material; its plastic rows are the last ones of its `n_rows`.
fn tet_data(tet: &Tet, material: &Material, rows: PlasticRows, n_rows: usize, first_row: usize) -> TetData {
    let Lame { mu, lambda } = material.lame();
    let flows = material.plasticity.is_some();
    let change = if flows { rows.change() } else { Mat3::zeros() };
    let [_, a, b, c] = tet.gradients.map(|gradient| gradient + change * gradient);
    let limits = material.stretch_limits.unwrap_or(StretchLimits { min: None, max: None });
    TetData {
        nodes: tet.nodes,
        g1: vec4(&a, mu * tet.volume),
        g2: vec4(&b, lambda * tet.volume),
        g3: vec4(&c, material.stiffness_damping),
        model: material.model as u32,
        mooney_share: material.mooney_share as f32,
        weight: (mu * tet.volume) as f32,
        role: TET_FOLLOWS,
        min_strain: limits.min.map_or(f32::MIN, |stretch| (stretch - 1.0) as f32),
        max_strain: limits.max.map_or(f32::MAX, |stretch| (stretch - 1.0) as f32),
        limit_stiffness: limit_stiffness(material, tet.volume),
        plastic_row: if flows { (first_row + n_rows - PLASTIC_ROWS) as u32 } else { NONE },
    }
}

/// How stiff a volume is beyond the limits of stretch [J]; 0 where there are none.
fn limit_stiffness(material: &Material, volume: f64) -> f32 {
    material.stretch_limits.map_or(0.0, |_| 2.0 * StretchLimit::new(material).lame().mu * volume) as f32
}

/// What the elements of a patch are made of.
fn material_of<const N: usize, const P: usize>(patch: &Patch<N, P>, model: &Model, laws: Laws) -> Material {
    laws.material(model.tets[patch.tets[0] as usize].body, &model.materials[patch.material as usize])
}

fn keep_points<const N: usize, const P: usize>(patch: &Patch<N, P>, model: &Model, laws: Laws, tets: &mut [TetData]) {
    let material = material_of(patch, model, laws);
    for (k, tet) in tets[patch.tets()].iter_mut().enumerate() {
        tet.role = if tet.role == TET_TURNED { TET_TURNED_POINT } else { TET_POINT };
        if k < patch.n_points() {
            tet.g1[3] = (material.lame().mu * patch.volumes[k]) as f32;
            tet.g2[3] = 0.0;
            tet.limit_stiffness = limit_stiffness(&material, patch.volumes[k]);
        } else {
            (tet.model, tet.limit_stiffness) = (NONE, 0.0);
        }
    }
}

/// Cells, then tets of ten nodes.
pub fn patches(model: &Model, laws: Laws) -> Vec<PatchData> {
    let cells = model
        .cells
        .iter()
        .enumerate()
        .map(|(k, cell)| patch_data(cell, model, laws, [Cell::NODES * k, Cell::QUADRATURE_POINTS * Cell::NODES * k]));
    let first = [model.first_corner_of_tets10(), Cell::QUADRATURE_POINTS * model.first_corner_of_tets10()];
    let of_tet10 =
        |(k, tet)| patch_data(tet, model, laws, [first[0] + Tet10::NODES * k, first[1] + Tet10::QUADRATURE_POINTS * Tet10::NODES * k]);
    cells.chain(model.tets10.iter().enumerate().map(of_tet10)).collect()
}

fn patch_data<const N: usize, const P: usize>(patch: &Patch<N, P>, model: &Model, laws: Laws, [corner, gradient]: [usize; 2]) -> PatchData {
    let material = material_of(patch, model, laws);
    PatchData {
        first_tet: patch.tets[0],
        n_tets: patch.tets().len() as u32,
        n_points: patch.n_points() as u32,
        n_nodes: N as u32,
        first_corner: corner as u32,
        first_gradient: gradient as u32,
        model: material.model as u32,
        lambda: material.lame().lambda as f32,
        volume: patch.volume() as f32,
        stiffness_damping: material.stiffness_damping as f32,
        has_limits: u32::from(material.stretch_limits.is_some()),
        pad_0: 0,
    }
}

/// The nodes of all patches, corner by corner.
pub fn nodes(model: &Model) -> Vec<u32> {
    model.cells.iter().flat_map(|cell| cell.nodes).chain(model.tets10.iter().flat_map(|tet| tet.nodes)).collect()
}

/// Shape gradients of the nodes at each point [1/m], from the shape to which it would return, with the volume of the
/// point [m^3].
pub fn gradients(model: &Model, laws: Laws) -> Vec<[f32; 4]> {
    let rows = state_rows(model, laws.rows);
    let mut all = vec![];
    model.cells.iter().for_each(|cell| gradients_of(cell, &material_of(cell, model, laws), &rows, &mut all));
    model.tets10.iter().for_each(|tet| gradients_of(tet, &material_of(tet, model, laws), &rows, &mut all));
    all
}

fn gradients_of<const N: usize, const P: usize>(patch: &Patch<N, P>, material: &Material, rows: &[&[Quaternion]], all: &mut Vec<[f32; 4]>) {
    for (point, (gradients, volume)) in patch.gradients.iter().zip(&patch.volumes).enumerate() {
        let rows = rows[patch.tets()].get(point).copied().unwrap_or_default();
        let change = material.plastic_rows(rows).change();
        all.extend(gradients.iter().map(|gradient| vec4(&(gradient + change * gradient), *volume)));
    }
}

/// Where the lists of the nodes begin among [`corner_items`], and where the last one ends: of the corners of tets, and
/// of the corners whose forces they take.
pub fn node_lists(model: &Model) -> [Vec<u32>; 2] {
    let corners = &model.node_corners;
    if model.node_patches.is_empty() {
        return [corners.starts.clone(), corners.starts.clone()];
    }
    let mut forces = vec![corners.items.len() as u32];
    for node in 0..model.n_nodes() {
        forces.push(forces[node] + force_corners(model, node).len() as u32);
    }
    [corners.starts.clone(), forces]
}

/// Corners of tets; where there are patches, behind them those whose forces the nodes take.
pub fn corner_items(model: &Model) -> Vec<u32> {
    let mut items = model.node_corners.items.clone();
    if !model.node_patches.is_empty() {
        (0..model.n_nodes()).for_each(|node| items.extend_from_slice(&force_corners(model, node)));
    }
    items
}

/// Places of the forces of a node: those of patches stand behind those of tets.
fn force_corners(model: &Model, node: usize) -> Cow<'_, [u32]> {
    let first = (Tet4::NODES * model.tets.len()) as u32;
    match model.node_patches.get(node) {
        [] => model.node_corners.get(node).into(),
        corners => corners.iter().map(|corner| first + corner).collect(),
    }
}

/// For each edge its tets ([`Element::edge_item`]), or behind all items of tets its blocks of patches
/// ([`Model::patch_edge`]).
pub fn edge_lists(model: &Model) -> Cow<'_, Lists> {
    if model.edge_patches.is_empty() {
        return Cow::Borrowed(&model.edge_tets);
    }
    let first = Tet4::edge_item(model.tets.len(), [0, 0]);
    let (mut starts, mut items) = (vec![0], vec![]);
    for edge in 0..model.pattern.edges.len() {
        items.extend_from_slice(model.edge_tets.get(edge));
        items.extend(model.edge_patches.get(edge).iter().map(|item| first + item));
        starts.push(items.len() as u32);
    }
    Cow::Owned(Lists { starts, items })
}
