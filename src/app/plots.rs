//! What is plotted of a run: charts over time, made of the numbers of its steps.

mod export;
mod judged;
mod thin;

use std::sync::Arc;

pub use export::{csv, picture};
pub use thin::{Column, columns, span};

use crate::model::Model;
use crate::sim::past::Figures;

/// The numbers of the steps of a run, oldest first.
pub type Rows = [Arc<Figures>];

/// A chart that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chart {
    Energy,
    Probes,
    Pairs,
    Grab,
    Contacts,
    Iterations,
    Residual,
    Stages,
    RealTime,
}

/// A curve of a chart.
pub struct Curve<'a> {
    pub name: String,
    value: Box<dyn Fn(&Figures) -> Option<f64> + 'a>,
}

/// The part of a displacement that is plotted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Component {
    X,
    #[default]
    Y,
    Z,
    Length,
}

/// Names of what rows number.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    pub model: &'a Model,
    pub probes: &'a [String],
    pub component: Component,
}

/// So many pairs of bodies have a curve: those with the largest forces.
const MOST_PAIRS: usize = 6;

impl Chart {
    pub const ALL: [Self; 9] = [
        Self::Energy,
        Self::Probes,
        Self::Pairs,
        Self::Grab,
        Self::Contacts,
        Self::Iterations,
        Self::Residual,
        Self::Stages,
        Self::RealTime,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Energy => "Energy",
            Self::Probes => "Probes",
            Self::Pairs => "Forces of pairs",
            Self::Grab => "Grab force",
            Self::Contacts => "Contacts",
            Self::Iterations => "Iterations",
            Self::Residual => "Residual",
            Self::Stages => "Time of a step",
            Self::RealTime => "Real-time factor",
        }
    }

    /// What it shows, as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Energy => {
                "Energy of motion, of deformation and of height (counted from the start), and their sum, which falls where friction and \
                 damping take it and never grows by itself."
            }
            Self::Probes => "How far the named points of the scene have moved from where they are at rest.",
            Self::Pairs => "The push between two bodies, all their contacts together; the six pairs with the largest ones.",
            Self::Grab => "The force with which the mouse, or a recorded hand, pulls.",
            Self::Contacts => "How many contacts carry a force.",
            Self::Iterations => "How much the solver had to do in a step: many iterations are a hard step.",
            Self::Residual => "What a step leaves unsolved, as a part of what drives it; the scale is logarithmic.",
            Self::Stages => "Wall time of a step, the parts of the computation on top of one another.",
            Self::RealTime => "Simulated over wall time of a step: 1 is real time, less is slow motion.",
        }
    }

    /// Unit in SI, or of thousandths of a second; empty of a mere number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Energy => "J",
            Self::Probes => "m",
            Self::Pairs | Self::Grab => "N",
            Self::Stages => "ms",
            Self::Contacts | Self::Iterations | Self::Residual | Self::RealTime => "",
        }
    }

    /// Whether curves lie on top of one another, as parts of a sum.
    pub fn is_stacked(self) -> bool {
        self == Self::Stages
    }

    /// Whether the height is the logarithm of the value.
    pub fn is_logarithmic(self) -> bool {
        self == Self::Residual
    }

    /// Whether the height is counted from 0.
    pub fn begins_at_zero(self) -> bool {
        !matches!(self, Self::Energy | Self::Probes | Self::Residual)
    }

    /// Its curves over these rows.
    pub fn curves<'a>(self, rows: &'a Rows, names: &Names<'a>) -> Vec<Curve<'a>> {
        let one = |name: &str, value: fn(&Figures) -> Option<f64>| vec![Curve { name: name.into(), value: Box::new(value) }];
        match self {
            Self::Energy => energies(rows),
            Self::Probes => {
                let component = names.component;
                let curve = |(k, name): (usize, &String)| Curve {
                    name: name.clone(),
                    value: Box::new(move |row| row.probes.get(k).map(|u| component.of(u))),
                };
                names.probes.iter().enumerate().map(curve).collect()
            }
            Self::Pairs => pairs(rows, names.model),
            Self::Grab => one("force", |row| Some(row.grab_force)),
            Self::Contacts => one("contacts", |row| Some(f64::from(row.contacts))),
            Self::Iterations => one("iterations", |row| Some(f64::from(row.iterations))),
            Self::Residual => one("residual", |row| (row.residual > 0.0).then_some(row.residual)),
            Self::Stages => stages(rows),
            Self::RealTime => one("factor", |row| (row.ms > 0.0).then(|| 1e3 * row.duration / row.ms)),
        }
    }
}

impl Curve<'_> {
    /// None where it was not measured.
    pub fn value(&self, row: &Figures) -> Option<f64> {
        (self.value)(row).filter(|value| value.is_finite())
    }
}

impl Component {
    pub const ALL: [(Self, &'static str); 4] = [(Self::X, "x"), (Self::Y, "y"), (Self::Z, "z"), (Self::Length, "length")];

    fn of(self, vector: &crate::math::Vec3) -> f64 {
        match self {
            Self::X => vector.x,
            Self::Y => vector.y,
            Self::Z => vector.z,
            Self::Length => vector.norm(),
        }
    }
}

fn energies(rows: &Rows) -> Vec<Curve<'_>> {
    let height = rows.iter().find_map(|row| row.energy).map_or(0.0, |energy| energy.gravitational);
    let curve = |name: &str, of: fn(&crate::sim::report::Energy) -> f64, less: f64| Curve {
        name: name.into(),
        value: Box::new(move |row| row.energy.as_ref().map(|energy| of(energy) - less)),
    };
    vec![
        curve("motion", |energy| energy.kinetic, 0.0),
        curve("deformation", |energy| energy.elastic, 0.0),
        curve("height", |energy| energy.gravitational, height),
        curve("sum", |energy| energy.total, height),
    ]
}

fn pairs<'a>(rows: &Rows, model: &Model) -> Vec<Curve<'a>> {
    let mut largest: Vec<([crate::body::BodyRef; 2], f64)> = vec![];
    for pair in rows.iter().flat_map(|row| &row.pairs) {
        match largest.binary_search_by_key(&pair.bodies, |(bodies, _)| *bodies) {
            Ok(place) => largest[place].1 = largest[place].1.max(pair.normal),
            Err(place) => largest.insert(place, (pair.bodies, pair.normal)),
        }
    }
    largest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let curve = |bodies: [crate::body::BodyRef; 2]| Curve {
        name: bodies.map(|body| model.body_name(body)).join(" – "),
        value: Box::new(move |row: &Figures| {
            let pair = row.pairs.iter().find(|pair| pair.bodies == bodies);
            Some(pair.map_or(0.0, |pair| pair.normal))
        }),
    };
    largest.into_iter().take(MOST_PAIRS).map(|(bodies, _)| curve(bodies)).collect()
}

/// The sum of each stage and those before it.
fn stages<'a>(rows: &Rows) -> Vec<Curve<'a>> {
    let mut names: Vec<&'static str> = vec![];
    for (name, _) in rows.iter().flat_map(|row| &row.stages) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let curve = |last: usize| {
        let below = names[..=last].to_vec();
        let sum = move |row: &Figures| row.stages.iter().filter(|(name, _)| below.contains(name)).map(|(_, ms)| f64::from(*ms)).sum();
        Curve { name: names[last].replace('_', " "), value: Box::new(move |row| Some(sum(row))) }
    };
    (0..names.len()).map(curve).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::body::BodyRef;
    use crate::math::Vec3;
    use crate::model::ModelBuilder;
    use crate::sim::past::PairFigures;
    use crate::sim::report::Energy;

    /// A run of `n` steps of 10 ms, each of which takes 20 ms.
    pub fn rows(n: u64) -> Vec<Arc<Figures>> {
        let pair =
            |first: u32, normal: f64| PairFigures { bodies: [BodyRef::Rigid(first), BodyRef::Obstacle(0)], normal, friction: 0.3 * normal };
        let row = |k: u64| {
            let (t, energy) =
                (0.01 * k as f64, Energy { kinetic: 4.0, elastic: 1.0, gravitational: -2.0, total: 3.0, ..Energy::default() });
            Figures {
                step: k,
                time: t,
                duration: 0.01,
                ms: 20.0,
                energy: (k % 2 == 0).then_some(energy),
                probes: [Vec3::new(3.0, -4.0, 0.0) * t].into(),
                stages: [("assemble", 5.0), ("contact", 15.0)].into(),
                pairs: if k > n / 2 { [pair(0, 1.0), pair(1, 7.0)].into() } else { [].into() },
                residual: 1e-4,
                converged: true,
                ..Figures::default()
            }
        };
        (1..=n).map(|k| Arc::new(row(k))).collect()
    }

    pub fn model() -> Model {
        let mut builder = ModelBuilder::default();
        for name in ["left", "right"] {
            let shape = crate::mesh::shapes::surface_box(Vec3::repeat(1.0));
            builder.rigid_body(crate::model::RigidBody {
                name: name.into(),
                mobility: crate::model::Mobility::Driven(None),
                vertices: shape.positions,
                triangles: shape.triangles,
                texture_coordinates: None,
                pose: crate::math::Isometry::identity(),
                velocity: Vec3::zeros(),
                angular_velocity: Vec3::zeros(),
                color: None,
            });
        }
        let shape = crate::geometry::Shape::Plane;
        let pose = crate::math::Isometry::identity();
        builder.obstacle(crate::model::Obstacle { name: "floor".into(), shape, pose, motion: None, friction: vec![], color: None });
        builder.build().unwrap()
    }

    pub const PROBES: [&str; 1] = ["tip"];

    #[test]
    fn each_chart_has_its_curves() {
        let (rows, model, probes) = (rows(10), model(), PROBES.map(String::from));
        let names = Names { model: &model, probes: &probes, component: Component::Length };
        let curves = |chart: Chart| -> Vec<(String, Option<f64>)> {
            chart.curves(&rows, &names).iter().map(|curve| (curve.name.clone(), curve.value(&rows[9]))).collect()
        };
        let named = |name: &str, value: f64| (name.to_owned(), Some(value));
        // Height is counted from the start, as is the sum.
        assert_eq!(curves(Chart::Energy), [named("motion", 4.0), named("deformation", 1.0), named("height", 0.0), named("sum", 5.0)]);
        let [(tip, length)] = &curves(Chart::Probes)[..] else { panic!("one probe") };
        assert!(tip == "tip" && (length.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(curves(Chart::Pairs), [named("right – floor", 7.0), named("left – floor", 1.0)]);
        // Stages lie on top of one another.
        assert_eq!(curves(Chart::Stages), [named("assemble", 5.0), named("contact", 20.0)]);
        assert_eq!(curves(Chart::RealTime), [named("factor", 0.5)]);
        let energy = Chart::Energy.curves(&rows, &names);
        assert_eq!(energy[0].value(&rows[8]), None, "not measured in each step");
        let pairs = Chart::Pairs.curves(&rows, &names);
        assert_eq!(pairs[0].value(&rows[0]), Some(0.0), "no force is a force of 0");
    }
}
