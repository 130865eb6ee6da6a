//! The contacts of a solve as the kernels read them: rows, Jacobian entries, and which contacts share a body.

use std::ops::Range;

use super::columns::ColumnStore;
use super::layout::{
    ANGULAR, CwcData, CwcTables, GROUP_CONTACTS, GroupData, IslandData, JacobianEntryData, LINEAR, MemberData, NODE, PLANES, RowData,
    SUM_SLOTS, SideData, TouchedData, VECTORS,
};
use crate::body::BodyRef;
use crate::contact::{Constraint, JacobianEntry};
use crate::elastic::RestBody;
use crate::gpu::layout::{NONE, vec4};
use crate::gpu::wgsl::WordTable;
use crate::math::{Mat3, Quat};
use crate::model::Model;
use crate::sparse::Segment;

/// Contacts that are solved together.
pub struct IslandRows<'a> {
    pub contacts: &'a [Constraint],
    /// The deformable bodies.
    pub segments: &'a [Segment],
    /// Of gaps [m].
    pub accuracy: f64,
    /// How much larger the compliance is than the rest pose predicts, as far as is known.
    pub factor: f32,
}

/// What a solve works on.
#[derive(Default)]
pub struct Tables {
    pub data: CwcData,
    pub sections: CwcTables,
    /// The sections, packed.
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
    /// There are islands that many workgroups share, and islands that one workgroup holds.
    pub has_shared: bool,
    pub has_whole: bool,
}

/// Rest poses of the deformable bodies, and inverses of the blocks of A of the rigid bodies' unknowns.
#[derive(Clone, Copy)]
pub struct Inverses<'a> {
    pub rests: &'a [Option<RestBody>],
    pub rigid: &'a [Mat3],
}

/// The unknowns that contacts touch, ascending.
struct TouchedUnknowns<'a> {
    model: &'a Model,
    unknowns: Vec<u32>,
}

/// A contact on one of its bodies.
struct Member {
    body: BodyRef,
    contact: u32,
    side: usize,
    entries: Range<usize>,
}

impl TouchedUnknowns<'_> {
    fn new<'m>(model: &'m Model, islands: &[IslandRows]) -> TouchedUnknowns<'m> {
        let entries = islands.iter().flat_map(|island| island.contacts).flat_map(|contact| &contact.row.entries);
        let mut unknowns: Vec<u32> = entries.map(|entry| entry.unknown() as u32).collect();
        unknowns.sort_unstable();
        unknowns.dedup();
        TouchedUnknowns { model, unknowns }
    }

    fn place(&self, unknown: usize) -> usize {
        self.unknowns.partition_point(|touched| (*touched as usize) < unknown)
    }

    fn body(&self, unknown: usize) -> BodyRef {
        self.model.body_of_unknown(unknown)
    }

    fn of_body(&self, body: BodyRef) -> Range<usize> {
        let first = self.unknowns.partition_point(|unknown| self.body(*unknown as usize) < body);
        first..self.unknowns.partition_point(|unknown| self.body(*unknown as usize) <= body)
    }

    /// Where the unknowns of rigid bodies begin.
    fn first_rigid(&self) -> usize {
        self.place(self.model.n_nodes())
    }
}

impl Tables {
    /// Lays out the contacts of `islands`, and requests the columns of their nodes. Islands of up to `most_whole`
    /// contacts are solved in one workgroup.
    pub fn new(model: &Model, islands: &[IslandRows], inverses: Inverses, columns: &mut ColumnStore, most_whole: usize) -> Self {
        let touched = TouchedUnknowns::new(model, islands);
        columns.request(model, inverses.rests, &touched.unknowns);
        let mut tables = Self::default();
        let (members, incidences) = tables.put_rows(&touched, islands);
        let island_of = tables.put_islands(islands, model.bodies.len(), most_whole);
        tables.put_members(&touched, &members);
        put_touched(&mut tables.sections, &touched, &incidences, &island_of);
        put_inverses(&mut tables.sections, &touched, inverses, columns);
        tables.finish();
        tables
    }

    /// Rows with their Jacobian entries, side by side; the members, and what each touched unknown has part in.
    fn put_rows(&mut self, touched: &TouchedUnknowns, islands: &[IslandRows]) -> (Vec<Member>, Vec<Vec<[u32; 2]>>) {
        let entries = &mut self.sections.entries;
        let mut incidences: Vec<Vec<[u32; 2]>> = vec![vec![]; touched.unknowns.len()];
        let mut members: Vec<Member> = vec![];
        for (k, contact) in islands.iter().flat_map(|island| island.contacts).enumerate() {
            let first = entries.len();
            for side in 0..2 {
                let begin = entries.len();
                let is_on_side = |entry: &&JacobianEntry| (touched.body(entry.unknown()) == contact.bodies[0]) == (side == 0);
                for entry in contact.row.entries.iter().filter(is_on_side) {
                    let place = touched.place(entry.unknown());
                    incidences[place].push([k as u32, entries.len() as u32]);
                    let value = match entry {
                        JacobianEntry::Linear { weight, .. } => [*weight as f32, 0.0, 0.0],
                        JacobianEntry::Angular { arm, .. } => [arm.x as f32, arm.y as f32, arm.z as f32],
                    };
                    entries.push(JacobianEntryData { value, touched: place as u32 });
                }
                if begin < entries.len() {
                    members.push(Member { body: contact.bodies[side], contact: k as u32, side, entries: begin..entries.len() });
                }
            }
            self.rows.push(row(contact, first..entries.len()));
            self.forces.push(vec4(&contact.force_on_first(), 0.0));
        }
        members.sort_by_key(|member| (member.body, member.contact));
        (members, incidences)
    }

    /// Islands with their workgroups; the island of each contact.
    fn put_islands(&mut self, islands: &[IslandRows], n_bodies: usize, most_whole: usize) -> Vec<u32> {
        let CwcTables { groups, islands: island_words, body_islands, island_bodies, .. } = &mut self.sections;
        body_islands.resize(n_bodies, NONE);
        self.factors = islands.iter().map(|island| island.factor).collect();
        let mut island_of = vec![];
        for (i, island) in islands.iter().enumerate() {
            let (first, first_group) = (island_of.len(), groups.len() as u32);
            let end = first + island.contacts.len();
            let group = |k: usize| GroupData { island: i as u32, first: k as u32, end: (k + GROUP_CONTACTS).min(end) as u32 };
            groups.extend((first..end).step_by(GROUP_CONTACTS).map(group));
            island_of.resize(end, i as u32);
            let first_body = island_bodies.len() as u32;
            for body in island.segments.iter().map(|segment| segment.body.index()) {
                body_islands[body] = i as u32;
                island_bodies.push(body as u32);
            }
            let is_whole = island.contacts.len() <= most_whole;
            self.has_shared |= !is_whole;
            self.has_whole |= is_whole;
            island_words.push(IslandData {
                first_group,
                end_group: groups.len() as u32,
                first_body,
                end_body: island_bodies.len() as u32,
                accuracy: island.accuracy as f32,
                is_whole: is_whole.into(),
            });
        }
        island_of
    }

    /// Members body by body, each with its blocks of the compliance of its body.
    fn put_members(&mut self, touched: &TouchedUnknowns, members: &[Member]) {
        let sections = &mut self.sections;
        sections.member_contacts.extend(members.iter().map(|member| member.contact));
        for body in members.chunk_by(|a, b| a.body == b.body) {
            let unknowns = touched.of_body(body[0].body);
            let first_member = sections.members.len() as u32;
            for (own, member) in body.iter().enumerate() {
                sections.members.push(MemberData {
                    contact: member.contact,
                    first_entry: member.entries.start as u32,
                    end_entry: member.entries.end as u32,
                    first_touched: unknowns.start as u32,
                    n_touched: unknowns.len() as u32,
                    motions: (self.n_motions + own * unknowns.len()) as u32,
                    weights: (self.n_weights + triangle(own)) as u32,
                    first_member,
                    n_members: body.len() as u32,
                });
                self.rows[member.contact as usize].sides[member.side] =
                    SideData { weights: self.n_weights as u32, first_member, n_members: body.len() as u32, own: own as u32 };
            }
            self.n_motions += body.len() * unknowns.len();
            self.n_weights += triangle(body.len());
        }
    }

    /// Packs the sections, and says where everything stands.
    fn finish(&mut self) {
        let sections = &self.sections;
        let (words, offsets) = sections.pack();
        let (n_contacts, n_groups) = (self.rows.len(), sections.groups.len());
        let sums = PLANES * n_contacts;
        let solves = sums + SUM_SLOTS * n_groups;
        let rotations = solves + VECTORS * sections.islands.len();
        self.words = words;
        self.n_state = rotations + sections.touched.len();
        self.data = CwcData {
            sections: offsets,
            n_contacts: n_contacts as u32,
            n_groups: n_groups as u32,
            n_islands: sections.islands.len() as u32,
            n_touched: sections.touched.len() as u32,
            n_members: sections.members.len() as u32,
            sums: sums as u32,
            solves: solves as u32,
            rotations: rotations as u32,
            ..CwcData::default()
        };
    }

    /// Least bytes of an iteration for the forces: the lower triangle of the compliance, and seven vectors of each
    /// contact.
    pub fn bytes_of_iteration(&self) -> u64 {
        (36 * self.n_weights + 7 * 16 * self.rows.len()) as u64
    }

    /// Least bytes of the compliance: motions are written and read, the compliance written, tables are read.
    pub fn bytes_of_compliance(&self) -> u64 {
        (36 * (2 * self.n_motions + self.n_weights) + 4 * self.words.len() + size_of::<RowData>() * self.rows.len()) as u64
    }
}

/// Blocks of the first `rows` rows of a lower triangle.
pub fn triangle(rows: usize) -> usize {
    rows * (rows + 1) / 2
}

/// The touched unknowns with their incidences; where their inverses stand is left open.
fn put_touched(sections: &mut CwcTables, touched: &TouchedUnknowns, incidences: &[Vec<[u32; 2]>], island_of: &[u32]) {
    for (unknown, own) in touched.unknowns.iter().zip(incidences) {
        let kind = match (*unknown as usize).checked_sub(touched.model.n_nodes()) {
            None => NODE,
            Some(rigid) if rigid % 2 == 0 => LINEAR,
            Some(_) => ANGULAR,
        };
        let first_incidence = sections.incidences.len() as u32;
        sections.incidences.extend(own);
        sections.touched.push(TouchedData {
            unknown: *unknown,
            kind,
            row: NONE,
            column: NONE,
            first_incidence,
            end_incidence: sections.incidences.len() as u32,
            island: island_of[own[0][0] as usize],
        });
    }
}

/// Rows and columns of the inverses that the touched unknowns have part in, and the rotations of the poses of those.
fn put_inverses(sections: &mut CwcTables, touched: &TouchedUnknowns, inverses: Inverses, columns: &ColumnStore) {
    let (model, first_rigid) = (touched.model, touched.first_rigid());
    for (k, (unknown, data)) in touched.unknowns.iter().zip(&mut sections.touched).enumerate() {
        let mut rotation = Mat3::identity();
        match (*unknown as usize).checked_sub(model.n_nodes()) {
            None => {
                (data.row, data.column) = columns.place(model, inverses.rests, *unknown);
                let rest = inverses.rests.get(model.node_bodies[*unknown as usize] as usize).and_then(Option::as_ref);
                rotation = rest.map_or(rotation, |rest| rest.turn.of(0));
            }
            Some(rigid) => {
                data.column = (k - first_rigid) as u32;
                let block = inverses.rigid[rigid].as_slice();
                sections.rigid_inverses.push(std::array::from_fn(|i| block[i] as f32));
            }
        }
        let q = Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(rotation));
        sections.rest_rotations.push([q.i, q.j, q.k, q.w].map(|c| c as f32));
    }
}

fn row(contact: &Constraint, entries: Range<usize>) -> RowData {
    let axis = |r: usize| vec4(&contact.row.frame.row(r).transpose(), contact.row.offset[r]);
    let friction = if contact.law.is_bilateral() { -1.0 } else { contact.law.friction() };
    RowData {
        normal: axis(0),
        tangent_1: axis(1),
        tangent_2: axis(2),
        compliance: vec4(&contact.law.compliance(), friction),
        sides: [SideData::default(); 2],
        entries: [entries.start as u32, entries.end as u32, 0, 0],
    }
}
