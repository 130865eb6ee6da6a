//! The JSON of a glTF file.

use nalgebra::{Matrix4, Quaternion, UnitQuaternion, Vector3};
use serde::Deserialize;

use crate::math::Vec3;

/// The parts of a glTF document that are read.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Document {
    pub scene: Option<usize>,
    pub scenes: Vec<SceneEntry>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<MeshEntry>,
    pub materials: Vec<MaterialEntry>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<BufferView>,
    pub buffers: Vec<Buffer>,
    pub extensions_required: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct SceneEntry {
    pub nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Node {
    pub name: Option<String>,
    pub children: Vec<usize>,
    pub mesh: Option<usize>,
    pub skin: Option<usize>,
    pub matrix: Option<[f64; 16]>,
    pub translation: Option<[f64; 3]>,
    /// A quaternion x, y, z, w.
    pub rotation: Option<[f64; 4]>,
    pub scale: Option<[f64; 3]>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct MeshEntry {
    pub name: Option<String>,
    pub primitives: Vec<Primitive>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Primitive {
    pub attributes: Attributes,
    pub indices: Option<usize>,
    pub mode: Option<u32>,
    pub material: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct MaterialEntry {
    pub name: Option<String>,
    pub pbr_metallic_roughness: Option<Surface>,
}

/// How a surface looks.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Surface {
    /// Linear red, green, blue, and how opaque it is.
    pub base_color_factor: Option<[f32; 4]>,
    pub base_color_texture: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "UPPERCASE")]
pub struct Attributes {
    pub position: Option<usize>,
    pub normal: Option<usize>,
    #[serde(rename = "TEXCOORD_0")]
    pub texture: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Accessor {
    pub buffer_view: Option<usize>,
    pub byte_offset: usize,
    pub component_type: u32,
    pub normalized: bool,
    pub count: usize,
    #[serde(rename = "type")]
    pub kind: String,
    pub sparse: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct BufferView {
    pub buffer: usize,
    pub byte_offset: usize,
    pub byte_length: usize,
    pub byte_stride: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Buffer {
    pub uri: Option<String>,
    pub byte_length: Option<usize>,
}

impl Document {
    /// What the material of a part is called.
    pub fn material_name(&self, primitive: &Primitive) -> Option<&str> {
        self.materials.get(primitive.material?)?.name.as_deref().filter(|name| !name.is_empty())
    }

    /// The colour of a part, linear RGB; none where it has no material, or a picture for one, or is white like all that
    /// says nothing.
    pub fn color(&self, primitive: &Primitive) -> Option<[f32; 3]> {
        let surface = self.materials.get(primitive.material?)?.pbr_metallic_roughness.as_ref()?;
        let [r, g, b, _] = surface.base_color_factor.filter(|_| surface.base_color_texture.is_none())?;
        let is_color = [r, g, b].iter().all(|c| (0.0..=1.0).contains(c));
        Some([r, g, b]).filter(|color| is_color && *color != [1.0; 3])
    }
}

impl Node {
    /// The transform from the node's frame to its parent's.
    pub fn transform(&self) -> Matrix4<f64> {
        if let Some(columns) = &self.matrix {
            return Matrix4::from_column_slice(columns);
        }
        let [x, y, z, w] = self.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let rotation = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).to_homogeneous();
        let scale = Matrix4::new_nonuniform_scaling(&Vector3::from(self.scale.unwrap_or([1.0; 3])));
        Matrix4::new_translation(&Vec3::from(self.translation.unwrap_or([0.0; 3]))) * rotation * scale
    }
}
