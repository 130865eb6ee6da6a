// One workgroup a member (a contact on one of its bodies): its blocks of the compliance of the body,
// dt^2 C L R A0^-1 R^T L^T C^T with the Jacobian entries L of the members, up to the diagonal. Twin: `contact::warped`.
#import lib/cwc.wgsl
#import lib/quat.wgsl
#import lib/preconditioner.wgsl

// Columns of the inverses of rest matrices, blocks column by column.
@group(0) @binding(2) var<storage, read> cwc_columns: array<f32>;
// What impulses at the places of the body move at the member, and the compliance; blocks row by row.
@group(0) @binding(3) var<storage, read_write> cwc_motions: array<f32>;
@group(0) @binding(4) var<storage, read_write> cwc_weights: array<f32>;

fn rotation_of(touched: u32) -> mat3x3f {
    return quat_matrix_minus_identity(cwc_state[cwc.rotations + touched]) + mat3x3f(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0);
}

// dt C L R of a Jacobian entry.
fn entry_motions(row: Row, entry: JacobianEntry, kind: u32) -> mat3x3f {
    let frame = params.dt * transpose(mat3x3f(row.normal.xyz, row.tangent_1.xyz, row.tangent_2.xyz));
    if kind == TOUCHED_ANGULAR {
        let a = entry.value;
        return frame * mat3x3f(0.0, -a.z, a.y, a.z, 0.0, -a.x, -a.y, a.x, 0.0);
    }
    return frame * rotation_of(entry.touched) * entry.value.x;
}

fn column_block(first: u32) -> mat3x3f {
    let c = 9u * first;
    return mat3x3f(
        cwc_columns[c], cwc_columns[c + 1u], cwc_columns[c + 2u], cwc_columns[c + 3u], cwc_columns[c + 4u],
        cwc_columns[c + 5u], cwc_columns[c + 6u], cwc_columns[c + 7u], cwc_columns[c + 8u],
    );
}

// Block (i, j) of the inverse of the rest matrix; where no column tells it, of the block diagonal of A.
fn inverse_block(i: u32, a: Touched, j: u32, b: Touched) -> mat3x3f {
    if a.kind == TOUCHED_NODE {
        if a.row != NONE && b.row != NONE {
            if b.column != NONE {
                return column_block(b.column + a.row);
            }
            if a.column != NONE {
                return transpose(column_block(a.column + b.row));
            }
        }
        if i == j {
            let inverse = inverse_diagonal(a.unknown);
            let rotation = rotation_of(i);
            return transpose(rotation) * mat3x3f(inverse.x.xyz, inverse.y.xyz, inverse.z.xyz) * rotation;
        }
    } else if i == j {
        return cwc_rigid_inverse(a.column);
    }
    return mat3x3f();
}

@compute @workgroup_size(WORKGROUP)
fn compliance(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let place = group.x + group.y * (GRID_ROW / WORKGROUP);
    let own = cwc_member(place);
    let row = cwc_rows[own.contact];
    for (var p = lane; p < own.n_touched; p += WORKGROUP) {
        let j = own.first_touched + p;
        let other = touched_unknown(j);
        var sum = mat3x3f();
        for (var e = own.first_entry; e < own.end_entry; e++) {
            let entry = jacobian_entry(e);
            let touched = touched_unknown(entry.touched);
            sum += entry_motions(row, entry, touched.kind) * inverse_block(entry.touched, touched, j, other);
        }
        let m = 9u * (own.motions + p);
        for (var r = 0u; r < 3u; r++) {
            for (var c = 0u; c < 3u; c++) {
                cwc_motions[m + 3u * r + c] = sum[c][r];
            }
        }
    }
    storageBarrier();
    workgroupBarrier();
    for (var k = lane; k <= place - own.first_member; k += WORKGROUP) {
        let member = cwc_member(own.first_member + k);
        let other = cwc_rows[member.contact];
        var sum = mat3x3f();
        for (var e = member.first_entry; e < member.end_entry; e++) {
            let entry = jacobian_entry(e);
            let m = 9u * (own.motions + entry.touched - own.first_touched);
            let motion = mat3x3f(
                cwc_motions[m], cwc_motions[m + 3u], cwc_motions[m + 6u],
                cwc_motions[m + 1u], cwc_motions[m + 4u], cwc_motions[m + 7u],
                cwc_motions[m + 2u], cwc_motions[m + 5u], cwc_motions[m + 8u],
            );
            sum += motion * transpose(entry_motions(other, entry, touched_unknown(entry.touched).kind));
        }
        let w = 9u * (own.weights + k);
        for (var r = 0u; r < 3u; r++) {
            for (var c = 0u; c < 3u; c++) {
                cwc_weights[w + 3u * r + c] = sum[c][r];
            }
        }
    }
}
