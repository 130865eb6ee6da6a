//! What the host lays out for the contacts of a solve: rows, levers, who shares a body with whom (`shaders/lib/cwc.wgsl`).

use std::ops::Range;

use super::columns::ColumnStore;
use crate::contact::{Constraint, JacobianEntry};
use crate::elastic::RestBody;
use crate::gpu::layout::{CwcData, RowData, vec4};
use crate::math::{Mat3, Quat};
use crate::model::Model;

/// Contacts of a workgroup (`CWC_CONTACTS`).
const GROUP: usize = 4;
/// Vectors a contact and of an island's solve in `cwc_state` (`CWC_PLANES`, `CWC_SOLVE`), slots of partial sums, words a place.
pub const PLANES: usize = 10;
pub const SOLVE: usize = 6;
const SUMS: usize = 3;
const PLACE_WORDS: usize = 11;
/// Planes and vectors that the host reads or writes.
pub const FORCE: usize = 2;
pub const SCALE: usize = 5;
pub const FACTOR: usize = 4;
pub const TOLD: usize = 5;
/// Neither row nor column nor island.
const NONE: u32 = u32::MAX;

/// Contacts that are solved together.
pub struct IslandRows<'a> {
    pub contacts: &'a [Constraint],
    /// Of the deformable bodies.
    pub bodies: Range<usize>,
    /// Of gaps [m].
    pub accuracy: f64,
    /// How much larger the compliance is than told, as far as is known.
    pub factor: f32,
}

/// Words of an island.
const ISLAND_WORDS: usize = 6;

/// What a solve works on.
#[derive(Default)]
pub struct Tables {
    pub data: CwcData,
    pub words: Vec<u32>,
    pub rows: Vec<RowData>,
    /// Where the solve starts [N].
    pub forces: Vec<[f32; 4]>,
    /// [`IslandRows::factor`] of each island.
    pub factors: Vec<f32>,
    /// Blocks of `cwc_motions` and `cwc_weights`, vectors of `cwc_state`.
    pub n_motions: usize,
    pub n_weights: usize,
    pub n_state: usize,
    /// There are islands that many workgroups share, and that one holds.
    pub has_shared: bool,
    pub has_whole: bool,
}

/// A contact on one of its bodies.
struct Member {
    body: u32,
    contact: u32,
    side: usize,
    levers: Range<usize>,
}

impl Tables {
    /// `rests`: of the deformable bodies. `inverses`: of the blocks of the rigid bodies' unknowns, for nodes and rigid bodies counted as in the model.
    /// Islands of up to `most_whole` contacts are solved in one workgroup.
    pub fn new(
        model: &Model,
        islands: &[IslandRows],
        rests: &[Option<RestBody>],
        inverses: &[Mat3],
        columns: &mut ColumnStore,
        most_whole: usize,
    ) -> Self {
        let n_nodes = model.n_nodes();
        let body_of = |unknown: usize| match unknown.checked_sub(n_nodes) {
            None => model.node_bodies[unknown],
            Some(rigid) => (model.bodies.len() + rigid / 2) as u32,
        };
        let contacts = || islands.iter().flat_map(|island| island.contacts);
        let mut places: Vec<u32> = contacts().flat_map(|c| &c.row.entries).map(|entry| entry.unknown() as u32).collect();
        places.sort_unstable();
        places.dedup();
        let place_of = |unknown: usize| places.partition_point(|place| (*place as usize) < unknown);

        let mut levers: Vec<[u32; 4]> = vec![];
        let mut items: Vec<Vec<[u32; 2]>> = vec![vec![]; places.len()];
        let mut members: Vec<Member> = vec![];
        let mut tables = Self::default();
        for (k, contact) in contacts().enumerate() {
            let first = levers.len();
            for side in 0..2 {
                let begin = levers.len();
                let on_first = |entry: &JacobianEntry| body_of(entry.unknown()) == contact.bodies[0];
                for entry in contact.row.entries.iter().filter(|entry| on_first(entry) == (side == 0)) {
                    let place = place_of(entry.unknown());
                    items[place].push([k as u32, levers.len() as u32]);
                    let value = match entry {
                        JacobianEntry::Linear { weight, .. } => [*weight as f32, 0.0, 0.0],
                        JacobianEntry::Angular { arm, .. } => [arm.x as f32, arm.y as f32, arm.z as f32],
                    };
                    levers.push([value[0].to_bits(), value[1].to_bits(), value[2].to_bits(), place as u32]);
                }
                if begin < levers.len() {
                    members.push(Member { body: contact.bodies[side], contact: k as u32, side, levers: begin..levers.len() });
                }
            }
            tables.rows.push(row(contact, first..levers.len()));
            tables.forces.push(vec4(&contact.force_on_first(), 0.0));
        }
        members.sort_by_key(|member| (member.body, member.contact));
        columns.request(model, rests, &places);

        let mut groups: Vec<[u32; 3]> = vec![];
        let mut island_words: Vec<[u32; ISLAND_WORDS]> = vec![];
        // Of the contacts, and of the deformable bodies.
        let (mut island_of, mut body_islands) = (vec![], vec![NONE; model.bodies.len()]);
        let mut first = 0;
        tables.factors = islands.iter().map(|island| island.factor).collect();
        for (i, island) in islands.iter().enumerate() {
            let (first_group, end) = (groups.len() as u32, first + island.contacts.len());
            groups.extend((first..end).step_by(GROUP).map(|k| [i as u32, k as u32, (k + GROUP).min(end) as u32]));
            island_of.resize(end, i as u32);
            body_islands[island.bodies.clone()].fill(i as u32);
            let bodies = [island.bodies.start as u32, island.bodies.end as u32];
            let is_whole = island.contacts.len() <= most_whole;
            tables.has_shared |= !is_whole;
            tables.has_whole |= is_whole;
            island_words.push([
                first_group,
                groups.len() as u32,
                bodies[0],
                bodies[1],
                (island.accuracy as f32).to_bits(),
                is_whole.into(),
            ]);
            first = end;
        }

        let mut member_words: Vec<[u32; 9]> = vec![];
        let mut first_member = 0;
        for body in members.chunk_by(|a, b| a.body == b.body) {
            let first_place = places.partition_point(|place| body_of(*place as usize) < body[0].body);
            let n_places = places[first_place..].iter().take_while(|place| body_of(**place as usize) == body[0].body).count();
            for (own, member) in body.iter().enumerate() {
                let weights = tables.n_weights + own * body.len();
                member_words.push(
                    [
                        member.contact as usize,
                        member.levers.start,
                        member.levers.end,
                        first_place,
                        n_places,
                        tables.n_motions + own * n_places,
                        weights,
                        first_member,
                        body.len(),
                    ]
                    .map(|word| word as u32),
                );
                let side = [tables.n_weights, first_member, body.len(), own].map(|word| word as u32);
                tables.rows[member.contact as usize].sides[member.side] = side;
            }
            tables.n_motions += body.len() * n_places;
            tables.n_weights += body.len() * body.len();
            first_member += body.len();
        }

        let words = &mut tables.words;
        let mut put = |part: &[u32]| {
            let offset = words.len() as u32;
            words.extend_from_slice(part);
            offset
        };
        let (islands_at, groups_at) = (put(island_words.as_flattened()), put(groups.as_flattened()));
        let members_at = put(member_words.as_flattened());
        let member_contacts = put(&members.iter().map(|member| member.contact).collect::<Vec<_>>());
        let levers_at = put(levers.as_flattened());
        let items_at = put(items.concat().as_flattened());
        let inverse_of = |unknown: usize| inverses[unknown - n_nodes].as_slice().iter().map(|x| (*x as f32).to_bits());
        let rigid = places.partition_point(|place| (*place as usize) < n_nodes);
        let inverses_at = put(&places[rigid..].iter().flat_map(|place| inverse_of(*place as usize)).collect::<Vec<_>>());
        let mut place_words: Vec<[u32; PLACE_WORDS]> = vec![];
        let mut first_item = 0;
        for (k, unknown) in places.iter().enumerate() {
            let end = first_item + items[k].len() as u32;
            let (kind, row, column, turn) = match (*unknown as usize).checked_sub(n_nodes) {
                None => {
                    let (row, column) = columns.place(model, rests, *unknown);
                    let rest = rests.get(model.node_bodies[*unknown as usize] as usize).and_then(Option::as_ref);
                    (0, row, column, rest.map_or(Mat3::identity(), |rest| rest.turn))
                }
                Some(rigid_unknown) => (1 + rigid_unknown as u32 % 2, NONE, inverses_at + 9 * (k - rigid) as u32, Mat3::identity()),
            };
            let q = Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(turn));
            let [x, y, z, w] = [q.i, q.j, q.k, q.w].map(|c| (c as f32).to_bits());
            place_words.push([*unknown, kind, row, column, first_item, end, island_of[items[k][0][0] as usize], x, y, z, w]);
            first_item = end;
        }
        let places_at = put(place_words.as_flattened());
        let body_islands_at = put(&body_islands);

        let (n, n_groups) = (tables.rows.len(), groups.len());
        let sums = PLANES * n;
        let solves = sums + SUMS * n_groups;
        let rotations = solves + SOLVE * islands.len();
        tables.n_state = rotations + places.len();
        tables.data = CwcData {
            n_contacts: n as u32,
            n_groups: n_groups as u32,
            n_islands: islands.len() as u32,
            n_places: places.len() as u32,
            n_members: members.len() as u32,
            groups: groups_at,
            islands: islands_at,
            members: members_at,
            member_contacts,
            places: places_at,
            items: items_at,
            levers: levers_at,
            sums: sums as u32,
            solves: solves as u32,
            rotations: rotations as u32,
            body_islands: body_islands_at,
        };
        tables
    }
}

impl Tables {
    /// Least bytes of an iteration for the forces: the compliance, and seven vectors of each contact.
    pub fn bytes_of_iteration(&self) -> u64 {
        (36 * self.n_weights + 7 * 16 * self.rows.len()) as u64
    }

    /// Least bytes of the compliance: what impulses move is written and read, the compliance written, tables are read.
    pub fn bytes_of_compliance(&self) -> u64 {
        (36 * (2 * self.n_motions + self.n_weights) + 4 * self.words.len() + size_of::<RowData>() * self.rows.len()) as u64
    }
}

fn row(contact: &Constraint, levers: Range<usize>) -> RowData {
    let axis = |r: usize| vec4(&contact.row.frame.row(r).transpose(), contact.row.offset[r]);
    let friction = if contact.law.is_bilateral() { -1.0 } else { contact.law.friction() };
    RowData {
        normal: axis(0),
        tangent_1: axis(1),
        tangent_2: axis(2),
        give: vec4(&contact.law.compliance(), friction),
        sides: [[0; 4]; 2],
        levers: [levers.start as u32, levers.end as u32, 0, 0],
    }
}
