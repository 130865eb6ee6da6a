//! Which tets of a body are made of which material.

use std::collections::BTreeMap;

use super::{Builder, place};
use crate::math::Aabb;
use crate::mesh::TetMesh;
use crate::model::{NamedMaterial, element_centers};
use crate::scene::SceneError;
use crate::scene::geometry::Solid;
use crate::scene::nodes::Transform;
use crate::scene::read::{BodyContent, Role};
use crate::scene::regions::{MaterialRegion, Region, TetChoice};

impl Builder<'_> {
    /// The regions of a body and the tets of each; `placement`: of its first copy.
    pub(super) fn regions(
        &self,
        body: &BodyContent,
        placement: &Transform,
        solid: &Solid,
    ) -> Result<Vec<(NamedMaterial, Vec<u32>)>, SceneError> {
        let Role::Deformable { material, regions, .. } = &body.role else { return Ok(vec![]) };
        if regions.is_empty() {
            return Ok(vec![]);
        }
        let parts = solid.element.parts();
        let mut tets = solid.tets.clone();
        place(&mut tets.positions, placement);
        let chosen = |MaterialRegion { tets: choice, .. }: &MaterialRegion| match choice {
            TetChoice::Place(region) => self.elements_in(body, region, (&tets, parts)),
            TetChoice::Tag { tag, origin, key } => match solid.tags.find(tag) {
                Some(number) => Ok((0..).zip(&solid.tags.of_tets).filter(|(_, tag)| **tag == number).map(|(element, _)| element).collect()),
                None => {
                    let message = match solid.tags.describe() {
                        tags if tags.is_empty() => {
                            "the mesh of this body has no tags; choose the tets by min and max, a side or spheres".to_owned()
                        }
                        tags => format!("no tet has the tag \"{tag}\"; the tags of the mesh are {}", tags.join(", ")),
                    };
                    Err(self.error(*origin, key, message))
                }
            },
        };
        let of_element = |element: u32| parts as u32 * element..parts as u32 * (element + 1);
        let mut paint = Paint::new(tets.tets.len() / parts);
        let mut made_of: Vec<(NamedMaterial, Vec<u32>)> = vec![];
        for (place, region) in regions.iter().enumerate() {
            let elements = chosen(region)?;
            let mut add = |material: &NamedMaterial, elements: &[u32]| {
                made_of.push((material.clone(), elements.iter().copied().flat_map(of_element).collect()));
            };
            match &region.material {
                Some(material) => {
                    add(material, &elements);
                    paint.put(&elements, if region.tets.stroke().is_some() { None } else { Some(place) });
                }
                None => {
                    let erased = paint.erase(&elements);
                    if erased.is_empty() {
                        return Err(self.nothing_painted(body, region));
                    }
                    for (below, elements) in erased {
                        add(below.and_then(|place| regions[place].material.as_ref()).unwrap_or(material), &elements);
                    }
                }
            }
        }
        Ok(made_of)
    }

    fn nothing_painted(&self, body: &BodyContent, region: &MaterialRegion) -> SceneError {
        let (origin, key) = match &region.tets {
            TetChoice::Place(Region { origin, key, .. }) | TetChoice::Tag { origin, key, .. } => (*origin, key),
        };
        let message = format!(
            "no sphere before it has painted an element of \"{}\" that is inside; give a material to paint it, or leave it out",
            body.copy_name(0)
        );
        self.error(origin, key, message)
    }

    fn elements_in(&self, body: &BodyContent, region: &Region, (tets, parts): (&TetMesh, usize)) -> Result<Vec<u32>, SceneError> {
        let chosen = region.select_elements(tets, parts);
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let Aabb { min, max } = Aabb::of(&element_centers(&tets.positions, &tets.tets, parts));
        let [min, max] = [min, max].map(|p| format!("[{:.4}, {:.4}, {:.4}]", p.x, p.y, p.z));
        let message = format!(
            "no element of \"{}\" is inside; the centres of its {} elements reach from {min} to {max} in the world",
            body.copy_name(0),
            tets.tets.len() / parts
        );
        Err(self.error(region.origin, &region.key, message))
    }
}

/// What the elements of a body are painted with, and what is below that.
struct Paint {
    is_painted: Vec<bool>,
    /// The region that an element is of without its paint; none of the material of the body.
    below: Vec<Option<usize>>,
}

impl Paint {
    fn new(n_elements: usize) -> Self {
        Self { is_painted: vec![false; n_elements], below: vec![None; n_elements] }
    }

    /// Paints elements, or makes them those of a `region`.
    fn put(&mut self, elements: &[u32], region: Option<usize>) {
        for element in elements {
            match region {
                Some(_) => self.below[*element as usize] = region,
                None => self.is_painted[*element as usize] = true,
            }
        }
    }

    /// Takes the paint off elements: those that had some, by the region below it.
    fn erase(&mut self, elements: &[u32]) -> BTreeMap<Option<usize>, Vec<u32>> {
        let mut erased: BTreeMap<Option<usize>, Vec<u32>> = BTreeMap::new();
        for element in elements {
            if std::mem::replace(&mut self.is_painted[*element as usize], false) {
                erased.entry(self.below[*element as usize]).or_default().push(*element);
            }
        }
        erased
    }
}
