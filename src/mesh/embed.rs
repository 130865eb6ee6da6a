use rayon::prelude::*;

use super::tet_grid::{TetGrid, weights};
use super::tree::Tree;
use super::{Embedding, MeshError, SurfaceMesh, TetMesh};
use crate::cancel::CancelToken;
use crate::math::Vec3;

/// Finds for each point the tet that contains it and the point's barycentric weights there. A point outside every tet
/// goes to the nearest tet, with some weights negative.
pub fn embed(tets: &TetMesh, points: &[Vec3]) -> Result<Embedding, MeshError> {
    embed_unless(tets, points, &CancelToken::default())
}

/// The same, which ends with [`MeshError::Cancelled`] soon after `cancel` is cancelled.
pub fn embed_unless(tets: &TetMesh, points: &[Vec3], cancel: &CancelToken) -> Result<Embedding, MeshError> {
    tets.check()?;
    if let Some(vertex) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
        return Err(MeshError::NotFinite { vertex });
    }
    let grid = TetGrid::new_unless(tets, &cancel.part(0.0, 0.5))?;
    cancel.reached(0.5);
    let inside: Vec<Option<usize>> = points.par_iter().map(|point| if cancel.is_cancelled() { None } else { grid.locate(point) }).collect();
    cancel.reached(0.7);
    cancel.check()?;
    // The tet nearest to a point outside lies at the border.
    let (mut surface, mut owners) = (SurfaceMesh::default(), vec![]);
    if inside.contains(&None) {
        (surface.triangles, owners) = tets.boundary_with_tets_unless(&cancel.part(0.7, 0.9))?;
        surface.positions.clone_from(&tets.positions);
    }
    let border = Tree::new(&surface);
    let locate = |(inside, point): (&Option<usize>, &Vec3)| {
        let nearest = || if cancel.is_cancelled() { 0 } else { owners[border.closest_triangle(point)] as usize };
        let tet = inside.unwrap_or_else(nearest);
        (tets.tets[tet], weights(&tets.corners(tet), point))
    };
    let (nodes, weights) = inside.par_iter().zip(points).map(locate).unzip();
    cancel.check()?;
    Ok(Embedding { nodes, weights })
}

impl Embedding {
    /// The embedded points for given node positions [m].
    pub fn positions(&self, node_positions: &[Vec3]) -> Vec<Vec3> {
        let point = |(nodes, weights): (&[u32; 4], &[f64; 4])| {
            nodes.iter().zip(weights).map(|(&node, weight)| node_positions[node as usize] * *weight).sum()
        };
        self.nodes.iter().zip(&self.weights).map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;
    use crate::mesh::tree::closest_on_triangle;

    /// Squared distance [m^2] from a point outside a tet to its border.
    fn squared_distance(&[a, b, c, d]: &[Vec3; 4], point: &Vec3) -> f64 {
        [[b, c, d], [a, c, d], [a, b, d], [a, b, c]]
            .iter()
            .map(|face| (closest_on_triangle(face, point) - point).norm_squared())
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn nodes_and_centers_lie_where_they_should() {
        let mesh = shapes::box_tets(Vec3::new(1.0, 2.0, 0.5), [3, 5, 2]);
        let centers: Vec<Vec3> = (0..mesh.tets.len()).map(|t| mesh.corners(t).iter().sum::<Vec3>() / 4.0).collect();
        let embedding = embed(&mesh, &centers).unwrap();
        assert_eq!(embedding.nodes, mesh.tets);
        assert!(embedding.weights.iter().flatten().all(|w| (w - 0.25).abs() < 1e-12));

        let embedding = embed(&mesh, &mesh.positions).unwrap();
        for (point, back) in mesh.positions.iter().zip(embedding.positions(&mesh.positions)) {
            assert!((point - back).norm() < 1e-12);
        }
        assert!(embedding.weights.iter().flatten().all(|&w| w > -1e-9));
    }

    #[test]
    fn points_outside_go_to_the_nearest_tet() {
        let mesh = shapes::torus(1.0, 0.3, 6);
        let points: Vec<Vec3> =
            (0..200).map(f64::from).map(|i| Vec3::new((i * 0.37).sin(), (i * 0.91).cos() * 0.5, (i * 0.53).sin()) * 2.0).collect();
        let embedding = embed(&mesh, &points).unwrap();
        let mut outside = 0;
        for (k, point) in points.iter().enumerate() {
            let sum: f64 = embedding.weights[k].iter().sum();
            assert!((sum - 1.0).abs() < 1e-12);
            let corners = embedding.nodes[k].map(|n| mesh.positions[n as usize]);
            let back: Vec3 = corners.iter().zip(embedding.weights[k]).map(|(c, w)| c * w).sum();
            assert!((back - point).norm() < 1e-9 * (1.0 + embedding.weights[k][1].abs()));
            if embedding.weights[k].iter().any(|&w| w < -1e-9) {
                outside += 1;
                let chosen = squared_distance(&corners, point);
                let nearest = (0..mesh.tets.len()).map(|t| squared_distance(&mesh.corners(t), point)).fold(f64::INFINITY, f64::min);
                assert!(chosen <= nearest + 1e-12, "{chosen} {nearest}");
            }
        }
        assert!((50..200).contains(&outside), "{outside}");
    }

    #[test]
    fn nothing_to_embed_in_is_an_error() {
        assert_eq!(embed(&TetMesh::default(), &[Vec3::zeros()]), Err(MeshError::NoTets));
        let mesh = shapes::box_tets(Vec3::repeat(1.0), [1, 1, 1]);
        assert_eq!(embed(&mesh, &[Vec3::repeat(f64::NAN)]), Err(MeshError::NotFinite { vertex: 0 }));
    }

    /// They are not searched for cell by cell.
    #[test]
    fn points_far_away_go_to_the_nearest_tet_soon() {
        let mesh = shapes::torus(1.0, 0.3, 16);
        let points: Vec<Vec3> =
            (0..3000).map(f64::from).map(|i| Vec3::new((0.1 * i).sin(), (0.37 * i).cos(), (0.2 * i).cos()) * 1e4).collect();
        let embedding = embed(&mesh, &points).unwrap();
        for (point, nodes) in points.iter().zip(&embedding.nodes).step_by(500) {
            let chosen = squared_distance(&nodes.map(|n| mesh.positions[n as usize]), point).sqrt();
            let nearest = (0..mesh.tets.len()).map(|t| squared_distance(&mesh.corners(t), point)).fold(f64::INFINITY, f64::min).sqrt();
            assert!(chosen <= nearest + 1e-8, "{chosen} {nearest}");
        }
    }
}
