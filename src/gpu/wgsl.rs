//! Declarations that both sides need: constants, structs and tables of words are written once, in Rust, and reach a
//! shader as text by the import of host/NAME.

use std::fmt::Write;

/// Declarations of a part of the backend.
pub struct HostModule {
    /// Shaders import it as host/NAME.
    pub name: &'static str,
    /// Modules that the shaders of this one may import too.
    pub uses: &'static [&'static HostModule],
    pub declare: fn(&mut Declarations),
}

impl HostModule {
    /// This module, or the module of that name among those that it uses.
    pub fn find(&self, name: &str) -> Option<&HostModule> {
        if self.name == name { Some(self) } else { self.uses.iter().find_map(|module| module.find(name)) }
    }

    pub fn declarations(&self) -> Declarations {
        let mut declarations = Declarations::default();
        (self.declare)(&mut declarations);
        declarations
    }
}

/// WGSL text in the making.
#[derive(Default)]
pub struct Declarations {
    pub text: String,
    /// Structs that lie in memory, for the test that compares both sides.
    #[cfg(test)]
    pub structs: Vec<(String, Vec<Field>, usize)>,
}

/// A member of a struct, with its offset [bytes] on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub ty: String,
    pub offset: usize,
}

/// A type that shaders have too.
pub trait Shared: bytemuck::Pod {
    /// Its name in WGSL.
    fn wgsl() -> String;
    /// WGSL that makes one from the array `words` of u32, where it begins at word `w + at`.
    fn read(words: &str, at: usize) -> String;
}

/// A struct that shaders have too, declared by [`shared_struct`].
pub trait SharedStruct: Shared {
    fn fields() -> Vec<Field>;
}

/// A value that a constant may have.
pub enum Number {
    Whole(u64),
    Real(f64),
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl Declarations {
    /// `u32` of a whole number, `f32` of a real one.
    pub fn constant(&mut self, name: &str, value: impl Into<Number>) {
        let declared = match value.into() {
            Number::Whole(value) => format!("const {name}: u32 = {value}u;\n"),
            Number::Real(value) => format!("const {name}: f32 = {value:?};\n"),
        };
        self.text.push_str(&declared);
    }

    /// A struct that buffers hold.
    pub fn structure<T: SharedStruct>(&mut self) {
        #[cfg(test)]
        self.structs.push((T::wgsl(), T::fields(), size_of::<T>()));
        self.record::<T>();
    }

    /// A struct that a table of words holds: it has no layout of its own on the device.
    pub fn record<T: SharedStruct>(&mut self) {
        let fields: String = T::fields().iter().map(|field| format!("    {}: {},\n", field.name, field.ty)).collect();
        let _ = writeln!(self.text, "struct {} {{\n{fields}}}", T::wgsl());
    }

    /// `accessor(k)` is item k of section number `section` of the array `words`, whose sections begin where `offsets`
    /// says.
    pub fn section<T: Shared>(&mut self, words: &str, offsets: &str, section: usize, accessor: &str) {
        let stride = size_of::<T>() / 4;
        let (first, ty, value) = (offset_of_section(offsets, section), T::wgsl(), T::read(words, 0));
        let _ = writeln!(self.text, "fn {accessor}(k: u32) -> {ty} {{\n    let w = {first} + {stride}u * k;\n    return {value};\n}}");
    }
}

/// WGSL of the first word of a section.
fn offset_of_section(offsets: &str, section: usize) -> String {
    format!("{offsets}[{}].{}", section / 4, ["x", "y", "z", "w"][section % 4])
}

/// Items of several types in one array of words, declared by [`word_table`].
pub trait WordTable {
    /// All words, section by section.
    fn sections(&self) -> Vec<&[u32]>;

    /// The words one after the other, and where each section begins; `K` fours hold the offsets.
    fn pack<const K: usize>(&self) -> (Vec<u32>, [[u32; 4]; K]) {
        let mut words = vec![];
        let offsets = self.append_to(&mut words);
        (words, offsets)
    }

    /// The same behind other words.
    fn append_to<const K: usize>(&self, words: &mut Vec<u32>) -> [[u32; 4]; K] {
        let mut offsets = [[0; 4]; K];
        for (section, offset) in self.sections().into_iter().zip(offsets.as_flattened_mut()) {
            *offset = words.len() as u32;
            words.extend_from_slice(section);
        }
        offsets
    }
}

/// An element of an array that lies in memory as WGSL lays it out, in an array of any length.
pub trait Element: Shared {}
impl Element for [f32; 4] {}
impl Element for [u32; 4] {}

impl<T: Element, const N: usize> Shared for [T; N]
where
    [T; N]: bytemuck::Pod,
{
    fn wgsl() -> String {
        format!("array<{}, {N}>", T::wgsl())
    }

    fn read(words: &str, at: usize) -> String {
        let items: Vec<String> = (0..N).map(|k| T::read(words, at + k * size_of::<T>() / 4)).collect();
        format!("{}({})", Self::wgsl(), items.join(", "))
    }
}

fn word(words: &str, at: usize) -> String {
    if at == 0 { format!("{words}[w]") } else { format!("{words}[w + {at}u]") }
}

impl Shared for u32 {
    fn wgsl() -> String {
        "u32".into()
    }

    fn read(words: &str, at: usize) -> String {
        word(words, at)
    }
}

impl Shared for f32 {
    fn wgsl() -> String {
        "f32".into()
    }

    fn read(words: &str, at: usize) -> String {
        format!("bitcast<f32>({})", word(words, at))
    }
}

/// A vector or matrix of `n` numbers, read one by one.
fn compound<T: Shared>(ty: &str, n: usize, words: &str, at: usize) -> String {
    let parts: Vec<String> = (0..n).map(|k| T::read(words, at + k)).collect();
    format!("{ty}({})", parts.join(", "))
}

macro_rules! shared_vectors {
    ($($host:ty: $number:ty, $n:literal, $wgsl:literal;)*) => {
        $(impl Shared for $host {
            fn wgsl() -> String {
                $wgsl.into()
            }

            fn read(words: &str, at: usize) -> String {
                compound::<$number>($wgsl, $n, words, at)
            }
        })*
    };
}

shared_vectors! {
    [u32; 2]: u32, 2, "vec2u";
    [u32; 3]: u32, 3, "vec3u";
    [u32; 4]: u32, 4, "vec4u";
    [f32; 3]: f32, 3, "vec3f";
    [f32; 4]: f32, 4, "vec4f";
    [f32; 9]: f32, 9, "mat3x3f";
}

/// A struct for both sides: `shared_struct! { pub struct Host as "Wgsl" { field: type, ... } }`.
macro_rules! shared_struct {
    ($(#[$doc:meta])* $vis:vis struct $Name:ident as $wgsl:literal {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        $vis struct $Name {
            $($(#[$field_doc])* pub $field: $ty),*
        }

        impl $crate::gpu::wgsl::Shared for $Name {
            fn wgsl() -> String {
                $wgsl.into()
            }

            fn read(words: &str, at: usize) -> String {
                use $crate::gpu::wgsl::Shared;
                let fields = [$(<$ty as Shared>::read(words, at + std::mem::offset_of!($Name, $field) / 4)),*];
                format!("{}({})", $wgsl, fields.join(", "))
            }
        }

        impl $crate::gpu::wgsl::SharedStruct for $Name {
            fn fields() -> Vec<$crate::gpu::wgsl::Field> {
                use $crate::gpu::wgsl::{Field, Shared};
                vec![$(Field {
                    name: stringify!($field),
                    ty: <$ty as Shared>::wgsl(),
                    offset: std::mem::offset_of!($Name, $field),
                }),*]
            }
        }
    };
}

/// Constants for both sides. In WGSL their names begin with the prefix:
/// `shared_constants! { fn declare_constants, "PREFIX_": pub NAME: type = value; ... }`.
macro_rules! shared_constants {
    (fn $declare:ident, $prefix:literal: $($(#[$doc:meta])* $vis:vis $name:ident: $ty:ty = $value:expr;)*) => {
        $($(#[$doc])* $vis const $name: $ty = $value;)*

        fn $declare(declarations: &mut $crate::gpu::wgsl::Declarations) {
            $(declarations.constant(concat!($prefix, stringify!($name)), $name);)*
        }
    };
}

/// Places of vectors that stand one behind the other, each so many vectors wide, and the number of all:
/// `shared_slots! { fn declare_slots, "PREFIX_", total pub TOTAL: pub NAME: width; ... }`.
macro_rules! shared_slots {
    (fn $declare:ident, $prefix:literal, total $total_vis:vis $total:ident:
     $($(#[$doc:meta])* $vis:vis $name:ident: $width:literal;)*) => {
        shared_slots!(@next 0, $total_vis $total; $($(#[$doc])* $vis $name: $width;)*);

        fn $declare(declarations: &mut $crate::gpu::wgsl::Declarations) {
            $(declarations.constant(concat!($prefix, stringify!($name)), $name);)*
            declarations.constant(concat!($prefix, stringify!($total)), $total);
        }
    };
    (@next $first:expr, $total_vis:vis $total:ident;) => {
        $total_vis const $total: usize = $first;
    };
    (@next $first:expr, $total_vis:vis $total:ident; $(#[$doc:meta])* $vis:vis $name:ident: $width:literal; $($rest:tt)*) => {
        $(#[$doc])* $vis const $name: usize = $first;
        shared_slots!(@next $name + $width, $total_vis $total; $($rest)*);
    };
}

/// A table of words in several sections, each with the function that reads an item of it on the device:
/// `word_table! { pub struct Table in "buffer" at "offsets" { section: type => accessor, ... } }`.
macro_rules! word_table {
    ($(#[$doc:meta])* $vis:vis struct $Name:ident in $words:literal at $offsets:literal {
        $($(#[$section_doc:meta])* $section:ident: $ty:ty => $accessor:ident),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Default)]
        $vis struct $Name {
            $($(#[$section_doc])* pub $section: Vec<$ty>),*
        }

        impl $Name {
            /// Fours that hold the offsets of all sections.
            pub const OFFSETS: usize = [$(stringify!($section)),*].len().div_ceil(4);

            fn declare(declarations: &mut $crate::gpu::wgsl::Declarations) {
                let mut section = 0;
                $({
                    declarations.section::<$ty>($words, $offsets, section, stringify!($accessor));
                    section += 1;
                })*
                debug_assert!(section <= 4 * Self::OFFSETS);
            }
        }

        impl $crate::gpu::wgsl::WordTable for $Name {
            fn sections(&self) -> Vec<&[u32]> {
                vec![$(bytemuck::cast_slice(&self.$section)),*]
            }
        }
    };
}

pub(crate) use {shared_constants, shared_slots, shared_struct, word_table};

#[cfg(test)]
mod tests {
    use super::*;

    shared_struct! {
        struct Item as "TestItem" {
            arm: [f32; 3],
            node: u32,
        }
    }

    word_table! {
        struct Words in "words" at "data.offsets" {
            starts: u32 => start_of,
            items: Item => item_of,
            inverses: [f32; 9] => inverse_of,
        }
    }

    #[test]
    fn a_table_is_packed_section_by_section_and_read_where_it_stands() {
        let item = Item { arm: [0.5, 2.0, -1.0], node: 7 };
        let words = Words { starts: vec![3, 4, 5], items: vec![item; 2], inverses: vec![[1.0; 9]] };
        let (packed, offsets) = words.pack::<{ Words::OFFSETS }>();
        assert_eq!(offsets, [[0, 3, 11, 0]]);
        assert_eq!(packed[..3], [3, 4, 5]);
        assert_eq!(packed[7..11], [0.5f32.to_bits(), 2f32.to_bits(), (-1f32).to_bits(), 7]);
        let mut declarations = Declarations::default();
        declarations.record::<Item>();
        Words::declare(&mut declarations);
        let text = declarations.text;
        assert!(text.contains("struct TestItem {\n    arm: vec3f,\n    node: u32,\n}"), "{text}");
        assert!(text.contains("let w = data.offsets[0].y + 4u * k;"), "{text}");
        let arm = "vec3f(bitcast<f32>(words[w]), bitcast<f32>(words[w + 1u]), bitcast<f32>(words[w + 2u]))";
        assert!(text.contains(&format!("return TestItem({arm}, words[w + 3u]);")), "{text}");
        assert!(text.contains("let w = data.offsets[0].z + 9u * k;"), "{text}");
    }

    shared_slots! {
        fn declare_slots, "S_", total SLOTS:
        FIRST: 2;
        SECOND: 1;
    }

    #[test]
    fn slots_stand_one_behind_the_other() {
        let mut declarations = Declarations::default();
        declare_slots(&mut declarations);
        assert_eq!(declarations.text, "const S_FIRST: u32 = 0u;\nconst S_SECOND: u32 = 2u;\nconst S_SLOTS: u32 = 3u;\n");
    }
}
