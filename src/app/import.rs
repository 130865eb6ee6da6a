//! A mesh file that became the scene: what it is, and which sizes it may mean.

use crate::mesh::doctor::Report;

/// Units in which files may be written, and their lengths [m].
pub const UNITS: [(&str, f64); 4] = [("mm", 1e-3), ("cm", 1e-2), ("m", 1.0), ("in", 0.0254)];

/// Lengths of what is held in a hand or stands in a room [m].
const USUAL: std::ops::RangeInclusive<f64> = 0.02..=2.0;

/// What the sheet of an import knows about its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The body that was made of it, as the scene calls it.
    pub body: String,
    /// Its name.
    pub file: String,
    /// Sides of its box, in units of the file.
    pub extent: [f64; 3],
    /// Triangles or tets.
    pub n_cells: usize,
    /// It has tets: nothing is filled.
    pub has_tets: bool,
    pub pieces: usize,
    pub is_sound: bool,
    /// A sentence on what can be done with it.
    pub verdict: String,
}

impl Import {
    pub fn new(body: String, file: String, report: &Report) -> Self {
        Self {
            body,
            file,
            extent: report.size,
            n_cells: report.cells,
            has_tets: report.kind == "tets",
            pieces: report.pieces,
            is_sound: report.is_sound,
            verdict: report.verdict.clone(),
        }
    }

    /// The verdict without its reasons.
    pub fn short_verdict(&self) -> &str {
        self.verdict.split(':').next().unwrap_or_default()
    }

    /// Path of a value of its body, as `--set` names it.
    pub fn path(&self, key: &str) -> String {
        format!("body.{}.{key}", self.body)
    }

    /// The longest side in units of the file.
    pub fn longest(&self) -> f64 {
        self.extent.into_iter().fold(0.0, f64::max)
    }

    /// The unit in which the file is written if its longest side is `size` [m]; none if it was fitted to that.
    pub fn unit_of(&self, size: f64) -> Option<&'static str> {
        let fits = |scale: f64| (scale * self.longest() - size).abs() < 1e-6 * size;
        UNITS.iter().find(|(_, scale)| fits(*scale)).map(|(unit, _)| *unit)
    }

    /// The unit in which the body would be of a usual size, and that size [m].
    pub fn likely_unit(&self) -> Option<(&'static str, f64)> {
        let metres_first = [UNITS[2], UNITS[0], UNITS[1]];
        metres_first.into_iter().map(|(unit, scale)| (unit, scale * self.longest())).find(|(_, size)| USUAL.contains(size))
    }
}

/// What an unusual size [m] may be doubted for; nothing for a usual one.
pub fn doubt_of_size(size: f64) -> Option<&'static str> {
    match size {
        _ if size > 20.0 => Some("as large as a building"),
        _ if size < 5e-3 => Some("smaller than a pea"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::doctor::examine;
    use crate::mesh::shapes;

    fn import(longest: f64) -> Import {
        let report = examine(&shapes::surface_box(Vec3::new(0.5, 1.0, 0.2) * longest).into());
        Import::new("part".into(), "part.stl".into(), &report)
    }

    #[test]
    fn units_follow_from_sizes() {
        let import = import(229.0);
        assert!((import.longest() - 229.0).abs() < 1e-9 && import.n_cells == 12 && !import.has_tets && import.is_sound);
        assert_eq!([0.229, 2.29, 229.0, 0.3].map(|size| import.unit_of(size)), [Some("mm"), Some("cm"), Some("m"), None]);
        assert_eq!(import.path("size"), "body.part.size");
    }

    #[test]
    fn a_verdict_is_short_where_its_reasons_are_long() {
        let mut surface = shapes::surface_box(Vec3::repeat(1.0));
        surface.triangles.truncate(7);
        let import = Import::new("part".into(), "part.stl".into(), &examine(&surface.into()));
        assert_eq!((import.is_sound, import.short_verdict()), (false, "broken, and usable all the same"));
        assert!(import.verdict.len() > 100);
    }

    #[test]
    fn the_likely_unit_makes_a_usual_size() {
        let likely = |longest: f64| import(longest).likely_unit().map(|(unit, _)| unit);
        assert_eq!([0.3, 229.0, 15.0, 1e9].map(likely), [Some("m"), Some("mm"), Some("cm"), None]);
        assert_eq!([0.3, 300.0, 1e-3].map(|size| doubt_of_size(size).is_some()), [false, true, true]);
    }
}
