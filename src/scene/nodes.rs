//! The graph of transform nodes.

use crate::math::{Quat, Vec3};

/// Scale, then rotation, then translation.
pub type Transform = nalgebra::Similarity3<f64>;

/// A node's own transform; `rotation` in degrees about x, then y, then z of the parent.
pub fn local(position: Vec3, rotation: Vec3, scale: f64) -> Transform {
    let [x, y, z] = [0, 1, 2].map(|i| rotation[i].to_radians());
    Transform::from_parts(position.into(), Quat::from_euler_angles(x, y, z), scale)
}

#[derive(Clone, Debug)]
pub struct Group {
    /// Index of the group that carries this one.
    pub parent: Option<usize>,
    pub local: Transform,
}

/// World transform of each group, or the index of a group whose parents go in a circle.
pub fn world_transforms(groups: &[Group]) -> Result<Vec<Transform>, usize> {
    (0..groups.len())
        .map(|start| {
            let mut world = groups[start].local;
            let mut parent = groups[start].parent;
            for _ in 0..groups.len() {
                let Some(p) = parent else { return Ok(world) };
                world = groups[p].local * world;
                parent = groups[p].parent;
            }
            if parent.is_none() { Ok(world) } else { Err(start) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_run_x_then_y_then_z_and_parents_apply_last() {
        let turn = local(Vec3::zeros(), Vec3::new(90.0, 0.0, 90.0), 1.0);
        // y goes to z by the first turn and stays there by the second.
        assert!((turn * nalgebra::Point3::new(0.0, 1.0, 0.0) - nalgebra::Point3::new(0.0, 0.0, 1.0)).norm() < 1e-12);
        let groups = [
            Group { parent: Some(1), local: local(Vec3::x(), Vec3::zeros(), 2.0) },
            Group { parent: None, local: local(Vec3::zeros(), Vec3::new(0.0, 0.0, 90.0), 1.0) },
        ];
        let p = world_transforms(&groups).unwrap()[0] * nalgebra::Point3::new(1.0, 0.0, 0.0);
        assert!((p - nalgebra::Point3::new(0.0, 3.0, 0.0)).norm() < 1e-12);
    }

    #[test]
    fn circles_are_found() {
        let group = |parent| Group { parent, local: Transform::identity() };
        assert_eq!(world_transforms(&[group(None), group(Some(2)), group(Some(1))]).unwrap_err(), 1);
        assert_eq!(world_transforms(&[group(Some(0))]).unwrap_err(), 0);
    }
}
