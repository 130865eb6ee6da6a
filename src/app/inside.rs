//! The view of the inside: where bodies are cut open, and how many layers are peeled off.

use glam::Vec3;

use crate::render::{Shading, ViewOptions};

/// A plane along an axis of the world, and a number of layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inside {
    /// Bodies are seen from inside.
    pub open: bool,
    pub cuts: bool,
    /// 0, 1 and 2 for x, y and z.
    pub axis: usize,
    /// What is on the negative side is hidden, instead of what is on the positive one.
    pub flipped: bool,
    /// Where the plane is, from one end of the bodies (0) to the other (1).
    pub place: f32,
    /// Layers of elements below the surface that are hidden.
    pub peeled: u8,
    /// Elements stand apart, so that single ones are seen.
    pub apart: bool,
}

impl Default for Inside {
    fn default() -> Self {
        Self { open: false, cuts: true, axis: 0, flipped: false, place: 0.5, peeled: 0, apart: false }
    }
}

/// The part of its size that an element keeps where it stands apart.
const APART: f32 = 0.82;

impl Inside {
    /// The options of a picture of the inside of what lies at these nodes.
    pub fn options(&self, options: ViewOptions, nodes: &[[f32; 4]]) -> ViewOptions {
        let plane = self.plane(nodes).filter(|_| self.cuts).map(|(normal, distance)| normal.extend(distance));
        ViewOptions { shading: Shading::Tets, cut: plane, tet_size: if self.apart { APART } else { 1.0 }, peeled: self.peeled, ..options }
    }

    /// Its normal, towards what is hidden, and its distance from the origin along that [m]; none where there are no
    /// nodes.
    fn plane(&self, nodes: &[[f32; 4]]) -> Option<(Vec3, f32)> {
        let [low, high] = ends(nodes, self.axis)?;
        let at = low + self.place * (high - low);
        let sign = if self.flipped { -1.0 } else { 1.0 };
        Some((sign * Vec3::AXES[self.axis], sign * at))
    }

    /// Where the plane is along its axis [m].
    pub fn position(&self, nodes: &[[f32; 4]]) -> Option<f32> {
        ends(nodes, self.axis).map(|[low, high]| low + self.place * (high - low))
    }
}

/// The least and the greatest coordinate; none of nothing finite.
fn ends(nodes: &[[f32; 4]], axis: usize) -> Option<[f32; 2]> {
    let along = nodes.iter().map(|node| node[axis]).filter(|x| x.is_finite());
    let [low, high] = along.fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
    (low <= high).then_some([low, high])
}

#[cfg(test)]
mod tests {
    use glam::Vec4;

    use super::*;

    #[test]
    fn the_plane_lies_across_the_bodies() {
        let nodes = [[-1.0, 0.0, 0.0, 1.0], [3.0, 5.0, 0.0, 1.0], [f32::NAN, 0.0, 0.0, 1.0]];
        let inside = Inside { open: true, place: 0.25, ..Inside::default() };
        let cut = |inside: Inside| inside.options(ViewOptions::default(), &nodes).cut;
        assert_eq!(cut(inside), Some(Vec4::new(1.0, 0.0, 0.0, 0.0)));
        assert_eq!(cut(Inside { flipped: true, axis: 1, ..inside }), Some(Vec4::new(0.0, -1.0, 0.0, -1.25)));
        assert_eq!(cut(Inside { cuts: false, ..inside }), None);
        assert_eq!(inside.position(&nodes), Some(0.0));
        let of_nothing = inside.options(ViewOptions::default(), &[]);
        assert_eq!((of_nothing.cut, of_nothing.shading, of_nothing.tet_size), (None, Shading::Tets, 1.0));
        assert_eq!(Inside { apart: true, peeled: 3, ..inside }.options(ViewOptions::default(), &nodes).peeled, 3);
    }
}
