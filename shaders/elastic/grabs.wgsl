// One thread a grab: its impulse on the material point that it holds.
// Formula and source: `elastic::right_hand_side`.
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read> displacements_hi: array<vec4f>;
@group(0) @binding(3) var<storage, read> displacements_lo: array<vec4f>;
@group(0) @binding(4) var<storage, read> velocities: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn grabs(@builtin(global_invocation_id) id: vec3u) {
    let k = id.x;
    if k >= params.n_grabs {
        return;
    }
    var displacement = vec3f();
    var velocity = vec3f();
    for (var j = 0u; j < 12u; j++) {
        let node = params.grabs[k].nodes[j / 4u][j % 4u];
        let weight = params.grabs[k].weights[j / 4u][j % 4u];
        displacement += weight * (displacements_hi[node].xyz + displacements_lo[node].xyz);
        velocity += weight * velocities[node].xyz;
    }
    let pull = params.grabs[k].offset.xyz - displacement;
    let impulse = params.dt * params.grabs[k].stiffness * pull - params.grabs[k].factor * velocity;
    reductions.grab_impulses[k] = vec4f(impulse, 0.0);
}
