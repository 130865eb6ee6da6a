use super::{MeshError, SurfaceMesh};
use crate::math::{Mat3, Vec3};

/// Mass, centre of mass and inertia of a solid of uniform density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// [kg]
    pub mass: f64,
    /// Centre of mass in the frame of the surface [m].
    pub center: Vec3,
    /// Inertia about the centre of mass, along the axes of the surface's frame [kg m^2].
    pub inertia: Mat3,
}

/// Mass properties of the solid that a closed surface of outward triangles encloses, of uniform `density` [kg/m^3]: the
/// exact integrals of 1, x and x x^T over signed tets from a common point to each triangle (the divergence theorem)
/// [Mirtich 1996, Eberly 2002]. A surface that encloses no positive volume (flat, or inside out) is an error.
pub fn mass_properties(positions: &[Vec3], triangles: &[[u32; 3]], density: f64) -> Result<MassProperties, MeshError> {
    let surface = SurfaceMesh { positions: positions.to_vec(), triangles: triangles.to_vec(), ..SurfaceMesh::default() };
    surface.check()?;
    let bounds = surface.aabb();
    // Integrals are taken around the box's centre: a small body far away keeps its digits.
    let origin = bounds.center();
    let (mut volume, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
    for triangle in 0..triangles.len() {
        let [a, b, c] = surface.corners(triangle).map(|p| p - origin);
        let six_volumes = a.dot(&b.cross(&c));
        let sum = a + b + c;
        volume += six_volumes / 6.0;
        first += sum * (six_volumes / 24.0);
        let outer = sum * sum.transpose() + a * a.transpose() + b * b.transpose() + c * c.transpose();
        second += outer * (six_volumes / 120.0);
    }
    // Rounding leaves a flat surface a volume of either sign.
    if volume.is_nan() || volume <= 1e-12 * bounds.extent().max().powi(3) {
        return Err(MeshError::NoVolume { volume });
    }
    let center = first / volume;
    let covariance = second - center * center.transpose() * volume;
    let inertia = (Mat3::identity() * covariance.trace() - covariance) * density;
    Ok(MassProperties { mass: density * volume, center: origin + center, inertia })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;
    use crate::mesh::shapes;

    fn of(surface: &SurfaceMesh, density: f64) -> MassProperties {
        mass_properties(&surface.positions, &surface.triangles, density).unwrap()
    }

    #[test]
    fn a_box_is_exact() {
        let size = Vec3::new(0.2, 0.5, 1.0);
        let found = of(&shapes::surface_box(size), 700.0);
        let mass = 700.0 * 0.1;
        let squares = size.component_mul(&size);
        let wanted = (Vec3::repeat(squares.sum()) - squares) * (mass / 12.0);
        assert!((found.mass - mass).abs() < 1e-12 * mass && found.center.norm() < 1e-15);
        assert!((found.inertia - Mat3::from_diagonal(&wanted)).norm() < 1e-12 * wanted.norm(), "{}", found.inertia);
    }

    #[test]
    fn a_fine_sphere_has_two_fifths() {
        let errors = [3, 4].map(|level| {
            let found = of(&shapes::icosphere(0.3, level), 1000.0);
            assert!((found.inertia - Mat3::identity() * found.inertia[(0, 0)]).norm() < 1e-3 * found.inertia[(0, 0)]);
            1.0 - found.inertia[(0, 0)] / (0.4 * 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.3f64.powi(5))
        });
        assert!(errors[1] > 0.0 && errors[1] < 0.01 && (3.5..4.5).contains(&(errors[0] / errors[1])), "{errors:?}");
    }

    #[test]
    fn a_moved_mesh_has_the_moved_properties() {
        let rest = shapes::frame(Vec3::new(0.3, 0.05, 0.4)).surface().transformed(|p| p + Vec3::new(0.1, 0.0, 0.0));
        let rotation = Quat::from_euler_angles(0.3, -1.1, 2.0);
        let shift = Vec3::new(300.0, -200.0, 50.0);
        let (a, b) = (of(&rest, 900.0), of(&rest.transformed(|p| rotation * p + shift), 900.0));
        let turn = rotation.to_rotation_matrix();
        assert!((a.mass / b.mass - 1.0).abs() < 1e-9 && (rotation * a.center + shift - b.center).norm() < 1e-9);
        assert!((turn.matrix() * a.inertia * turn.matrix().transpose() - b.inertia).norm() < 1e-8 * a.inertia.norm());
        // The principal moments of any body satisfy the triangle inequality.
        let moments = a.inertia.symmetric_eigenvalues();
        assert!(moments.min() > 0.0 && 2.0 * moments.max() < moments.sum());
    }

    #[test]
    fn inside_out_or_flat_is_an_error() {
        let mut surface = shapes::surface_box(Vec3::repeat(1.0));
        surface.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        let error = mass_properties(&surface.positions, &surface.triangles, 1.0);
        assert!(matches!(error, Err(MeshError::NoVolume { volume }) if (volume + 1.0).abs() < 1e-12));
        let flat = shapes::surface_box(Vec3::repeat(1.0)).transformed(|p| Vec3::new(p.x, 0.0, p.z));
        assert!(matches!(mass_properties(&flat.positions, &flat.triangles, 1.0), Err(MeshError::NoVolume { .. })));
        assert_eq!(mass_properties(&[], &[], 1.0), Err(MeshError::Empty));
    }
}
