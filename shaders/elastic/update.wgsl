// One thread a node: v += dv, u += dt v. The low part of the displacement stays below 2^-13 m, what exceeds it moves
// to the high part, a multiple of 2^-12 m: every operation on the two is exact. Marks the state where a value is not
// finite. Twin: the end of `step::ImplicitStepper::advance`.
#import lib/params.wgsl
#import lib/float.wgsl

@group(0) @binding(1) var<storage, read> dv: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> displacements_hi: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> displacements_lo: array<vec4f>;
// n_nodes less the first node that is not finite; 0 for none.
@group(0) @binding(5) var<storage, read_write> fault: atomic<u32>;

@compute @workgroup_size(WORKGROUP)
fn update(@builtin(global_invocation_id) id: vec3u) {
    let i = thread_index(id);
    if i >= params.n_nodes {
        return;
    }
    let v = velocities[i].xyz + dv[i].xyz;
    let low = displacements_lo[i].xyz + params.dt * v;
    let carried = round(low * 4096.0) / 4096.0;
    let high = displacements_hi[i].xyz + carried;
    velocities[i] = vec4f(v, 0.0);
    displacements_hi[i] = vec4f(high, 0.0);
    displacements_lo[i] = vec4f(low - carried, 0.0);
    if !float_all_finite(v) || !float_all_finite(high) {
        atomicMax(&fault, params.n_nodes - i);
    }
}
