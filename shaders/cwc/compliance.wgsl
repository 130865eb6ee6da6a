// One workgroup a member (a contact on one of its bodies): its blocks of the compliance of the body, dt^2 C L R A0^-1 R^T L^T C^T with the levers L of the members.
// Twin: `contact::warped`.
#import lib/cwc.wgsl
#import lib/quat.wgsl
#import lib/preconditioner.wgsl

// Columns of the inverses of rest matrices, blocks column by column.
@group(0) @binding(2) var<storage, read> cwc_columns: array<f32>;
// What impulses at the places of the body move at the member, and the compliance; blocks row by row.
@group(0) @binding(3) var<storage, read_write> cwc_motions: array<f32>;
@group(0) @binding(4) var<storage, read_write> cwc_weights: array<f32>;

const MEMBER_WORDS: u32 = 9u;

struct Member {
    contact: u32,
    first_lever: u32,
    end_lever: u32,
    first_place: u32, // of its body
    n_places: u32,
    motions: u32, // its first block there
    weights: u32, // its first block there
    first_member: u32, // of its body
    n_members: u32,
}

fn member_of(member: u32) -> Member {
    let w = cwc.members + MEMBER_WORDS * member;
    return Member(
        cwc_words[w], cwc_words[w + 1u], cwc_words[w + 2u], cwc_words[w + 3u], cwc_words[w + 4u],
        cwc_words[w + 5u], cwc_words[w + 6u], cwc_words[w + 7u], cwc_words[w + 8u],
    );
}

fn rotation_of(place: u32) -> mat3x3f {
    return quat_matrix_minus_identity(cwc_state[cwc.rotations + place]) + mat3x3f(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0);
}

// dt C L R of a lever.
fn lever_motion(row: Row, lever: Lever, kind: u32) -> mat3x3f {
    let frame = params.dt * transpose(mat3x3f(row.normal.xyz, row.tangent_1.xyz, row.tangent_2.xyz));
    if kind == PLACE_ANGULAR {
        let a = lever.value;
        return frame * mat3x3f(0.0, -a.z, a.y, a.z, 0.0, -a.x, -a.y, a.x, 0.0);
    }
    return frame * rotation_of(lever.place) * lever.value.x;
}

fn column_block(first: u32) -> mat3x3f {
    let c = 9u * first;
    return mat3x3f(
        cwc_columns[c], cwc_columns[c + 1u], cwc_columns[c + 2u], cwc_columns[c + 3u], cwc_columns[c + 4u],
        cwc_columns[c + 5u], cwc_columns[c + 6u], cwc_columns[c + 7u], cwc_columns[c + 8u],
    );
}

// Block (i, j) of the inverse of the rest matrix; where no column tells it, of the block diagonal of A.
fn inverse_block(i: u32, a: Place, j: u32, b: Place) -> mat3x3f {
    if a.kind == PLACE_NODE {
        if a.row != 0xffffffffu && b.row != 0xffffffffu {
            if b.column != 0xffffffffu {
                return column_block(b.column + a.row);
            }
            if a.column != 0xffffffffu {
                return transpose(column_block(a.column + b.row));
            }
        }
        if i == j {
            let inverse = inverse_diagonal(a.unknown);
            let rotation = rotation_of(i);
            return transpose(rotation) * mat3x3f(inverse.x.xyz, inverse.y.xyz, inverse.z.xyz) * rotation;
        }
    } else if i == j {
        let w = a.column;
        return mat3x3f(
            bitcast<f32>(cwc_words[w]), bitcast<f32>(cwc_words[w + 1u]), bitcast<f32>(cwc_words[w + 2u]),
            bitcast<f32>(cwc_words[w + 3u]), bitcast<f32>(cwc_words[w + 4u]), bitcast<f32>(cwc_words[w + 5u]),
            bitcast<f32>(cwc_words[w + 6u]), bitcast<f32>(cwc_words[w + 7u]), bitcast<f32>(cwc_words[w + 8u]),
        );
    }
    return mat3x3f();
}

@compute @workgroup_size(WORKGROUP)
fn compliance(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let own = member_of(group.x + group.y * (GRID_ROW / WORKGROUP));
    let row = cwc_rows[own.contact];
    for (var p = lane; p < own.n_places; p += WORKGROUP) {
        let j = own.first_place + p;
        let other = cwc_place(j);
        var sum = mat3x3f();
        for (var l = own.first_lever; l < own.end_lever; l++) {
            let lever = cwc_lever(l);
            let place = cwc_place(lever.place);
            sum += lever_motion(row, lever, place.kind) * inverse_block(lever.place, place, j, other);
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
    for (var k = lane; k < own.n_members; k += WORKGROUP) {
        let member = member_of(own.first_member + k);
        let other = cwc_rows[member.contact];
        var sum = mat3x3f();
        for (var l = member.first_lever; l < member.end_lever; l++) {
            let lever = cwc_lever(l);
            let m = 9u * (own.motions + lever.place - own.first_place);
            let motion = mat3x3f(
                cwc_motions[m], cwc_motions[m + 3u], cwc_motions[m + 6u],
                cwc_motions[m + 1u], cwc_motions[m + 4u], cwc_motions[m + 7u],
                cwc_motions[m + 2u], cwc_motions[m + 5u], cwc_motions[m + 8u],
            );
            sum += motion * transpose(lever_motion(other, lever, cwc_place(lever.place).kind));
        }
        let w = 9u * (own.weights + k);
        for (var r = 0u; r < 3u; r++) {
            for (var c = 0u; c < 3u; c++) {
                cwc_weights[w + 3u * r + c] = sum[c][r];
            }
        }
    }
}
