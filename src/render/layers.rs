//! How deep tets lie below the surface of their body: the layers that can be peeled off.

/// The deepest layer that is told from others.
pub const DEEPEST: u8 = 254;

/// For each tet its layer: 0 of those that touch the surface with a corner, one more of those that touch these.
pub fn layers(tets: &[[u32; 4]]) -> Vec<u8> {
    let n_nodes = tets.iter().flatten().max().map_or(0, |last| *last as usize + 1);
    let mut depths = vec![u8::MAX; n_nodes];
    // Faces that belong to one tet only are the surface.
    let mut faces: Vec<[u32; 3]> = tets
        .iter()
        .flat_map(|&[a, b, c, d]| [[a, b, c], [a, b, d], [a, c, d], [b, c, d]])
        .map(|mut face| {
            face.sort_unstable();
            face
        })
        .collect();
    faces.sort_unstable();
    for same in faces.chunk_by(|a, b| a == b).filter(|same| same.len() == 1) {
        same[0].iter().for_each(|node| depths[*node as usize] = 0);
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
        let layers = layers(&cube.tets);
        assert_eq!((layers.len(), layers.iter().max()), (cube.tets.len(), Some(&2)));
        // Of six cells along an edge the outermost two are layer 0: what is left is a cube of four, then of two.
        for (tet, layer) in cube.tets.iter().zip(&layers) {
            let middle = tet.iter().map(|node| cube.positions[*node as usize]).sum::<Vec3>() / 4.0;
            let cell = middle.map(|x| (6.0 * (x + 0.5)).floor().min(5.0));
            let depth = cell.iter().map(|c| c.min(5.0 - c)).fold(f64::INFINITY, f64::min);
            assert_eq!(f64::from(*layer), depth, "{middle:?}");
        }
        assert!(super::layers(&[]).is_empty());
    }
}
