//! Pairs of features that may meet.

use super::mesh::Pair;

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

    /// All, vertices with faces first.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        let faces = self.vertex_faces.iter().map(|&[vertex, triangle]| Pair::VertexFace { vertex, triangle });
        faces.chain(self.edge_edges.iter().map(|&[first, second]| Pair::EdgeEdge { first, second }))
    }

    pub fn clear(&mut self) {
        self.vertex_faces.clear();
        self.edge_edges.clear();
    }
}

/// Puts pairs in order; memory is kept.
#[derive(Clone, Debug, Default)]
pub struct Sorter {
    other: Vec<[u32; 2]>,
    next: Vec<u32>,
}

impl Sorter {
    /// Adds all pairs of `parts` to `pairs`, each once and in order; both members are below `limits`.
    pub fn sort<'a>(&mut self, parts: impl Iterator<Item = &'a Vec<[u32; 2]>>, limits: [usize; 2], pairs: &mut Vec<[u32; 2]>) {
        parts.for_each(|part| pairs.extend_from_slice(part));
        if pairs.len() < limits[0] + limits[1] {
            pairs.sort_unstable();
            return pairs.dedup();
        }
        // By counting, first the lesser member, then stably the other.
        let Self { other, next } = self;
        other.resize(pairs.len(), [0; 2]);
        for member in [1, 0] {
            next.clear();
            next.resize(limits[member], 0);
            pairs.iter().for_each(|p| next[p[member] as usize] += 1);
            let mut begin = 0;
            for place in next.iter_mut() {
                begin += std::mem::replace(place, begin);
            }
            for p in &*pairs {
                let place = &mut next[p[member] as usize];
                other[*place as usize] = *p;
                *place += 1;
            }
            std::mem::swap(pairs, other);
        }
        pairs.dedup();
    }
}
