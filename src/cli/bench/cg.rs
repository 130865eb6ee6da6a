//! `pliant bench cg`: an iteration of Jacobi conjugate gradients.

use std::time::Instant;

use clap::Args;

use super::matrices::{MatrixArgs, NamedMatrix};
use super::measure::Bandwidth;
use super::{Failure, MachineArgs, Milliseconds, Record, device, print_head};
use crate::sparse::lab::{Bcsr, CgWork, Chooser, CpuWorker, Real, Storage, StorageKind, jacobi_cg, segments, solve_on};

#[derive(Args)]
pub struct CgArgs {
    #[command(flatten)]
    matrices: MatrixArgs,
    /// Iterations of each repetition
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Devices that share the rows, each with a copy of the direction: threads, or logical devices of one adapter
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    devices: u32,
    #[command(flatten)]
    machine: MachineArgs,
}

pub const REPETITIONS: usize = 7;
/// Passes over vectors beside the product: x, p, q, r, 1/A_kk read, x, r written; r, 1/A_kk, p read, p written.
const VECTOR_PASSES: usize = 11;

pub fn bench(args: &CgArgs) -> Result<(), Failure> {
    args.machine.check()?;
    if let Some(device) = args.machine.device()? {
        let records = if args.devices > 1 {
            let more: Result<Vec<_>, _> = (1..args.devices).map(|_| args.machine.device()).collect();
            let devices: Vec<_> = [device].into_iter().chain(more?.into_iter().flatten()).collect();
            device::solves_on(&devices, &args.matrices, args.iterations)?
        } else {
            device::solves(&device, &args.matrices, args.iterations)?
        };
        return args.machine.write(&records);
    }
    let pool = args.machine.pool()?;
    let limit = pool.install(Bandwidth::measure).limit();
    let mut chooser = Chooser::default();
    let mut records = vec![];
    print_head();
    args.matrices.for_each(|matrix| {
        matrix.check_solvable()?;
        let (f64s, f32s) = if args.devices > 1 {
            (on_devices::<f64>(matrix, args)?, on_devices::<f32>(matrix, args)?)
        } else {
            pool.install(|| (on_one::<f64>(matrix, args, &mut chooser), on_one::<f32>(matrix, args, &mut chooser)))
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
    args.machine.write(&records)
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

fn on_one<T: Real>(matrix: &NamedMatrix, args: &CgArgs, chooser: &mut Chooser) -> (Record, u64) {
    let kind = chooser.best::<T>(&matrix.csr);
    let storage = Storage::<T>::new(&matrix.csr, kind);
    let ms = iterations(&storage, matrix, args.iterations);
    let record = record::<T>(matrix, args, kind.name(), rayon::current_num_threads(), ms);
    (record, bytes(&storage, matrix.csr.n_rows()))
}

fn record<T: Real>(matrix: &NamedMatrix, args: &CgArgs, solver: &'static str, threads: usize, ms: Milliseconds) -> Record {
    Record {
        bench: "cg",
        case: matrix.name.clone(),
        solver,
        backend: "cpu",
        precision: T::NAME,
        threads,
        size: matrix.size.clone(),
        iterations: Some(f64::from(args.iterations)),
        ms,
        ..Record::default()
    }
}

/// Each thread a device with its own rows and a copy of the direction.
fn on_devices<T: Real>(matrix: &NamedMatrix, args: &CgArgs) -> Result<(Record, u64), Failure> {
    let csr = &matrix.csr;
    let bcsr = Bcsr::<T, 3>::new(csr);
    let padded = |values: Vec<f64>| -> Vec<T> {
        values.into_iter().chain(std::iter::repeat(0.0)).take(3 * bcsr.n_block_rows()).map(T::from_f64).collect()
    };
    let (d, b) = (padded(csr.diagonal().iter().map(|d| 1.0 / d).collect()), padded(vec![1.0; csr.n_rows()]));
    let parts = segments(&bcsr.row_starts, args.devices as usize);
    let run = |iterations: u32| -> Result<(f64, u32), Failure> {
        let workers: Vec<_> = parts.iter().map(|segment| CpuWorker::new(&bcsr, segment, &d, &b)).collect();
        let start = Instant::now();
        let solved = solve_on(workers, 0.0, iterations).map_err(|error| Failure::Run(error.to_string()))?.1;
        Ok((start.elapsed().as_secs_f64() * 1e3, solved.iterations))
    };
    run(1)?;
    let mut ms = vec![];
    for _ in 0..REPETITIONS {
        let (taken, done) = run(args.iterations)?;
        ms.push(taken / f64::from(done + 1));
    }
    let record = record::<T>(matrix, args, StorageKind::Bcsr3.name(), args.devices as usize, Milliseconds::of(ms));
    let record = Record { note: Some(format!("{} devices, a thread each", args.devices)), ..record };
    Ok((record, bcsr.bytes() + (VECTOR_PASSES * csr.n_rows() * size_of::<T>()) as u64))
}
