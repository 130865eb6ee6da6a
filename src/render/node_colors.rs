//! Colours within tets, from the values at their nodes.

use glam::{Mat3, Vec3};

use super::stage::PointColors;

/// Values of the nodes of a stage, and the colours that they mean.
pub struct NodeColors {
    places: Vec<u8>,
    table: [u32; 256],
}

/// The values within a tet.
pub struct TetColors<'a> {
    places: [f32; 4],
    first: Vec3,
    /// From the way from the first corner to the weights of the others.
    weights: Mat3,
    table: &'a [u32; 256],
}

impl NodeColors {
    /// None where nodes have no values.
    pub fn of(colors: &PointColors) -> Option<Self> {
        let table = || colors.table.map(super::Rgb::packed);
        (!colors.nodes.is_empty()).then(|| Self { places: colors.nodes.to_vec(), table: table() })
    }

    /// Those within a tet of these nodes, which are at `corners` [m].
    pub fn within(&self, nodes: [u32; 4], corners: &[Vec3; 4]) -> TetColors<'_> {
        let [first, sides @ ..] = *corners;
        let [a, b, c] = sides.map(|corner| corner - first);
        let places = nodes.map(|node| f32::from(self.places[node as usize]));
        TetColors { places, first, weights: Mat3::from_cols(a, b, c).inverse(), table: &self.table }
    }
}

impl TetColors<'_> {
    /// The stored colour of a point [m], of the value that is linear in the tet. Beyond it values are none that its
    /// nodes do not span; where it is flat, all points have the mean.
    pub fn at(&self, p: Vec3) -> u32 {
        let [b, c, d] = (self.weights * (p - self.first)).to_array();
        let weights = [1.0 - b - c - d, b, c, d].map(|weight| weight.max(0.0));
        let sum: f32 = weights.iter().sum();
        let is_sane = [b, c, d].iter().all(|weight| weight.is_finite()) && sum.is_finite();
        let weights = if is_sane { weights.map(|weight| weight / sum) } else { [0.25; 4] };
        let place: f32 = self.places.iter().zip(weights).map(|(place, weight)| place * weight).sum();
        self.table[(place.round() as usize).min(255)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Rgb;

    const CORNERS: [Vec3; 4] = [Vec3::new(1.0, 1.0, 1.0), Vec3::new(3.0, 1.0, 1.0), Vec3::new(1.0, 2.0, 1.0), Vec3::new(1.0, 1.0, 5.0)];

    #[test]
    fn values_are_linear_within_a_tet() {
        // Even steps of red, so that the colour is the value.
        let table: [Rgb; 256] = std::array::from_fn(|k| Rgb([(k as f32 / 255.0).powf(2.0 / 2.2), 0.0, 0.0]));
        let nodes = [7, 20, 100, 60, 220];
        let colors = PointColors { vertices: &[], tets: &[], nodes: &nodes, table: &table };
        let of_nodes = NodeColors::of(&colors).unwrap();
        let at = |corners: &[Vec3; 4], p: Vec3| of_nodes.within([1, 2, 3, 4], corners).at(p).to_le_bytes();
        for (corner, value) in CORNERS.iter().zip(&nodes[1..]) {
            assert_eq!(at(&CORNERS, *corner), [*value, 0, 0, 255]);
        }
        // 20 + 80 / 2 + 40 / 4 + 200 / 8.
        assert_eq!(at(&CORNERS, Vec3::new(2.0, 1.25, 1.5))[0], 95);
        // Beyond the third corner, and where nothing is between the corners.
        assert_eq!(at(&CORNERS, Vec3::new(1.0, 9.0, 1.0))[0], 60);
        let flat = [CORNERS[0], CORNERS[1], CORNERS[2], CORNERS[1]];
        assert_eq!([at(&flat, CORNERS[0])[0], at(&flat, Vec3::splat(2.0))[0], at(&[Vec3::ONE; 4], Vec3::ONE)[0]], [100; 3]);
        assert!(NodeColors::of(&PointColors { nodes: &[], ..colors }).is_none());
    }
}
