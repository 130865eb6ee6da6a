//! All samplers and pipelines: they depend only on the device and the options.

use super::layouts::Layouts;
use super::options::RenderOptions;
use super::pipeline::{Depth, Draw, MAP_FORMAT, PICTURE_FORMAT, Target, Vertices, compute_pipeline, render_pipeline};
use super::shaders::module;

pub struct Pipelines {
    pub layouts: Layouts,
    pub linear_sampler: wgpu::Sampler,
    pub texel_sampler: wgpu::Sampler,
    pub normals: wgpu::ComputePipeline,
    pub fit: wgpu::ComputePipeline,
    /// Pipelines that draw the key light's depth map.
    pub shadow_casters: Casters,
    /// Pipelines that draw the floor's depth map.
    pub contact_casters: Casters,
    pub floor_maps: FloorMaps,
    /// Pipelines that draw where selected things are.
    pub mask: Mask,
    /// Pipelines of surfaces that leave their parts, to be lit later.
    pub parts: Surfaces,
    /// Pipelines of surfaces that are lit at once; none with one sample per pixel.
    pub lit: Option<Surfaces>,
    pub occlusion: Occlusion,
    pub light_parts: wgpu::RenderPipeline,
    pub floor: wgpu::RenderPipeline,
    /// The floor from below: its grid alone, over what stands on it.
    pub floor_below: wgpu::RenderPipeline,
    pub backdrop: wgpu::RenderPipeline,
    pub veils: Veils,
    pub overlay: Overlay,
    /// Present in the options' target format.
    pub present: Present,
    /// Present in `PICTURE_FORMAT`, for captures.
    pub present_capture: Present,
}

/// Pipelines from a finished picture to its target.
pub struct Present {
    /// A texel is a pixel.
    pub single: wgpu::RenderPipeline,
    /// A pixel is the mean of four texels.
    pub fine: wgpu::RenderPipeline,
}

/// Pipelines of the things that cast shadows.
pub struct Casters {
    pub body: wgpu::RenderPipeline,
    pub rigid: wgpu::RenderPipeline,
    /// The same where they are cut open.
    pub body_cut: wgpu::RenderPipeline,
    pub rigid_cut: wgpu::RenderPipeline,
    pub tets: wgpu::RenderPipeline,
}

/// Pipelines of the mask of selected things.
pub struct Mask {
    pub body: wgpu::RenderPipeline,
    pub rigid: wgpu::RenderPipeline,
}

/// Pipelines of the floor's small maps.
pub struct FloorMaps {
    pub shadow: wgpu::RenderPipeline,
    pub soften: wgpu::RenderPipeline,
    pub contact: wgpu::RenderPipeline,
}

/// Pipelines of bodies, rigid things and slabs.
pub struct Surfaces {
    pub body: wgpu::RenderPipeline,
    pub rigid: wgpu::RenderPipeline,
    /// The same where they are cut open.
    pub body_cut: wgpu::RenderPipeline,
    pub rigid_cut: wgpu::RenderPipeline,
    pub wire: wgpu::RenderPipeline,
    pub edges: wgpu::RenderPipeline,
    pub tets: wgpu::RenderPipeline,
    pub slab: wgpu::RenderPipeline,
}

/// Pipelines of the rough occlusion map and of its average.
pub struct Occlusion {
    pub rough: wgpu::RenderPipeline,
    pub average: wgpu::RenderPipeline,
}

/// Pipelines of what is elsewhere in time.
pub struct Veils {
    pub body: wgpu::RenderPipeline,
    pub rigid: wgpu::RenderPipeline,
}

/// Pipelines of marks in front of surfaces and behind them.
pub struct Overlay {
    pub front: wgpu::RenderPipeline,
    pub behind: wgpu::RenderPipeline,
}

impl Pipelines {
    pub fn new(device: &wgpu::Device, options: &RenderOptions) -> Self {
        let layouts = Layouts::new(device);
        let samples = options.samples;
        let [tets, casters, body, floor] = ["tets", "casters", "body", "floor"].map(|file| module(device, file));
        // Slanted casters are pushed back by the change of their depth over a texel, so that lit sides do not shade
        // themselves.
        let shadow = wgpu::DepthBiasState { constant: 0, slope_scale: 1.6, clamp: 0.0 };
        let lit = Target::Picture { samples, depth: Depth::Write, blend: false };
        let shaders = SurfaceShaders { body: &body, tets: &tets, floor: &floor };
        let surfaces = |entries, target| Surfaces::new(device, &layouts, &shaders, entries, target);
        let behind = |label, entries, blend| {
            let target = Target::Picture { samples, depth: Depth::Read(wgpu::CompareFunction::GreaterEqual), blend };
            let layouts = &[Some(&layouts.frame), Some(&layouts.maps)];
            let draw = Draw { label, layouts, shader: &floor, entries, vertices: Vertices::None, target };
            render_pipeline(device, &draw)
        };
        Self {
            linear_sampler: device.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("render/linear"),
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                ..Default::default()
            }),
            texel_sampler: device.create_sampler(&wgpu::SamplerDescriptor { label: Some("render/texel"), ..Default::default() }),
            normals: compute_pipeline(device, &layouts.normals, "normals", "normals"),
            fit: compute_pipeline(device, &layouts.fit, "fit", "fit_maps"),
            shadow_casters: Casters::new(device, &layouts, [&casters, &tets], "shadow", shadow),
            contact_casters: Casters::new(device, &layouts, [&casters, &tets], "contact", wgpu::DepthBiasState::default()),
            floor_maps: FloorMaps::new(device, &layouts),
            mask: Mask::new(device, &layouts),
            parts: surfaces(
                ["fs_body_parts", "fs_cut_parts", "fs_wire_parts", "fs_edges_parts", "fs_tets_parts", "fs_slab_parts"],
                Target::Parts,
            ),
            lit: (samples > 1).then(|| surfaces(["fs_body", "fs_cut", "fs_wire", "fs_edges", "fs_tets", "fs_slab"], lit)),
            occlusion: Occlusion::new(device, &layouts),
            floor: behind("floor", ["vs_plane", "fs_floor"], false),
            floor_below: behind("floor_below", ["vs_plane", "fs_floor_below"], true),
            light_parts: light_parts(device, &layouts),
            backdrop: behind("backdrop", ["vs_backdrop", "fs_backdrop"], false),
            veils: Veils::new(device, &layouts, &body, samples),
            overlay: Overlay::new(device, &layouts, samples),
            present: Present::new(device, &layouts, samples, options.format),
            present_capture: Present::new(device, &layouts, samples, PICTURE_FORMAT),
            layouts,
        }
    }
}

impl Casters {
    /// `map` is the depth map that they draw; casters may not bind the maps that they draw.
    fn new(
        device: &wgpu::Device,
        layouts: &Layouts,
        [casters, tets]: [&wgpu::ShaderModule; 2],
        map: &str,
        bias: wgpu::DepthBiasState,
    ) -> Self {
        let draw = |kind: &str, layouts: &[Option<&wgpu::BindGroupLayout>], shader, vertices| {
            let (label, entry) = (format!("{kind}_{map}"), format!("vs_{kind}_{map}"));
            render_pipeline(
                device,
                &Draw { label: &label, layouts, shader, entries: [&entry, ""], vertices, target: Target::Depth { bias } },
            )
        };
        let frame = [Some(&layouts.frame)];
        Self {
            body: draw("body", &frame, casters, Vertices::Position),
            rigid: draw("rigid", &frame, casters, Vertices::Position),
            body_cut: draw("body_cut", &frame, casters, Vertices::Position),
            rigid_cut: draw("rigid_cut", &frame, casters, Vertices::Position),
            tets: draw("tets", &[Some(&layouts.frame), None, Some(&layouts.tets)], tets, Vertices::None),
        }
    }
}

impl Mask {
    fn new(device: &wgpu::Device, layouts: &Layouts) -> Self {
        let shader = module(device, "mask");
        let draw = |kind: &str| {
            let (label, entry) = (format!("{kind}_mask"), format!("vs_{kind}_mask"));
            let (entries, target) = ([entry.as_str(), "fs_mask"], Target::Color { format: MAP_FORMAT });
            let layouts = &[Some(&layouts.frame)];
            render_pipeline(device, &Draw { label: &label, layouts, shader: &shader, entries, vertices: Vertices::Position, target })
        };
        Self { body: draw("body"), rigid: draw("rigid") }
    }
}

impl FloorMaps {
    fn new(device: &wgpu::Device, layouts: &Layouts) -> Self {
        let shader = module(device, "floor_maps");
        let draw = |label, source, entry| {
            let layouts = &[Some(&layouts.frame), Some(source)];
            let (entries, target) = (["vs_map", entry], Target::Color { format: MAP_FORMAT });
            render_pipeline(device, &Draw { label, layouts, shader: &shader, entries, vertices: Vertices::None, target })
        };
        Self {
            shadow: draw("floor_shadow", &layouts.depths, "fs_floor_shadow"),
            soften: draw("soften", &layouts.rough, "fs_soften"),
            contact: draw("contact_map", &layouts.depths, "fs_contact"),
        }
    }
}

struct SurfaceShaders<'a> {
    body: &'a wgpu::ShaderModule,
    tets: &'a wgpu::ShaderModule,
    floor: &'a wgpu::ShaderModule,
}

impl Surfaces {
    /// `entries` are the fragment entry points of bodies and rigid things, of what is cut open, of the wireframe, of
    /// edges alone, of tets and of slabs.
    fn new(device: &wgpu::Device, layouts: &Layouts, shaders: &SurfaceShaders, entries: [&str; 6], target: Target) -> Self {
        let [body, cut, wire, edges, tets, slab] = entries;
        let draw = |label, source, shader, entries, vertices| {
            let layouts = &[Some(&layouts.frame), Some(&layouts.maps), source, Some(&layouts.screen)];
            render_pipeline(device, &Draw { label, layouts, shader, entries, vertices, target })
        };
        Self {
            body: draw("body", None, shaders.body, ["vs_body", body], Vertices::Full),
            rigid: draw("rigid", None, shaders.body, ["vs_rigid", body], Vertices::Full),
            body_cut: draw("body_cut", None, shaders.body, ["vs_body", cut], Vertices::Full),
            rigid_cut: draw("rigid_cut", None, shaders.body, ["vs_rigid", cut], Vertices::Full),
            wire: draw("wire", Some(&layouts.wire), shaders.body, ["vs_wire", wire], Vertices::None),
            edges: draw("edges", Some(&layouts.wire), shaders.body, ["vs_wire", edges], Vertices::None),
            tets: draw("tets", Some(&layouts.tets), shaders.tets, ["vs_tets", tets], Vertices::None),
            slab: draw("slab", None, shaders.floor, ["vs_plane", slab], Vertices::None),
        }
    }
}

impl Occlusion {
    fn new(device: &wgpu::Device, layouts: &Layouts) -> Self {
        let shader = module(device, "occlusion");
        let draw = |label, entry| {
            let layouts = &[Some(&layouts.frame), Some(&layouts.occlusion)];
            let (entries, target) = (["vs_occlusion", entry], Target::Color { format: MAP_FORMAT });
            render_pipeline(device, &Draw { label, layouts, shader: &shader, entries, vertices: Vertices::None, target })
        };
        Self { rough: draw("occlusion", "fs_occlusion"), average: draw("occlusion_average", "fs_average") }
    }
}

impl Overlay {
    fn new(device: &wgpu::Device, layouts: &Layouts, samples: u32) -> Self {
        let shader = module(device, "overlay");
        let draw = |label, entry, compare| {
            let target = Target::Picture { samples, depth: Depth::Read(compare), blend: true };
            let (layouts, entries) = (&[Some(&layouts.frame)], ["vs_overlay", entry]);
            render_pipeline(device, &Draw { label, layouts, shader: &shader, entries, vertices: Vertices::Marks, target })
        };
        Self {
            front: draw("overlay_front", "fs_front", wgpu::CompareFunction::GreaterEqual),
            behind: draw("overlay_behind", "fs_behind", wgpu::CompareFunction::Less),
        }
    }
}

impl Veils {
    fn new(device: &wgpu::Device, layouts: &Layouts, shader: &wgpu::ShaderModule, samples: u32) -> Self {
        // What is at the same place on both branches is not veiled.
        let target = Target::Picture { samples, depth: Depth::Read(wgpu::CompareFunction::Greater), blend: true };
        let draw = |label, vertex| {
            let (layouts, entries) = (&[Some(&layouts.frame)], [vertex, "fs_veil"]);
            render_pipeline(device, &Draw { label, layouts, shader, entries, vertices: Vertices::Full, target })
        };
        Self { body: draw("body_veil", "vs_body"), rigid: draw("rigid_veil", "vs_rigid") }
    }
}

fn light_parts(device: &wgpu::Device, layouts: &Layouts) -> wgpu::RenderPipeline {
    let draw = Draw {
        label: "light_parts",
        layouts: &[Some(&layouts.frame), Some(&layouts.maps), Some(&layouts.parts), Some(&layouts.screen)],
        shader: &module(device, "light_parts"),
        entries: ["vs_light", "fs_light"],
        vertices: Vertices::None,
        // Only surfaces are lit; the target has one sample per pixel wherever this is used.
        target: Target::Picture { samples: 1, depth: Depth::Read(wgpu::CompareFunction::Less), blend: false },
    };
    render_pipeline(device, &draw)
}

impl Present {
    fn new(device: &wgpu::Device, layouts: &Layouts, samples: u32, format: wgpu::TextureFormat) -> Self {
        let shader = module(device, "present");
        let draw = |label, entry| {
            let (entries, target) = (["vs_present", entry], Target::Color { format });
            render_pipeline(
                device,
                &Draw { label, layouts: &[Some(&layouts.present)], shader: &shader, entries, vertices: Vertices::None, target },
            )
        };
        Self { single: draw("present", if samples == 1 { "fs_smooth" } else { "fs_copy" }), fine: draw("present_fine", "fs_fine") }
    }
}
