//! WGSL sources: built in, joined by `#import`, checked, and asked for their bindings.

use wgpu::naga;

use super::cwc::{ITERATIONS, WHOLES};
use super::detection::{BROKEN, GROUP, LEVELS, PARTNERS};
use super::{GRID_ROW, MAX_ROW_GROUPS, MAX_WHOLE_NODES, MAX_WHOLE_TILES, WORKGROUP};
use crate::contact::{FORCE_TOLERANCE, LENIENCY, RELATIVE_RESIDUAL, ROUGH_TOLERANCE, ROW_TOLERANCE};
use crate::elastic::SAMPLES;
use crate::model::MAX_GRABS;
use crate::step::MAX_PASSES;

macro_rules! sources {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("../../shaders/", $path)))),*] };
}

/// Every compute shader and library file, by its path in `shaders/`.
const SOURCES: &[(&str, &str)] = sources![
    "cg/advance.wgsl",
    "cg/gate.wgsl",
    "cg/product.wgsl",
    "cg/residual_start.wgsl",
    "cg/start.wgsl",
    "cg/turn.wgsl",
    "cg/whole.wgsl",
    "cr/enter.wgsl",
    "cr/gate.wgsl",
    "cr/judge.wgsl",
    "cr/mark.wgsl",
    "cr/move_along.wgsl",
    "cr/precondition.wgsl",
    "cr/product.wgsl",
    "cr/rows.wgsl",
    "cwc/close.wgsl",
    "cwc/compliance.wgsl",
    "cwc/iterate.wgsl",
    "cwc/judge.wgsl",
    "cwc/measure.wgsl",
    "cwc/probe.wgsl",
    "cwc/scales.wgsl",
    "cwc/spread.wgsl",
    "cwc/turn.wgsl",
    "cwc/whole.wgsl",
    "detection/blocks.wgsl",
    "detection/boxes.wgsl",
    "detection/partners.wgsl",
    "detection/scan.wgsl",
    "detection/search.wgsl",
    "detection/sieve.wgsl",
    "detection/total.wgsl",
    "elastic/diagonals.wgsl",
    "elastic/edge_blocks.wgsl",
    "elastic/elements.wgsl",
    "elastic/grabs.wgsl",
    "elastic/right_hand_side.wgsl",
    "elastic/skin.wgsl",
    "elastic/update.wgsl",
    "lab/advance.wgsl",
    "lab/cg_advance.wgsl",
    "lab/cg_gate.wgsl",
    "lab/cg_start.wgsl",
    "lab/copy.wgsl",
    "lab/direction.wgsl",
    "lab/grouped.wgsl",
    "lab/sell.wgsl",
    "lib/cr.wgsl",
    "lib/cwc.wgsl",
    "lib/cwc_step.wgsl",
    "lib/cwc_sums.wgsl",
    "lib/float.wgsl",
    "lib/group.wgsl",
    "lib/krylov.wgsl",
    "lib/lab.wgsl",
    "lib/law.wgsl",
    "lib/mat3.wgsl",
    "lib/model.wgsl",
    "lib/params.wgsl",
    "lib/parity.wgsl",
    "lib/preconditioner.wgsl",
    "lib/quat.wgsl",
    "lib/reduce.wgsl",
    "lib/row_product.wgsl",
    "lib/scan.wgsl",
    "lib/search.wgsl",
    "lib/sums.wgsl",
    "lib/tiles.wgsl",
];

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ShaderError {
    #[error("there is no shader file \"{0}\"")]
    NoFile(String),
    #[error("{file}:{line}: {message}")]
    Invalid { file: String, line: u32, message: String },
    #[error("kernel {kernel} reads \"{binding}\", and no buffer has this name")]
    Unbound { kernel: String, binding: String },
    #[error("kernel {kernel}: {message}")]
    Pipeline { kernel: String, message: String },
}

/// A joined and checked source.
pub struct Shader {
    /// Path without its extension, such as `elastic/elements`.
    pub name: String,
    pub text: String,
    pub module: naga::Module,
    pub info: naga::valid::ModuleInfo,
}

/// A buffer that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    pub name: String,
    pub index: u32,
    pub ty: wgpu::BufferBindingType,
}

impl Shader {
    /// The kernel in `shaders/{name}.wgsl`.
    pub fn load(name: &str) -> Result<Self, ShaderError> {
        let mut joined = Joined::default();
        joined.push("(constants)", &constants())?;
        joined.import(&format!("{name}.wgsl"))?;
        let invalid = |line: u32, message: String| {
            let (file, line) = joined.lines.get(line.saturating_sub(1) as usize).cloned().unwrap_or((name.into(), line));
            ShaderError::Invalid { file, line, message }
        };
        let module = naga::front::wgsl::parse_str(&joined.text).map_err(|error| {
            let line = error.location(&joined.text).map_or(0, |location| location.line_number);
            invalid(line, error.message().into())
        })?;
        let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::default());
        let info = validator.validate(&module).map_err(|error| {
            let line = error.location(&joined.text).map_or(0, |location| location.line_number);
            let causes = std::iter::successors(std::error::Error::source(error.as_inner()), |e| e.source());
            let message = causes.fold(error.as_inner().to_string(), |text, cause| format!("{text}: {cause}"));
            invalid(line, message)
        })?;
        Ok(Self { name: name.into(), text: joined.text, module, info })
    }

    /// The buffers of group 0, by ascending index.
    pub fn bindings(&self) -> Vec<Binding> {
        let bound = self.module.global_variables.iter().filter_map(|(_, variable)| {
            let ty = match variable.space {
                naga::AddressSpace::Uniform => wgpu::BufferBindingType::Uniform,
                naga::AddressSpace::Storage { access } => {
                    wgpu::BufferBindingType::Storage { read_only: !access.contains(naga::StorageAccess::STORE) }
                }
                _ => return None,
            };
            Some(Binding { name: variable.name.clone()?, index: variable.binding.as_ref()?.binding, ty })
        });
        let mut bindings: Vec<_> = bound.collect();
        bindings.sort_by_key(|binding| binding.index);
        bindings
    }
}

/// What is needed on both sides, written once in Rust.
fn constants() -> String {
    format!(
        "const WORKGROUP: u32 = {WORKGROUP}u;\nconst GRID_ROW: u32 = {GRID_ROW}u;\nconst MAX_GRABS: u32 = {MAX_GRABS}u;\n\
         const MAX_ROW_GROUPS: u32 = {MAX_ROW_GROUPS}u;\nconst MAX_WHOLE_NODES: u32 = {MAX_WHOLE_NODES}u;\n\
         const CWC_ITERATIONS: u32 = {ITERATIONS}u;\nconst CWC_WHOLES: u32 = {WHOLES}u;\nconst CWC_MAX_PASSES: f32 = {MAX_PASSES}.0;\n\
         const MAX_WHOLE_TILES: u32 = {MAX_WHOLE_TILES}u;\nconst TILE_SAMPLES: u32 = {SAMPLES}u;\n\
         const SEARCH_GROUP: u32 = {GROUP}u;\nconst SEARCH_LEVELS: u32 = {LEVELS}u;\nconst SEARCH_BROKEN: u32 = {BROKEN}u;\nconst SEARCH_PARTNERS: u32 = {PARTNERS}u;\n\
         const CR_RELATIVE_RESIDUAL: f32 = {RELATIVE_RESIDUAL:?};\nconst CR_ROUGH_TOLERANCE: f32 = {ROUGH_TOLERANCE:?};\n\
         const CR_ROW_TOLERANCE: f32 = {ROW_TOLERANCE:?};\nconst CR_FORCE_TOLERANCE: f32 = {FORCE_TOLERANCE:?};\n\
         const CR_LENIENCY: f32 = {LENIENCY:?};\n"
    )
}

/// Text with the origin of each of its lines.
#[derive(Default)]
struct Joined {
    text: String,
    lines: Vec<(String, u32)>,
    imported: Vec<String>,
}

impl Joined {
    fn import(&mut self, path: &str) -> Result<(), ShaderError> {
        if self.imported.iter().any(|done| done == path) {
            return Ok(());
        }
        self.imported.push(path.into());
        let (_, source) = SOURCES.iter().find(|(name, _)| *name == path).ok_or_else(|| ShaderError::NoFile(path.into()))?;
        self.push(path, source)
    }

    fn push(&mut self, path: &str, source: &str) -> Result<(), ShaderError> {
        for (number, line) in source.lines().enumerate() {
            match line.strip_prefix("#import ") {
                Some(imported) => self.import(imported.trim())?,
                None => {
                    self.text.push_str(line);
                    self.text.push('\n');
                    self.lines.push((path.into(), number as u32 + 1));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file under `shaders/` except those that draw.
    fn files() -> Vec<String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let mut files = vec![];
        for folder in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.file_name() != "render") {
            for file in std::fs::read_dir(folder.path()).unwrap() {
                files.push(format!("{}/{}", folder.file_name().display(), file.unwrap().file_name().display()));
            }
        }
        files.sort();
        files
    }

    #[test]
    fn every_file_is_built_in_and_valid() {
        let mut listed: Vec<_> = SOURCES.iter().map(|(path, _)| path.to_string()).collect();
        listed.sort();
        assert_eq!(files(), listed);
        for path in listed {
            let shader = Shader::load(path.trim_end_matches(".wgsl")).unwrap_or_else(|error| panic!("{error}"));
            if path.starts_with("lib/") {
                continue;
            }
            let stem = path.rsplit('/').next().unwrap().trim_end_matches(".wgsl");
            assert_eq!(shader.module.entry_points[0].name, stem, "{path}: the entry point bears the name of its file");
            let storage = shader.bindings().iter().filter(|b| b.ty != wgpu::BufferBindingType::Uniform).count();
            assert!(storage <= 8, "{path} binds {storage} storage buffers, WebGPU guarantees 8");
        }
    }

    #[test]
    fn an_error_names_its_own_file_and_line() {
        let mut joined = Joined::default();
        joined.push("a.wgsl", "// first\n#import lib/mat3.wgsl\nfn f() {}\n").unwrap();
        assert_eq!(joined.lines[0], ("a.wgsl".into(), 1));
        assert_eq!(joined.lines[1], ("lib/mat3.wgsl".into(), 1));
        assert_eq!(*joined.lines.last().unwrap(), ("a.wgsl".into(), 3));
        assert_eq!(Shader::load("lib/none").err(), Some(ShaderError::NoFile("lib/none.wgsl".into())));
    }
}
