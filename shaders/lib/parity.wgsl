// Which of two buffers or slots that take turns is the present one.
struct Parity {
    now: u32,
}
@group(0) @binding(15) var<uniform> parity: Parity;
