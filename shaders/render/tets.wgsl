// The inside of bodies: every tet shrunken about its middle, with flat faces. Twelve vertices a tet, no vertex buffer.
#import parts

struct TetsView {
    // What lies on the positive side of this plane (n.x - d > 0, [m]) is hidden.
    cut: vec4f,
    // x: how much of its size a tet keeps, 0..1; y: so many layers below the surface are hidden; z: 1 where tets are
    // clipped by the plane, 0 where they are hidden whole by their middle.
    shrink: vec4f,
}

@group(2) @binding(0) var<storage, read> nodes: array<vec4f>;
@group(2) @binding(1) var<storage, read> tets: array<vec4u>;
// Red, green and blue, and the layer of the tet.
@group(2) @binding(2) var<storage, read> tet_colors: array<u32>;
@group(2) @binding(3) var<uniform> tets_view: TetsView;

struct Varying {
    @builtin(position) clip: vec4f,
    @location(0) @interpolate(perspective, centroid) world: vec3f,
    @location(1) @interpolate(flat) normal: vec3f,
    @location(2) @interpolate(flat) albedo: vec3f,
}

// Corners of the four faces, outward for a tet of positive volume.
const FACES = array<u32, 12>(0u, 2u, 1u, 0u, 1u, 3u, 0u, 3u, 2u, 1u, 2u, 3u);

struct Corner {
    world: vec3f,
    normal: vec3f,
    tet: u32,
}

// How far a point is beyond the plane [m].
fn beyond(p: vec3f) -> f32 {
    return dot(tets_view.cut.xyz, p) - tets_view.cut.w;
}

fn is_clipped(p: vec3f) -> bool {
    return tets_view.shrink.z > 0.5 && beyond(p) > 0.0;
}

fn corner(index: u32) -> Corner {
    var faces = FACES;
    let t = index / 12u;
    let k = index % 12u;
    let f = (k / 3u) * 3u;
    let tet = tets[t];
    let middle = 0.25 * (nodes[tet.x].xyz + nodes[tet.y].xyz + nodes[tet.z].xyz + nodes[tet.w].xyz);
    let a = nodes[tet[faces[f]]].xyz;
    let b = nodes[tet[faces[f + 1u]]].xyz;
    let c = nodes[tet[faces[f + 2u]]].xyz;
    let p = nodes[tet[faces[k]]].xyz;
    let is_peeled = f32(tet_colors[t] >> 24u) < tets_view.shrink.y;
    // Of what is clipped only tets that are beyond the plane with all corners are hidden here.
    let least = min(min(beyond(nodes[tet.x].xyz), beyond(nodes[tet.y].xyz)), min(beyond(nodes[tet.z].xyz), beyond(nodes[tet.w].xyz)));
    let hidden = is_peeled || select(beyond(middle) > 0.0, least >= 0.0, tets_view.shrink.z > 0.5);
    let size = select(tets_view.shrink.x, 0.0, hidden);
    return Corner(middle + size * (p - middle), cross(b - a, c - a), t);
}

@vertex
fn vs_tets(@builtin(vertex_index) index: u32) -> Varying {
    let c = corner(index);
    // Neighbours differ a little in brightness, so that single elements can be told apart.
    let vary = 0.86 + 0.28 * fract(f32(c.tet) * 0.61803399);
    let albedo = albedo_from_stored(unpack4x8unorm(tet_colors[c.tet]).rgb) * vary;
    return Varying(frame.clip_from_world * vec4f(c.world, 1.0), c.world, c.normal, albedo);
}

fn tets_surface(v: Varying, front: bool, open: f32) -> Surface {
    return Surface(v.world, facing(v.normal, front), v.albedo, 0.0, open);
}

@fragment
fn fs_tets(v: Varying, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    if is_clipped(v.world) {
        discard;
    }
    return display(shade(tets_surface(v, front, openness(v.clip.xy))), v.clip.xy);
}

@fragment
fn fs_tets_parts(v: Varying, @builtin(front_facing) front: bool) -> Parts {
    if is_clipped(v.world) {
        discard;
    }
    return parts(tets_surface(v, front, 1.0));
}

// What is clipped is pressed flat onto the plane: it casts the shadow of the cap.
fn tets_caster(index: u32) -> vec4f {
    let p = corner(index).world;
    return vec4f(select(p, p - tets_view.cut.xyz * beyond(p), is_clipped(p)), 1.0);
}

@vertex
fn vs_tets_shadow(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return caster_clip(fit.shadow_clip_from_world * tets_caster(index));
}

@vertex
fn vs_tets_contact(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return caster_clip(fit.contact_clip_from_world * tets_caster(index));
}
