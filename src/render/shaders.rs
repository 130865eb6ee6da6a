//! WGSL sources, with `#import name` lines replaced by the named file (each once).

/// All files of `shaders/render`, by name.
const FILES: [(&str, &str); 18] = [
    ("frame", include_str!("../../shaders/render/frame.wgsl")),
    ("noise", include_str!("../../shaders/render/noise.wgsl")),
    ("common", include_str!("../../shaders/render/common.wgsl")),
    ("lighting", include_str!("../../shaders/render/lighting.wgsl")),
    ("parts", include_str!("../../shaders/render/parts.wgsl")),
    ("light_parts", include_str!("../../shaders/render/light_parts.wgsl")),
    ("occlusion", include_str!("../../shaders/render/occlusion.wgsl")),
    ("body", include_str!("../../shaders/render/body.wgsl")),
    ("tets", include_str!("../../shaders/render/tets.wgsl")),
    ("casters", include_str!("../../shaders/render/casters.wgsl")),
    ("mask", include_str!("../../shaders/render/mask.wgsl")),
    ("floor_maps", include_str!("../../shaders/render/floor_maps.wgsl")),
    ("floor", include_str!("../../shaders/render/floor.wgsl")),
    ("overlay", include_str!("../../shaders/render/overlay.wgsl")),
    ("present", include_str!("../../shaders/render/present.wgsl")),
    ("panels", include_str!("../../shaders/render/panels.wgsl")),
    ("normals", include_str!("../../shaders/render/normals.wgsl")),
    ("fit", include_str!("../../shaders/render/fit.wgsl")),
];

/// The complete source of a file.
pub fn source(name: &str) -> String {
    let mut text = String::new();
    append(name, &mut Vec::new(), &mut text);
    text
}

fn append(name: &str, done: &mut Vec<String>, text: &mut String) {
    if done.iter().any(|d| d == name) {
        return;
    }
    done.push(name.to_owned());
    let (_, file) = FILES.iter().find(|(n, _)| *n == name).expect("only files of the list above are imported; a test loads all");
    for line in file.lines() {
        match line.strip_prefix("#import ") {
            Some(import) => append(import.trim(), done, text),
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}

/// Compiles a file.
pub fn module(device: &wgpu::Device, name: &str) -> wgpu::ShaderModule {
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&format!("render/{name}")),
        source: wgpu::ShaderSource::Wgsl(source(name).into()),
    })
}

#[cfg(test)]
mod tests {
    use wgpu::naga;

    use super::super::geometry::Corner;
    use super::super::uniforms::{Fit, Frame, Plane, TetsView, Vertex};
    use super::*;

    fn parse(name: &str) -> naga::Module {
        let text = source(name);
        naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("render/{name}: {}", e.emit_to_string(&text)))
    }

    #[test]
    fn every_shader_is_valid() {
        for (name, _) in FILES {
            let module = parse(name);
            // WebGPU core: no capability beyond the standard's.
            let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
            if let Err(e) = validator.validate(&module) {
                panic!("render/{name}: {}", e.emit_to_string(&source(name)));
            }
        }
    }

    /// Offsets of a struct's members, by name, and its size.
    fn layout(file: &str, name: &str) -> (Vec<(String, usize)>, usize) {
        let module = parse(file);
        let found = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).expect("the struct is in the file");
        match &found.1.inner {
            naga::TypeInner::Struct { members, span } => {
                let members = members.iter().map(|m| (m.name.clone().unwrap_or_default(), m.offset as usize)).collect();
                (members, *span as usize)
            }
            _ => panic!("{name} is no struct"),
        }
    }

    macro_rules! assert_layout {
        ($file:literal, $type:ident as $wgsl:literal: $($field:ident),+) => {{
            let (members, size) = layout($file, $wgsl);
            let host = vec![$((stringify!($field).to_owned(), std::mem::offset_of!($type, $field))),+];
            assert_eq!((members, size), (host, size_of::<$type>()), $wgsl);
        }};
    }

    #[test]
    fn host_structs_agree_with_the_shaders() {
        assert_layout!("frame", Frame as "Frame": clip_from_world, world_from_clip, light_from_world, floor_from_world, world_from_floor,
            floor_plane, eye, size, to_light, key, sky, ground, backdrop_top, backdrop_horizon, floor, grid, scene, flags, cut);
        assert_layout!("frame", Fit as "Fit": shadow_clip_from_world, contact_clip_from_world, shadow, contact);
        assert_layout!("normals", Vertex as "StoredVertex": position, color, normal, satin);
        assert_layout!("normals", Corner as "Corner": ends, tilt);
        assert_layout!("body", Vertex as "StoredVertex": position, color, normal, satin);
        assert_layout!("floor", Plane as "Plane": world_from_plane, color);
        assert_layout!("tets", TetsView as "TetsView": cut, shrink);
    }
}
