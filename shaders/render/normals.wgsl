// One thread per drawn vertex: its position, and its normal gathered from the triangles of its smoothing group.
// A corner counts n / (|e1|^2 |e2|^2) with n = e1 x e2, leaning over as a given normal does.
// Twin: `render::drawn::normals`, where the formula stands.

struct StoredVertex {
    position: vec3f,
    color: u32,
    normal: vec3f,
    satin: f32,
}

// A triangle as one of its corners sees it: the other two surface vertices in its order, and how far a given normal leans over.
struct Corner {
    ends: vec2u,
    tilt: vec2f,
}

@group(0) @binding(0) var<storage, read> positions: array<vec4f>;
// Which surface vertex each drawn vertex shows.
@group(0) @binding(1) var<storage, read> sources: array<u32>;
// Corners of vertex i: offsets[i] .. offsets[i + 1].
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> corners: array<Corner>;
@group(0) @binding(4) var<storage, read_write> vertices: array<StoredVertex>;

@compute @workgroup_size(64)
fn normals(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.x + id.y * groups.x * 64u;
    if i >= arrayLength(&sources) {
        return;
    }
    let p = positions[sources[i]].xyz;
    var sum = vec3f(0.0);
    for (var k = offsets[i]; k < offsets[i + 1u]; k++) {
        let corner = corners[k];
        let e1 = positions[corner.ends.x].xyz - p;
        let e2 = positions[corner.ends.y].xyz - p;
        let n = cross(e1, e2);
        let leaning = cross(e2 * corner.tilt.x - e1 * corner.tilt.y, n / max(length(n), 1e-30));
        sum += (n + leaning) / max(dot(e1, e1) * dot(e2, e2), 1e-30);
    }
    vertices[i].position = p;
    vertices[i].normal = sum / max(length(sum), 1e-30);
}
