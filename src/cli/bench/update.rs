//! `pliant bench rotation` and `pliant bench update`: from a state to the matrix.

use std::time::Instant;

use super::matrices::{Beam, IndexedUpdate, Update};
use super::measure::{Bandwidth, repeat};
use super::{BenchArgs, Failure, Milliseconds, Record, print_head};
use crate::lab::sparse::{Bcsr, Chooser, Csr, Storage};

#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    Rotation,
    Update,
}

const REPETITIONS: usize = 15;

pub fn bench(args: &BenchArgs, work: Work) -> Result<Vec<Record>, Failure> {
    let pool = args.machine.pool()?;
    let limit = pool.install(Bandwidth::measure).limit();
    let mut records = vec![];
    print_head();
    for cells in args.matrices().meshes() {
        let beam = Beam::new(*cells)?;
        let found = pool.install(|| measured(&beam, work, limit));
        found.iter().for_each(Record::print);
        for record in &found {
            say!("{:30} {} is {:.1} ns a tet{}", "", record.solver, record.ms.min * 1e6 / beam.model.tets.len() as f64, note(record));
        }
        records.extend(found);
    }
    Ok(records)
}

fn note(record: &Record) -> String {
    record.note.as_ref().map_or(String::new(), |note| format!(", {note}"))
}

fn measured(beam: &Beam, work: Work, limit: f64) -> Vec<Record> {
    let mut update = Update::new(beam);
    let (mut rotation, mut gather) = (vec![], vec![]);
    // Two states in turn: each pass follows the rotations of the other.
    for k in 0..REPETITIONS + 2 {
        let start = Instant::now();
        update.rotations(k);
        let middle = Instant::now();
        if work == Work::Update {
            update.matrix(k);
        }
        if k >= 2 {
            rotation.push((middle - start).as_secs_f64() * 1e3);
            gather.push(middle.elapsed().as_secs_f64() * 1e3);
        }
    }
    let whole: Vec<f64> = rotation.iter().zip(&gather).map(|(a, b)| a + b).collect();
    let record = |solver: &'static str, ms: Vec<f64>| Record {
        bench: if work == Work::Rotation { "rotation" } else { "update" },
        case: beam.name.clone(),
        solver,
        backend: "cpu",
        precision: "f64",
        threads: rayon::current_num_threads(),
        size: beam.size(),
        ms: Milliseconds::of(ms),
        ..Record::default()
    };
    let element_pass = record("element pass", rotation);
    if work == Work::Rotation {
        return vec![element_pass];
    }
    let csr = Csr::from_blocks(&beam.model.pattern, &update.a.blocks, &beam.model.fixed);
    let storage = Storage::<f64>::new(&csr, Chooser::default().best::<f64>(&csr));
    let x = storage.padded(&vec![1.0; csr.n_columns]);
    let mut y = x.clone();
    let product = Record { ms: repeat(|| storage.multiply(&x, &mut y)), ..record("product", vec![]) }.of_bytes(storage.bytes(), limit);
    let whole = record("element pass, gather", whole);
    let mut indexed = IndexedUpdate::new(beam, &Bcsr::new(&csr));
    let matrices = record("12x12 matrices", vec![]);
    let matrices = Record { ms: repeat(|| indexed.element_matrices(&update)), ..matrices };
    let index_gather = Record { ms: repeat(|| indexed.gather()), ..record("index-block gather", vec![]) }.of_bytes(indexed.bytes(), limit);
    let products = |ms: f64| Some(format!("{:.2} products of the same matrix", ms / product.ms.min));
    let whole = Record { note: products(whole.ms.min), ..whole };
    let thesis = element_pass.ms.min + matrices.ms.min + index_gather.ms.min;
    let index_gather = Record { note: products(thesis).map(|note| format!("with all before it {note}")), ..index_gather };
    vec![element_pass, record("gather", gather), whole, product, matrices, index_gather]
}
