//! What host and device share of the conjugate residuals: constants, structs and tables behind those of the contacts.

use crate::contact;
use crate::gpu::cwc;
use crate::gpu::wgsl::{HostModule, shared_constants, shared_slots, shared_struct, word_table};

pub static HOST: HostModule = HostModule {
    name: "cr",
    uses: &[&cwc::layout::HOST],
    declare: |declarations| {
        declare_constants(declarations);
        declare_codes(declarations);
        declare_planes(declarations);
        declare_vectors(declarations);
        declare_sums(declarations);
        declarations.structure::<CrData>();
        declarations.structure::<CrControlData>();
        declarations.record::<CrIslandData>();
        CrTables::declare(declarations);
    },
};

shared_constants! {
    fn declare_constants, "CR_":
    RELATIVE_RESIDUAL: f64 = contact::RELATIVE_RESIDUAL;
    ROUGH_TOLERANCE: f64 = contact::ROUGH_TOLERANCE;
    ROW_TOLERANCE: f64 = contact::ROW_TOLERANCE;
    FORCE_TOLERANCE: f64 = contact::FORCE_TOLERANCE;
    LENIENCY: f64 = contact::LENIENCY;
}

shared_constants! {
    fn declare_codes, "":
    /// What a round does (`CrControlData::phase`): an iteration,
    PHASE_NORMAL: u32 = 0;
    /// the first direction for changed contacts,
    PHASE_RESTART: u32 = 1;
    /// or the residual for the contacts that the host has brought.
    pub PHASE_ENTRY: u32 = 2;
    /// What is done with the states at the end of a round: nothing,
    ACTION_NONE: u32 = 0;
    /// they are updated,
    ACTION_EVALUATE: u32 = 1;
    /// or updated at a converged state, where every law counts.
    ACTION_FORCED: u32 = 2;
    /// States of a contact.
    pub INACTIVE: u32 = 0;
    pub STICKING: u32 = 1;
    pub SLIDING: u32 = 2;
}

shared_slots! {
    fn declare_planes, "CR_", total pub PLANES:
    /// Planes of `cwc_state`, each of one vector a contact. The host brings the first ones: (status, sliding compliance [m/N]
    /// or -1 for none, size of the sliding force [N]),
    pub STATUS: 1;
    /// tangents with the offset along them [m],
    pub TANGENT_1: 1;
    pub TANGENT_2: 1;
    /// multipliers [N];
    pub MULTIPLIER: 1;
    /// and reads them with the diagonal of the compliance [m/N].
    pub COMPLIANCE: 1;
    /// Stiffness: its diagonal, and its other entries (xy, xz, yz) [N/m].
    STIFFNESS: 1;
    STIFFNESS_OFF: 1;
    pub ROW_R: 1;
    ROW_Z: 1;
    ROW_P: 1;
    ROW_B_P: 1;
    ROW_C_B_P: 1;
    /// In space, what L^T is to be applied to; w: 1 if the contact is active.
    SPREAD: 1;
    /// The same of the forces.
    FORCE: 1;
}

shared_slots! {
    fn declare_vectors, "CR_", total pub VECTORS:
    /// Vectors over unknowns in `cr_vectors`: the residual (w: 1 + the place of a touched unknown, else 0),
    R: 1;
    /// the preconditioned residual, the direction,
    Z: 1;
    P: 1;
    /// their products with B and A,
    B_Z: 1;
    B_P: 1;
    A_Z: 1;
    A_P: 1;
    /// C^-1 B p,
    C_B_P: 1;
    /// and the residual without contacts.
    FREE: 1;
}

shared_slots! {
    fn declare_sums, "CR_SUM_", total pub SLOTS:
    /// Slots of partial sums in `cwc_state`, one entry a workgroup: (Bp.CBp) of unknowns,
    CURVATURE: 1;
    /// and of rows;
    CURVATURE_ROWS: 1;
    /// z.Bz, or |r_v|^2 where contacts have changed;
    RHO: 1;
    /// (|r_v|^2, max |r_c|, sum of mu lambda, contacts in it);
    ROUND: 1;
    /// (active contacts, z.Sz);
    ROWS: 1;
    /// (0, 1 where a contact has changed).
    CHANGED: 1;
}

shared_struct! {
    /// Sizes of the conjugate residuals, and where their tables stand behind those of the contacts.
    pub struct CrData as "Cr" {
        /// First words of the sections of [`CrTables`].
        sections: [[u32; 4]; CrTables::OFFSETS],
        n_islands: u32,
        n_groups: u32,
        /// Unknowns of the model.
        n_unknowns: u32,
        /// First vector in `cwc_state` of the partial sums,
        sums: u32,
        /// and of what active contacts put on each touched unknown.
        loads: u32,
        pad_0: u32,
        pad_1: u32,
        pad_2: u32,
    }
}

shared_struct! {
    /// State of the solve of one island, begun by the host and read by it when it is done.
    pub struct CrControlData as "CrControl" {
        done: u32,
        converged: u32,
        /// No iterations are left.
        is_exhausted: u32,
        stuck: u32,
        /// Of the round.
        phase: u32,
        next_phase: u32,
        /// What is done with the states at the end of the round.
        action: u32,
        /// 1 if there is no direction before the next.
        fresh: u32,
        /// Of all solves of this step.
        iterations: u32,
        since_evaluation: u32,
        /// Since the rows are these.
        restarts: u32,
        /// 1 if `scale` is complete.
        is_loaded: u32,
        /// z.Bz of the last step.
        rho: f32,
        alpha: f32,
        /// Of the residual, in units of its bounds.
        error: f32,
        error_after_restart: f32,
        /// What the residual is measured against [kg m/s].
        scale: f32,
        /// [kg m/s], > 0
        least_scale: f32,
        /// |r_v|^2 at which states are updated; 0 before the first residual is known.
        bound2: f32,
        /// |r_v|^2 at which the solve ends.
        final2: f32,
        /// |r_v|^2.
        residual2: f32,
        pad: f32,
    }
}

shared_struct! {
    /// Contacts and unknowns that are solved for together.
    pub struct CrIslandData as "CrIsland" {
        first_group: u32,
        end_group: u32,
        first_unknown: u32,
        end_unknown: u32,
        first_contact: u32,
        end_contact: u32,
        /// Deformable bodies.
        first_body: u32,
        end_body: u32,
    }
}

word_table! {
    /// What the host lays out for the conjugate residuals, behind the tables of the contacts.
    pub struct CrTables in "cwc_words" at "cr.sections" {
        islands: CrIslandData => cr_island,
        /// Island of each workgroup.
        groups: u32 => cr_island_of,
        /// The block of A of each unknown of a rigid body, and its inverse; symmetric.
        rigid_blocks: [f32; 9] => cr_rigid_block,
    }
}
