//! The axis of a mesh file that points up, and the turn that makes it y.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::math::{Quat, Vec3};
use crate::mesh::{CornerNormals, Format, MeshData, MeshFile, SurfaceMesh};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Up {
    X,
    #[default]
    Y,
    Z,
    MinusX,
    MinusY,
    MinusZ,
}

impl Up {
    pub const NAMES: &[&str] = &["y", "z", "x", "-y", "-z", "-x"];
    const ALL: [Self; 6] = [Self::Y, Self::Z, Self::X, Self::MinusY, Self::MinusZ, Self::MinusX];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|place| Self::ALL[place])
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().position(|up| *up == self).map_or("y", |place| Self::NAMES[place])
    }

    /// The axis that files of a format usually have up, where nothing says otherwise: those for printing stand on z.
    pub fn usual(format: Format) -> Self {
        if format == Format::Stl { Self::Z } else { Self::Y }
    }

    /// The turn that makes the axis y.
    pub fn turn(self) -> Quat {
        let about = |axis: nalgebra::Unit<Vec3>, angle: f64| Quat::from_axis_angle(&axis, angle);
        match self {
            Self::Y => Quat::identity(),
            Self::Z => about(Vec3::x_axis(), -FRAC_PI_2),
            Self::MinusZ => about(Vec3::x_axis(), FRAC_PI_2),
            Self::X => about(Vec3::z_axis(), FRAC_PI_2),
            Self::MinusX => about(Vec3::z_axis(), -FRAC_PI_2),
            Self::MinusY => about(Vec3::x_axis(), PI),
        }
    }

    /// A point where the turn puts it: coordinates change places and signs, and keep all their digits.
    pub fn turned(self, p: &Vec3) -> Vec3 {
        match self {
            Self::Y => *p,
            Self::Z => Vec3::new(p.x, p.z, -p.y),
            Self::MinusZ => Vec3::new(p.x, -p.z, p.y),
            Self::X => Vec3::new(-p.y, p.x, p.z),
            Self::MinusX => Vec3::new(p.y, -p.x, p.z),
            Self::MinusY => Vec3::new(p.x, -p.y, -p.z),
        }
    }

    pub fn turned_surface(self, surface: SurfaceMesh) -> SurfaceMesh {
        if self == Self::Y {
            return surface;
        }
        let turned = surface.transformed(|p| self.turned(p));
        let normals = surface.normals.map(|normals| normals.iter().map(|corners| self.turned_normals(corners)).collect());
        SurfaceMesh { normals, ..turned }
    }

    pub fn turned_file(self, mut file: MeshFile) -> MeshFile {
        file.data = match file.data {
            MeshData::Surface(surface) => MeshData::Surface(self.turned_surface(surface)),
            MeshData::Tets(mut tets) => {
                tets.positions.iter_mut().for_each(|p| *p = self.turned(p));
                MeshData::Tets(tets)
            }
        };
        file.middles = file.middles.moved(|p| self.turned(p));
        file
    }

    fn turned_normals(self, corners: &CornerNormals) -> CornerNormals {
        corners.map(|n| {
            let n = self.turned(&Vec3::from(n.map(f64::from)));
            [n.x as f32, n.y as f32, n.z as f32]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_axis_is_turned_up() {
        for (up, name) in Up::ALL.into_iter().zip(Up::NAMES) {
            assert_eq!((Up::from_name(name), up.name()), (Some(up), *name));
            let axis = match up {
                Up::X => Vec3::x(),
                Up::Y => Vec3::y(),
                Up::Z => Vec3::z(),
                Up::MinusX => -Vec3::x(),
                Up::MinusY => -Vec3::y(),
                Up::MinusZ => -Vec3::z(),
            };
            assert_eq!(up.turned(&axis), Vec3::y(), "{name}");
            let p = Vec3::new(1.0, 2.0, 3.0);
            assert!((up.turn() * p - up.turned(&p)).norm() < 1e-12, "{name}");
        }
    }
}
