//! What host and device share of corrected warped compliance: constants, structs and the tables of the contacts.

use crate::contact::dual;
use crate::contact::methods::cwc;
use crate::gpu::elastic;
use crate::gpu::limits::WORKGROUP;
use crate::gpu::wgsl::{Element, HostModule, shared_constants, shared_slots, shared_struct, word_table};

pub static HOST: HostModule = HostModule {
    name: "cwc",
    uses: &[&elastic::HOST],
    declare: |declarations| {
        declare_constants(declarations);
        declare_kinds(declarations);
        declare_planes(declarations);
        declare_sums(declarations);
        declare_solve(declarations);
        declarations.structure::<CwcData>();
        declarations.structure::<SideData>();
        declarations.structure::<RowData>();
        declarations.record::<GroupData>();
        declarations.record::<IslandData>();
        declarations.record::<MemberData>();
        declarations.record::<JacobianEntryData>();
        declarations.record::<TouchedData>();
        CwcTables::declare(declarations);
    },
};

shared_constants! {
    fn declare_constants, "CWC_":
    /// Most iterations of a pass.
    pub ITERATIONS: u32 = 240;
    /// Dispatches of a pass for islands that one workgroup holds: llvmpipe breaks loops off when a thread has gone
    /// 65,535 times round all of them.
    pub WHOLE_DISPATCHES: u32 = 10;
    /// Most passes with the same rows.
    pub MAX_PASSES: f64 = cwc::MAX_PASSES as f64;
    /// Contacts of a workgroup.
    pub GROUP_CONTACTS: usize = 4;
    /// Places in the indirect arguments.
    pub ARGUMENTS_GROUPS: u32 = 0;
    pub ARGUMENTS_ISLANDS: u32 = 1;
    /// Threads of a contact, next to each other.
    LANES: usize = WORKGROUP as usize / GROUP_CONTACTS;
    /// Forces are sought to this part of the accuracy, so that what rests becomes still; within the accuracy itself
    /// they are taken after the first pass,
    pub FINEST: f64 = 0.2;
    /// and after more than this many passes
    pub MANY_PASSES: f64 = 7.0;
    /// within this many times the accuracy, which is the contact tolerance.
    pub COARSEST: f64 = 2.0;
    /// Forces of a pass are sought to this part of the error of the last pass.
    pub FORCING: f64 = cwc::FORCING;
    /// The power iteration comes from below.
    pub EIGENVALUE_MARGIN: f64 = dual::EIGENVALUE_MARGIN;
    /// A pass moves the contacts by more or less than the compliance of the rest pose predicts (1.6 times as far in a
    /// ball that is squeezed between plates, where passes without a factor left .65 of the error each): the factor
    /// follows, by at most so much a pass
    pub MAX_FACTOR_CHANGE: f64 = 2.0;
    /// and between these in all.
    pub MIN_FACTOR: f64 = 0.25;
    pub MAX_FACTOR: f64 = 8.0;
    /// Errors that grow to this many times the best one show that the step is too long.
    LOST: f64 = 100.0;
    /// Forces whose error is at most this many times the least one are taken for better if they are later. Contacts
    /// on the same nodes hand forces to each other with an error that stays as it is until one of them has none left;
    /// without this, each pass would go that way anew. On the CPU, where passes have more iterations, it makes no
    /// difference.
    AS_GOOD: f64 = 1.1;
    /// Forces within the accuracy are improved by this many iterations.
    IMPROVEMENTS: f64 = dual::IMPROVEMENTS as f64;
}

shared_constants! {
    fn declare_kinds, "TOUCHED_":
    /// Kinds of a touched unknown: a node, or the linear or angular velocity of a rigid body.
    pub NODE: u32 = 0;
    pub LINEAR: u32 = 1;
    pub ANGULAR: u32 = 2;
}

shared_slots! {
    fn declare_planes, "CWC_", total pub PLANES:
    /// Planes of `cwc_state`, each of one vector a contact: forces of the present iteration and of the one before
    /// [N], in two planes that take turns.
    pub ITERATE: 2;
    /// The best forces so far [N].
    pub FORCE: 1;
    /// Motion without forces, as far as the compliance tells [m].
    pub FREE: 1;
    /// Motion at the forces of the iteration before [m].
    pub LAST: 1;
    /// W_nn, larger eigenvalue of the tangential block [m/N], and their inverses.
    pub SCALE: 1;
    /// Vectors of the power iteration, in two planes that take turns.
    PROBE: 2;
    /// Motion that the pass has begun with [m].
    pub START: 1;
    /// Predicted motion at the best forces, by the compliance [m].
    pub PREDICTED: 1;
}

shared_slots! {
    fn declare_sums, "CWC_", total pub SUM_SLOTS:
    /// Slots of partial sums in `cwc_state`, one entry a workgroup: (climb, largest error) of two iterations that
    /// take turns,
    pub SUM_ITERATE: 2;
    /// and of the power iteration.
    pub SUM_PROBE: 1;
}

shared_slots! {
    fn declare_solve, "CWC_SOLVE_", total pub VECTORS:
    /// State of the solve of an island in `cwc_state`. Two vectors that take turns with the next two: (theta, best
    /// error [m], 1 if it is over, iterations), and (step length, climb and largest error of the last iteration in
    /// one workgroup, iterations within the accuracy).
    pub STATE: 4;
    /// (aim [m], factor of the compliance, 1 if the forces are found, passes).
    pub FACTOR: 1;
    /// (error of the last pass [m], iterations of all passes, reciprocal of the largest eigenvalue, passes together
    /// with those that only continued the elastic solve).
    pub PROGRESS: 1;
    /// What the workgroups of a large island have left of the last iteration, added up.
    SUMS: 1;
}

shared_struct! {
    /// Sizes of a solve for contact forces, and where its tables stand.
    pub struct CwcData as "Cwc" {
        /// First words of the sections of [`CwcTables`].
        sections: [[u32; 4]; CwcTables::OFFSETS],
        n_contacts: u32,
        /// Workgroups over contacts, each with contacts of one island.
        n_groups: u32,
        n_islands: u32,
        n_touched: u32,
        n_members: u32,
        /// First vectors in `cwc_state` of the partial sums,
        sums: u32,
        /// of the solves of the islands,
        solves: u32,
        /// and of the rotations of the touched unknowns.
        rotations: u32,
        /// Each workgroup of an island of at most this many adds up what all of them have left.
        max_joined: u32,
        pad_0: u32,
        pad_1: u32,
        pad_2: u32,
    }
}

shared_struct! {
    /// A contact on a movable body.
    pub struct SideData as "Side" {
        /// First block of the compliance of the body in `cwc_weights`: the lower triangle, row by row.
        weights: u32,
        first_member: u32,
        /// Members of the body; 0 for no body.
        n_members: u32,
        /// Which of them the contact is.
        own: u32,
    }
}
impl Element for SideData {}

shared_struct! {
    /// The row of a contact: its frame C by rows, with the motion at dv = 0 in the w lanes.
    pub struct RowData as "Row" {
        normal: [f32; 4],
        tangent_1: [f32; 4],
        tangent_2: [f32; 4],
        /// Compliance of a joint [m/N]; w: friction, or -1 of a joint.
        compliance: [f32; 4],
        sides: [SideData; 2],
        /// First Jacobian entry and end; the others are padding.
        entries: [u32; 4],
    }
}

shared_struct! {
    /// Contacts of a workgroup.
    pub struct GroupData as "CwcGroup" {
        island: u32,
        first: u32,
        end: u32,
    }
}

shared_struct! {
    /// Contacts that are solved together.
    pub struct IslandData as "CwcIsland" {
        first_group: u32,
        end_group: u32,
        /// Deformable bodies, in `island_bodies`.
        first_body: u32,
        end_body: u32,
        /// Of gaps [m].
        accuracy: f32,
        /// 1 if one workgroup finds its forces.
        is_whole: u32,
    }
}

shared_struct! {
    /// A contact on one of its bodies.
    pub struct MemberData as "CwcMember" {
        contact: u32,
        first_entry: u32,
        end_entry: u32,
        /// Touched unknowns of its body.
        first_touched: u32,
        n_touched: u32,
        /// Its first block in `cwc_motions`.
        motions: u32,
        /// Its first block in `cwc_weights`, where its row of the lower triangle begins.
        weights: u32,
        /// Members of its body.
        first_member: u32,
        n_members: u32,
    }
}

shared_struct! {
    /// Entry of a row of H: a weight in x, or an arm where the unknown is angular.
    pub struct JacobianEntryData as "JacobianEntry" {
        value: [f32; 3],
        touched: u32,
    }
}

shared_struct! {
    /// An unknown that contacts touch.
    pub struct TouchedData as "Touched" {
        unknown: u32,
        kind: u32,
        /// In the columns of its body's compliance, or `NONE`.
        row: u32,
        /// First block of its column, or `NONE`; of a rigid body: which of the rigid inverses.
        column: u32,
        first_incidence: u32,
        end_incidence: u32,
        island: u32,
    }
}

word_table! {
    /// What the host lays out for the contacts of a solve.
    pub struct CwcTables in "cwc_words" at "cwc.sections" {
        islands: IslandData => cwc_island,
        groups: GroupData => cwc_group,
        members: MemberData => cwc_member,
        /// Contact of each member.
        member_contacts: u32 => cwc_member_contact,
        entries: JacobianEntryData => jacobian_entry,
        /// (contact, Jacobian entry) pairs by touched unknown.
        incidences: [u32; 2] => cwc_incidence,
        /// Inverses of the blocks of A of the rigid bodies' unknowns.
        rigid_inverses: [f32; 9] => cwc_rigid_inverse,
        touched: TouchedData => touched_unknown,
        /// Rotation of the pose that the columns of a touched unknown know, a quaternion.
        rest_rotations: [f32; 4] => cwc_rest_rotation,
        /// Island of each deformable body, or `NONE`.
        body_islands: u32 => cwc_body_island,
        /// Deformable bodies, island by island.
        island_bodies: u32 => cwc_island_body,
    }
}
