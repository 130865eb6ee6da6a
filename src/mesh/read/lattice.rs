//! The places of nodes in cells of higher order, where they are numbered from the outside in: corners, edges, faces,
//! and then the same of what is left inside. So Gmsh numbers all cells and VTK its triangles.

/// Gmsh's edges of a hexahedron.
pub(super) const EDGES: [[usize; 2]; 12] = [[0, 1], [0, 3], [0, 4], [1, 2], [1, 5], [2, 3], [2, 6], [3, 7], [4, 5], [4, 7], [5, 6], [6, 7]];
/// Gmsh's faces of a hexahedron.
pub(super) const QUADS: [[usize; 4]; 6] = [[0, 3, 2, 1], [0, 1, 5, 4], [0, 4, 7, 3], [1, 2, 6, 5], [2, 3, 7, 6], [4, 5, 6, 7]];
/// The corners of a hexahedron of order 1.
const CORNERS: [[usize; 3]; 8] = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// The places of the nodes of a triangle, by steps along two of its edges.
pub(super) fn triangle(order: usize) -> Vec<[usize; 2]> {
    let n = order;
    if n == 0 {
        return vec![[0, 0]];
    }
    let mut places = vec![[0, 0], [n, 0], [0, n]];
    places.extend((1..n).map(|t| [t, 0]));
    places.extend((1..n).map(|t| [n - t, t]));
    places.extend((1..n).map(|t| [0, n - t]));
    if n >= 3 {
        places.extend(triangle(n - 3).into_iter().map(|place| place.map(|x| x + 1)));
    }
    places
}

/// The same of a quadrilateral.
pub(super) fn quad(order: usize) -> Vec<[usize; 2]> {
    let n = order;
    if n == 0 {
        return vec![[0, 0]];
    }
    let mut places = vec![[0, 0], [n, 0], [n, n], [0, n]];
    places.extend((1..n).map(|t| [t, 0]));
    places.extend((1..n).map(|t| [n, t]));
    places.extend((1..n).map(|t| [n - t, n]));
    places.extend((1..n).map(|t| [0, n - t]));
    if n >= 2 {
        places.extend(quad(n - 2).into_iter().map(|place| place.map(|x| x + 1)));
    }
    places
}

/// The same of a hexahedron.
pub(super) fn hexahedron(order: usize) -> Vec<[usize; 3]> {
    let n = order;
    if n == 0 {
        return vec![[0, 0, 0]];
    }
    // So many steps from a corner along each of two edges.
    let between = |corner: usize, steps: [(usize, usize); 2]| {
        [0, 1, 2].map(|d| {
            let from = CORNERS[corner][d];
            let moved: usize = steps.iter().filter(|(to, _)| CORNERS[*to][d] != from).map(|(_, steps)| steps).sum();
            if from == 0 { moved } else { n - moved }
        })
    };
    let mut places: Vec<[usize; 3]> = CORNERS.iter().map(|corner| corner.map(|x| n * x)).collect();
    places.extend(EDGES.iter().flat_map(|[a, b]| (1..n).map(|t| between(*a, [(*b, t), (*a, 0)]))));
    if n >= 2 {
        let inner = quad(n - 2);
        places.extend(QUADS.iter().flat_map(|[a, b, _, d]| inner.iter().map(|[i, j]| between(*a, [(*b, i + 1), (*d, j + 1)]))));
        places.extend(hexahedron(n - 2).into_iter().map(|place| place.map(|x| x + 1)));
    }
    places
}

/// The order that brings nodes at these places into rows along the first direction, and rows along the others.
pub(super) fn in_rows<const N: usize>(places: &[[usize; N]]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].iter().rev().cmp(places[*b].iter().rev()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_all_there_once() {
        for n in 0..=8 {
            let rows = |places: &[[usize; 2]]| in_rows(places).into_iter().map(|i| places[i]).collect::<Vec<_>>();
            let square: Vec<[usize; 2]> = (0..=n).flat_map(|j| (0..=n).map(move |i| [i, j])).collect();
            assert_eq!(rows(&quad(n)), square);
            assert_eq!(rows(&triangle(n)), square.iter().filter(|[i, j]| i + j <= n).copied().collect::<Vec<_>>());
            let cube: Vec<[usize; 3]> = (0..=n).flat_map(|k| square.iter().map(move |[i, j]| [*i, *j, k])).collect();
            let places = hexahedron(n);
            assert_eq!(in_rows(&places).into_iter().map(|i| places[i]).collect::<Vec<_>>(), cube);
        }
    }

    /// Nodes from the list that Gmsh 4.15 gives of its types 42 and 93.
    #[test]
    fn places_are_those_of_gmsh() {
        let of_triangle = triangle(6);
        assert_eq!([18, 19, 20, 21, 23, 25, 27].map(|i| of_triangle[i]), [[1, 1], [4, 1], [1, 4], [2, 1], [3, 2], [1, 3], [2, 2]]);
        let of_hexahedron = hexahedron(4);
        assert_eq!([10, 11, 23, 31].map(|i| of_hexahedron[i]), [[3, 0, 0], [0, 1, 0], [3, 4, 0], [0, 4, 3]]);
        assert_eq!(
            [44, 45, 53, 57, 62, 63, 97].map(|i| of_hexahedron[i]),
            [[1, 1, 0], [1, 3, 0], [1, 0, 1], [2, 0, 1], [0, 1, 1], [0, 1, 3], [2, 2, 4]]
        );
        assert_eq!([98, 99, 106, 124].map(|i| of_hexahedron[i]), [[1, 1, 1], [3, 1, 1], [2, 1, 1], [2, 2, 2]]);
    }
}
