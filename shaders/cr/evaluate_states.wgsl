// Fourth kernel of a round, one thread a contact: at the end of an iteration, if it is time, the states of the contacts.
// Twins: `contact::evaluate`, and the decisions in `contact::cr::solve`.
#import lib/cr.wgsl

@group(0) @binding(2) var<storage, read> dv: array<vec4f>;

// How much of the laws is searched for. Twin: `contact::Effort`.
const WHOLE: u32 = 0u;
const SETTLING: u32 = 1u;
const FROZEN: u32 = 2u;
const NO_LIMIT: f32 = 1e30;

// How small an effect is seen. Twin: `contact::state::Scale`.
struct Scale {
    tolerance: f32, // [m]
    noise: f32, // of a force [N]; NO_LIMIT while the solve goes on
    slack: f32, // [N]
    pace: f32,
    effort: u32,
}

// What is looked at in one contact. Twin: `contact::state::Look`.
struct Look {
    motion: vec3f, // [m]
    limit: f32, // mu lambda [N]
    normal: f32, // compliance along the normal and along the surface [m/N]
    along: f32,
}

fn drop_forces(c: ptr<function, CrContact>, status: u32) {
    (*c).status = status;
    (*c).multiplier = vec3f();
    (*c).sliding = 0.0;
    (*c).turning = -1.0;
}

// Twin: `contact::Constraint::slide`.
fn slide(c: ptr<function, CrContact>, gamma: vec2f, turning: f32) {
    let size = length(gamma);
    (*c).status = SLIDING;
    if size > 0.0 {
        let t1 = (*c).tangent_1;
        let t2 = (*c).tangent_2;
        let turn = gamma / size;
        (*c).tangent_1 = turn.x * t1 + turn.y * t2;
        (*c).tangent_2 = turn.x * t2 - turn.y * t1;
    }
    (*c).multiplier = vec3f((*c).multiplier.x, 0.0, 0.0);
    (*c).sliding = size;
    (*c).turning = turning;
}

// Twin: `contact::Constraint::slide_along`.
fn slide_along(c: ptr<function, CrContact>, gamma: vec2f, look: Look, limit: f32) {
    let wanted = gamma + look.motion.yz / look.along;
    let size = length(wanted);
    if size == 0.0 || limit == 0.0 {
        slide(c, vec2f(), -1.0);
    } else {
        slide(c, wanted * (limit / size), max(look.along * (size - limit) / limit, 0.0));
    }
}

fn evaluate_normal(c: ptr<function, CrContact>, look: Look, scale: Scale) -> bool {
    if (*c).status == INACTIVE {
        // Nearly the whole band below the safety distance: the true gap is still positive there.
        if look.motion.x < -0.45 * scale.tolerance {
            drop_forces(c, SLIDING);
            return true;
        }
        return false;
    }
    let force = (*c).multiplier.x;
    if force > 0.0 && (force > scale.noise || force * look.normal > scale.tolerance) {
        drop_forces(c, INACTIVE);
        return true;
    }
    return false;
}

fn project_friction(c: ptr<function, CrContact>, look: Look, scale: Scale) -> bool {
    if (*c).status == INACTIVE {
        return false;
    }
    let gamma = cr_friction(*c);
    let size = length(gamma);
    let noise = select(scale.noise, 0.0, scale.noise == NO_LIMIT);
    let slip = length(look.motion.yz);
    if (*c).status == STICKING {
        let violation = max(size - look.limit, 0.0) * look.along;
        let slides = size > look.limit + noise && (violation > scale.tolerance || size > look.limit + scale.slack);
        if slides {
            slide_along(c, gamma, look, look.limit);
        }
        return slides;
    }
    let fresh = size == 0.0;
    if scale.effort == FROZEN {
        return false;
    }
    if scale.effort == SETTLING && !fresh {
        let scaled = gamma * (look.limit / size);
        let error = length(scaled - gamma);
        let noticed = error > noise && (error * look.along > scale.tolerance || error > scale.slack);
        if noticed {
            slide(c, scaled, -1.0);
        }
        return noticed;
    }
    var back = slip < scale.tolerance;
    if !fresh {
        back = -dot(look.motion.yz, gamma) / size > scale.tolerance;
    }
    if back {
        if look.limit == 0.0 {
            return false;
        }
        // It sticks with the force it has.
        if (*c).compliance.w > 0.0 {
            (*c).status = STICKING;
            (*c).multiplier = vec3f((*c).multiplier.x, gamma);
            (*c).sliding = 0.0;
        }
        return true;
    }
    var wanted = gamma + look.motion.yz / look.along;
    let wanted_size = length(wanted);
    if wanted_size > look.limit {
        wanted *= look.limit / wanted_size;
    }
    let error = length(wanted - gamma);
    let slides = slip > scale.tolerance || size > look.limit + scale.slack;
    let noticed = error > noise && (error * look.along > scale.tolerance || (slides && error > scale.slack));
    if noticed {
        slide_along(c, gamma, look, select(size + scale.pace * (look.limit - size), look.limit, fresh));
    }
    return noticed;
}

@compute @workgroup_size(WORKGROUP)
fn evaluate_states(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = cr_island_of(group.x);
    let island = cr_island(i);
    let phase = cr_controls[i].phase;
    let idle = cr_controls[i].done != 0u;
    let round = reduce_group(lane, cr_part(lane, island, CR_SUM_ROUND));
    let row_residual = reduce_group_max(lane, cr_part_max(lane, island, CR_SUM_ROUND));
    let n_active = reduce_group(lane, cr_part(lane, island, CR_SUM_ROWS)).x;

    let iterations = cr_controls[i].iterations;
    let sixths = iterations * 6u / max(params.max_contact_iterations, 1u);
    let effort = select(select(WHOLE, SETTLING, sixths == 4u), FROZEN, sixths > 4u);
    let tolerance = params.contact_tolerance * select(1.0, CR_LENIENCY, effort == FROZEN);
    let bound2 = cr_controls[i].bound2;
    let error = max(sqrt(round.x / bound2), row_residual / (CR_ROW_TOLERANCE * tolerance));
    let converged = float_is_finite(round.x) && error <= 1.0;
    var action = ACTION_NONE;
    if phase == PHASE_NORMAL {
        let since = cr_controls[i].since_evaluation;
        let is_time = since >= params.max_contact_iterations / 50u || (since >= 4u && error < 0.5 * cr_controls[i].error_after_restart);
        if converged || cr_controls[i].stuck != 0u {
            action = ACTION_FORCED;
        } else if cr_controls[i].alpha > 0.0 && is_time {
            action = ACTION_EVALUATE;
        }
    }
    // What one force may be off because the velocity equation is met to a residual only.
    let noise = select(NO_LIMIT, sqrt(bound2) / (params.dt * sqrt(max(n_active, 1.0))), action == ACTION_FORCED);
    let slack = select(NO_LIMIT, max(noise, CR_FORCE_TOLERANCE * round.z / max(round.w, 1.0)), action == ACTION_FORCED);
    let scale = Scale(tolerance, noise, slack, 1.0 / f32(1u + cr_controls[i].restarts / 20u), effort);

    var changed = false;
    let end = select(island.end_contact, 0u, idle || (action == ACTION_NONE && phase != PHASE_ENTRY));
    for (var k = island.first_contact + cr_first(lane, group.x, island); k < end; k += cr_stride(island)) {
        var c = cr_contact(k);
        if action != ACTION_NONE && !cr_is_spring(c) {
            var moved = vec3f();
            for (var e = c.entries.x; e < c.entries.y; e++) {
                let entry = jacobian_entry(e);
                let touched = touched_unknown(entry.touched);
                moved += entry_motion(entry, touched.kind, dv[touched.unknown].xyz);
            }
            let compliance = cwc_state[cr_plane(CR_COMPLIANCE, k)].xyz;
            let limit = c.compliance.w * max(-c.multiplier.x, 0.0);
            let motion = cr_offset(c) + params.dt * cr_turn(c, moved);
            let look = Look(motion, limit, compliance.x, 0.5 * (compliance.y + compliance.z));
            if evaluate_normal(&c, look, scale) || project_friction(&c, look, scale) {
                changed = true;
                cwc_state[cr_plane(CR_STATUS, k)] = vec4f(f32(c.status), c.turning, c.sliding, 0.0);
                cwc_state[cr_plane(CR_TANGENT_1, k)] = c.tangent_1;
                cwc_state[cr_plane(CR_TANGENT_2, k)] = c.tangent_2;
                cwc_state[cr_plane(CR_MULTIPLIER, k)] = vec4f(c.multiplier, 0.0);
            }
        }
        let force = cr_mask(c, c.multiplier) + vec3f(0.0, select(0.0, c.sliding, c.status == SLIDING), 0.0);
        cwc_state[cr_plane(CR_FORCE, k)] = vec4f(cr_turn_back(c, force), select(0.0, 1.0, c.status != INACTIVE));
    }
    let some = reduce_group_max(lane, select(0.0, 1.0, changed));
    if lane == 0u && !idle {
        cr_store(CR_SUM_CHANGED, group.x, vec4f(0.0, some, 0.0, 0.0));
    }
    if !idle && cr_leads(lane, group.x, island) {
        cr_controls[i].action = action;
        cr_controls[i].error = error;
        cr_controls[i].residual2 = round.x;
        cr_controls[i].converged = select(0u, 1u, converged && effort != FROZEN);
    }
}
