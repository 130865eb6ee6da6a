// Start of the surface points in a step, and rows of contacts made from tangent planes. Twins: `contact::Contact::linearise`,
// `solver::cpu::contacts`.
#import lib/contact.wgsl
#import lib/collision.wgsl

struct PointStart {
    x0: vec4f, // start position [m]
    motion: vec4f, // over the step at dv = 0 [m]
}

// Friction keeps its direction in space.
fn contact_linearise(c: ptr<function, Contact>, plane: TangentPlane, start: PointStart) {
    let friction = contact_frame((*c).normal) * contact_friction(*c);
    let frame = contact_frame(plane.normal);
    let slip = (start.motion.xyz - plane.displacement) * frame;
    let gap = dot((start.x0.xyz - plane.point) + start.motion.xyz, plane.normal) - SAFETY * params.contact_tolerance;
    (*c).normal = plane.normal;
    (*c).offset = vec3f(gap, slip.yz);
    let local = vec3f(0.0, (friction * frame).yz);
    if (*c).status == STICKING {
        (*c).multiplier = vec3f((*c).multiplier.x, local.yz);
    } else if (*c).status == SLIDING {
        (*c).sliding_force = local;
    }
}
