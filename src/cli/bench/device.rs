//! The kernels of the laboratory on the device: copy, products in every mapping, conjugate gradients.

use std::sync::Arc;
use std::time::Instant;

use super::cg::REPETITIONS;
use super::matrices::{MatrixArgs, NamedMatrix};
use super::measure::gb_per_s;
use super::{Failure, Milliseconds, Record, print_head};
use crate::gpu::{Device, DeviceError};
use crate::lab::device::{DeviceCg, DeviceCopy, DeviceWorker, GroupedProduct, SellProduct, seconds};
use crate::lab::sparse::{Bcsr, Csr, Grouped, Mapping, Sell, segments, solve_on};

/// Threads of a thread block of the thesis' mappings.
const THREADS: u32 = 128;
/// A measurement takes about this long [s], so that the submission itself does not count.
const SPAN: f64 = 0.05;
const MOST: usize = 500;
/// Bytes of each array of the copy, less where the device binds no such array.
const COPY_BYTES: u64 = 256 << 20;

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::Run(error.to_string())
    }
}

/// Times of one dispatch.
pub fn repeat(device: &Arc<Device>, record: impl Fn(&mut wgpu::ComputePass)) -> Result<Milliseconds, DeviceError> {
    let once = seconds(device, 2, &record)?;
    let repetitions = ((SPAN / once.max(1e-9)) as usize).clamp(1, MOST);
    let times: Result<Vec<f64>, _> = (0..REPETITIONS).map(|_| Ok(1e3 * seconds(device, repetitions, &record)?)).collect();
    times.map(Milliseconds::of)
}

fn of(device: &Device, bench: &'static str, case: &str, solver: &'static str, ms: Milliseconds) -> Record {
    Record {
        bench,
        case: case.into(),
        solver,
        backend: "gpu",
        adapter: Some(device.info.name.clone()),
        precision: "f32",
        ms,
        ..Record::default()
    }
}

pub fn copy(device: &Arc<Device>) -> Result<Record, Failure> {
    let bytes = COPY_BYTES.min(device.limits.max_storage_buffer_binding_size).min(device.limits.max_buffer_size);
    let copy = DeviceCopy::new(device, bytes)?;
    let ms = repeat(device, |pass| copy.record(pass))?;
    let limit = gb_per_s(2 * bytes, ms.min);
    let record = of(device, "copy", &format!("arrays of {} MiB", bytes >> 20), "copy y = x", ms).of_bytes(2 * bytes, limit);
    Ok(Record { dispatches: Some(1.0), ..record })
}

/// The head of the table, the copy as its first record, and the bandwidth that the others are held against [GB/s].
fn begin(device: &Arc<Device>) -> Result<(Vec<Record>, f64), Failure> {
    let copy = copy(device)?;
    let limit = copy.limit_gb_per_s.unwrap_or(0.0);
    print_head();
    copy.print();
    Ok((vec![copy], limit))
}

pub fn products(device: &Arc<Device>, matrices: &MatrixArgs) -> Result<Vec<Record>, Failure> {
    let (mut records, limit) = begin(device)?;
    matrices.for_each(|matrix| {
        let mut found = vec![];
        mappings::<1>(device, matrix, limit, &mut found)?;
        mappings::<2>(device, matrix, limit, &mut found)?;
        mappings::<4>(device, matrix, limit, &mut found)?;
        mappings::<8>(device, matrix, limit, &mut found)?;
        let sell = Sell::<f32, 32>::new(&Bcsr::new(&matrix.csr));
        let product = SellProduct::new(device, &sell, &vec![1.0; matrix.csr.n_columns.next_multiple_of(3)])?;
        let ms = repeat(device, |pass| product.record(pass))?;
        let density = matrix.csr.n_entries() as f64 / (9 * sell.n_padded()) as f64;
        let record = Record {
            density: Some(density),
            dispatches: Some(1.0),
            size: matrix.size.clone(),
            ..of(device, "spmv", &matrix.name, "sell32", ms)
        };
        found.push(record.of_bytes(sell.bytes(), limit));
        found.iter().for_each(Record::print);
        if let Some(best) = found.iter_mut().min_by(|a, b| a.ms.min.total_cmp(&b.ms.min)) {
            say!("{:30} {} is the fastest", best.case, best.solver);
            best.note = Some("the fastest of this matrix".into());
        }
        records.extend(found);
        Ok(())
    })?;
    Ok(records)
}

/// Every mapping with blocks of N x N; what is too large for the device is left out and said.
fn mappings<const N: usize>(device: &Arc<Device>, matrix: &NamedMatrix, limit: f64, records: &mut Vec<Record>) -> Result<(), Failure> {
    let bcsr = Bcsr::<f32, N>::new(&matrix.csr);
    let x = vec![1.0; matrix.csr.n_columns.next_multiple_of(N)];
    for mapping in Mapping::all(THREADS, N as u32) {
        let grouped = Grouped::new(&bcsr, mapping, THREADS, true);
        let product = match GroupedProduct::new(device, &grouped, &x) {
            Err(error @ DeviceError::TooLarge { .. }) => {
                say!("{:24} {} of {N}x{N}: {error}", matrix.name, mapping.name());
                continue;
            }
            product => product?,
        };
        let ms = repeat(device, |pass| product.record(pass))?;
        let stored = grouped.n_padded() * N * N;
        let record = Record {
            size: matrix.size.clone(),
            density: Some(matrix.csr.n_entries() as f64 / stored as f64),
            dispatches: Some(1.0),
            ..of(device, "spmv", &format!("{} {N}x{N}, slots {}", matrix.name, grouped.shape[0]), mapping.name(), ms)
        };
        records.push(record.of_bytes(grouped.bytes(x.len() / N), limit));
    }
    Ok(())
}

/// Conjugate gradients with `csr`, and its matrix.
pub fn solver(device: &Arc<Device>, csr: &Csr) -> Result<(DeviceCg, Sell<f32, 32>), DeviceError> {
    let sell = Sell::new(&Bcsr::new(csr));
    let n = 3 * sell.n_block_rows;
    let mut d: Vec<f32> = csr.diagonal().iter().map(|d| (1.0 / d) as f32).collect();
    d.resize(n, 0.0);
    let mut cg = DeviceCg::new(device, &sell, &d)?;
    cg.solve(&vec![1.0; n], 0.0, 1)?;
    Ok((cg, sell))
}

/// Times of one iteration; the start counts as one.
pub fn iteration(cg: &mut DeviceCg, iterations: u32) -> Result<Milliseconds, DeviceError> {
    let mut run = || {
        let start = Instant::now();
        let solved = cg.run(0.0, iterations)?;
        Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(solved.iterations + 1))
    };
    (0..REPETITIONS).map(|_| run()).collect::<Result<_, _>>().map(Milliseconds::of)
}

pub fn solves(device: &Arc<Device>, matrices: &MatrixArgs, iterations: u32) -> Result<Vec<Record>, Failure> {
    let (mut records, limit) = begin(device)?;
    matrices.for_each(|matrix| {
        matrix.check_solvable()?;
        let (mut cg, sell) = solver(device, &matrix.csr)?;
        let ms = iteration(&mut cg, iterations)?;
        let record = Record {
            size: matrix.size.clone(),
            iterations: Some(f64::from(iterations)),
            dispatches: Some(DeviceCg::DISPATCHES),
            ..of(device, "cg", &matrix.name, "sell32, one reduction", ms)
        };
        // The product; then 1/A_kk, w, u, p, s, x, r read, u, p, s, x, r written, in vectors of four.
        let record = record.of_bytes(sell.bytes() + 12 * 16 * sell.n_block_rows as u64, limit);
        record.print();
        records.push(record);
        Ok(())
    })?;
    say!("times of one iteration, the start counted as one; {} dispatches an iteration, none waited for", DeviceCg::DISPATCHES);
    Ok(records)
}

/// Conjugate gradients on several logical devices of one adapter: the direction and the sums go through the host in
/// every iteration.
pub fn solves_on(devices: &[Arc<Device>], matrices: &MatrixArgs, iterations: u32) -> Result<Vec<Record>, Failure> {
    print_head();
    let mut records = vec![];
    matrices.for_each(|matrix| {
        matrix.check_solvable()?;
        let bcsr = Bcsr::<f32, 3>::new(&matrix.csr);
        let n = 3 * bcsr.n_block_rows();
        let mut d: Vec<f32> = matrix.csr.diagonal().iter().map(|d| (1.0 / d) as f32).collect();
        d.resize(n, 0.0);
        let b = vec![1.0; n];
        let parts = segments(&bcsr.row_starts, devices.len());
        let mut ms = vec![];
        for _ in 0..REPETITIONS {
            let workers = parts.iter().zip(devices).map(|(part, device)| DeviceWorker::new(device.clone(), &bcsr, part, &d, &b));
            let workers = workers.collect::<Result<Vec<_>, _>>()?;
            let start = Instant::now();
            let (_, solved) = solve_on(workers, 0.0, iterations).map_err(|error| Failure::Run(error.to_string()))?;
            ms.push(start.elapsed().as_secs_f64() * 1e3 / f64::from(solved.iterations + 1));
        }
        let record = Record {
            size: matrix.size.clone(),
            iterations: Some(f64::from(iterations)),
            dispatches: Some(3.0 * devices.len() as f64),
            note: Some(format!("{} logical devices of one adapter", devices.len())),
            ..of(&devices[0], "cg", &matrix.name, "sell32, several devices", Milliseconds::of(ms))
        };
        record.print();
        records.push(record);
        Ok(())
    })?;
    Ok(records)
}
