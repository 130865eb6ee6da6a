//! How triangles hang together.

/// An edge of the surface.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub vertices: [u32; 2],
    /// The first that has it.
    pub triangle: u32,
    /// The only other one that has it.
    pub neighbour: Option<u32>,
    /// As many triangles run through it in one direction as in the other.
    pub closed: bool,
}

/// Edges of triangles, both ways.
#[derive(Clone, Debug)]
pub struct Topology {
    pub triangles: Vec<[u32; 3]>,
    pub edges: Vec<Edge>,
    /// Edges of each triangle, the one from its corner `i` to the next at `i`.
    pub triangle_edges: Vec<[u32; 3]>,
    /// Which of them a triangle is the first to have.
    pub is_first: Vec<[bool; 3]>,
}

impl Topology {
    pub fn new(triangles: Vec<[u32; 3]>) -> Self {
        let mut halves: Vec<([u32; 2], u32, usize, i32)> = vec![];
        for (t, triangle) in triangles.iter().enumerate() {
            for i in 0..3 {
                let [p, q] = [triangle[i], triangle[(i + 1) % 3]];
                halves.push(([p.min(q), p.max(q)], t as u32, i, if p < q { 1 } else { -1 }));
            }
        }
        halves.sort_unstable();
        let (mut edges, mut triangle_edges, mut is_first) = (vec![], vec![[0; 3]; triangles.len()], vec![[false; 3]; triangles.len()]);
        for same in halves.chunk_by(|a, b| a.0 == b.0) {
            let neighbour = if let [_, second] = same { Some(second.1) } else { None };
            let closed = same.iter().map(|half| half.3).sum::<i32>() == 0;
            same.iter().for_each(|(_, t, i, _)| triangle_edges[*t as usize][*i] = edges.len() as u32);
            let (vertices, triangle, i, _) = same[0];
            is_first[triangle as usize][i] = true;
            edges.push(Edge { vertices, triangle, neighbour, closed });
        }
        Self { triangles, edges, triangle_edges, is_first }
    }

    /// The corner of a triangle that is not on one of its edges.
    pub fn opposite(&self, triangle: u32, edge: u32) -> u32 {
        let i = self.triangle_edges[triangle as usize].iter().position(|e| *e == edge).unwrap_or(0);
        self.triangles[triangle as usize][(i + 2) % 3]
    }

    /// The triangle on the other side of an edge, if there is exactly one.
    pub fn across(&self, triangle: u32, edge: u32) -> Option<u32> {
        let Edge { triangle: first, neighbour, .. } = self.edges[edge as usize];
        if first == triangle { neighbour } else { neighbour.map(|_| first) }
    }
}

/// Groups of the numbers below `n` that hang together by edges, each in ascending order.
pub fn components(n: usize, edges: impl Iterator<Item = [u32; 2]>) -> Vec<Vec<u32>> {
    let mut parent: Vec<u32> = (0..n as u32).collect();
    let find = |parent: &mut Vec<u32>, mut v: u32| {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    };
    for [p, q] in edges {
        let (p, q) = (find(&mut parent, p), find(&mut parent, q));
        parent[p.max(q) as usize] = p.min(q);
    }
    let mut rooted: Vec<(u32, u32)> = (0..n as u32).map(|v| (find(&mut parent, v), v)).collect();
    rooted.sort_unstable();
    rooted.chunk_by(|a, b| a.0 == b.0).map(|group| group.iter().map(|(_, v)| *v).collect()).collect()
}
