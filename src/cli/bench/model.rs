//! `pliant bench model`: the performance model of the thesis on this machine.

use clap::Args;
use serde::Serialize;

use super::cg::{bytes, iterations};
use super::matrices::{Beam, MatrixArgs};
use super::measure::{gb_per_s, repeat};
use super::{Failure, MachineArgs, Milliseconds, Record};
use crate::sparse::lab::{CgModel, Csr, FitError, Storage, StorageKind, Throughput, advance_all, direction_all};

#[derive(Args)]
pub struct ModelArgs {
    #[command(flatten)]
    matrices: MatrixArgs,
    #[command(flatten)]
    machine: MachineArgs,
}

/// What the model says of one matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    parameters: CgModel,
    /// Mean relative errors of the curves of the product, CG4 and CG5.
    curve_errors: [f64; 3],
    predicted_ms: f64,
    measured_ms: f64,
    relative_error: f64,
}

/// log2 of the lengths of the vectors that the curves are fitted to. The caches of a processor bend a curve, so that only vectors beyond them count (5.1).
const LENGTHS: std::ops::Range<u32> = 22..26;
/// Cells along two sides of the beams, five times as long, whose products are fitted; the matrix of the smallest takes 35 MB.
const CELLS: [u32; 4] = [16, 19, 22, 25];

pub fn bench(args: &ModelArgs) -> Result<(), Failure> {
    args.machine.check()?;
    args.machine.cpu_only("model")?;
    let pool = args.machine.pool()?;
    let (model, curve_errors) = pool.install(fitted)?;
    let mut records = vec![];
    println!("{:24} {:>6} {:>12} {:>12} {:>8}", "case", "what", "predicted ms", "measured ms", "error");
    args.matrices.for_each(|matrix| {
        let kind = StorageKind::Sell8;
        let (ms, bytes, stored) = pool.install(|| {
            let storage = Storage::<f64>::new(&matrix.csr, kind);
            (iterations(&storage, matrix, 20), bytes(&storage, matrix.csr.n_rows()), 9 * storage.n_blocks())
        });
        let predicted = 1e3 * model.iteration(2.0 * matrix.csr.n_rows() as f64, 2.0 * stored as f64);
        let error = predicted / ms.median - 1.0;
        println!("{:24} {:>6} {predicted:>12.4} {:>12.4} {:>7.1}%", matrix.name, kind.name(), ms.median, 100.0 * error);
        records.push(Record {
            bench: "model",
            case: matrix.name.clone(),
            solver: kind.name(),
            backend: "cpu",
            precision: "f64",
            threads: pool.current_num_threads(),
            size: matrix.size.clone(),
            bytes: Some(bytes),
            gb_per_s: Some(gb_per_s(bytes, ms.median)),
            model: Some(Prediction {
                parameters: model,
                curve_errors,
                predicted_ms: predicted,
                measured_ms: ms.median,
                relative_error: error,
            }),
            ms,
            ..Record::default()
        });
        Ok(())
    })?;
    println!("an iteration of Jacobi conjugate gradients; matrices and vectors that stay in a cache are faster than predicted");
    args.machine.write(&records)
}

/// The curves of this machine. The product holds CG2 and CG3 and its own reduction, the pass of CG4 its reductions.
fn fitted() -> Result<(CgModel, [f64; 3]), Failure> {
    let failed = |error: FitError| Failure::Run(format!("the curves cannot be fitted: {error}"));
    let (mut advances, mut directions, mut products) = (vec![], vec![], vec![]);
    for length in LENGTHS {
        let n = 1usize << length;
        let (q, d, mut p, mut x, mut r) = (vec![0.5; n], vec![2.0; n], vec![1.0; n], vec![0.0; n], vec![1.0; n]);
        let mut sums = vec![];
        // Elements of four bytes as the thesis counts them: 9 and 6 a row.
        let sample = |samples: &mut Vec<_>, elements: usize, ms: Milliseconds| {
            let m = (2 * elements * n) as f64;
            samples.push((m, gb_per_s(4 * m as u64, ms.median)));
        };
        sample(
            &mut advances,
            9,
            repeat(|| {
                advance_all(1e-3, Some(&p), &q, &d, &mut x, &mut r, &mut sums);
            }),
        );
        sample(&mut directions, 6, repeat(|| direction_all(0.5, &d, &r, &mut p)));
    }
    for cells in CELLS {
        let beam = Beam::new([cells, cells, 5 * cells])?;
        let csr = Csr::from_blocks(&beam.model.pattern, &beam.matrix().blocks, &beam.model.fixed);
        let storage = Storage::<f64>::new(&csr, StorageKind::Sell8);
        let x = storage.padded(&vec![1.0; csr.n_columns]);
        let (mut y, mut dots) = (x.clone(), vec![]);
        let ms = repeat(|| {
            storage.multiply_and_dot(&x, &mut y, Some(&mut dots));
        });
        let m = (2 * 2 * 9 * storage.n_blocks()) as f64;
        products.push((m, gb_per_s(4 * m as u64, ms.median)));
    }
    // Vectors that all threads take part in and none takes time for.
    let (short, mut p) = (vec![1.0; 2 * 8192], vec![1.0; 2 * 8192]);
    let latency = 1e-3 * repeat(|| direction_all(0.5, &short, &short, &mut p)).min;
    let (product, product_error) = Throughput::saturated(latency, &products).map_err(failed)?;
    let (cg4, cg4_error) = Throughput::saturated(latency, &advances).map_err(failed)?;
    let (cg5, cg5_error) = Throughput::saturated(latency, &directions).map_err(failed)?;
    let free = Throughput::FREE;
    let model = CgModel { product, cg2: free, cg3: free, cg4, cg5, reduction: free, exchange: free, synchronisation: 0.0 };
    for (name, curve, error) in [("product", product, product_error), ("CG4", cg4, cg4_error), ("CG5", cg5, cg5_error)] {
        println!("{name}: mu {:.2}, sigma {:.2}, nu {:.1} GB/s; mean error {:.1} %", curve.mu, curve.sigma, curve.nu, 100.0 * error);
    }
    Ok((model, [product_error, cg4_error, cg5_error]))
}
