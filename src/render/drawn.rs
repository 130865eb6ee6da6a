//! Makes from positions what the shaders draw: vertices with normals, and the layout of the maps. These are the host
//! twins of `normals.wgsl` and `fit.wgsl`, used for positions that come from the host: on software adapters they are
//! several times faster.

use glam::{Mat4, Vec2, Vec3, Vec3Swizzles, Vec4};
use rayon::prelude::*;

use super::geometry::{Corner, SplitSurface};
use super::uniforms::{Fit, Vertex};

/// Moves drawn vertices to positions `[x, y, z, _]` [m] and gives each the normal of its smoothing group: the sum over
/// its corners of n / (|e1|^2 |e2|^2), n = e1 x e2, which is exact on a sphere [Max 1999].
///
/// A given normal g turns with each triangle: it follows the inverse transpose of D D0^-1, where the columns of D are
/// e1, e2 and m = n / |n| now, and the columns of D0 the same at rest. But for a factor it becomes cof(D) D0^T g, where
/// the columns of cof(D) are e2 x m, m x e1 and n: n + t1 e2 x m + t2 m x e1, with the tilt t = (e1.g, e2.g) / m.g at
/// rest. A shear along the surface below it, which pictures do not know, would turn g a little more: files include it
/// (`export::shading`).
pub fn normals(split: &SplitSurface, positions: &[[f32; 4]], vertices: &mut [Vertex]) {
    vertices.par_iter_mut().enumerate().with_min_len(8192).for_each(|(i, vertex)| {
        vertex.position = point(positions, split.sources[i]).to_array();
        vertex.normal = split.normal(i, positions).to_array();
    });
}

impl SplitSurface {
    /// Unit normals of all drawn vertices, see [`normals`].
    pub fn normals(&self, positions: &[[f32; 4]]) -> Vec<[f32; 3]> {
        (0..self.sources.len()).into_par_iter().with_min_len(8192).map(|i| self.normal(i, positions).to_array()).collect()
    }

    fn normal(&self, i: usize, positions: &[[f32; 4]]) -> Vec3 {
        let p = point(positions, self.sources[i]);
        let mut sum = Vec3::ZERO;
        for &Corner { ends, tilt } in &self.corners[self.offsets[i] as usize..self.offsets[i + 1] as usize] {
            let [e1, e2] = ends.map(|end| point(positions, end) - p);
            let n = e1.cross(e2);
            let leaning = (e2 * tilt[0] - e1 * tilt[1]).cross(n / n.length().max(1e-30));
            sum += (n + leaning) / (e1.length_squared() * e2.length_squared()).max(1e-30);
        }
        sum / sum.length().max(1e-30)
    }
}

fn point(positions: &[[f32; 4]], i: u32) -> Vec3 {
    Vec3::from_slice(&positions[i as usize][..3])
}

/// Places the maps around everything that casts a shadow.
///
/// Sizes change in steps of a quarter octave and the light's map moves by whole texels, so that shadow edges stand
/// still.
pub fn fit(points: &[&[[f32; 4]]], light_from_world: Mat4, floor_from_world: Mat4, map_width: f32) -> Fit {
    let (low, high) = bounds(points, light_from_world);
    // The rim of the map stays free for the penumbra.
    let half_width = stepped(0.5 * (high - low).xy().max_element() * 1.12);
    let texel = 2.0 * half_width / map_width;
    let middle = (0.5 * (low + high).xy() / texel).round() * texel;
    let range = stepped((high.z - low.z) * 1.02);
    let top = (high.z / (0.01 * range)).ceil() * 0.01 * range;
    let clip_from_light = Mat4::from_scale(Vec3::new(1.0, 1.0, -1.0) / Vec3::new(half_width, half_width, range))
        * Mat4::from_translation(-middle.extend(top));

    let (low, high) = bounds(points, floor_from_world);
    let extent = high - low;
    let half_floor = stepped(0.5 * extent.x.max(extent.z) * 1.35);
    let height = high.y.max(1e-3) * 1.01;
    let center = 0.5 * Vec2::new(low.x + high.x, low.z + high.z);
    // The floor's y becomes depth.
    let clip_from_floor = Mat4::from_cols(
        Vec4::new(1.0 / half_floor, 0.0, 0.0, 0.0),
        Vec4::new(0.0, 0.0, 1.0 / height, 0.0),
        Vec4::new(0.0, 1.0 / half_floor, 0.0, 0.0),
        (-center / half_floor).extend(0.0).extend(1.0),
    );
    Fit {
        shadow_clip_from_world: clip_from_light * light_from_world,
        contact_clip_from_world: clip_from_floor * floor_from_world,
        shadow: Vec4::new(half_width, range, texel, 0.0),
        contact: Vec4::new(half_floor, height, 0.0, 0.0),
    }
}

fn stepped(size: f32) -> f32 {
    ((size.max(1e-4).log2() * 4.0).ceil() / 4.0).exp2()
}

fn bounds(points: &[&[[f32; 4]]], to: Mat4) -> (Vec3, Vec3) {
    let empty = (Vec3::splat(1e30), Vec3::splat(-1e30));
    points.iter().flat_map(|part| part.iter()).fold(empty, |(low, high), p| {
        let q = to.transform_point3(Vec3::from_slice(&p[..3]));
        (low.min(q), high.max(q))
    })
}
