//! `pliant bench cg`: an iteration of Jacobi conjugate gradients.

use std::time::Instant;

use clap::Args;

use super::matrices::NamedMatrix;
use super::measure::Bandwidth;
use super::{BenchArgs, Failure, Milliseconds, Record, device, print_head};
use crate::lab::sparse::{Bcsr, CgWork, Chooser, CpuWorker, Real, Storage, StorageKind, jacobi_cg, segments, solve_on};

#[derive(Args)]
pub struct CgArgs {
    /// Iterations of each repetition of cg [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iterations: Option<u32>,
    /// Devices that share the rows in cg, each with a copy of the direction: threads, or logical devices of one adapter
    /// [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub devices: Option<u32>,
}

const ITERATIONS: u32 = 40;

pub const REPETITIONS: usize = 7;
/// Passes over vectors beside the product: x, p, q, r, 1/A_kk read, x, r written; r, 1/A_kk, p read, p written.
const VECTOR_PASSES: usize = 11;

pub fn bench(args: &BenchArgs) -> Result<Vec<Record>, Failure> {
    let (matrices, count, devices) = (args.matrices(), args.cg.iterations.unwrap_or(ITERATIONS), args.cg.devices.unwrap_or(1));
    if let Some(device) = args.machine.device()? {
        if devices == 1 {
            return device::solves(&device, &matrices, count);
        }
        let more: Result<Vec<_>, _> = (1..devices).map(|_| args.machine.device()).collect();
        let devices: Vec<_> = [device].into_iter().chain(more?.into_iter().flatten()).collect();
        return device::solves_on(&devices, &matrices, count);
    }
    let pool = args.machine.pool()?;
    let limit = pool.install(Bandwidth::measure).limit();
    let mut chooser = Chooser::default();
    let mut records = vec![];
    print_head();
    matrices.for_each(|matrix| {
        matrix.check_solvable()?;
        let (f64s, f32s) = if devices > 1 {
            (on_devices::<f64>(matrix, count, devices)?, on_devices::<f32>(matrix, count, devices)?)
        } else {
            pool.install(|| (on_one::<f64>(matrix, count, &mut chooser), on_one::<f32>(matrix, count, &mut chooser)))
        };
        for (record, bytes) in [f64s, f32s] {
            let record = record.of_bytes(bytes, limit);
            record.print();
            records.push(record);
        }
        Ok(())
    })?;
    say!(
        "times of one iteration, the start counted as one; limit: {limit:.1} GB/s, the better of copy and triad in this run; bytes: the matrix once and 13 vectors"
    );
    Ok(records)
}

/// Time of one iteration and the iterations done of each repetition.
pub fn iterations<T: Real>(storage: &Storage<T>, matrix: &NamedMatrix, count: u32) -> Milliseconds {
    let csr = &matrix.csr;
    let inverse: Vec<f64> = csr.diagonal().iter().map(|d| 1.0 / d).collect();
    let (d, b) = (storage.padded(&inverse), storage.padded(&vec![1.0; csr.n_rows()]));
    let mut work = CgWork::default();
    let mut run = |iterations: u32| {
        let mut x = vec![T::ZERO; b.len()];
        let start = Instant::now();
        let solved = jacobi_cg(storage, &d, &b, &mut x, 0.0, iterations, &mut work);
        (start.elapsed().as_secs_f64() * 1e3, solved.iterations)
    };
    run(2);
    // The start takes about as long as an iteration.
    let ms = (0..REPETITIONS).map(|_| run(count)).map(|(ms, done)| ms / f64::from(done + 1));
    Milliseconds::of(ms.collect())
}

/// Bytes of an iteration.
fn bytes<T: Real>(storage: &Storage<T>, rows: usize) -> u64 {
    storage.bytes() + (VECTOR_PASSES * rows * size_of::<T>()) as u64
}

fn on_one<T: Real>(matrix: &NamedMatrix, count: u32, chooser: &mut Chooser) -> (Record, u64) {
    let kind = chooser.best::<T>(&matrix.csr);
    let storage = Storage::<T>::new(&matrix.csr, kind);
    let ms = iterations(&storage, matrix, count);
    let record = record::<T>(matrix, count, kind.name(), rayon::current_num_threads(), ms);
    (record, bytes(&storage, matrix.csr.n_rows()))
}

fn record<T: Real>(matrix: &NamedMatrix, count: u32, solver: &'static str, threads: usize, ms: Milliseconds) -> Record {
    Record {
        bench: "cg",
        case: matrix.name.clone(),
        solver,
        backend: "cpu",
        precision: T::NAME,
        threads,
        size: matrix.size.clone(),
        iterations: Some(f64::from(count)),
        ms,
        ..Record::default()
    }
}

/// Each thread a device with its own rows and a copy of the direction.
fn on_devices<T: Real>(matrix: &NamedMatrix, count: u32, devices: u32) -> Result<(Record, u64), Failure> {
    let csr = &matrix.csr;
    let bcsr = Bcsr::<T, 3>::new(csr);
    let padded = |values: Vec<f64>| -> Vec<T> {
        values.into_iter().chain(std::iter::repeat(0.0)).take(3 * bcsr.n_block_rows()).map(T::from_f64).collect()
    };
    let (d, b) = (padded(csr.diagonal().iter().map(|d| 1.0 / d).collect()), padded(vec![1.0; csr.n_rows()]));
    let parts = segments(&bcsr.row_starts, devices as usize);
    let run = |iterations: u32| -> Result<(f64, u32), Failure> {
        let workers: Vec<_> = parts.iter().map(|segment| CpuWorker::new(&bcsr, segment, &d, &b)).collect();
        let start = Instant::now();
        let solved = solve_on(workers, 0.0, iterations).map_err(|error| Failure::Run(error.to_string()))?.1;
        Ok((start.elapsed().as_secs_f64() * 1e3, solved.iterations))
    };
    run(1)?;
    let mut ms = vec![];
    for _ in 0..REPETITIONS {
        let (taken, done) = run(count)?;
        ms.push(taken / f64::from(done + 1));
    }
    let record = record::<T>(matrix, count, StorageKind::Bcsr3.name(), devices as usize, Milliseconds::of(ms));
    let record = Record { note: Some(format!("{} devices, a thread each", devices)), ..record };
    Ok((record, bcsr.bytes() + (VECTOR_PASSES * csr.n_rows() * size_of::<T>()) as u64))
}
