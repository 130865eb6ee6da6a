//! Pairs of features that may meet.

/// Pairs of features whose boxes overlap, each pair once, sorted. No pair shares a vertex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Vertex and triangle.
    pub vertex_faces: Vec<[u32; 2]>,
    /// Two edges, the smaller first.
    pub edge_edges: Vec<[u32; 2]>,
}

impl Candidates {
    pub fn len(&self) -> usize {
        self.vertex_faces.len() + self.edge_edges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All pairs of `parts` in order; both members are below `limits`.
pub fn sorted<'a>(parts: impl Iterator<Item = &'a Vec<[u32; 2]>>, limits: [usize; 2]) -> Vec<[u32; 2]> {
    let mut pairs = parts.flatten().copied().collect::<Vec<_>>();
    if pairs.len() < limits[0] + limits[1] {
        pairs.sort_unstable();
        return pairs;
    }
    // By counting, first the lesser member, then stably the other.
    let mut other = vec![[0; 2]; pairs.len()];
    for member in [1, 0] {
        let mut next = vec![0; limits[member]];
        pairs.iter().for_each(|p| next[p[member] as usize] += 1);
        let mut begin = 0;
        for place in &mut next {
            begin += std::mem::replace(place, begin);
        }
        for p in &pairs {
            let place = &mut next[p[member] as usize];
            other[*place] = *p;
            *place += 1;
        }
        std::mem::swap(&mut pairs, &mut other);
    }
    pairs
}
