// Points that have contacts.
#import lib/contact.wgsl

@group(0) @binding(13) var<storage, read_write> contacts: array<Contact>;

fn point_is_free(k: u32) -> bool {
    for (var s = 0u; s < params.n_slots; s++) {
        if contacts[k * params.n_slots + s].status != EMPTY {
            return false;
        }
    }
    return true;
}

// The first point with a contact among k, k + stride, ... below end. Threads that run in step (and software adapters, which run both sides of every
// branch) then do the work of a contact together, and only as often as one of them has one.
fn point_occupied_from(k: u32, end: u32, stride: u32) -> u32 {
    var next = k;
    while next < end && point_is_free(next) {
        next += stride;
    }
    return next;
}
