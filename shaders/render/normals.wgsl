// One thread per drawn vertex: its position, and its normal gathered from the triangles of its smoothing group.
// A corner counts n / (|e1|^2 |e2|^2) with n = e1 x e2, which is exact on a sphere [Max 1999].
// Twin: `render::drawn::normals`.

struct StoredVertex {
    position: vec3f,
    color: u32,
    normal: vec3f,
    satin: f32,
}

@group(0) @binding(0) var<storage, read> positions: array<vec4f>;
// Which surface vertex each drawn vertex shows.
@group(0) @binding(1) var<storage, read> sources: array<u32>;
// Corners of vertex i: offsets[i] .. offsets[i + 1].
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
// The other two surface vertices of each corner's triangle, in its order.
@group(0) @binding(3) var<storage, read> corners: array<vec2u>;
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
        let e1 = positions[corners[k].x].xyz - p;
        let e2 = positions[corners[k].y].xyz - p;
        sum += cross(e1, e2) / max(dot(e1, e1) * dot(e2, e2), 1e-30);
    }
    vertices[i].position = p;
    vertices[i].normal = sum / max(length(sum), 1e-30);
}
