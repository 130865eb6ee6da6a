//! The border of tets, and how deep they lie below it: the layers that can be peeled off.

/// The deepest layer that is told from others.
pub const DEEPEST: u8 = 254;

/// Faces that belong to one tet only, by their nodes in ascending order, with that tet.
pub fn border(tets: &[[u32; 4]]) -> Vec<([u32; 3], u32)> {
    let of_tet = |(t, &[a, b, c, d]): (u32, &[u32; 4])| {
        [[a, b, c], [a, b, d], [a, c, d], [b, c, d]].map(|mut face| {
            face.sort_unstable();
            (face, t)
        })
    };
    let mut faces: Vec<([u32; 3], u32)> = (0..).zip(tets).flat_map(of_tet).collect();
    faces.sort_unstable();
    faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0]).collect()
}

/// For each tet its layer: 0 of those that touch the border with a corner, one more of those that touch these.
pub fn layers(tets: &[[u32; 4]], border: &[([u32; 3], u32)]) -> Vec<u8> {
    let n_nodes = tets.iter().flatten().max().map_or(0, |last| *last as usize + 1);
    let mut depths = vec![u8::MAX; n_nodes];
    for (face, _) in border {
        face.iter().for_each(|node| depths[*node as usize] = 0);
    }
    let depth = |depths: &[u8], tet: &[u32; 4]| tet.iter().map(|node| depths[*node as usize]).min().unwrap_or(u8::MAX);
    for layer in 0..DEEPEST {
        let mut reached: Vec<u32> = vec![];
        for tet in tets.iter().filter(|tet| depth(&depths, tet) == layer) {
            reached.extend(tet.iter().copied().filter(|node| depths[*node as usize] == u8::MAX));
        }
        if reached.is_empty() {
            break;
        }
        reached.into_iter().for_each(|node| depths[node as usize] = layer + 1);
    }
    tets.iter().map(|tet| depth(&depths, tet).min(DEEPEST)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::shapes;

    #[test]
    fn layers_lie_within_one_another() {
        let cube = shapes::box_tets(Vec3::repeat(1.0), [6, 6, 6]);
        let layers = layers(&cube.tets, &border(&cube.tets));
        assert_eq!((layers.len(), layers.iter().max()), (cube.tets.len(), Some(&2)));
        // Of six cells along an edge the outermost two are layer 0: what is left is a cube of four, then of two.
        for (tet, layer) in cube.tets.iter().zip(&layers) {
            let middle = tet.iter().map(|node| cube.positions[*node as usize]).sum::<Vec3>() / 4.0;
            let cell = middle.map(|x| (6.0 * (x + 0.5)).floor().min(5.0));
            let depth = cell.iter().map(|c| c.min(5.0 - c)).fold(f64::INFINITY, f64::min);
            assert_eq!(f64::from(*layer), depth, "{middle:?}");
        }
        assert!(super::layers(&[], &[]).is_empty());
    }
}
