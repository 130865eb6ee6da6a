//! Conjugate gradients on several devices (`linear-algebra.md` 4): every device owns consecutive block rows and a full
//! copy of the direction v.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError, RwLock};

use super::{Bcsr, Real, advance, direction};
use crate::sparse::Solved;

/// Block rows of a device.
pub type Segment = Range<usize>;

/// Cuts the rows into `n` segments of consecutive rows whose numbers of blocks differ by at most the longest row L;
/// `row_starts` counts blocks.
///
/// Segments of lambda to lambda + L blocks exist for the largest lambda with which n smallest ones do not go over the
/// end: no gap between cuts is wider than L, so all cuts between the ends of n smallest and n largest segments can be
/// reached [Barany, Grinberg 2013].
pub fn segments(row_starts: &[u32], n: usize) -> Vec<Segment> {
    let starts: Vec<i64> = row_starts.iter().map(|start| i64::from(*start)).collect();
    let total = starts[starts.len() - 1];
    let longest = starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
    // Beyond the end there is a cut at every number.
    let first_from = |at: i64| if at >= total { at } else { starts[starts.partition_point(|start| *start < at)] };
    let last_to = |at: i64| if at >= total { at } else { starts[starts.partition_point(|start| *start <= at).max(1) - 1] };
    let ends = |least: i64| {
        let step = |at: &[i64; 2]| [first_from(at[0] + least), last_to(at[1] + least + longest)];
        std::iter::successors(Some([0; 2]), |at| Some(step(at))).take(n + 1).collect::<Vec<_>>()
    };
    let (mut low, mut high) = (total / n as i64 - longest, total / n as i64 + 1);
    while high - low > 1 {
        let middle = i64::midpoint(low, high);
        if ends(middle)[n][0] <= total { low = middle } else { high = middle }
    }
    let reachable = ends(low);
    let mut cuts = vec![total];
    for k in (1..n).rev() {
        let next = cuts[cuts.len() - 1];
        let (from, to) = (reachable[k][0].max(next - low - longest), reachable[k][1].min(next - low));
        let wanted = (total * k as i64 / n as i64).clamp(from, to);
        let cut = last_to(wanted);
        cuts.push(if cut >= from { cut } else { first_from(wanted) });
    }
    cuts.push(0);
    cuts.reverse();
    let rows: Vec<usize> = cuts.iter().map(|cut| starts.partition_point(|start| start < cut)).collect();
    // Empty rows at the end have no blocks and belong to the last.
    (0..n).map(|k| rows[k]..if k + 1 == n { starts.len() - 1 } else { rows[k + 1] }).collect()
}

/// One device: it owns its slice of x, r and the matrix. Vectors are in entries.
pub trait Worker<T>: Send {
    type Error: Send;

    /// Its rows, in entries.
    fn rows(&self) -> Range<usize>;
    /// CG1 from x = 0: the own slice of the first direction, and [r.z, r.r].
    fn start(&mut self, own: &mut [T]) -> Result<[f64; 2], Self::Error>;
    /// u = A v for the full direction v; returns u.v of the own rows.
    fn product(&mut self, v: &[T]) -> Result<f64, Self::Error>;
    /// CG4: x += t v, r -= t u; returns [r.z, r.r].
    fn advance(&mut self, t: f64) -> Result<[f64; 2], Self::Error>;
    /// CG5: v = z + s v, into `own`.
    fn direction(&mut self, s: f64, own: &mut [T]) -> Result<(), Self::Error>;
    /// The own slice of x.
    fn solution(&mut self) -> Result<Vec<T>, Self::Error>;
}

/// What all workers see.
struct Shared<T> {
    barrier: Barrier,
    /// The slices of v.
    slices: Vec<RwLock<Vec<T>>>,
    /// Partial sums, two a worker. Three slots take turns: one barrier a reduction suffices, because nobody can be two
    /// reductions ahead.
    slots: [Vec<[AtomicU64; 2]>; 3],
}

impl<T: Real> Shared<T> {
    /// Sum of the partial sums of all, in their order, on every worker.
    fn reduce(&self, turn: &mut usize, worker: usize, part: [f64; 2]) -> [f64; 2] {
        let slot = &self.slots[*turn % 3];
        *turn += 1;
        for (place, part) in slot[worker].iter().zip(part) {
            place.store(part.to_bits(), Ordering::Relaxed);
        }
        self.barrier.wait();
        let value = |place: &AtomicU64| f64::from_bits(place.load(Ordering::Relaxed));
        slot.iter().fold([0.0; 2], |[a, b], places| [a + value(&places[0]), b + value(&places[1])])
    }

    /// The whole v, once all slices are there.
    fn gather(&self, v: &mut Vec<T>) {
        self.barrier.wait();
        v.clear();
        for slice in &self.slices {
            v.extend_from_slice(&slice.read().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Solves `A x = b` from x = 0 to `|b - A x| <= tolerance`, each worker on a thread of its own. Three barriers an
/// iteration: one for v, one for u.v, and one for r.z and r.r together, which the thesis counts as two.
pub fn solve_on<T: Real, W: Worker<T>>(
    workers: Vec<W>,
    tolerance: f64,
    max_iterations: u32,
) -> Result<(Vec<T>, Solved), SegmentError<W::Error>> {
    let n = workers.len();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build()?;
    let shared = Shared {
        barrier: Barrier::new(n),
        slices: workers.iter().map(|worker| RwLock::new(vec![T::ZERO; worker.rows().len()])).collect(),
        slots: std::array::from_fn(|_| (0..n).map(|_| Default::default()).collect()),
    };
    let workers: Vec<Mutex<W>> = workers.into_iter().map(Mutex::new).collect();
    let outcomes = pool.broadcast(|context| {
        let index = context.index();
        let mut worker = workers[index].lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut *worker, index, &shared, tolerance, max_iterations)
    });
    let mut x = vec![];
    let mut solved = None;
    for outcome in outcomes {
        let (slice, outcome) = outcome.map_err(SegmentError::Worker)?;
        x.extend(slice);
        solved = Some(outcome);
    }
    solved.map(|solved| (x, solved)).ok_or(SegmentError::NoWorker)
}

#[derive(Debug, thiserror::Error)]
pub enum SegmentError<E> {
    #[error("the threads of the devices could not be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error("a solve needs at least one device")]
    NoWorker,
    #[error("{0}")]
    Worker(E),
}

/// The loop of one worker. One that fails goes on with sums that are not finite, so that all stop at the same barrier.
fn run<T: Real, W: Worker<T>>(
    worker: &mut W,
    index: usize,
    shared: &Shared<T>,
    tolerance: f64,
    max_iterations: u32,
) -> Result<(Vec<T>, Solved), W::Error> {
    let mut failed = None;
    let mut keep = |result: Result<[f64; 2], W::Error>| {
        result.unwrap_or_else(|error| {
            failed.get_or_insert(error);
            [f64::NAN; 2]
        })
    };
    let own = || shared.slices[index].write().unwrap_or_else(PoisonError::into_inner);
    let mut turn = 0;
    let mut v = vec![];
    let part = keep(worker.start(&mut own()));
    let [mut rho, mut residual2] = shared.reduce(&mut turn, index, part);
    let mut iterations = 0;
    while residual2.sqrt() > tolerance && iterations < max_iterations {
        shared.gather(&mut v);
        let part = keep(worker.product(&v).map(|sum| [sum, 0.0]));
        let [curvature, _] = shared.reduce(&mut turn, index, part);
        let t = rho / curvature;
        if !t.is_finite() {
            break;
        }
        let part = keep(worker.advance(t));
        let before = rho;
        [rho, residual2] = shared.reduce(&mut turn, index, part);
        iterations += 1;
        if !residual2.is_finite() {
            break;
        }
        keep(worker.direction(rho / before, &mut own()).map(|()| [0.0; 2]));
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let residual = residual2.sqrt();
    Ok((worker.solution()?, Solved { iterations, residual, converged: residual <= tolerance }))
}

/// A thread of the processor as a device.
pub struct CpuWorker<T, const N: usize> {
    rows: Range<usize>,
    /// The own rows; columns count through all.
    matrix: Bcsr<T, N>,
    inverse_diagonal: Vec<T>,
    x: Vec<T>,
    r: Vec<T>,
    v: Vec<T>,
    u: Vec<T>,
}

impl<T: Real, const N: usize> CpuWorker<T, N> {
    /// The rows `segment` of `matrix`; `inverse_diagonal` and `b` hold all rows, padded to whole blocks.
    pub fn new(matrix: &Bcsr<T, N>, segment: &Segment, inverse_diagonal: &[T], b: &[T]) -> Self {
        let rows = segment.start * N..segment.end * N;
        let zeros = vec![T::ZERO; rows.len()];
        Self {
            matrix: matrix.rows(segment),
            inverse_diagonal: inverse_diagonal[rows.clone()].to_vec(),
            r: b[rows.clone()].to_vec(),
            x: zeros.clone(),
            v: zeros.clone(),
            u: zeros,
            rows,
        }
    }
}

impl<T: Real, const N: usize> Worker<T> for CpuWorker<T, N> {
    type Error = std::convert::Infallible;

    fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    fn start(&mut self, own: &mut [T]) -> Result<[f64; 2], Self::Error> {
        let sums = self.advance(0.0)?;
        self.direction(0.0, own)?;
        Ok(sums)
    }

    fn product(&mut self, v: &[T]) -> Result<f64, Self::Error> {
        self.matrix.multiply(v, &mut self.u);
        Ok(self.u.iter().zip(&v[self.rows.clone()]).map(|(u, v)| u.to_f64() * v.to_f64()).sum())
    }

    fn advance(&mut self, t: f64) -> Result<[f64; 2], Self::Error> {
        Ok(advance(T::from_f64(t), Some(&self.v), &self.u, &self.inverse_diagonal, &mut self.x, &mut self.r))
    }

    fn direction(&mut self, s: f64, own: &mut [T]) -> Result<(), Self::Error> {
        direction(T::from_f64(s), &self.inverse_diagonal, &self.r, &mut self.v);
        own.copy_from_slice(&self.v);
        Ok(())
    }

    fn solution(&mut self) -> Result<Vec<T>, Self::Error> {
        Ok(self.x.clone())
    }
}
