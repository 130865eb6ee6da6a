//! Scalar fields of a state, for pictures: one number for each vertex of the drawn surfaces, each tet and each node.

use super::Simulation;
use crate::contact::{ContactPressure, smooth_pressures};
use crate::elastic::{cauchy_stresses, deformation_gradient, von_mises};
use crate::math::{Mat3, Vec3};
use crate::mesh::tet_quality;
use crate::model::{Model, State, Surface};
use crate::step::StepError;

/// A quantity that bodies can be coloured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Von Mises' equivalent of the Cauchy stress [Pa].
    VonMises,
    /// The principal Cauchy stress of the largest magnitude [Pa]: tension is positive.
    PrincipalStress,
    /// `|s - 1|` of the principal stretch s that is farthest from 1 [-].
    Strain,
    /// J = det F [-].
    VolumeRatio,
    /// Distance from the rest position [m].
    Displacement,
    /// [m/s]
    Speed,
    /// Normal force over area, the mean over the elements around each node [Pa].
    ContactPressure,
    /// Place of the material in [`Model::named_materials`].
    Material,
    /// Quality of each element as it is now, 1 for a regular one [-]; 0 and less where it is flat or inside out.
    Quality,
}

/// The values of a field now. Deformable bodies only.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldValues {
    pub field: Field,
    /// At the vertices of the drawn surfaces.
    pub vertices: Vec<f32>,
    /// Of the tets.
    pub tets: Vec<f32>,
    /// Of the nodes, from which those of the vertices follow; none of what an element has as a whole: its material and
    /// its quality.
    pub nodes: Vec<f32>,
}

impl Field {
    pub const ALL: [Self; 9] = [
        Self::VonMises,
        Self::PrincipalStress,
        Self::Strain,
        Self::VolumeRatio,
        Self::Displacement,
        Self::Speed,
        Self::ContactPressure,
        Self::Material,
        Self::Quality,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::VonMises => "Stress (von Mises)",
            Self::PrincipalStress => "Principal stress",
            Self::Strain => "Strain",
            Self::VolumeRatio => "Volume ratio",
            Self::Displacement => "Displacement",
            Self::Speed => "Speed",
            Self::ContactPressure => "Contact pressure",
            Self::Material => "Material",
            Self::Quality => "Element quality",
        }
    }

    /// What it means, as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::VonMises => "How much the shape is strained, as a tension that would do as much: what makes things yield.",
            Self::PrincipalStress => "The strongest pull (positive) or push (negative) in any direction.",
            Self::Strain => "By which part the most strained direction is longer or shorter than at rest.",
            Self::VolumeRatio => "Volume over that at rest: 1 is unchanged, 0 flat, below 0 inside out.",
            Self::Displacement => "How far each point is from where it is at rest.",
            Self::Speed => "How fast each point moves.",
            Self::ContactPressure => "Push of contacts over area, averaged over the elements around each node.",
            Self::Material => "What the elements are made of, as the scene names it.",
            Self::Quality => "Shape of each element as it is now: 1 is regular, 0 flat. Flat ones make hard steps.",
        }
    }

    /// Unit in SI; empty of a mere number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::VonMises | Self::PrincipalStress | Self::ContactPressure => "Pa",
            Self::Strain | Self::VolumeRatio | Self::Material | Self::Quality => "",
            Self::Displacement => "m",
            Self::Speed => "m/s",
        }
    }

    /// The value about which colours go to two sides; none where they begin at 0.
    pub fn middle(self) -> Option<f64> {
        match self {
            Self::PrincipalStress => Some(0.0),
            Self::VolumeRatio => Some(1.0),
            _ => None,
        }
    }

    /// The range of values, where it is known beforehand.
    pub fn range(self) -> Option<[f64; 2]> {
        (self == Self::Quality).then_some([0.0, 1.0])
    }

    /// Whether values are numbers of things, between which there is nothing.
    pub fn is_category(self) -> bool {
        self == Self::Material
    }

    /// The values in a state of `model`; contact pressures are 0 without `pressure`.
    pub(super) fn values(self, model: &Model, state: &State, pressure: Option<&ContactPressure>) -> FieldValues {
        let stress = |of: fn(&Mat3) -> f64| -> Vec<f64> {
            let stresses = cauchy_stresses(model, &state.displacements, &state.rotations[model.tets.len()..]);
            stresses.iter().map(|stress| stress.as_ref().map_or(0.0, of)).collect()
        };
        let gradient = |of: fn(&Mat3) -> f64| -> Vec<f64> {
            model.tets.iter().map(|tet| of(&deformation_gradient(tet, &state.displacements))).collect()
        };
        let lengths = |vectors: &[Vec3]| vectors.iter().map(Vec3::norm).collect::<Vec<f64>>();
        let of_tets = match self {
            Self::VonMises => Some(stress(von_mises)),
            Self::PrincipalStress => Some(stress(strongest)),
            Self::Strain => Some(gradient(farthest_stretch)),
            Self::VolumeRatio => Some(gradient(|f| f.determinant())),
            Self::Quality => {
                let positions = state.positions(model);
                Some(model.tets.iter().map(|tet| tet_quality(&tet.nodes.map(|node| positions[node as usize]))).collect())
            }
            Self::Material => return materials(model),
            Self::Displacement | Self::Speed | Self::ContactPressure => None,
        };
        let of_nodes = match (&of_tets, self) {
            (Some(of_tets), _) => node_means(model, of_tets),
            (None, Self::Displacement) => lengths(&state.displacements),
            (None, Self::Speed) => lengths(&state.velocities),
            (None, _) => pressure.map_or_else(
                || vec![0.0; model.n_nodes()],
                |pressure| smooth_pressures(model, &state.positions(model), &pressure.of(model, state)),
            ),
        };
        let mean = |nodes: &[u32; 4]| nodes.iter().map(|node| of_nodes[*node as usize]).sum::<f64>() / 4.0;
        let tets = of_tets.unwrap_or_else(|| model.tets.iter().map(|tet| mean(&tet.nodes)).collect());
        let single = |values: &[f64]| values.iter().map(|value| *value as f32).collect();
        let vertices = single(&on_surface(&model.surface, &of_nodes));
        let nodes = if self == Self::Quality { vec![] } else { single(&of_nodes) };
        FieldValues { field: self, vertices, tets: single(&tets), nodes }
    }
}

impl Simulation {
    /// The values of a field now.
    pub fn field(&mut self, field: Field) -> Result<FieldValues, StepError> {
        let model = self.model().clone();
        if field == Field::ContactPressure && self.contact_pressure.is_none() {
            // A surface that cannot be searched was refused when the simulation was opened.
            self.contact_pressure = ContactPressure::new(&model).ok();
        }
        let pressure = self.contact_pressure.take();
        let values = self.state().map(|state| field.values(&model, state, pressure.as_ref()));
        self.contact_pressure = pressure;
        values
    }
}

/// Materials of tets, and of vertices those of the node with the most of the weight.
fn materials(model: &Model) -> FieldValues {
    let mut of_nodes = vec![0.0; model.n_nodes()];
    let tets: Vec<f32> = model.tets.iter().map(|tet| model.named_material_of(tet) as f32).collect();
    for (tet, material) in model.tets.iter().zip(&tets) {
        tet.nodes.iter().for_each(|node| of_nodes[*node as usize] = *material);
    }
    let nearest = |(nodes, weights): (&[u32; 4], &[f64; 4])| {
        let most = (0..4).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap_or_default();
        of_nodes[nodes[most] as usize]
    };
    let vertices = model.surface.nodes.iter().zip(&model.surface.weights).map(nearest).collect();
    FieldValues { field: Field::Material, vertices, tets, nodes: vec![] }
}

/// The eigenvalue of the largest magnitude.
fn strongest(stress: &Mat3) -> f64 {
    stress.symmetric_eigenvalues().iter().fold(0.0, |most: f64, s| if s.abs() > most.abs() { *s } else { most })
}

fn farthest_stretch(f: &Mat3) -> f64 {
    if !f.iter().all(|x| x.is_finite()) {
        return 0.0;
    }
    f.singular_values().iter().map(|s| (s - 1.0).abs()).fold(0.0, f64::max)
}

/// Means at the nodes of what tets have, by volume.
fn node_means(model: &Model, of_tets: &[f64]) -> Vec<f64> {
    let (mut sums, mut volumes) = (vec![0.0; model.n_nodes()], vec![0.0; model.n_nodes()]);
    for (tet, value) in model.tets.iter().zip(of_tets) {
        for node in tet.nodes {
            sums[node as usize] += tet.volume * value;
            volumes[node as usize] += tet.volume;
        }
    }
    sums.iter().zip(&volumes).map(|(sum, volume)| if *volume > 0.0 { sum / volume } else { 0.0 }).collect()
}

/// Values of the vertices from those of the nodes that carry them.
fn on_surface(surface: &Surface, of_nodes: &[f64]) -> Vec<f64> {
    let vertex = |(nodes, weights): (&[u32; 4], &[f64; 4])| nodes.iter().zip(weights).map(|(n, w)| of_nodes[*n as usize] * w).sum();
    surface.nodes.iter().zip(&surface.weights).map(vertex).collect()
}
