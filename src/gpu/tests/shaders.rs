//! Every shader is a declared kernel or a library file, is valid, and lays structs out as the host does.

use std::collections::{BTreeMap, BTreeSet};

use wgpu::naga;

use crate::gpu::kernel::{KernelSource, Stage};
use crate::gpu::shader::{Shader, shaders};
use crate::gpu::wgsl::{Field, HostModule};
use crate::gpu::{cwc, detection, elastic, layout, stepper};

const STAGES: &[&[KernelSource]] = &[
    elastic::LimitKernels::KERNELS,
    elastic::PatchKernels::KERNELS,
    elastic::SystemKernels::KERNELS,
    &elastic::MATERIAL_KERNELS,
    elastic::Kernels::KERNELS,
    stepper::Kernels::KERNELS,
    stepper::SurfaceKernels::KERNELS,
    cwc::Kernels::KERNELS,
    detection::SearchKernels::KERNELS,
    detection::SieveKernels::KERNELS,
];

fn load(name: &str, host: &'static HostModule) -> Shader {
    Shader::load(name, host).unwrap_or_else(|error| panic!("{error}"))
}

/// The shaders in the folders of `kernels` are these kernels and no others; each is valid, bears the name of its
/// file, and binds no more buffers than every adapter has. Returns the names without folders.
pub(crate) fn check_kernels(kernels: &[KernelSource]) -> Vec<&'static str> {
    let folder = |name: &'static str| name.split_once('/').unwrap().0;
    let folders: BTreeSet<&str> = kernels.iter().map(|kernel| folder(kernel.name)).collect();
    let declared: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.name).collect();
    let found: BTreeSet<&str> = shaders().into_iter().filter(|name| folders.contains(folder(name))).collect();
    assert_eq!(declared, found);
    let invalid: Vec<String> = kernels.iter().filter_map(|k| Shader::load(k.name, k.host).err()).map(|e| e.to_string()).collect();
    assert!(invalid.is_empty(), "{invalid:#?}");
    for KernelSource { name, host } in kernels {
        let shader = load(name, host);
        assert!(name.ends_with(&format!("/{}", shader.module.entry_points[0].name)), "{name}: the entry point bears the name of its file");
        let storage = shader.bindings().iter().filter(|b| b.ty != wgpu::BufferBindingType::Uniform).count();
        assert!(storage <= 8, "{name} binds {storage} storage buffers, WebGPU guarantees 8");
    }
    kernels.iter().map(|kernel| kernel.name.split_once('/').unwrap().1).collect()
}

#[test]
fn every_shader_is_declared_once_and_valid() {
    let mut names = check_kernels(&STAGES.concat());
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]), "names are unique over the folders: {names:?}");
    assert!(names.len() > 25);
}

/// Members with their offsets, and the size of a struct as WGSL lays it out.
fn wgsl_layout(module: &naga::Module, name: &str) -> Option<(Vec<(String, usize)>, usize)> {
    let (_, ty) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name))?;
    let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
    Some((members.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect(), *span as usize))
}

/// All structs in memory that a module and those that it uses declare.
fn structs(module: &HostModule) -> Vec<(String, Vec<Field>, usize)> {
    let used = module.uses.iter().flat_map(|module| structs(module));
    used.chain(module.declarations().structs).collect()
}

/// Host and device lay all structs that `kernels` share with the host out alike; returns their names.
pub(crate) fn check_structs(kernels: &[KernelSource]) -> Vec<String> {
    let mut seen = BTreeMap::new();
    for KernelSource { name: kernel, host } in kernels {
        let shader = load(kernel, host);
        for (name, fields, size) in structs(host) {
            let on_host = (fields.iter().map(|field| (field.name.to_owned(), field.offset)).collect(), size);
            let on_device = wgsl_layout(&shader.module, &name);
            *seen.entry(name.clone()).or_insert(false) |= on_device.is_some();
            assert!(on_device.is_none_or(|on_device| on_device == on_host), "{kernel}: {name}");
        }
    }
    assert!(seen.values().all(|seen| *seen), "{seen:?}");
    seen.into_keys().collect()
}

#[test]
fn host_structs_lie_as_wgsl_lays_them() {
    let names = check_structs(&STAGES.concat());
    assert!(names.len() > 12, "{names:?}");
    // The comparison sees a member that lies elsewhere.
    let shader = load("elastic/grabs", &elastic::HOST);
    let (mut members, size) = wgsl_layout(&shader.module, "Control").unwrap();
    let (_, fields, on_host) = structs(&layout::HOST).into_iter().find(|(name, ..)| name == "Control").unwrap();
    let differs = |members: &[(String, usize)]| fields.iter().zip(members).any(|(field, member)| field.offset != member.1);
    assert!(size == on_host && !differs(&members));
    members[3].1 += 4;
    assert!(differs(&members));
}

#[test]
fn sums_begin_where_the_host_says() {
    let shader = load("elastic/grabs", &elastic::HOST);
    let (members, _) = wgsl_layout(&shader.module, "Reductions").unwrap();
    assert_eq!(members[2], ("sums".into(), 16 * elastic::REDUCTION_HEADER));
}
