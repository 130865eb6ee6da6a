//! Which tets of a body are made of which material.

use super::{Builder, place};
use crate::element::ElementKind;
use crate::math::Aabb;
use crate::mesh::{TetMesh, quadratic};
use crate::model::NamedMaterial;
use crate::scene::SceneError;
use crate::scene::geometry::Solid;
use crate::scene::nodes::Transform;
use crate::scene::read::{BodyContent, Role};
use crate::scene::regions::{MaterialRegion, Region, TetChoice, centers};

impl Builder<'_> {
    /// The regions of a body and the tets of each; `placement`: of its first copy.
    pub(super) fn regions(
        &self,
        body: &BodyContent,
        placement: &Transform,
        solid: &Solid,
    ) -> Result<Vec<(NamedMaterial, Vec<u32>)>, SceneError> {
        let Role::Deformable { regions, .. } = &body.role else { return Ok(vec![]) };
        if regions.is_empty() {
            return Ok(vec![]);
        }
        // Tets of an element of ten nodes go together.
        let parts = if solid.element == ElementKind::Quadratic { quadratic::PARTS } else { 1 };
        let mut tets = solid.tets.clone();
        place(&mut tets.positions, placement);
        let of_region = |MaterialRegion { material, tets: choice }: &MaterialRegion| {
            let chosen: Vec<u32> = match choice {
                TetChoice::Place(region) => self.elements_in(body, region, (&tets, parts))?,
                TetChoice::Tag { tag, origin, key } => match solid.tags.find(tag) {
                    Some(number) => (0..).zip(&solid.tags.of_tets).filter(|(_, tag)| **tag == number).map(|(element, _)| element).collect(),
                    None => {
                        let message = match solid.tags.describe() {
                            tags if tags.is_empty() => {
                                "the mesh of this body has no tags; choose the tets by min and max, a side or spheres".to_owned()
                            }
                            tags => format!("no tet has the tag \"{tag}\"; the tags of the mesh are {}", tags.join(", ")),
                        };
                        return Err(self.error(*origin, key, message));
                    }
                },
            };
            let of_element = |element: u32| parts as u32 * element..parts as u32 * (element + 1);
            Ok((material.clone(), chosen.into_iter().flat_map(of_element).collect()))
        };
        regions.iter().map(of_region).collect()
    }

    fn elements_in(&self, body: &BodyContent, region: &Region, (tets, parts): (&TetMesh, usize)) -> Result<Vec<u32>, SceneError> {
        let chosen = region.select_elements(tets, parts);
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let Aabb { min, max } = Aabb::of(&centers(tets, parts));
        let [min, max] = [min, max].map(|p| format!("[{:.4}, {:.4}, {:.4}]", p.x, p.y, p.z));
        let message = format!(
            "no element of \"{}\" is inside; the centres of its {} elements reach from {min} to {max} in the world",
            body.copy_name(0),
            tets.tets.len() / parts
        );
        Err(self.error(region.origin, &region.key, message))
    }
}
