use std::collections::HashSet;

use super::weld::{swallowed, welded};
use crate::cancel::{CancelToken, Cancelled};
use crate::disjoint_sets::DisjointSets;
use crate::math::Aabb;
use crate::mesh::{Outside, Quality, SLIVER, TetMesh, softening};

/// Facts about a tet mesh. Counts are 0 in a mesh fit for simulation, except the first two and `pieces`.
#[derive(Clone, Debug, PartialEq)]
pub struct TetDiagnosis {
    pub nodes: usize,
    pub tets: usize,
    /// Tets of negative volume.
    pub inverted: usize,
    /// Tets of no volume.
    pub flat: usize,
    /// Tets of a quality below [`SLIVER`] that are not flat.
    pub slivers: usize,
    /// Tets with the nodes of an earlier tet.
    pub repeated: usize,
    /// Nodes at the place of an earlier node.
    pub duplicate_nodes: usize,
    /// Nodes of no tet.
    pub unused_nodes: usize,
    /// Parts that share no node.
    pub pieces: usize,
    /// Faces of one tet that lie inside of their part.
    pub inner_faces: usize,
    /// Tets that are simulated softer than their material.
    pub softer: usize,
    /// Volume of all tets, whatever their order [m^3].
    pub volume: f64,
    /// Quality of all tets, whatever their order.
    pub quality: Quality,
    pub bounds: Aabb,
}

/// Tets of a lower quality have no volume beyond rounding, and no shape functions.
const FLAT_QUALITY: f64 = 1e-9;

/// The elements of a tet mesh that [`TetDiagnosis`] counts.
pub(super) struct Faults {
    pub inverted: Vec<u32>,
    pub flat: Vec<u32>,
    pub slivers: Vec<u32>,
    pub repeated: Vec<u32>,
    pub duplicate: Vec<u32>,
    pub unused: Vec<u32>,
    /// The lowest node of each piece.
    pub pieces: Vec<u32>,
    pub inner_faces: Vec<[u32; 3]>,
    pub softer: Vec<u32>,
}

/// Examines a tet mesh whose indices are in range.
pub fn diagnose_tets(mesh: &TetMesh) -> TetDiagnosis {
    diagnose_tets_unless(mesh, &CancelToken::default()).expect("nobody cancels it").0
}

/// The same and the faults that it counts, which ends soon after `cancel` is cancelled.
pub(super) fn diagnose_tets_unless(mesh: &TetMesh, cancel: &CancelToken) -> Result<(TetDiagnosis, Faults), Cancelled> {
    let faults = faults_unless(mesh, cancel)?;
    let qualities = (0..mesh.tets.len()).map(|t| quality(mesh, t).abs());
    let (worst, sum) = qualities.fold((f64::INFINITY, 0.0), |(worst, sum), q| (q.min(worst), sum + q));
    let diagnosis = TetDiagnosis {
        nodes: mesh.positions.len(),
        tets: mesh.tets.len(),
        inverted: faults.inverted.len(),
        flat: faults.flat.len(),
        slivers: faults.slivers.len(),
        repeated: faults.repeated.len(),
        duplicate_nodes: faults.duplicate.len(),
        unused_nodes: faults.unused.len(),
        pieces: faults.pieces.len(),
        inner_faces: faults.inner_faces.len(),
        softer: faults.softer.len(),
        volume: (0..mesh.tets.len()).map(|t| mesh.volume(t).abs()).sum(),
        quality: Quality { worst, mean: sum / mesh.tets.len().max(1) as f64 },
        bounds: Aabb::of(&mesh.positions),
    };
    Ok((diagnosis, faults))
}

fn faults_unless(mesh: &TetMesh, cancel: &CancelToken) -> Result<Faults, Cancelled> {
    let tets = || 0..mesh.tets.len() as u32;
    let nodes = || 0..mesh.positions.len() as u32;
    let qualities: Vec<f64> = (0..mesh.tets.len()).map(|t| quality(mesh, t)).collect();
    let where_quality = |wanted: &dyn Fn(f64) -> bool| tets().filter(|&t| wanted(qualities[t as usize])).collect::<Vec<u32>>();
    let mut seen = HashSet::new();
    let mut repeated = vec![];
    let looking = cancel.part(0.0, 0.4);
    for (t, tet) in mesh.tets.iter().enumerate() {
        looking.check_item(t, mesh.tets.len())?;
        if !seen.insert(sorted(*tet)) {
            repeated.push(t as u32);
        }
    }
    let mut taken = HashSet::new();
    let place = |node: u32| -> [u64; 3] { (mesh.positions[node as usize].map(|x| x + 0.0)).map(f64::to_bits).into() };
    let duplicate = nodes().filter(|&node| !taken.insert(place(node))).collect();
    let mut used = vec![false; mesh.positions.len()];
    mesh.tets.iter().flatten().for_each(|&node| used[node as usize] = true);
    cancel.check()?;
    let inner_faces = mesh.outside_unless(&cancel.part(0.4, 1.0))?.inner_faces;
    Ok(Faults {
        inverted: where_quality(&|q| q < -FLAT_QUALITY),
        flat: where_quality(&|q| is_flat(q)),
        slivers: where_quality(&|q| q.abs() < SLIVER && !is_flat(q)),
        repeated,
        duplicate,
        unused: nodes().filter(|&node| !used[node as usize]).collect(),
        pieces: pieces_of(mesh),
        inner_faces,
        softer: softening(mesh).map_or(vec![], |factors| tets().filter(|&t| factors[t as usize] < 1.0).collect()),
    })
}

/// The number of parts that share no node.
pub fn pieces(mesh: &TetMesh) -> usize {
    pieces_of(mesh).len()
}

/// The lowest node of each part.
fn pieces_of(mesh: &TetMesh) -> Vec<u32> {
    let mut used = vec![false; mesh.positions.len()];
    let mut parts = DisjointSets::new(mesh.positions.len());
    for tet in &mesh.tets {
        for &node in tet {
            used[node as usize] = true;
            parts.join(tet[0] as usize, node as usize);
        }
    }
    (0..used.len()).filter(|&node| used[node] && parts.root(node) == node).map(|node| node as u32).collect()
}

/// Changes to the tets of a mesh beside those that a count of its faults tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mending {
    /// Nodes that became one with an earlier one.
    pub welded_nodes: usize,
    /// Tets of parts that lie wholly in other parts, which are left out.
    pub swallowed_tets: usize,
    /// Places of all tets that are left out, whatever the reason; ascending.
    pub left_out: Vec<u32>,
}

impl Mending {
    /// The values of the tets that are left, of one value for each tet before.
    pub fn of_left_tets<T: Copy>(&self, values: &[T]) -> Vec<T> {
        let is_left = |place: &u32| self.left_out.binary_search(place).is_err();
        (0..).zip(values).filter(|(place, _)| is_left(place)).map(|(_, value)| *value).collect()
    }
}

/// Sentences on what was changed in tets and on how they are simulated, beside what their faults are.
pub fn tet_notes(mended: &TetMesh, outside: &Outside, mending: &Mending) -> Vec<String> {
    let mut notes = vec![];
    let Mending { welded_nodes, swallowed_tets, .. } = *mending;
    let inner = outside.inner_faces.len();
    let softer = softening(mended).map_or(0, |factors| factors.iter().filter(|factor| **factor < 1.0).count());
    notes
        .extend((welded_nodes > 0).then(|| format!("{welded_nodes} nodes were welded to others at their places, where faces of tets met")));
    notes.extend((swallowed_tets > 0).then(|| format!("{swallowed_tets} tets are left out: their parts lie wholly in other parts")));
    notes.extend((inner > 0).then(|| format!("the tets do not conform: {inner} faces that lie inside are no surface and touch nothing")));
    notes.extend(
        (softer > 0).then(|| format!("{softer} nearly flat tets are simulated softer, about as stiff as well-shaped ones around them")),
    );
    notes
}

/// Welds nodes at one place where faces meet there; swaps two nodes of tets of negative volume; drops tets of no
/// volume, tets that repeat another, parts that lie wholly in other parts, and unused nodes. Nodes and tets keep their
/// order, and other nodes at one place stay apart: parts may touch there in an edge alone.
pub fn mend_tets(mesh: TetMesh) -> TetMesh {
    mend_tets_unless(mesh, &CancelToken::default()).expect("nobody cancels it").0
}

/// Does what [`mend_tets`] does and counts what was joined and left out. Ends soon after `cancel` is cancelled.
pub fn mend_tets_unless(mut mesh: TetMesh, cancel: &CancelToken) -> Result<(TetMesh, Mending), Cancelled> {
    let mut mending = Mending::default();
    let n_tets = mesh.tets.len() as u32;
    let mut kept: Vec<u32> = (0..n_tets).collect();
    // Flat tets first: faces meet where one stood between.
    keep_sound_tets(&mut mesh, &mut kept, &cancel.part(0.0, 0.5))?;
    cancel.check()?;
    if let Some(welded) = welded(&mesh, &cancel.part(0.5, 0.7))? {
        mending.welded_nodes = (0..).zip(&welded).filter(|(node, first)| node != *first).count();
        mesh.tets.iter_mut().flatten().for_each(|node| *node = welded[*node as usize]);
        keep_sound_tets(&mut mesh, &mut kept, &cancel.part(0.7, 0.8))?;
    }
    if let Some(flags) = swallowed(&mesh, &cancel.part(0.8, 1.0))? {
        mending.swallowed_tets = flags.iter().filter(|is_swallowed| **is_swallowed).count();
        let mut of_tets = flags.iter();
        mesh.tets.retain(|_| of_tets.next() == Some(&false));
        let mut of_places = flags.iter();
        kept.retain(|_| of_places.next() == Some(&false));
    }
    if (kept.len() as u32) < n_tets {
        mending.left_out = (0..n_tets).filter(|place| kept.binary_search(place).is_err()).collect();
    }
    Ok((without_unused_nodes(mesh), mending))
}

/// Keeps the tets that have a volume and do not repeat another, in an order of their nodes that makes it positive; and
/// of `places` those of the tets that are kept.
fn keep_sound_tets(mesh: &mut TetMesh, places: &mut Vec<u32>, cancel: &CancelToken) -> Result<(), Cancelled> {
    let mut seen = HashSet::new();
    let mut tets = Vec::with_capacity(mesh.tets.len());
    let mut kept = Vec::with_capacity(mesh.tets.len());
    for (t, &(mut tet)) in mesh.tets.iter().enumerate() {
        cancel.check_item(t, mesh.tets.len())?;
        let quality = quality(mesh, t);
        if is_flat(quality) || !seen.insert(sorted(tet)) {
            continue;
        }
        if quality < 0.0 {
            tet.swap(2, 3);
        }
        tets.push(tet);
        kept.push(places[t]);
    }
    (mesh.tets, *places) = (tets, kept);
    Ok(())
}

fn without_unused_nodes(mut mesh: TetMesh) -> TetMesh {
    let mut index_of = vec![u32::MAX; mesh.positions.len()];
    mesh.tets.iter().flatten().for_each(|&node| index_of[node as usize] = 0);
    let mut positions = Vec::with_capacity(mesh.positions.len());
    for (index, position) in index_of.iter_mut().zip(mesh.positions).filter(|(index, _)| **index == 0) {
        *index = positions.len() as u32;
        positions.push(position);
    }
    mesh.tets.iter_mut().flatten().for_each(|node| *node = index_of[*node as usize]);
    TetMesh { positions, tets: mesh.tets }
}

fn quality(mesh: &TetMesh, tet: usize) -> f64 {
    // A tet without any extent has the quality 0/0.
    let quality = mesh.tet_quality(tet);
    if quality.is_nan() { 0.0 } else { quality }
}

fn is_flat(quality: f64) -> bool {
    quality.abs() <= FLAT_QUALITY
}

fn sorted(mut tet: [u32; 4]) -> [u32; 4] {
    tet.sort_unstable();
    tet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::shapes;

    #[test]
    fn faults_are_counted_and_mended() {
        let sound = shapes::box_tets(Vec3::new(1.0, 2.0, 1.0), [2, 3, 2]);
        let found = diagnose_tets(&sound);
        assert_eq!(
            (found.inverted, found.flat, found.slivers, found.repeated, found.duplicate_nodes, found.unused_nodes),
            (0, 0, 0, 0, 0, 0)
        );
        assert!(found.pieces == 1 && (found.volume - 2.0).abs() < 1e-12 && found.quality == sound.quality());
        assert_eq!(mend_tets(sound.clone()), sound);

        let mut broken = sound.clone();
        broken.tets[3].swap(0, 1);
        broken.tets[5].swap(1, 2);
        broken.tets.push(sound.tets[0]);
        broken.tets.push([0, 1, 1, 2]);
        let far = broken.positions.len() as u32;
        broken.positions.extend([Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::new(0.3, 0.3, 0.01)].map(|p| p + Vec3::repeat(9.0)));
        broken.tets.push([far, far + 1, far + 2, far + 3]);
        broken.positions.push(Vec3::repeat(-5.0));
        broken.positions.push(sound.positions[0]);
        let found = diagnose_tets(&broken);
        assert_eq!((found.inverted, found.flat, found.slivers, found.repeated), (2, 1, 1, 1));
        assert_eq!((found.duplicate_nodes, found.unused_nodes, found.pieces), (1, 2, 2));
        let mended = mend_tets(broken);
        mended.check().unwrap();
        assert_eq!((mended.tets.len(), mended.positions.len()), (sound.tets.len() + 1, sound.positions.len() + 4));
        assert!((mended.total_volume() - 2.0 - 0.01 / 6.0).abs() < 1e-12);
    }
}
