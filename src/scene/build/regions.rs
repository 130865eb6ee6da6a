//! Which tets of a body are made of which material.

use super::{Builder, place};
use crate::math::Aabb;
use crate::mesh::TetMesh;
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
        let mut tets = solid.tets.clone();
        place(&mut tets.positions, placement);
        let of_region = |MaterialRegion { material, tets: choice }: &MaterialRegion| {
            let chosen = match choice {
                TetChoice::Place(region) => self.tets_in(body, region, &tets)?,
                TetChoice::Tag { tag, origin, key } => match solid.tags.find(tag) {
                    Some(number) => (0..).zip(&solid.tags.of_tets).filter(|(_, tag)| **tag == number).map(|(tet, _)| tet).collect(),
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
            Ok((material.clone(), chosen))
        };
        regions.iter().map(of_region).collect()
    }

    fn tets_in(&self, body: &BodyContent, region: &Region, tets: &TetMesh) -> Result<Vec<u32>, SceneError> {
        let chosen = region.select_tets(tets);
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let Aabb { min, max } = Aabb::of(&centers(tets));
        let [min, max] = [min, max].map(|p| format!("[{:.4}, {:.4}, {:.4}]", p.x, p.y, p.z));
        let message = format!(
            "no element of \"{}\" is inside; the centres of its {} elements reach from {min} to {max} in the world",
            body.copy_name(0),
            tets.tets.len()
        );
        Err(self.error(region.origin, &region.key, message))
    }
}
