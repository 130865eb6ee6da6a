// Signed distances to obstacles, and the tangent plane that a contact's rows are made of. Twin: `collision`.

const SHAPE_PLANE: u32 = 0u;
const SHAPE_BOX: u32 = 1u;
const SHAPE_SPHERE: u32 = 2u;
const SHAPE_CYLINDER: u32 = 3u;

// World from shape at both ends of the step.
struct Obstacle {
    rotation_t0: vec4f,
    rotation_t1: vec4f,
    origin_t0: vec3f,
    shape: u32,
    origin_t1: vec3f,
    half_thickness: f32,
    size: vec4f, // half extents; or radius; or radius and half height
}

struct Nearest {
    distance: f32,
    normal: vec3f,
    point: vec3f,
}

struct TangentPlane {
    normal: vec3f,
    point: vec3f,
    displacement: vec3f,
    gap: f32,
}

const MAX_PATH_SAMPLES: u32 = 64u;

fn rotate(q: vec4f, v: vec3f) -> vec3f {
    return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v);
}

fn unrotate(q: vec4f, v: vec3f) -> vec3f {
    return rotate(vec4f(-q.xyz, q.w), v);
}

fn nearest_on_box(half_extents: vec3f, p: vec3f) -> Nearest {
    let clamped = clamp(p, -half_extents, half_extents);
    let outside = p - clamped;
    let distance = length(outside);
    if distance > 0.0 {
        return Nearest(distance, outside / distance, clamped);
    }
    let depth = half_extents - abs(p);
    var axis = 0u;
    if depth.y < depth.x {
        axis = 1u;
    }
    if depth.z < depth[axis] {
        axis = 2u;
    }
    var normal = vec3f();
    normal[axis] = select(1.0, -1.0, p[axis] < 0.0);
    var point = p;
    point[axis] = half_extents[axis] * normal[axis];
    return Nearest(-depth[axis], normal, point);
}

fn nearest(obstacle: Obstacle, p: vec3f) -> Nearest {
    switch obstacle.shape {
        case SHAPE_PLANE: {
            return Nearest(p.y, vec3f(0.0, 1.0, 0.0), vec3f(p.x, 0.0, p.z));
        }
        case SHAPE_SPHERE: {
            let r = length(p);
            let normal = select(vec3f(0.0, 1.0, 0.0), p / max(r, 1e-30), r > 0.0);
            return Nearest(r - obstacle.size.x, normal, normal * obstacle.size.x);
        }
        case SHAPE_CYLINDER: {
            let rho = length(p.xz);
            let outward = select(vec2f(1.0, 0.0), p.xz / max(rho, 1e-30), rho > 0.0);
            let profile = nearest_on_box(vec3f(obstacle.size.x, obstacle.size.y, 1e30), vec3f(rho, p.y, 0.0));
            let normal = vec3f(outward.x * profile.normal.x, profile.normal.y, outward.y * profile.normal.x);
            let point = vec3f(outward.x * profile.point.x, profile.point.y, outward.y * profile.point.x);
            return Nearest(profile.distance, normal, point);
        }
        default: {
            return nearest_on_box(obstacle.size.xyz, p);
        }
    }
}

fn tangent_plane(obstacle: Obstacle, x_t0: vec3f, x_t1: vec3f) -> TangentPlane {
    let p0 = unrotate(obstacle.rotation_t0, x_t0 - obstacle.origin_t0);
    let p1 = unrotate(obstacle.rotation_t1, x_t1 - obstacle.origin_t1);
    var near = nearest(obstacle, p1);
    let path = length(p1 - p0);
    if path > 0.5 * obstacle.half_thickness && near.distance < path {
        // Where the way first comes close: no step is longer than the distance, so nothing is jumped over however thin it is. A point that
        // starts inside is left to the nearest boundary.
        var travelled = 0.0;
        for (var k = 0u; k < MAX_PATH_SAMPLES; k++) {
            let here = nearest(obstacle, p0 + (p1 - p0) * (travelled / path));
            if here.distance < 0.0 && travelled == 0.0 {
                break;
            }
            if here.distance <= 1e-3 * obstacle.half_thickness {
                near = here;
                break;
            }
            travelled += here.distance;
            if travelled > path {
                break;
            }
        }
    }
    // Differences in the shape's frame: a point near the surface keeps its digits wherever the obstacle is.
    let normal = rotate(obstacle.rotation_t1, near.normal);
    let turned = rotate(obstacle.rotation_t1, near.point);
    let displacement = (turned - rotate(obstacle.rotation_t0, near.point)) + (obstacle.origin_t1 - obstacle.origin_t0);
    return TangentPlane(normal, turned + obstacle.origin_t1, displacement, dot(p1 - near.point, near.normal));
}
