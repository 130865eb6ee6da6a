//! WGSL sources: built in, joined by `#import`, checked, and asked for their bindings.

use wgpu::naga;

use super::limits;
use super::wgsl::HostModule;

/// Every shader of a folder of `shaders/`, by its path there (`build.rs`).
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

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
    /// The shader in `shaders/{name}.wgsl`, which may import the declarations of `host`.
    pub fn load(name: &str, host: &HostModule) -> Result<Self, ShaderError> {
        let mut joined = Joined { text: String::new(), lines: vec![], imported: vec![], host };
        joined.push("host/limits", &limits::HOST.declarations().text)?;
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
        Ok(Self { text: joined.text, module, info })
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

/// Paths of all shaders without their endings, in order.
#[cfg(test)]
pub fn shaders() -> Vec<&'static str> {
    SOURCES.iter().filter_map(|(path, _)| path.strip_suffix(".wgsl")).collect()
}

/// Text with the origin of each of its lines.
struct Joined<'h> {
    text: String,
    lines: Vec<(String, u32)>,
    imported: Vec<String>,
    host: &'h HostModule,
}

impl Joined<'_> {
    /// Brings the file `path` of `shaders/`, or the declarations of the module host/NAME, unless they are there
    /// already.
    fn import(&mut self, path: &str) -> Result<(), ShaderError> {
        if self.imported.iter().any(|done| done == path) {
            return Ok(());
        }
        self.imported.push(path.into());
        let missing = || ShaderError::NoFile(path.into());
        match path.strip_prefix("host/") {
            Some(name) => self.push(path, &self.host.find(name).ok_or_else(missing)?.declarations().text),
            None => self.push(path, SOURCES.iter().find(|(name, _)| *name == path).ok_or_else(missing)?.1),
        }
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

    #[test]
    fn an_error_names_its_own_file_and_line() {
        let host = HostModule { name: "test", uses: &[], declare: |declarations| declarations.constant("ANSWER", 42u32) };
        let mut joined = Joined { text: String::new(), lines: vec![], imported: vec![], host: &host };
        joined.push("a.wgsl", "// first\n#import lib/mat3.wgsl\n#import host/test\nfn f() {}\n").unwrap();
        assert_eq!(joined.lines[0], ("a.wgsl".into(), 1));
        assert_eq!(joined.lines[1], ("lib/mat3.wgsl".into(), 1));
        assert_eq!(joined.lines[joined.lines.len() - 2], ("host/test".into(), 1));
        assert_eq!(*joined.lines.last().unwrap(), ("a.wgsl".into(), 4));
        assert_eq!(Shader::load("lib/none", &host).err(), Some(ShaderError::NoFile("lib/none.wgsl".into())));
    }
}
