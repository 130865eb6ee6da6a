//! Colours that stand for the values of a field: their table, and the range that it spans.

use crate::render::{Rgb, palette};
use crate::sim::{Field, FieldValues};

/// Part of the values that lies within the range: single points beyond it do not flatten all others.
const COVERED: f64 = 0.99;
/// Part by which the range shrinks towards smaller values with each picture; it grows at once.
const SHRINK: f64 = 0.04;

/// Which values have which colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coloring {
    pub field: Field,
    /// The values at the two ends of the table, in the field's unit.
    pub range: [f64; 2],
}

impl Coloring {
    /// The range follows the values, unless it is `held` or `given`; that of another field begins anew.
    pub fn following(before: Option<Self>, values: &FieldValues, held: bool, given: Option<[f64; 2]>) -> Self {
        let field = values.field;
        if let Some(range) = given.or(field.range()) {
            return Self { field, range };
        }
        let reach = reach(values);
        let before = before.filter(|before| before.field == field).map(|before| before.half_width());
        let reach = match before {
            Some(before) if held => before,
            Some(before) if reach < before => before + SHRINK * (reach - before),
            _ => reach,
        };
        let range = field.middle().map_or([0.0, reach], |middle| [middle - reach, middle + reach]);
        Self { field, range }
    }

    /// How far the range reaches from where it begins, or from its middle.
    fn half_width(&self) -> f64 {
        (self.range[1] - self.field.middle().unwrap_or(0.0)).max(0.0)
    }

    /// Places of values in the table.
    pub fn places(&self, values: &[f32]) -> Vec<u8> {
        if self.field.is_category() {
            return values.iter().map(|value| *value as u8).collect();
        }
        let [low, high] = self.range;
        let scale = 255.0 / (high - low).max(f64::MIN_POSITIVE);
        // What is not a number is at 0.
        values.iter().map(|value| ((f64::from(*value) - low) * scale).round().clamp(0.0, 255.0) as u8).collect()
    }

    /// Even steps of lightness [viridis, van der Walt and Smith 2015]; to two sides from red over white to blue
    /// [ColorBrewer], pushes being blue. Numbers of things have colours that differ.
    pub fn table(&self) -> [Rgb; 256] {
        if self.field.is_category() {
            return std::array::from_fn(palette);
        }
        let two_sided = self.field.middle().is_some();
        std::array::from_fn(|place| {
            let t = place as f64 / 255.0;
            let color = if two_sided { colorous::RED_BLUE.eval_continuous(1.0 - t) } else { colorous::VIRIDIS.eval_continuous(t) };
            Rgb([color.r, color.g, color.b].map(|c| f32::from(c) / 255.0))
        })
    }
}

/// How far values reach from zero, or from the middle of their field; all but a few.
fn reach(values: &FieldValues) -> f64 {
    let middle = values.field.middle().unwrap_or(0.0);
    let mut distances: Vec<f64> =
        values.vertices.iter().map(|value| (f64::from(*value) - middle).abs()).filter(|distance| distance.is_finite()).collect();
    if distances.is_empty() {
        return 0.0;
    }
    let last = ((distances.len() - 1) as f64 * COVERED) as usize;
    *distances.select_nth_unstable_by(last, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(field: Field, vertices: Vec<f32>) -> FieldValues {
        FieldValues { field, vertices, tets: vec![], nodes: vec![] }
    }

    #[test]
    fn the_range_grows_at_once_and_shrinks_slowly() {
        let small = values(Field::VonMises, vec![0.0, 50.0, 100.0]);
        let large = values(Field::VonMises, vec![0.0, 2000.0, 2000.0]);
        let first = Coloring::following(None, &small, false, None);
        assert_eq!(first.range, [0.0, 50.0]);
        let grown = Coloring::following(Some(first), &large, false, None);
        assert_eq!(grown.range, [0.0, 2000.0]);
        let shrunk = Coloring::following(Some(grown), &small, false, None).range[1];
        assert!((1900.0..2000.0).contains(&shrunk), "{shrunk}");
        assert_eq!(Coloring::following(Some(first), &large, true, None), first, "held");
        let other = Coloring::following(Some(grown), &values(Field::Speed, vec![1.0; 9]), true, None);
        assert_eq!(other.range, [0.0, 1.0], "another field begins anew");
        let given = Coloring::following(Some(grown), &small, false, Some([-3.0, 70.0]));
        assert_eq!(given.range, [-3.0, 70.0]);
        assert_eq!(given.places(&[-3.0, 33.5, 70.0]), [0, 128, 255]);
        // The quality of elements has a range of its own, and materials have none.
        assert_eq!(Coloring::following(None, &values(Field::Quality, vec![0.3; 9]), false, None).range, [0.0, 1.0]);
        let materials = Coloring::following(None, &values(Field::Material, vec![0.0, 1.0, 2.0]), false, None);
        assert_eq!(materials.places(&[0.0, 1.0, 2.0]), [0, 1, 2]);
        assert!(materials.table()[0] != materials.table()[1]);
    }

    #[test]
    fn single_points_do_not_flatten_the_others() {
        let mut vertices = vec![1.0; 1000];
        vertices[3] = 1e9;
        vertices[4] = f32::NAN;
        assert_eq!(Coloring::following(None, &values(Field::Strain, vertices), false, None).range, [0.0, 1.0]);
        assert_eq!(Coloring::following(None, &values(Field::Strain, vec![]), false, None).range, [0.0, 0.0]);
    }

    #[test]
    fn values_have_their_places() {
        let coloring = Coloring::following(None, &values(Field::VolumeRatio, vec![0.5; 10]), false, None);
        assert_eq!(coloring.range, [0.5, 1.5]);
        assert_eq!(coloring.places(&[0.5, 1.0, 1.5, 9.0, -9.0, f32::NAN]), [0, 128, 255, 255, 0, 0]);
        // Pushed together is blue, drawn apart red.
        let table = coloring.table();
        assert!(table[0].0[2] > table[0].0[0] && table[255].0[0] > table[255].0[2]);
        // A field without values has a place for them, too.
        let none = Coloring::following(None, &values(Field::Speed, vec![0.0; 3]), false, None);
        assert_eq!(none.places(&[0.0]), [0]);
    }
}
