// Fourth kernel of a round, one thread a surface point: at the end of an iteration, if it is time, the states of its contacts; in a round of
// adaptation, what the moved geometry says. Twins: `contact::evaluate`, `solver::cpu::contacts::Detection::adapt`.
#import lib/reduce.wgsl
#import lib/points.wgsl
#import lib/occupied.wgsl
#import lib/float.wgsl

@group(0) @binding(2) var<storage, read> points: array<Point>;
@group(0) @binding(3) var<storage, read> dv: array<vec4f>;
@group(0) @binding(4) var<storage, read> point_starts: array<PointStart>;
@group(0) @binding(5) var<storage, read> obstacles: array<Obstacle>;
@group(0) @binding(6) var<storage, read> frictions: array<f32>;
@group(0) @binding(8) var<storage, read_write> point_vectors: array<vec4f>;

const RELAXATION: f32 = 0.25;
const FORCE_TOLERANCE: f32 = 5e-4;
// How much of the laws is searched for. Twin: `contact::Effort`.
const WHOLE: u32 = 0u;
const SETTLING: u32 = 1u;
const FROZEN: u32 = 2u;
const MAX_RELINEARISATIONS: u32 = 20u;
// Cosine of the most turn of a normal in one renewal: 15 degrees.
const MAX_TURN: f32 = 0.9659258;

fn effort_of(body: u32) -> u32 {
    let sixths = reductions.controls[body].contact_iterations * 6u / max(params.max_contact_iterations, 1u);
    return select(select(WHOLE, SETTLING, sixths >= 3u), FROZEN, sixths >= 4u);
}

// What counts as the contact tolerance: the last resort takes the least-squares compromise of over-determined rows.
fn lenient_tolerance(effort: u32) -> f32 {
    return params.contact_tolerance * select(1.0, 8.0, effort == FROZEN);
}

fn decide_action(body: u32, phase: u32, residual2: f32, row_residual: f32) -> u32 {
    if phase == PHASE_ADAPT {
        return ACTION_ADAPT;
    }
    if phase != PHASE_NORMAL {
        return ACTION_NONE;
    }
    if is_converged(body, residual2, row_residual) || reductions.controls[body].stuck != 0u {
        return ACTION_FORCED;
    }
    let ratio = sqrt(max(residual2 / reductions.controls[body].bound2, 1.0));
    let interval = max(u32(max(floor(log2(ratio) / 3.0), 6.0)), reductions.controls[body].restarts / 32u);
    let due = reductions.controls[body].since_evaluation >= interval && reductions.controls[body].alpha > 0.0;
    return select(ACTION_NONE, ACTION_EVALUATE, due);
}

fn is_converged(body: u32, residual2: f32, row_residual: f32) -> bool {
    let tolerance = lenient_tolerance(effort_of(body));
    return float_is_finite(residual2) && residual2 <= reductions.controls[body].bound2 && row_residual <= 0.25 * tolerance;
}

fn evaluate_normal(c: ptr<function, Contact>, motion: vec3f, tolerance: f32, noticeable: f32, forced: bool) -> bool {
    let normal_force = -(*c).multiplier.x;
    var next = (*c).status;
    if next == INACTIVE {
        if motion.x < -0.25 * tolerance {
            next = SLIDING;
        }
    } else if normal_force < 0.0 && (forced || -normal_force * (*c).compliance > noticeable) {
        next = INACTIVE;
    }
    if next == (*c).status {
        return false;
    }
    (*c).status = next;
    (*c).multiplier = vec3f();
    (*c).sliding_force = vec3f();
    return true;
}

// A sliding contact sticks with the force it has.
fn contact_stick(c: ptr<function, Contact>) -> bool {
    if (*c).status != SLIDING {
        return false;
    }
    (*c).status = STICKING;
    (*c).multiplier = vec3f((*c).multiplier.x, (*c).sliding_force.yz);
    (*c).sliding_force = vec3f();
    return true;
}

// `slack` [N] is how far from the law a friction force may stay.
fn evaluate_friction(c: ptr<function, Contact>, motion: vec3f, noticeable: f32, slack: f32, effort: u32) -> bool {
    let slip = vec3f(0.0, motion.yz);
    let limit = (*c).friction * max(-(*c).multiplier.x, 0.0);
    let gamma = contact_friction(*c);
    let size = length(gamma);
    if (*c).status == STICKING {
        if (size - limit) * (*c).compliance_tangent <= noticeable && size <= limit + slack {
            return false;
        }
        (*c).status = SLIDING;
        (*c).sliding_force = gamma * (limit / size);
        (*c).multiplier = vec3f((*c).multiplier.x, 0.0, 0.0);
        return true;
    }
    if (*c).status != SLIDING {
        return false;
    }
    let fresh = size == 0.0;
    if effort == FROZEN {
        return false;
    }
    if effort == SETTLING && !fresh {
        // For a step that does not settle: only the size follows the cone.
        if abs(limit - size) * (*c).compliance_tangent <= noticeable && abs(limit - size) <= slack {
            return false;
        }
        (*c).sliding_force = gamma * (limit / size);
        return true;
    }
    var back = length(slip) < noticeable;
    if !fresh {
        back = -dot(slip, gamma) / size > noticeable;
    }
    if back {
        if limit == 0.0 {
            return false;
        }
        (*c).status = STICKING;
        (*c).multiplier = vec3f((*c).multiplier.x, gamma.yz);
        (*c).sliding_force = vec3f();
        return true;
    }
    var wanted = gamma + slip / (*c).compliance_tangent;
    let wanted_size = length(wanted);
    if wanted_size > limit {
        wanted *= limit / wanted_size;
    }
    // A change that its own point hardly feels is made whole; a larger one by parts.
    let error = length(wanted - gamma);
    let local = error * (*c).compliance_tangent > select(noticeable / RELAXATION, noticeable, fresh);
    if !fresh && local {
        wanted = gamma + (wanted - gamma) * RELAXATION;
    }
    let slides = length(slip) > noticeable || size > limit + slack;
    if !local && !(slides && error > slack) {
        return false;
    }
    (*c).sliding_force = wanted;
    return true;
}

// Takes the new tangent plane, turned by at most 15 degrees; false if the row is the same as before, but for rounding.
fn renew(c: ptr<function, Contact>, found: TangentPlane, start: PointStart) -> bool {
    var plane = found;
    let old = (*c).normal;
    if contact_is_active((*c).status) {
        for (var k = 0u; k < 8u && dot(old, plane.normal) < MAX_TURN; k++) {
            let middle = old + plane.normal;
            if length(middle) < 1e-3 {
                break;
            }
            plane.normal = normalize(middle);
        }
    }
    let offset = (*c).offset;
    contact_linearise(c, plane, start);
    let rounding = 0.05 * params.contact_tolerance + 2e-7 * length(start.x0.xyz);
    return length((*c).normal - old) > 1e-5 || length((*c).offset - offset) > rounding;
}

fn adapt(k: u32, start: PointStart, x1: vec3f) -> bool {
    var changed = false;
    for (var s = 0u; s < params.n_slots; s++) {
        let j = k * params.n_slots + s;
        var contact = contacts[j];
        if contact.status == EMPTY {
            continue;
        }
        let plane = tangent_plane(obstacles[contact.obstacle], start.x0.xyz, x1);
        var stale = plane.gap < 0.0;
        if contact_is_active(contact.status) {
            stale = plane.gap <= 0.0 || plane.gap >= params.contact_tolerance;
        }
        if stale && renew(&contact, plane, start) {
            contacts[j] = contact;
            changed = true;
        }
    }
    for (var o = 0u; o < params.n_obstacles; o++) {
        // The first empty slot; of inactive contacts, one is given up where none is empty.
        var place = params.n_slots;
        var spare = params.n_slots;
        var known = false;
        for (var s = 0u; s < params.n_slots; s++) {
            let status = contacts[k * params.n_slots + s].status;
            known = known || (status != EMPTY && contacts[k * params.n_slots + s].obstacle == o);
            place = select(place, min(place, s), status == EMPTY);
            spare = select(spare, min(spare, s), status == INACTIVE);
        }
        place = select(place, spare, place == params.n_slots);
        if known || place == params.n_slots {
            continue;
        }
        let plane = tangent_plane(obstacles[o], start.x0.xyz, x1);
        if plane.gap < 0.0 {
            var contact = Contact();
            contact.obstacle = o;
            contact.friction = frictions[o * params.n_bodies + points[k].body];
            contact_linearise(&contact, plane, start);
            contact.status = SLIDING;
            contacts[k * params.n_slots + place] = contact;
            changed = true;
        }
    }
    return changed;
}

@compute @workgroup_size(WORKGROUP)
fn judge(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let round = reduce_group(lane, reduce_slot(lane, share, SLOT_ROUND));
    let residual2 = round.x;
    let row_residual = reduce_group_max(lane, reduce_slot_max(lane, share, SLOT_ROUND));
    let phase = reductions.controls[body].phase;
    let done = contact_is_idle(body);
    // Once in a solve that takes long: the laws seen from rest.
    let anew = phase == PHASE_NORMAL && reductions.controls[body].stuck == 0u
        && reductions.controls[body].contact_iterations == max(params.max_contact_iterations / 5u, 1u);
    let action = select(decide_action(body, phase, residual2, row_residual), ACTION_EVALUATE, anew);
    let forced = action == ACTION_FORCED;
    // A change is made only if its effect, as a distance, is seen.
    let effort = effort_of(body);
    let tolerance = lenient_tolerance(effort);
    let noticeable = tolerance * select(1.0, 0.3, forced);
    let slack = select(1e30, FORCE_TOLERANCE * round.z / max(round.w, 1.0), forced);
    let spent = action == ACTION_ADAPT && reductions.controls[body].relinearisations >= MAX_RELINEARISATIONS;

    var changed = false;
    let n = select(share.end_point, 0u, done || action == ACTION_NONE || spent);
    let stride = share_stride(share);
    // The moved geometry concerns every point, the states only those with contacts.
    let all = action == ACTION_ADAPT;
    var k = share.first_point + share_first(lane, group.x, share);
    if !all {
        k = point_occupied_from(k, n, stride);
    }
    while k < n {
        let point = points[k];
        var h_dv = vec3f();
        for (var c = 0u; c < 4u; c++) {
            h_dv += point.weights[c] * dv[point.nodes[c]].xyz;
        }
        if action == ACTION_ADAPT {
            let start = point_starts[k];
            if adapt(k, start, start.x0.xyz + (start.motion.xyz + params.dt * h_dv)) {
                changed = true;
            }
        }
        var force = vec4f();
        var touched = false;
        for (var s = 0u; s < params.n_slots; s++) {
            let j = k * params.n_slots + s;
            var contact = contacts[j];
            if contact.status == EMPTY {
                continue;
            }
            touched = true;
            let frame = contact_frame(contact.normal);
            if action != ACTION_ADAPT {
                let motion = contact.offset + params.dt * (h_dv * frame);
                var new_state = false;
                if anew {
                    new_state = contact_stick(&contact);
                } else {
                    new_state = evaluate_normal(&contact, motion, tolerance, noticeable, forced);
                    if !new_state {
                        new_state = evaluate_friction(&contact, motion, noticeable, slack, effort);
                    }
                }
                if new_state {
                    contacts[j] = contact;
                    changed = true;
                }
            }
            force += vec4f(frame * contact_force(contact), select(0.0, 1.0, contact_is_active(contact.status)));
        }
        if touched {
            point_vectors[params.n_points + k] = force;
        }
        k += stride;
        if !all {
            k = point_occupied_from(k, n, stride);
        }
    }
    let some = reduce_group_max(lane, select(0.0, 1.0, changed));
    if lane == 0u && !done {
        reduce_store(SLOT_CHANGED, group.x, vec4f(0.0, some, 0.0, 0.0));
    }
    if !done && share_leads(lane, group.x, share) {
        reductions.controls[body].action = action;
        if phase == PHASE_NORMAL {
            reductions.controls[body].residual2 = residual2;
            reductions.controls[body].converged = select(0u, 1u, is_converged(body, residual2, row_residual) && effort != FROZEN);
        }
    }
}
